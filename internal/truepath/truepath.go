// Package truepath finds the one path of a file that can be reached by many: through links, by a relative path, with dots in it, and where
// the system does not tell capitals from small letters, in any spelling.
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
func Of(path string) string { return of(path, maxLinks) }

// maxLinks is how many links to what is not there yet are followed: as many as the system follows on the way to a file.
const maxLinks = 40

func of(path string, links int) string {
	path = filepath.Clean(path)
	rest := ""
	for at := path; ; {
		real, err := filepath.EvalSymlinks(at)
		if err == nil {
			return filepath.Join(spelled(real), rest)
		}
		if to, err := os.Readlink(at); err == nil && links > 0 { // a link to what is not there yet
			if !filepath.IsAbs(to) {
				to = filepath.Join(filepath.Dir(at), to)
			}
			return filepath.Join(of(to, links-1), rest)
		}
		up := filepath.Dir(at)
		if up == at {
			return path
		}
		rest = filepath.Join(filepath.Base(at), rest)
		at = up
	}
}

// Below is Of for a path that may be relative to a folder.
func Below(dir, path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return Of(path)
}

// spelled is a path that is there as its folders spell it.
func spelled(path string) string {
	up := filepath.Dir(path)
	if up == path {
		return path
	}
	up = spelled(up)
	base := filepath.Base(path)
	here := filepath.Join(up, base)
	other := swapped(base)
	if other == base {
		return here
	}
	a, errA := os.Lstat(here)
	b, errB := os.Lstat(filepath.Join(up, other))
	if errA != nil || errB != nil || !os.SameFile(a, b) {
		return here // capitals are told from small letters
	}
	names, err := os.ReadDir(up)
	if err != nil {
		return here
	}
	for _, n := range names {
		if n.Name() == base {
			return here // or both are there, and are one file by a link
		}
	}
	for _, n := range names {
		if strings.EqualFold(n.Name(), base) {
			return filepath.Join(up, n.Name())
		}
	}
	return here
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
