package index

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"tutti/internal/platform/atomicfile"
)

// A Dir is an open cache folder. Only a folder that is ours and has no rights for others becomes one, because rows are
// believed without asking the source for its bytes.
type Dir struct{ *atomicfile.Dir }

// MakeDir opens a cache folder and makes it, mode 0700, with the folders above it that are missing. ErrUnsafe: others could
// have written to it.
func MakeDir(path string) (*Dir, error) {
	above, base := filepath.Split(path)
	if err := os.MkdirAll(above, 0o700); err != nil {
		return nil, err
	}
	parent, err := atomicfile.OpenDir(above)
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	dir, err := parent.MakeSub(base, 0o700)
	if err != nil {
		return nil, err
	}
	if err := private(dir); err != nil {
		dir.Close()
		return nil, err
	}
	return &Dir{dir}, nil
}

func private(d *atomicfile.Dir) error {
	self, err := d.Self()
	switch {
	case err != nil:
		return err
	case int(self.UID) != os.Geteuid():
		return fmt.Errorf("%w: %s belongs to user %d", ErrUnsafe, d.Path(), self.UID)
	case self.Mode&0o077 != 0:
		return fmt.Errorf("%w: %s has mode %04o, not 0700", ErrUnsafe, d.Path(), self.Mode&0o777)
	}
	return nil
}

// maxTable limits what is read of a file: ten million rows, and what is larger is no table of ours.
const maxTable = 2 << 30

// ending is that of the file of a table.
const ending = ".rows"

// Discard throws the table of that name away, whatever it is. One that is open stays readable.
func (d *Dir) Discard(name string) { _ = d.Remove(name + ending) }

// OpenTable opens a table; the caller closes it. fs.ErrNotExist: there is none.
func (d *Dir) OpenTable(name string, of Scope) (*Table, error) {
	f, info, err := d.Open(name+ending, false, maxTable)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBad, err)
	}
	t := &Table{file: f, size: info.Size}
	if err := t.readHeader(of); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return t, nil
}

const (
	// sweepFrom is the number of rows from which on the writing of a table is work enough to look for temporary files beside it.
	sweepFrom = 256
	// sweepAge is how old a temporary file is before it counts as left by a crash. Writing one takes milliseconds.
	sweepAge = time.Hour
)

// SaveTable writes a table of the rows of old (nil: none) but for those named in drop, and of those of add.
func (d *Dir) SaveTable(name string, of Scope, st State, old *Table, drop, add []Row) error {
	rows, err := changed(old, drop, add)
	if err != nil {
		return err
	}
	if err := d.Replace(name+ending, encode(of, st, rows), 0o600, false); err != nil {
		return fmt.Errorf("write index %s: %w", name, err)
	}
	if len(rows) >= sweepFrom {
		_, _ = d.Sweep(time.Now().Add(-sweepAge))
	}
	return nil
}

func changed(old *Table, drop, add []Row) ([]Row, error) {
	if old == nil {
		return append([]Row{}, add...), nil
	}
	gone := make(map[string]bool, len(drop))
	for i := range drop {
		gone[drop[i].Name] = true
	}
	rows := make([]Row, 0, old.Len()+len(add))
	for r, err := range old.Rows() {
		if err != nil {
			return nil, err
		}
		if !gone[r.Name] {
			rows = append(rows, r)
		}
	}
	return append(rows, add...), nil
}
