package yaml

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tutti/internal/platform/atomicfile"
	"tutti/internal/platform/filelock"
	"tutti/internal/platform/gitexclude"
	"tutti/internal/sessions/registry"
)

// How long a file that looks half written is waited for: an editor that empties a file and writes it takes milliseconds, a script that
// makes its text meanwhile longer.
const (
	freshFor  = 300 * time.Millisecond // since its last change
	waitFor   = 1500 * time.Millisecond
	lookAgain = 20 * time.Millisecond
)

// maxTries bounds how often a change is begun again because another program writes the file each time.
const maxTries = 20

// A place is where the files lie.
type place struct {
	dir    *atomicfile.Dir
	name   string // of the YAML
	linked bool   // a link led there
}

func (p place) db() string   { return filepath.Join(p.dir.Path(), registry.Database(p.name)) }
func (p place) lock() string { return "." + strings.TrimSuffix(p.name, filepath.Ext(p.name)) + ".lock" }

// find opens the folder of the registry, links followed, and makes it for a change.
func (r *Registry) find(create bool) (place, error) {
	path, err := filepath.EvalSymlinks(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		if info, lerr := os.Lstat(r.path); lerr == nil {
			if info.Mode().Type() != fs.ModeSymlink { // another process has made it since
				return r.find(create)
			}
			return place{}, fmt.Errorf("%s is a link that leads nowhere", r.path)
		}
		folder := filepath.Dir(r.path)
		if create {
			if err := os.MkdirAll(folder, 0o700); err != nil {
				return place{}, err
			}
			if name := filepath.Base(folder); name == registry.Folder || name == registry.OldFolder {
				_ = gitexclude.Exclude(folder) // a registry that git offers is a nuisance, and not a fault
			}
		}
		if folder, err = filepath.EvalSymlinks(folder); err == nil {
			path = filepath.Join(folder, filepath.Base(r.path))
		}
	}
	if err != nil {
		return place{}, err
	}
	dir, err := atomicfile.OpenDir(filepath.Dir(path))
	link, lerr := os.Lstat(r.path)
	return place{dir, filepath.Base(path), lerr == nil && link.Mode()&os.ModeSymlink != 0}, err
}

var (
	// errAgain is in the chain of errors caused by another program that wrote meanwhile.
	errAgain = errors.New("the file was changed by another program meanwhile")
	// errFresh is a file that looks as if it were being written.
	errFresh = errors.New("the file is being written")
)

// within does something with both files in agreement, under the lock.
func (r *Registry) within(ctx context.Context, create bool, do func(v *visit) error) error {
	p, err := r.find(create)
	if err != nil {
		return err
	}
	defer p.dir.Close()
	until := r.now().Add(waitFor)
	for try := 1; ; try++ {
		err := r.visit(ctx, p, create, r.now().Before(until), do)
		switch {
		case errors.Is(err, errFresh):
			try--
			if err := pause(ctx); err != nil {
				return err
			}
		case !errors.Is(err, errAgain) || try == maxTries:
			return err
		}
	}
}

func pause(ctx context.Context) error {
	t := time.NewTimer(lookAgain)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// A visit is one look at both files, under the lock.
type visit struct {
	r      *Registry
	place  place
	db     *database
	text   []byte // of the YAML as it was found
	exists bool   // the YAML is there
	merged *merger
}

func (r *Registry) visit(ctx context.Context, p place, create, patient bool, do func(v *visit) error) (err error) {
	v := &visit{r: r, place: p}
	if !create {
		// A look must not leave a lock beside something that is not there.
		_, yamlErr := p.dir.Stat(p.name)
		_, dbErr := p.dir.Stat(registry.Database(p.name))
		if errors.Is(yamlErr, fs.ErrNotExist) && errors.Is(dbErr, fs.ErrNotExist) {
			return fmt.Errorf("%s: %w", r.path, fs.ErrNotExist)
		}
	}
	lock, err := filelock.Acquire(ctx, p.dir.FD(), p.dir.Path(), filelock.Options{Kernel: p.lock(), Timeout: r.wait})
	if err != nil {
		return err
	}
	defer func() { _ = lock.Release() }() // it ends with the process in any case
	defer func() {
		if v.db != nil {
			v.db.close()
		}
	}()
	r.step("locked")
	if create {
		_, _ = p.dir.Sweep(r.now().Add(-time.Hour)) // what a crash has left
	}
	if err := v.read(ctx, patient); err != nil {
		return err
	}
	v.merged.run()
	if _, err := p.dir.Stat(p.name + aside); err == nil {
		v.merged.problem("", 0, false, "others wrote twice in one moment: what the second did not know of is kept in %s%s; take from it what is missing, and delete it", p.name, aside)
	}
	if !create && !v.exists && len(v.merged.doc.text) == 0 && len(v.merged.problems) == 0 {
		return fmt.Errorf("%s: %w", r.path, fs.ErrNotExist) // what a crash has left of a database
	}
	if err := do(v); err != nil {
		return err
	}
	return v.save(ctx)
}

// read reads both files. A damaged database is put aside.
func (v *visit) read(ctx context.Context, patient bool) error {
	var info atomicfile.Info
	var err error
	v.text, info, err = v.place.dir.Read(v.place.name, registry.MaxSize)
	v.exists = err == nil
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case err == nil && info.Unstable:
		return errAgain
	case err == nil && info.Mode&0o200 == 0:
		return fmt.Errorf("%s: %w", v.r.path, errReadOnly)
	}
	fresh := patient && v.exists && v.r.justWritten(info)
	doc, fault := v.r.parse(v.text)
	if fresh && halfWritten(v.text, fault) {
		return errFresh
	}
	if fault != nil {
		return &CorruptError{Path: v.r.path, Err: fault}
	}
	if v.place.linked && len(bytes.TrimSpace(v.text)) > 0 && doc.pair < 0 {
		// A link that came with the work of others could lead to any file of the user's.
		return fmt.Errorf("%s leads to a file without %s: it is not a registry", v.r.path, rowsKey)
	}
	v.r.step("read")
	stored, err := v.readDatabase(ctx, doc)
	if err != nil {
		return err
	}
	v.merged = &merger{doc: doc, db: stored, yamlGone: doc.root == nil}
	if fresh && !v.merged.yamlGone && sumOf(v.text) != stored.ours.YAML { // what both have agreed on is whole
		if cutOff(v.text) {
			return errFresh
		}
		for name := range stored.ours.Rows {
			if doc.find(name) == nil {
				return errFresh
			}
		}
	}
	return nil
}

// justWritten reports whether another program may still be writing a file.
func (r *Registry) justWritten(info atomicfile.Info) bool {
	return r.now().Sub(time.Unix(0, max(info.Mtime, info.Ctime))).Abs() < freshFor
}

// halfWritten reports whether a text looks like the beginning of one: it is empty, or is not valid YAML. fault is the error of
// the parser.
func halfWritten(src []byte, fault error) bool {
	return fault != nil || len(bytes.TrimSpace(src)) == 0
}

// cutOff reports whether a text ends within a line. People may leave it so; who writes it piece by piece does not.
func cutOff(src []byte) bool { return !bytes.HasSuffix(src, []byte("\n")) }

func (v *visit) readDatabase(ctx context.Context, doc *document) (*stored, error) {
	for {
		db, err := openDatabase(ctx, v.place.db(), v.r.wait)
		var s *stored
		if err == nil {
			if s, err = db.begin(ctx, doc); err == nil {
				v.db = db
				v.r.step("begun")
				return s, nil
			}
			db.close()
		}
		if !damaged(err) {
			return nil, err
		}
		if err := v.putAside(err); err != nil {
			return nil, err
		}
	}
}

// putAside keeps a damaged database under another name.
func (v *visit) putAside(why error) error {
	name := registry.Database(v.place.name)
	kept := name + ".damaged-" + v.r.now().UTC().Format("20060102T150405.000Z")
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := v.place.dir.Rename(name+end, v.place.dir, kept+end, false); err != nil && (end == "" || !errors.Is(err, fs.ErrNotExist)) {
			return fmt.Errorf("put the damaged database aside (%w): %w", why, err)
		}
	}
	if !v.exists {
		return fmt.Errorf("%s: the database was damaged and is kept as %s, and there is no YAML to make it again from: %w", v.r.path, kept, why)
	}
	return nil
}

// change lets f change one row.
func (v *visit) change(name string, f func(row *registry.Row, found bool) error) (registry.Row, error) {
	m := v.merged
	if bad := m.unusable[name]; bad != nil {
		return registry.Row{}, bad
	}
	e := m.doc.find(name)
	row := registry.Row{Name: name}
	if e != nil {
		row = e.row.Clone()
	}
	before := row.Clone()
	switch err := f(&row, e != nil); {
	case errors.Is(err, registry.ErrNoChange):
		return before, nil
	case err != nil:
		return before, err
	}
	was := fromJSON(before.JSON())
	if e != nil && was.equal(fromJSON(row.JSON())) {
		return before, nil
	}
	row.Revision, row.UpdatedAt = before.Revision+1, registry.Stamp(v.r.now())
	if e == nil && row.CreatedAt.IsZero() {
		row.CreatedAt = row.UpdatedAt
	}
	var is *document
	err := registry.CheckChange(&before, &row)
	if e == nil {
		if err = row.Check(); err == nil && row.Name != name {
			err = fmt.Errorf("session %s: the name of a row may not change", name)
		}
	}
	if err == nil && e == nil {
		is, err = m.doc.add(fromJSON(row.JSON()))
	} else if err == nil {
		is, err = m.doc.change(e, diff(e.said, was, fromJSON(row.JSON())))
	}
	if err != nil {
		return before, err
	}
	m.doc = is
	delete(m.frozen, name)
	return is.find(name).row.Clone(), nil
}
