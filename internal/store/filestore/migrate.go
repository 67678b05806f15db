package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"tutti/internal/core/address"
	"tutti/internal/platform/atomicfile"
	"tutti/internal/store"
)

// What MigratePaths says of an entry.
const (
	StatusRenamed     = "renamed"
	StatusWouldRename = "would-rename"
	StatusConflict    = "conflict"
)

// A Rename is one entry whose name is not a path segment, or was not.
type Rename struct{ From, To, Status string }

// A Migration is what MigratePaths did or, in a dry run, would do.
type Migration struct {
	Root      string
	DryRun    bool
	Renamed   []Rename
	Conflicts []Rename
}

// migrated are the folders whose entries old versions of the existing programs named by raw ids. Of files the part before
// the last dot is the id.
var migrated = [...]struct {
	dir   string
	files bool
}{
	{"negotiations", false},
	{"inbox", false},
	{"outbox", false},
	{"contracts", false},
	{"engagements", false},
	{"policies", true},
	{"presence", true},
}

// MigratePaths renames entries whose names are not path segments to names that are.
func (s *Store) MigratePaths(ctx context.Context, dryRun bool) (Migration, error) {
	m := Migration{Root: s.path, DryRun: dryRun}
	if err := ctx.Err(); err != nil {
		return m, err
	}
	if s.readOnly && !dryRun {
		return m, fmt.Errorf("migrate paths: %w", store.ErrReadOnly)
	}
	for _, at := range migrated {
		if err := s.migrateFolder(&m, at.dir, at.files); err != nil {
			return m, s.failMigrate(at.dir, err)
		}
	}
	byFrom := func(a, b Rename) int { return strings.Compare(a.From, b.From) }
	slices.SortFunc(m.Renamed, byFrom)
	slices.SortFunc(m.Conflicts, byFrom)
	return m, nil
}

func (s *Store) failMigrate(dir string, err error) error {
	if systemRefuses(err) {
		return fmt.Errorf("migrate paths in %s: %w: %w", dir, store.ErrReadOnly, err)
	}
	return fmt.Errorf("migrate paths in %s: %w", dir, err)
}

func (s *Store) migrateFolder(m *Migration, rel string, files bool) error {
	d, err := s.root.Sub(rel)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
	names, err := d.Names()
	if err != nil {
		return err
	}
	slices.Sort(names) // of two that become one the same wins each time
	given := map[string]bool{}
	for _, name := range names {
		to := sanitised(name, files)
		if to == name {
			continue
		}
		if i, err := d.Stat(name); err != nil || files && !i.Regular() || !files && !i.Folder() {
			continue
		}
		r := Rename{From: filepath.Join(s.path, rel, name), To: filepath.Join(s.path, rel, to)}
		r.Status, err = s.migrateEntry(d, name, to, m.DryRun, given)
		switch {
		case err != nil:
			return err
		case r.Status == StatusConflict:
			m.Conflicts = append(m.Conflicts, r)
		default:
			m.Renamed = append(m.Renamed, r)
		}
	}
	return nil
}

// migrateEntry renames one entry, or says what would come of it; given holds the names that a dry run has promised.
func (s *Store) migrateEntry(d *atomicfile.Dir, name, to string, dryRun bool, given map[string]bool) (string, error) {
	if dryRun {
		_, err := d.Stat(to)
		if given[to] || !errors.Is(err, fs.ErrNotExist) {
			return StatusConflict, nil
		}
		given[to] = true
		return StatusWouldRename, nil
	}
	err := d.Rename(name, d, to, false)
	if errors.Is(err, fs.ErrExist) {
		return StatusConflict, nil
	}
	if err != nil {
		return "", err
	}
	return StatusRenamed, d.Sync()
}

func sanitised(name string, files bool) string {
	dot := strings.LastIndexByte(name, '.')
	if !files || dot < 0 {
		return address.Segment(name)
	}
	return address.Segment(name[:dot]) + name[dot:]
}
