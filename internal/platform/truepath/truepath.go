// Package truepath finds the one path of a file that can be reached by many: through links, by a relative path, with dots in it, and where
// the system does not tell capitals from small letters, in any spelling.
//
// It walks as the system does, a name at a time: two dots behind a link lead to the folder above the one to which the link leads, and not
// back to where the link lies.
//
// The file need not be there yet: the part of its path that is there is found, and the rest stands as it was given.
package truepath

import (
	"os"
	"path/filepath"
	"strings"
	"unicode"
)

// Of returns the path of a file, which must be absolute.
func Of(path string) string {
	w := walk{at: "/", todo: names(path), links: maxLinks}
	for len(w.todo) > 0 {
		if !w.step() {
			return filepath.Clean(path) // links that lead in a circle: the path leads nowhere
		}
	}
	return filepath.Join(w.at, filepath.Join(w.rest...))
}

// Below is Of for a path that may be relative to a folder.
func Below(dir, path string) string {
	if !filepath.IsAbs(path) {
		path = dir + "/" + path // filepath.Join would take two dots for a way back
	}
	return Of(path)
}

// maxLinks is how many links are followed: as many as the system follows on the way to a file.
const maxLinks = 40

// A walk is on its way to a file.
type walk struct {
	at    string   // as far as it is there: no link, no dots, spelled as its folders do
	rest  []string // what is not there, behind at
	todo  []string // names that are still to come
	links int      // how many more are followed
}

func names(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

// step takes the next name. False: too many links were followed.
func (w *walk) step() bool {
	name := w.todo[0]
	w.todo = w.todo[1:]
	switch n := len(w.rest); {
	case name == ".":
	case name == ".." && n > 0:
		w.rest = w.rest[:n-1]
	case name == "..":
		w.at = filepath.Dir(w.at)
	case n > 0:
		w.rest = append(w.rest, name)
	default:
		return w.enter(name)
	}
	return true
}

// enter goes to an entry of the folder that was reached.
func (w *walk) enter(name string) bool {
	here := filepath.Join(w.at, name)
	info, err := os.Lstat(here)
	switch {
	case err != nil: // it is not there, or we may not see it
		w.rest = append(w.rest, name)
	case info.Mode()&os.ModeSymlink == 0:
		w.at = filepath.Join(w.at, spelled(w.at, name, info))
	default:
		to, err := os.Readlink(here)
		if err != nil {
			w.rest = append(w.rest, name)
			return true
		}
		if w.links--; w.links < 0 {
			return false
		}
		if filepath.IsAbs(to) {
			w.at = "/"
		}
		w.todo = append(names(to), w.todo...)
	}
	return true
}

// spelled is the name of what is there as its folder spells it.
func spelled(dir, name string, info os.FileInfo) string {
	other := swapped(name)
	if other == name {
		return name
	}
	if b, err := os.Lstat(filepath.Join(dir, other)); err != nil || !os.SameFile(info, b) {
		return name // capitals and small letters differ
	}
	all, err := os.ReadDir(dir)
	if err != nil {
		return name
	}
	for _, n := range all {
		if n.Name() == name {
			return name // or both are there, and are one file by a link
		}
	}
	for _, n := range all {
		if strings.EqualFold(n.Name(), name) {
			return n.Name()
		}
	}
	return name
}

// swapped is a name with the first letter that has one in its other case.
func swapped(name string) string {
	for n, r := range name {
		to := unicode.ToUpper(r)
		if to == r {
			to = unicode.ToLower(r)
		}
		if to != r {
			return name[:n] + string(to) + name[n+len(string(r)):]
		}
	}
	return name
}
