//go:build !linux

package filestore

import (
	"tutti/internal/platform/atomicfile"
	"tutti/internal/store/index"
)

// listsInodes tells whether inodesOf knows inodes, so that a name whose file was replaced is noticed without a look at each.
const listsInodes = false

// inodesOf lists the names in a folder that qualify. It does not know inodes, and ignores the limit.
func inodesOf(d *atomicfile.Dir, n, limit int, wanted func(name string) bool) (map[string]uint64, error) {
	names, err := d.Names()
	all := make(map[string]uint64, max(n, len(names)))
	for _, name := range names {
		if wanted(name) {
			all[name] = 0
		}
	}
	return all, err
}

// identifier returns what tells the identity of the files of a folder by name.
func identifier(d *atomicfile.Dir) func(name string) (index.Stat, bool) {
	return func(name string) (index.Stat, bool) {
		info, err := d.Stat(name)
		return statOf(info), err == nil
	}
}
