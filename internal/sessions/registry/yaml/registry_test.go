package yaml

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tutti/internal/core/text"
	"tutti/internal/sessions/registry"
)

// A bench is a registry of a test.
type bench struct {
	*Registry
	t testing.TB
}

func newBench(t testing.TB, text string) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(filepath.Join(dir, ".hermes", "agent-sessions.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{r, t}
	if text != "" {
		if err := os.Mkdir(filepath.Dir(r.path), 0o700); err != nil {
			t.Fatal(err)
		}
		b.write(text)
	}
	return b
}

// write is an edit by hand, long ago: what was just written is waited for.
func (b *bench) write(text string) {
	b.t.Helper()
	if err := os.WriteFile(b.path, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
	b.old()
}

// old makes the registry believe that files were changed long ago.
func (b *bench) old() {
	b.now = func() time.Time { return time.Now().Add(time.Hour) }
}

func (b *bench) yaml() string {
	b.t.Helper()
	text, err := os.ReadFile(b.path)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

func (b *bench) edit(old, new string) {
	b.t.Helper()
	text := b.yaml()
	if !strings.Contains(text, old) {
		b.t.Fatalf("no %q in\n%s", old, text)
	}
	b.write(strings.Replace(text, old, new, 1))
}

// names returns the names of the rows with their statuses.
func (b *bench) names() string {
	b.t.Helper()
	rows, _ := b.rows()
	return rows
}

func (b *bench) rows() (string, string) {
	b.t.Helper()
	rows, problems, err := b.Rows(context.Background())
	if err != nil {
		b.t.Fatal("rows:", err)
	}
	var out, odd []string
	for _, r := range rows {
		out = append(out, r.Name+"="+string(r.Status))
	}
	for _, p := range problems {
		odd = append(odd, p.String())
	}
	return strings.Join(out, " "), strings.Join(odd, "; ")
}

func (b *bench) set(name string, status registry.Status) {
	b.t.Helper()
	if _, err := b.Change(context.Background(), name, func(r *registry.Row, _ bool) error { r.Status = status; return nil }); err != nil {
		b.t.Fatalf("set %s: %v", name, err)
	}
}

// sql opens the database as another program does.
func (b *bench) sql() *sql.DB {
	b.t.Helper()
	db, err := sql.Open("sqlite", "file:"+registry.Database(b.path)+"?_pragma=busy_timeout(5000)")
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { db.Close() })
	return db
}

func (b *bench) exec(query string, args ...any) {
	b.t.Helper()
	db := b.sql()
	if _, err := db.Exec(query, args...); err != nil {
		b.t.Fatal(query, err)
	}
	db.Close()
}

// stored returns the rows of the database with their statuses, in the order of their names.
func (b *bench) stored() string {
	b.t.Helper()
	db := b.sql()
	defer db.Close()
	rows, err := db.Query("SELECT name, status, coalesce(pane_cwd, ''), json_extract(data, '$.status') FROM sessions ORDER BY name")
	if err != nil {
		b.t.Fatal(err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var name, status, cwd, in string
		if err := rows.Scan(&name, &status, &cwd, &in); err != nil {
			b.t.Fatal(err)
		}
		if status != in {
			b.t.Errorf("row %s: column %q, data %q", name, status, in)
		}
		out = append(out, name+"="+status)
	}
	return strings.Join(out, " ")
}

// agree fails unless both files say the same.
func (b *bench) agree(want string) {
	b.t.Helper()
	sorted := func(s string) string { l := strings.Fields(s); slices.Sort(l); return strings.Join(l, " ") }
	got, odd := b.rows()
	if sorted(got) != sorted(want) || odd != "" {
		b.t.Errorf("rows: %s (%s), want %s\n%s", got, odd, want, b.yaml())
	}
	if s := b.stored(); s != sorted(want) {
		b.t.Errorf("database: %s, want %s", s, sorted(want))
	}
}

const two = `# by hand
tmux_sessions:
  - name: a   # the first
    status: running
    pane: {pid: 1, cwd: /a}
  - name: b
    status: stopped
    pane: {}
    role: tester
agent_identities:
  claude: {session_id: x}
`

func TestMissingFile(t *testing.T) {
	t.Parallel()
	b := newBench(t, "")
	if _, _, err := b.Rows(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("rows of nothing: %v", err)
	}
	if _, err := os.Lstat(filepath.Dir(b.path)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("looking left something: %v", err)
	}
	b.set("a", registry.Running)
	b.agree("a=running")
	if !strings.HasPrefix(b.yaml(), "tmux_sessions:\n- name: a\n  status: running\n") {
		t.Errorf("made\n%s", b.yaml())
	}
	for _, f := range []string{".", "agent-sessions.yaml", "agent-sessions.db", ".agent-sessions.lock"} {
		info, err := os.Stat(filepath.Join(filepath.Dir(b.path), f))
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", f, info.Mode(), err)
		}
	}
}

func TestReadOfEmptyFolderWritesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, "")
	if err := os.Mkdir(filepath.Dir(b.path), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.Rows(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("rows of nothing: %v", err)
	}
	if list, err := os.ReadDir(filepath.Dir(b.path)); err != nil || len(list) > 0 {
		t.Errorf("looking left %v, %v", list, err)
	}
}

func TestChange(t *testing.T) {
	t.Parallel()
	b := newBench(t, two)
	b.agree("a=running b=stopped")
	if b.yaml() != two {
		t.Errorf("looking changed the file:\n%s", b.yaml())
	}
	row, err := b.Change(t.Context(), "a", func(r *registry.Row, found bool) error {
		if !found || r.Pane.Cwd != "/a" {
			t.Errorf("found %v, %+v", found, r)
		}
		r.Status = registry.Stopped
		return nil
	})
	if err != nil || row.Revision != 1 || row.UpdatedAt.IsZero() || row.Status != registry.Stopped {
		t.Fatalf("changed to %s, %v", row.JSON(), err)
	}
	b.agree("a=stopped b=stopped")
	at := row.UpdatedAt
	want := strings.Replace(two, "    status: running\n    pane: {pid: 1, cwd: /a}\n", "    status: stopped\n    pane: {pid: 1, cwd: /a}\n"+
		fmt.Sprintf("    updated_at: %q\n    updated_at_epoch: %d\n    revision: 1\n", at.Format(time.RFC3339), at.Unix()), 1)
	if b.yaml() != want {
		t.Errorf("the file became\n%s\nwant\n%s", b.yaml(), want)
	}
	if bak, err := os.ReadFile(b.path + ".bak"); err != nil || string(bak) != two {
		t.Errorf("kept %q, %v", bak, err)
	}
	for what, f := range map[string]func(r *registry.Row, found bool) error{
		"no change": func(r *registry.Row, _ bool) error { r.Status = registry.Running; return registry.ErrNoChange },
		"the same":  func(r *registry.Row, _ bool) error { return nil },
	} {
		if row, err := b.Change(t.Context(), "a", f); err != nil || row.Status != registry.Stopped || row.Revision != 1 || b.yaml() != want {
			t.Errorf("%s: %s, %v", what, row.JSON(), err)
		}
	}
	mine := errors.New("mine")
	for what, c := range map[string]struct {
		name string
		f    func(r *registry.Row, found bool) error
		want error
	}{
		"an error":            {"a", func(*registry.Row, bool) error { return mine }, mine},
		"another role":        {"b", func(r *registry.Row, _ bool) error { r.Role = "x"; return nil }, registry.ErrRole},
		"another server":      {"b", func(r *registry.Row, _ bool) error { r.Server = "x"; return nil }, registry.ErrServer},
		"another name":        {"b", func(r *registry.Row, _ bool) error { r.Name = "x"; return nil }, nil},
		"no status":           {"new", func(r *registry.Row, _ bool) error { return nil }, nil},
		"a status of its own": {"a", func(r *registry.Row, _ bool) error { r.Status = "dead"; return nil }, nil},
	} {
		if _, err := b.Change(t.Context(), c.name, c.f); err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v", what, err)
		}
		if b.yaml() != want {
			t.Errorf("%s changed the file", what)
		}
	}
	b.agree("a=stopped b=stopped")
}

func TestEditsByHand(t *testing.T) {
	t.Parallel()
	b := newBench(t, two)
	b.agree("a=running b=stopped")
	b.edit("status: running", "status: terminated")
	b.agree("a=terminated b=stopped")
	b.edit("  - name: b", "  - {name: c, status: running, pane: {}}\n  - name: b")
	b.agree("a=terminated c=running b=stopped")
	b.edit("  - {name: c, status: running, pane: {}}\n", "")
	b.agree("a=terminated b=stopped")
	b.edit("status: terminated", "status: terminatedd")
	if rows, odd := b.rows(); rows != "b=stopped" || !strings.Contains(odd, `line 3: session "a": its status is "terminatedd"`) {
		t.Errorf("rows %s, problems %s", rows, odd)
	}
	if s := b.stored(); s != "a=terminated b=stopped" {
		t.Errorf("the database lost the row: %s", s)
	}
	var invalid *registry.InvalidError
	if _, err := b.Change(t.Context(), "a", func(*registry.Row, bool) error { return nil }); !errors.As(err, &invalid) || invalid.Line != 3 {
		t.Errorf("change of a row that cannot be used: %v", err)
	}
	b.set("b", registry.Running)
	b.edit("status: terminatedd", "status: stopped")
	b.agree("a=stopped b=running")
	b.edit("role: tester", "role: reviewer")
	if rows, odd := b.rows(); rows != "a=stopped" || !strings.Contains(odd, "role") {
		t.Errorf("rows %s, problems %s", rows, odd)
	}
	b.edit("role: reviewer", "role: tester")
	b.agree("a=stopped b=running")
	b.edit("- name: b", "- nam: b")
	if rows, odd := b.rows(); rows != "a=stopped" || !strings.Contains(odd, "no name") || !strings.Contains(odd, `"b"`) {
		t.Errorf("rows %s, problems %s", rows, odd)
	}
	if s := b.stored(); s != "a=stopped b=running" {
		t.Errorf("the database lost the row: %s", s)
	}
	b.edit("- nam: b", "- name: b")
	b.agree("a=stopped b=running")
	b.write(b.yaml() + "tmux_sessions: []\n")
	var syntax *text.Fault
	if _, _, err := b.Rows(t.Context()); !errors.As(err, &syntax) || syntax.Line == 0 {
		t.Errorf("two lists: %v", err)
	}
}

func TestMissingOrDamagedDatabase(t *testing.T) {
	t.Parallel()
	b := newBench(t, two)
	b.set("a", registry.Stopped)
	db := registry.Database(b.path)
	if err := os.Remove(db); err != nil {
		t.Fatal(err)
	}
	b.agree("a=stopped b=stopped")

	if err := os.Remove(b.path); err != nil {
		t.Fatal(err)
	}
	b.agree("a=stopped b=stopped")
	if !strings.Contains(b.yaml(), "session_id: x") {
		t.Errorf("what is beside the rows was lost:\n%s", b.yaml())
	}
	b.write(" \n")
	b.agree("a=stopped b=stopped")

	if err := os.WriteFile(db, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	b.agree("a=stopped b=stopped")
	kept, err := filepath.Glob(db + ".damaged-*")
	if err != nil || len(kept) != 1 {
		t.Errorf("kept %v, %v", kept, err)
	}
	text, err := os.ReadFile(db)
	if err != nil {
		t.Fatal(err)
	}
	for i := 4096; i < len(text); i++ {
		text[i] = 0xff
	}
	if err := os.WriteFile(db, text, 0o600); err != nil {
		t.Fatal(err)
	}
	b.set("b", registry.Running)
	b.agree("a=stopped b=running")
	if kept, _ := filepath.Glob(db + ".damaged-*"); len(kept) != 2 {
		t.Errorf("kept %v", kept)
	}
	if err := os.WriteFile(db, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(b.path); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.Rows(t.Context()); err == nil || !strings.Contains(err.Error(), ".damaged-") {
		t.Errorf("neither of the two is left: %v", err)
	}
}

func TestForeignDatabaseChanges(t *testing.T) {
	t.Parallel()
	b := newBench(t, two)
	b.agree("a=running b=stopped")
	b.exec(`UPDATE sessions SET status = 'terminated', data = json_set(data, '$.status', 'terminated', '$.by', 'them') WHERE name = 'a'`)
	b.exec(`INSERT INTO sessions VALUES ('n', 'running', '/n', '{"name": "n", "status": "running", "pane": {"cwd": "/n"}}')`)
	b.exec(`UPDATE state SET data = json_set(data, '$.agent_identities.codex', 'new', '$.more', 1)`)
	b.agree("a=terminated b=stopped n=running")
	if y := b.yaml(); !strings.Contains(y, "by: them") || !strings.Contains(y, "# the first") || !strings.Contains(y, "codex: new") || !strings.Contains(y, "more: 1") {
		t.Errorf("the file became\n%s", y)
	}
	b.exec(`DELETE FROM sessions WHERE name = 'b'`)
	b.agree("a=terminated b=stopped n=running")
	// Both sides change.
	b.exec(`UPDATE sessions SET status = 'archived', data = json_set(data, '$.status', 'archived') WHERE name IN ('a', 'n')`)
	b.edit("status: terminated", "status: running")
	b.edit(b.yaml()[strings.Index(b.yaml(), "  - name: \"n\""):strings.Index(b.yaml(), "agent_identities")], "")
	rows, odd := b.rows()
	if rows != "a=running b=stopped n=archived" || !strings.Contains(odd, "the file counts") || !strings.Contains(odd, "it stays") {
		t.Errorf("rows %s, problems %s", rows, odd)
	}
	b.set("b", registry.Running)
	b.agree("a=running b=running n=archived")
	// What cannot be used there is left alone.
	b.exec(`INSERT INTO sessions VALUES ('bad', 'walking', '', '{"name": "bad", "status": "walking", "pane": {}}'), ('none', '', '', 'x{')`)
	rows, odd = b.rows()
	if rows != "a=running b=running n=archived" || !strings.Contains(odd, "bad") || !strings.Contains(odd, "none") {
		t.Errorf("rows %s, problems %s", rows, odd)
	}
	b.set("b", registry.Stopped)
	b.exec(`DELETE FROM sessions WHERE name = 'none'`)
	b.exec(`UPDATE sessions SET status = 'running', data = json_set(data, '$.status', 'running') WHERE name = 'bad'`)
	b.agree("a=running b=stopped n=archived bad=running")
	// The state is theirs to write as they like.
	b.exec(`UPDATE state SET data = '{"agent_identities": {}}'`)
	b.set("a", registry.Stopped)
	b.agree("a=stopped b=stopped n=archived bad=running")
}

func TestDatabaseOfOneBlob(t *testing.T) {
	t.Parallel()
	b := newBench(t, "")
	if err := os.Mkdir(filepath.Dir(b.path), 0o700); err != nil {
		t.Fatal(err)
	}
	b.exec(`CREATE TABLE state (id INTEGER PRIMARY KEY CHECK (id = 1), data TEXT)`)
	b.exec(`INSERT INTO state VALUES (1, '{"tmux_sessions": [{"name": "old", "status": "stopped", "pane": {"cwd": "/o"}}], "agent_identities": {"agy": 1}}')`)
	b.agree("old=stopped")
	if !strings.Contains(b.yaml(), "agy: 1") {
		t.Errorf("the file became\n%s", b.yaml())
	}
}

func TestBeside(t *testing.T) {
	t.Parallel()
	b := newBench(t, two+"tutti: {theirs: 1}\n")
	got, err := b.Beside(t.Context())
	if want := `{"agent_identities":{"claude":{"session_id":"x"}}}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	if _, err := newBench(t, "").Beside(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of nothing: %v", err)
	}
}

// TestRenameOnlyFileSystem writes as on file systems that can only rename.
func TestRenameOnlyFileSystem(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		now  string
		want error
	}{"as it was read": {two, nil}, "changed meanwhile": {two + "# more\n", errAgain}} {
		b := newBench(t, c.now)
		p, err := b.find(false)
		if err != nil {
			t.Fatal(err)
		}
		defer p.dir.Close()
		tmp, err := p.dir.Stage([]byte("new"), 0o600, true)
		if err != nil {
			t.Fatal(err)
		}
		v := &visit{r: b.Registry, place: p, text: []byte(two), exists: true}
		err = v.rename(tmp)
		bak, _ := os.ReadFile(b.path + ".bak")
		switch {
		case !errors.Is(err, c.want):
			t.Errorf("%s: %v, want %v", what, err, c.want)
		case err == nil && (b.yaml() != "new" || string(bak) != two):
			t.Errorf("%s: %q, kept %q", what, b.yaml(), bak)
		case err != nil && b.yaml() != c.now:
			t.Errorf("%s: refused, and became %q", what, b.yaml())
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(b.path), ".tutti-*")); len(left) > 0 {
			t.Errorf("%s: left behind %v", what, left)
		}
	}
}

// TestConcurrentChanges changes and looks from many goroutines of one process.
func TestConcurrentChanges(t *testing.T) {
	t.Parallel()
	b := newBench(t, "")
	other, err := Open(b.path)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	for i := range 8 {
		go func() {
			r := []*Registry{b.Registry, other}[i%2]
			var err error
			for n := range 5 {
				if err == nil {
					err = count(t.Context(), r, "shared", fmt.Sprint(i))
				}
				if _, _, e := r.Rows(t.Context()); err == nil && n > 0 {
					err = e
				}
			}
			done <- err
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	rows, _, err := b.Rows(t.Context())
	if err != nil || len(rows) != 1 || rows[0].Revision != 40 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	b.agree("shared=running")
}
