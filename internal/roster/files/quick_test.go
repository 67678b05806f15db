package files

import (
	"os"
	"slices"
	"testing"

	"tutti/internal/roster"
)

// newQuick returns a registry with two rows, which another process has read before.
func newQuick(t *testing.T) *bench {
	b := newBench(t, two)
	b.names()
	b.old()
	b.names()
	r, err := Open(b.path, b.cache)
	if err != nil {
		t.Fatal(err)
	}
	r.Quick()
	t.Cleanup(func() { _ = r.Close() })
	return &bench{r, t}
}

// nothingBeside tells of files that SQLite makes for as long as it has a database open.
func (b *bench) nothingBeside() {
	b.t.Helper()
	for _, end := range []string{"-wal", "-shm", "-journal"} {
		if _, err := os.Lstat(roster.Database(b.path) + end); err == nil {
			b.t.Errorf("there is a file that ends in %s", end)
		}
	}
}

func TestQuickRowsAreThoseOfTheFile(t *testing.T) {
	t.Parallel()
	b := newQuick(t)
	quick, _, err := b.Rows(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if b.seen != nil {
		t.Error("both files were read for rows that the cache has")
	}
	slow, err := Open(b.path, b.cache)
	if err != nil {
		t.Fatal(err)
	}
	rows, _, err := slow.Rows(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(quick, rows, func(a, b roster.Row) bool { return string(a.JSON()) == string(b.JSON()) }) {
		t.Errorf("got %v, want %v", quick, rows)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b.nothingBeside()
	b.agree("a=running b=stopped")
}

// TestQuickChangeReturnsBeforeTheDatabase holds the commit up: what the YAML has is told already, another process still waits, and Close
// waits, too.
func TestQuickChangeReturnsBeforeTheDatabase(t *testing.T) {
	t.Parallel()
	b := newQuick(t)
	hold, arrived := make(chan struct{}), make(chan struct{}, 1)
	b.mu.Lock()
	b.step = func(step string) {
		if step == "committed" {
			arrived <- struct{}{}
			<-hold
		}
	}
	b.mu.Unlock()
	b.set("a", roster.Stopped)
	if got := b.yaml(); !slices.Contains(namesOf(t, got), "a=stopped") {
		t.Errorf("the file does not have it:\n%s", got)
	}
	<-arrived
	closed := make(chan error, 1)
	go func() { closed <- b.Close() }()
	select {
	case <-closed:
		t.Error("Close has not waited")
	default:
	}
	close(hold)
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	b.nothingBeside()
	b.agree("a=stopped b=stopped")
}

// namesOf reads a text as a registry.
func namesOf(t *testing.T, text string) (all []string) {
	t.Helper()
	d, err := parse([]byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range d.rows {
		all = append(all, e.row.Name+"="+string(e.row.Status))
	}
	return all
}

// TestQuickSeesOthers lets others write between two calls of a process that keeps the database open.
func TestQuickSeesOthers(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		other func(b *bench)
		after string
	}{
		"nobody":          {func(*bench) {}, "a=archived b=stopped"},
		"an edit by hand": {func(b *bench) { b.edit("status: stopped\n    pane: {}", "status: archived\n    pane: {}") }, "a=archived b=archived"},
		"another process": {func(b *bench) { b.set("x", roster.Running) }, "a=archived b=stopped x=running"},
		"a program in the database": {func(b *bench) {
			b.exec(`UPDATE sessions SET status = 'archived', data = json_set(data, '$.status', 'archived') WHERE name = 'b'`)
		}, "a=archived b=archived"},
		"the database was removed": {func(b *bench) {
			for _, end := range []string{"", "-wal", "-shm"} {
				os.Remove(roster.Database(b.path) + end)
			}
		}, "a=archived b=stopped"},
		"the database was replaced": {func(b *bench) {
			db := roster.Database(b.path)
			data, err := os.ReadFile(db)
			if err != nil {
				b.t.Fatal(err)
			}
			for _, end := range []string{"", "-wal", "-shm"} {
				os.Remove(db + end)
			}
			if err := os.WriteFile(db, data, 0o600); err != nil {
				b.t.Fatal(err)
			}
		}, "a=archived b=stopped"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			b := newQuick(t)
			b.set("a", roster.Stopped)
			b.mu.Lock() // the database has followed
			if b.idle == nil {
				t.Error("the database is not kept open")
			}
			b.mu.Unlock()
			slow, err := Open(b.path, b.cache)
			if err != nil {
				t.Fatal(err)
			}
			c.other(&bench{slow, t})
			b.set("a", roster.Archived)
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			b.nothingBeside()
			b.agree(c.after)
		})
	}
}

// TestQuickRefusalsAreThoseOfChange: an error comes back, and the lock with it.
func TestQuickRefusalsAreThoseOfChange(t *testing.T) {
	t.Parallel()
	b := newQuick(t)
	_, err := b.Change(t.Context(), "b", func(row *roster.Row, _ bool) error { row.Role = "another"; return nil })
	if err == nil {
		t.Error("a role that was set was changed")
	}
	if _, err := b.Change(t.Context(), "a", func(*roster.Row, bool) error { return roster.ErrNoChange }); err != nil {
		t.Error(err)
	}
	b.set("a", roster.Stopped)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b.agree("a=stopped b=stopped")
}
