// Command mksite writes the documentation as a static site into a folder. "make site" calls it.
//
// It fails, and writes nothing, when a link, an anchor or a picture leads nowhere. It does not empty the folder first.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"tutti/internal/faces/site"

	tutti "tutti"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: mksite FOLDER")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

func write(folder string) error {
	files, err := site.Make(tutti.Pages, "")
	if err != nil {
		return err
	}
	for name, data := range files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
	}
	fmt.Printf("site: %d files in %s\n", len(files), folder)
	return nil
}
