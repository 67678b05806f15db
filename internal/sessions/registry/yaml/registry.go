package yaml

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"tutti/internal/platform/filelock"
	"tutti/internal/sessions/registry"
)

// A Registry is the two files. It holds nothing open between calls, and is safe for concurrent use.
type Registry struct {
	path string // as the user named it

	now  func() time.Time
	wait time.Duration     // for another program that holds the lock or the database
	step func(name string) // of tests: between two steps of a change

	mu   sync.Mutex // one call at a time; the lock file does the same among processes
	last *document  // what was read or written last: a verb looks several times, and mostly finds the same text
}

var _ registry.Registry = (*Registry)(nil)

// Open returns the registry whose YAML has this path; it need not exist. If the path is a link, everything is stored beside the
// link's target.
func Open(path string) (*Registry, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if filepath.Ext(abs) == ".db" {
		return nil, fmt.Errorf("open registry %s: this is the name of its database", path)
	}
	return &Registry{path: abs, now: time.Now, wait: busyFor, step: func(string) {}}, nil
}

// Path returns the absolute path of the YAML as it was named.
func (r *Registry) Path() string { return r.path }

// Rows implements [registry.Registry].
func (r *Registry) Rows(ctx context.Context) ([]registry.Row, []registry.Problem, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var rows []registry.Row
	var problems []registry.Problem
	err := r.within(ctx, false, func(v *visit) error {
		rows, problems = v.merged.rows(), v.merged.problems
		return nil
	})
	if err == nil {
		return rows, problems, nil
	}
	if note, plainly := r.unwritable(err); plainly {
		rows, problems, fault := r.plainRows(ctx, note)
		if note == "" || !errors.Is(fault, fs.ErrNotExist) { // else the database is all that there is
			return rows, problems, fault
		}
	}
	return nil, nil, fmt.Errorf("read registry: %w", r.advised(err))
}

// Beside implements [registry.Registry].
func (r *Registry) Beside(ctx context.Context) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var beside []byte
	err := r.within(ctx, false, func(v *visit) error {
		beside = v.merged.doc.rest.with(ourKey, nil).json(nil)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read registry: %w", r.advised(err))
	}
	return beside, nil
}

// Change implements [registry.Registry].
func (r *Registry) Change(ctx context.Context, name string, f func(row *registry.Row, found bool) error) (registry.Row, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var row registry.Row
	var fault error // of f, or about the row: returned as it is
	err := r.within(ctx, true, func(v *visit) error {
		row, fault = v.change(name, f)
		return fault
	})
	if fault != nil {
		return row, fault
	}
	if err != nil {
		return registry.Row{}, fmt.Errorf("change session %s: %w", name, r.advised(err))
	}
	return row, nil
}

// A CorruptError says that the YAML as a whole cannot be understood.
type CorruptError struct {
	Path string
	Err  error // a *text.Fault
}

func (e *CorruptError) Error() string { return e.Path + ": " + e.Err.Error() }
func (e *CorruptError) Unwrap() error { return e.Err }

// Hint says how to get a registry that can be read.
func (e *CorruptError) Hint() string {
	return "repair that line, or go back to the version before the last change: " + e.Path + ".bak\n" +
		"to end a session meanwhile: tutti session stop NAME --force-no-yaml"
}

var errReadOnly = errors.New("the file may not be written")

// readOnly reports whether an error means that nothing can be written there.
func readOnly(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, errReadOnly)
}

// unwritable reports whether an error is one about writing, or about the database: the rows of the YAML can be returned
// nevertheless. The note says what is missing then, "" when that is expected.
func (r *Registry) unwritable(err error) (note string, ok bool) {
	var held *filelock.HeldError
	switch {
	case readOnly(err):
		return "", true
	case busy(err):
		return "another program holds the database: what it changes there is not seen", true
	case errors.As(err, &held):
		return fmt.Sprintf("%v: what stands in the database only is not seen", held), true
	case ofDatabase(err) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG):
		return fmt.Sprintf("what stands in the database only is not seen: %v", r.advised(err)), true
	}
	return "", false
}

// advised adds to an error what can be done about it.
func (r *Registry) advised(err error) error {
	if foreign(err) {
		return fmt.Errorf("%w; these are not the tables of a registry: move the database away, and it is made again from %s", err, r.path)
	}
	return err
}

// plainRows reads the YAML alone, where nothing may be written. A note becomes a problem.
func (r *Registry) plainRows(ctx context.Context, note string) ([]registry.Row, []registry.Problem, error) {
	p, err := r.find(false)
	if err != nil {
		return nil, nil, fmt.Errorf("read registry: %w", err)
	}
	defer p.dir.Close()
	var doc *document
	for until := r.now().Add(waitFor); doc == nil; {
		text, info, err := p.dir.Read(p.name, registry.MaxSize)
		if err != nil {
			return nil, nil, fmt.Errorf("read registry: %w", err)
		}
		read, fault := r.parse(text)
		switch patient := r.now().Before(until); {
		case patient && (info.Unstable || r.justWritten(info) && (halfWritten(text, fault) || cutOff(text))):
			if err := pause(ctx); err != nil {
				return nil, nil, fmt.Errorf("read registry: %w", err)
			}
		case fault != nil:
			return nil, nil, fmt.Errorf("read registry: %w", &CorruptError{Path: r.path, Err: fault})
		default:
			doc = read
		}
	}
	m := &merger{doc: doc, db: &stored{rows: map[string]storedRow{}, rest: &tree{kind: object}}}
	m.run()
	if note != "" {
		m.problem("", 0, false, "%s", note)
	}
	return m.rows(), m.problems, nil
}

// parse reads a text, unless it is the one that was read or written last.
func (r *Registry) parse(text []byte) (*document, error) {
	if r.last != nil && bytes.Equal(r.last.text, text) {
		return r.last, nil
	}
	d, err := parse(text)
	if err == nil {
		r.last = d
	}
	return d, err
}

func sumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
