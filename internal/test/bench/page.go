package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"tutti/internal/platform/atomicfile"
)

// The table stands between these lines; what is between them belongs to this program.
const (
	begin = "<!-- bench: written by make bench -->"
	end   = "<!-- /bench -->"
)

// table writes the rows as Markdown, the machine below them.
func table(done []row, machine string) string {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(header)
	line(strings.Split(strings.Repeat("---,", len(header)-1)+"---", ","))
	subject := ""
	for _, r := range done {
		cells := r.cells()
		if cells[0] == subject {
			cells[0] = ""
		} else {
			subject = cells[0]
		}
		line(cells)
	}
	fmt.Fprintf(&b, "\n%s Best of %d rounds.\n", machine, rounds)
	return b.String()
}

// rewrite replaces what stands between the markers of a file.
func rewrite(path, table string) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text, err := splice(string(old), table)
	if err != nil {
		return fmt.Errorf("rewrite %s: %w", path, err)
	}
	if text == string(old) {
		return nil
	}
	return atomicfile.WriteFile(path, []byte(text), 0o644)
}

// splice puts the table between the markers of a text.
func splice(text, table string) (string, error) {
	head, rest, ok := strings.Cut(text, begin+"\n")
	if !ok {
		return "", fmt.Errorf("there is no line %q", begin)
	}
	_, tail, ok := strings.Cut(rest, end)
	if !ok {
		return "", fmt.Errorf("there is no line %q after %q", end, begin)
	}
	return head + begin + "\n" + table + end + tail, nil
}

// machine says in one line on what the figures were measured.
func machine(dir string) string {
	cpu := "unknown processor"
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(info)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				cpu = strings.Join(strings.Fields(value), " ")
				break
			}
		}
	}
	kernel := runtime.GOOS
	if rel, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		kernel = "Linux " + strings.TrimSpace(string(rel))
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	fs := fileSystem(string(mounts), dir)
	if err != nil || fs == "" {
		fs = "an unknown file system"
	}
	return fmt.Sprintf("Measured on %s with %d × %s, %s, %s, %s/%s.", time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), cpu, kernel, fs, runtime.Version(), runtime.GOARCH)
}

// fileSystem finds the type of the file system that a path lies on, in the system's list of mounts: the one mounted
// nearest above it, of several at one place the last.
func fileSystem(mounts, path string) (kind string) {
	nearest := -1
	for line := range strings.Lines(mounts) {
		fields := strings.Fields(line) // device, place, type, options
		if len(fields) < 3 {
			continue
		}
		place := strings.TrimSuffix(fields[1], "/")
		if len(place) >= nearest && (path == place || strings.HasPrefix(path, place+"/")) {
			nearest, kind = len(place), fields[2]
		}
	}
	return kind
}
