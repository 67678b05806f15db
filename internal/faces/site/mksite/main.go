// Command mksite writes the documentation of the checkout in which it runs as HTML into a folder. "make site" and "make build" call it.
//
// It ends with status 1 when a link, an anchor or a picture leads nowhere, after it has written the pages. It does not empty the folder first.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"tutti/internal/faces/site"
)

func main() {
	back := flag.String("back", "", "address to which each page links as \"your agents\"; without it there is no such link")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: mksite [-back ADDRESS] FOLDER")
		os.Exit(2)
	}
	if err := write(flag.Arg(0), *back); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

func write(folder, back string) error {
	files, faults := site.Make(os.DirFS("."), back)
	for name, data := range files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return errors.Join(faults, err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return errors.Join(faults, err)
		}
	}
	if faults == nil {
		fmt.Printf("site: %d files in %s\n", len(files), folder)
	}
	return faults
}
