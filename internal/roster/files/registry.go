package files

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

	"tutti/internal/atomicfile"
	"tutti/internal/roster"
)

// A Registry is the two files. It holds nothing open between calls, unless it is [Registry.Quick], and is safe for concurrent use.
type Registry struct {
	path  string // as the user named it
	cache string // folder; "": there is no cache

	now  func() time.Time
	wait time.Duration     // for another program that holds the database
	step func(name string) // of tests: between two steps of a change

	mu   sync.Mutex // one call at a time; the lock file does the same among processes
	last *document  // what was parsed last: most calls find the text unchanged
	seen *look

	quick bool      // see Quick
	idle  *database // open, between two calls
	due   *visit    // the last one, of which something is left to do
}

// A look is an agreement of both files that can be recognised without opening the database.
type look struct {
	text     []byte
	db       atomicfile.Info
	rows     []roster.Row
	problems []roster.Problem
}

var (
	_ roster.Registry = (*Registry)(nil)
	_ roster.Keeper   = (*Registry)(nil)
	_ roster.Quick    = (*Registry)(nil)
)

// Open returns the registry whose YAML has this path; it need not exist. Rows that are read or written go into a cache below
// cacheDir for [roster.Cached]; "" is none. Where the path is a link, everything lies beside what it leads to.
func Open(path, cacheDir string) (*Registry, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if filepath.Ext(abs) == ".db" {
		return nil, fmt.Errorf("open registry %s: this is the name of its database", path)
	}
	return &Registry{path: abs, cache: cacheDir, now: time.Now, wait: busyFor, step: func(string) {}}, nil
}

// Path returns the absolute path of the YAML as it was named.
func (r *Registry) Path() string { return r.path }

// Rows implements [roster.Registry].
func (r *Registry) Rows(ctx context.Context) ([]roster.Row, []roster.Problem, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if rows, problems, ok := r.glance(); ok {
		return rows, problems, nil
	}
	if rows, ok := r.cached(); ok {
		return rows, nil, nil
	}
	var rows []roster.Row
	var problems []roster.Problem
	err := r.within(ctx, false, func(v *visit) error {
		rows, problems = v.merged.rows(), v.merged.problems
		return nil
	})
	if err == nil {
		return rows, problems, nil
	}
	if readOnly(err) {
		return r.plainRows("")
	}
	if busy(err) {
		return r.plainRows("another program holds the database: what it changes there is not seen")
	}
	return nil, nil, fmt.Errorf("read registry: %w", err)
}

// Beside implements [roster.Keeper].
func (r *Registry) Beside(ctx context.Context) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var beside []byte
	err := r.within(ctx, false, func(v *visit) error {
		beside = v.merged.doc.rest.with(ourKey, nil).json(nil)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read registry: %w", err)
	}
	return beside, nil
}

// Change implements [roster.Registry].
func (r *Registry) Change(ctx context.Context, name string, f func(row *roster.Row, found bool) error) (roster.Row, error) {
	r.mu.Lock()
	if r.quick {
		return r.changeAhead(ctx, name, f)
	}
	defer r.mu.Unlock()
	return r.change(ctx, name, f, nil)
}

// change is Change. It calls made, if there is one, as soon as the YAML has the row for good.
func (r *Registry) change(ctx context.Context, name string, f func(row *roster.Row, found bool) error, made func(roster.Row)) (roster.Row, error) {
	var row roster.Row
	var fault error // of f, or about the row: returned as it is
	err := r.within(ctx, true, func(v *visit) error {
		row, fault = v.change(name, f)
		if made != nil {
			v.made = func() { made(row.Clone()) }
		}
		return fault
	})
	if fault != nil {
		return row, fault
	}
	if err != nil {
		return roster.Row{}, fmt.Errorf("change session %s: %w", name, err)
	}
	return row, nil
}

// glance returns the rows of the last agreement if nobody has touched either file since.
func (r *Registry) glance() ([]roster.Row, []roster.Problem, bool) {
	if r.seen == nil {
		return nil, nil, false
	}
	p, err := r.find(false)
	if err != nil {
		return nil, nil, false
	}
	defer p.dir.Close()
	text, info, err := p.dir.Read(p.name, roster.MaxSize)
	db := roster.DatabaseInfo(p.dir, p.name)
	if err != nil || info.Unstable || db.Unstable || db != r.seen.db || !bytes.Equal(text, r.seen.text) {
		return nil, nil, false
	}
	rows := make([]roster.Row, len(r.seen.rows))
	for i := range rows {
		rows[i] = r.seen.rows[i].Clone()
	}
	return rows, r.seen.problems, true
}

var errReadOnly = errors.New("the file may not be written")

// readOnly reports whether an error means that nothing can be written there.
func readOnly(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, errReadOnly)
}

// plainRows reads the YAML alone, where nothing may be written. A note becomes a problem.
func (r *Registry) plainRows(note string) ([]roster.Row, []roster.Problem, error) {
	p, err := r.find(false)
	if err != nil {
		return nil, nil, fmt.Errorf("read registry: %w", err)
	}
	defer p.dir.Close()
	text, _, err := p.dir.Read(p.name, roster.MaxSize)
	if err != nil {
		return nil, nil, fmt.Errorf("read registry: %w", err)
	}
	doc, err := r.parse(text)
	if err != nil {
		return nil, nil, fmt.Errorf("read registry: %w", r.syntax(err))
	}
	m := &merger{doc: doc, db: &stored{rows: map[string]storedRow{}, rest: &tree{kind: object}}}
	m.run()
	if note != "" {
		m.problem("", 0, false, "%s", note)
	}
	return m.rows(), m.problems, nil
}

func sumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
