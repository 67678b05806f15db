package filestore

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"tutti/internal/store"
)

// Misplaced names entries in the place of a folder or a log of a bus that are something else: a pipe, a device, a link, or a
// log that is too large to be read. It looks at names only, so that nothing can block it.
func Misplaced(root string) (all []*store.UnfitError) {
	seen := map[string]bool{"": true}
	look := func(k store.Kind, rel string, folder bool) {
		if seen[rel] {
			return
		}
		seen[rel] = true
		at := filepath.Join(root, filepath.FromSlash(rel))
		info, err := os.Lstat(at)
		if err != nil {
			return
		}
		why := ""
		switch {
		case folder && !info.IsDir():
			why = "is not a folder"
		case !folder && !info.Mode().IsRegular():
			why = "is not a regular file"
		case !folder && k.Spec().IsLog() && info.Size() > maxLog:
			why = "is too large to be read"
		}
		if why != "" {
			all = append(all, &store.UnfitError{Key: store.Key{Kind: k}, Where: at, Why: why})
		}
	}
	for _, k := range store.Kinds() {
		rel, _, named := strings.Cut(k.Spec().Path, "/{")
		folder := rel
		if !named {
			folder = strings.TrimSuffix(path.Dir(rel), ".")
		}
		for f := folder; f != "" && f != "."; f = path.Dir(f) {
			look(k, f, true)
		}
		if !named {
			look(k, rel, false)
		}
	}
	return all
}
