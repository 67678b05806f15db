package yaml

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tutti/internal/platform/filelock"
	"tutti/internal/sessions/registry"
	"tutti/internal/test/boundtest"
)

// TestForeignDatabases: finds a database that another program has made in another format. The rows of the file are still listed, and if the
// database cannot be written, a change is refused with a hint.
func TestForeignDatabases(t *testing.T) {
	t.Parallel()
	const tables = `CREATE TABLE sessions (name TEXT PRIMARY KEY, status TEXT, pane_cwd TEXT, data JSON);`
	for what, c := range map[string]struct {
		sql     string
		problem string // of a look; "": none
		refused string // what a change is refused with; "": it is made
	}{
		"other tables":              {`CREATE TABLE sessions (a, b); CREATE TABLE state (x)`, "move the database away", "move the database away"},
		"the state is a view":       {tables + `CREATE VIEW state (id, data) AS SELECT 1, '{}'`, "move the database away", "move the database away"},
		"the sessions are a view":   {`CREATE VIEW sessions (name, status, pane_cwd, data) AS SELECT 'x', '', '', '{}'`, "move the database away", "move the database away"},
		"one more column, required": {`CREATE TABLE sessions (name TEXT PRIMARY KEY, status TEXT, pane_cwd TEXT, data JSON, since TEXT NOT NULL)`, "move the database away", ""},
		"a row without a name":      {tables + `INSERT INTO sessions VALUES (NULL, 'running', '', '{"name": "n", "status": "running", "pane": {}}')`, "no name", ""},
		"a state without a key":     {tables + `CREATE TABLE state (id INTEGER, data TEXT)`, "", ""},
		"a state that says nothing": {tables + `CREATE TABLE state (id INTEGER PRIMARY KEY, data TEXT); INSERT INTO state VALUES (1, NULL)`, "", ""},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, two)
			b.exec(c.sql)
			rows, problems := b.rows()
			if rows != "a=running b=stopped" || (problems == "") != (c.problem == "") || !strings.Contains(problems, c.problem) {
				t.Errorf("rows %s, problems %q, want one about %q", rows, problems, c.problem)
			}
			_, err := b.Change(t.Context(), "a", func(r *registry.Row, _ bool) error { r.Status = registry.Stopped; return nil })
			switch {
			case c.refused == "" && err != nil, c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)):
				t.Errorf("change: %v, want %q", err, c.refused)
			case (b.yaml() == two) != (err != nil):
				t.Errorf("%v, and the file became\n%s", err, b.yaml())
			}
			if c.problem == "" {
				b.agree("a=stopped b=stopped")
			}
			if what == "a row without a name" {
				db := b.sql()
				var n int
				if err := db.QueryRow("SELECT count(*) FROM sessions WHERE name IS NULL").Scan(&n); err != nil || n != 1 {
					t.Errorf("%d rows without a name are left, %v", n, err)
				}
			}
		})
	}
}

// TestReadOnFullDisk looks where no file can grow, though there is something to write.
func TestReadOnFullDisk(t *testing.T) {
	t.Parallel()
	b := newBench(t, two)
	b.names()
	b.exec(`UPDATE sessions SET status = 'terminated', data = json_set(data, '$.status', 'terminated') WHERE name = 'a'`)
	before := b.yaml()
	out, err := b.command("tight").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "2 [") || !strings.HasSuffix(string(out), "<nil>\n") || !strings.Contains(string(out), "is not seen") {
		t.Errorf("%v\n%s", err, out)
	}
	if b.yaml() != before {
		t.Errorf("the file became\n%s", b.yaml())
	}
	b.agree("a=terminated b=stopped")
}

// TestReadWhileLocked: a reader is answered while another process holds the lock.
func TestReadWhileLocked(t *testing.T) {
	t.Parallel()
	b := newBench(t, two)
	b.names()
	p, err := b.find(false)
	if err != nil {
		t.Fatal(err)
	}
	defer p.dir.Close()
	lock, err := filelock.Acquire(t.Context(), p.dir.FD(), p.dir.Path(), filelock.Options{Kernel: p.lock()})
	if err != nil {
		t.Fatal(err)
	}
	other, err := Open(b.path)
	if err != nil {
		t.Fatal(err)
	}
	o := &bench{other, t}
	o.old()
	o.wait = 20 * time.Millisecond
	if rows, problems := o.rows(); rows != "a=running b=stopped" || !strings.Contains(problems, "is held by") {
		t.Errorf("rows %s, problems %s", rows, problems)
	}
	if _, err := o.Change(t.Context(), "a", func(r *registry.Row, _ bool) error { r.Status = registry.Stopped; return nil }); err == nil {
		t.Error("a change without the lock")
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	o.agree("a=running b=stopped")
}

// TestReadOnlyDatabase lets a user without rights work where the database may only be read. The file has what is changed, and
// the database gets it once it can be written.
func TestReadOnlyDatabase(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("/tmp", "roster-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	r, err := Open(filepath.Join(dir, "p", "agent-sessions.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{r, t}
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(filepath.Dir(b.path), 0o755)); err != nil {
		t.Fatal(err)
	}
	b.write(two)
	b.names()
	files, err := filepath.Glob(filepath.Join(dir, "p", "*"))
	if err != nil {
		t.Fatal(err)
	}
	hidden, _ := filepath.Glob(filepath.Join(dir, "p", ".*.lock"))
	for _, f := range append(append(files, hidden...), filepath.Dir(b.path)) {
		if os.Getuid() == 0 {
			if err := os.Chown(f, 65534, 65534); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Chmod(registry.Database(b.path), 0o400); err != nil {
		t.Fatal(err)
	}
	out := b.notRoot(t, "look")
	if out != "2 <nil>\n<nil>\n" || !strings.Contains(b.yaml(), "archived") {
		t.Errorf("%s, and the file is\n%s", out, b.yaml())
	}
	if err := os.Chmod(registry.Database(b.path), 0o600); err != nil {
		t.Fatal(err)
	}
	b.old()
	if rows, problems := b.rows(); rows != "a=archived b=stopped" || problems != "" || b.stored() != rows {
		t.Errorf("afterwards: rows %s, %s, the database %s", rows, problems, b.stored())
	}
}

// TestMembersBesideRows changes what is beside the rows in the file, in the database, in both. As of rows, nothing is lost in silence.
func TestMembersBesideRows(t *testing.T) {
	t.Parallel()
	const codex = `UPDATE state SET data = json_set(data, '$.agent_identities.codex', json('{"session_id": "c"}'))`
	const claude = `UPDATE state SET data = json_set(data, '$.agent_identities.claude.session_id', 'y')`
	const forget = `UPDATE state SET data = json_remove(data, '$.tutti')`
	for what, c := range map[string]struct {
		edit, sql  string
		want, lost string
	}{
		"in the file":               {"z", "", `{"claude":{"session_id":"z"}}`, ""},
		"in the database":           {"", claude, `{"claude":{"session_id":"y"}}`, ""},
		"new in the database":       {"", codex, `{"claude":{"session_id":"x"},"codex":{"session_id":"c"}}`, ""},
		"in both":                   {"z", claude, `{"claude":{"session_id":"z"}}`, "agent_identities.claude.session_id"},
		"each another thing":        {"z", codex, `{"claude":{"session_id":"z"},"codex":{"session_id":"c"}}`, "agent_identities.claude.session_id"},
		"known to neither":          {"", forget + ";" + codex, `{"claude":{"session_id":"x"},"codex":{"session_id":"c"}}`, ""},
		"known to neither, in both": {"z", forget + ";" + claude, `{"claude":{"session_id":"z"}}`, "agent_identities.claude.session_id"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, two)
			b.names()
			if c.edit != "" {
				b.edit("session_id: x", "session_id: "+c.edit)
			}
			if c.sql != "" {
				b.exec(c.sql)
			}
			if rows, problems := b.rows(); rows != "a=running b=stopped" || (problems == "") != (c.lost == "") || !strings.Contains(problems, c.lost) {
				t.Errorf("rows %s, problems %q, want one about %q", rows, problems, c.lost)
			}
			for _, where := range []string{"at once", "later"} {
				beside, err := b.Beside(t.Context())
				if want := `{"agent_identities":` + c.want + `}`; err != nil || string(beside) != want {
					t.Errorf("%s: %s, %v, want %s", where, beside, err, want)
				}
			}
			b.agree("a=running b=stopped")
		})
	}
}

// TestRoleChangedInBothFiles: a role that was set stays, also where the file counts.
func TestRoleChangedInBothFiles(t *testing.T) {
	t.Parallel()
	for what, sql := range map[string]string{
		"both were changed": `UPDATE sessions SET data = json_set(data, '$.more', 1) WHERE name = 'b'`,
		"known to neither":  `UPDATE state SET data = '{}'`,
	} {
		b := newBench(t, two)
		b.names()
		b.exec(sql)
		b.edit("role: tester", "role: reviewer")
		if rows, problems := b.rows(); rows != "a=running" || !strings.Contains(problems, "may not change") {
			t.Errorf("%s: rows %s, problems %s", what, rows, problems)
		}
		b.edit("role: reviewer", "role: tester")
		if rows, _ := b.rows(); rows != "a=running b=stopped" {
			t.Errorf("%s: afterwards %s", what, rows)
		}
	}
}

// TestUnusableRowInDatabase: a row that another program has made unusable in the database is reported, and stays until the row is changed.
func TestUnusableRowInDatabase(t *testing.T) {
	t.Parallel()
	for what, sql := range map[string]string{
		"a status of theirs": `UPDATE sessions SET status = 'paused', data = json_set(data, '$.status', 'paused') WHERE name = 'a'`,
		"no JSON":            `UPDATE sessions SET status = 'paused', data = '{"status": "paused' WHERE name = 'a'`,
	} {
		status := func(b *bench) (is string) {
			if err := b.sql().QueryRow("SELECT status FROM sessions WHERE name = 'a'").Scan(&is); err != nil {
				t.Fatal(err)
			}
			return is
		}
		b := newBench(t, two)
		b.names()
		b.exec(sql)
		for range 2 {
			if rows, problems := b.rows(); rows != "a=running b=stopped" || !strings.Contains(problems, "not taken over") || status(b) != "paused" {
				t.Errorf("%s: rows %s, problems %s, status %s", what, rows, problems, status(b))
			}
		}
		b.set("a", registry.Stopped)
		b.agree("a=stopped b=stopped")

		// Where the file was edited, too, it counts.
		b.exec(sql)
		b.edit("status: stopped", "status: archived")
		if rows, problems := b.rows(); rows != "a=archived b=stopped" || !strings.Contains(problems, "the file counts") {
			t.Errorf("%s: rows %s, problems %s", what, rows, problems)
		}
		b.agree("a=archived b=stopped")
	}
}

// TestFileFromStaleEditor: an editor that was opened before a change, or a program that writes what it read before, overwrites the change.
// The file counts, and the lost change is reported.
func TestFileFromStaleEditor(t *testing.T) {
	t.Parallel()
	b := newBench(t, two)
	b.set("a", registry.Stopped)
	before := b.yaml()
	b.set("a", registry.Terminated)
	b.set("b", registry.Archived)
	b.write(strings.Replace(before, "role: tester", "role: tester\n    x_more: 1", 1))
	rows, problems := b.rows()
	if rows != "a=stopped b=stopped" || !strings.Contains(problems, `"a": the file has its revision 1, and there was a revision 2`) || !strings.Contains(problems, `"b"`) {
		t.Errorf("rows %s, problems %s", rows, problems)
	}
	b.agree("a=stopped b=stopped")
	// An edit of what is there is no such thing.
	b.edit("x_more: 1", "x_more: 2")
	b.agree("a=stopped b=stopped")
}

// TestFileWithOnlyComments: a file with only comments removes no row.
func TestFileWithOnlyComments(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"# by hand\n", "---\n", "\ufeff\n", "# by hand\n\n# and more\n"} {
		b := newBench(t, two)
		b.names()
		b.write(text)
		b.agree("a=running b=stopped")
		if !strings.HasPrefix(b.yaml(), text) {
			t.Errorf("%q became\n%s", text, b.yaml())
		}
	}
	// A list without rows says that there are none.
	b := newBench(t, two)
	b.names()
	b.write("tmux_sessions: []\n")
	b.agree("")
}

// TestRowWithoutName: a name that says nothing is none.
func TestRowWithoutName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "null", "~", "[]", "!!null b"} {
		b := newBench(t, two)
		b.names()
		b.edit("- name: b", "- name: "+name)
		if rows, problems := b.rows(); rows != "a=running" || !strings.Contains(problems, `"b": it is not in the file any more, but a row there has no name`) {
			t.Errorf("name %q: rows %s, problems %s", name, rows, problems)
		}
		if got := b.stored(); got != "a=running b=stopped" {
			t.Errorf("name %q: the database has %s", name, got)
		}
	}
}

// TestUnfinishedTextIsAwaited: a recent write that ends within a line may continue, so the reader waits.
func TestUnfinishedTextIsAwaited(t *testing.T) {
	t.Parallel()
	b := newBench(t, two)
	b.names()
	half := two[:strings.Index(two, "tester")+3]
	b.write(half)
	b.now = func() time.Time {
		info, err := os.Stat(b.path)
		if err != nil {
			t.Error(err)
		}
		return info.ModTime()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := b.Change(ctx, "a", func(r *registry.Row, _ bool) error { r.Status = registry.Stopped; return nil })
	if !errors.Is(err, context.DeadlineExceeded) || b.yaml() != half {
		t.Errorf("%v\n%s", err, b.yaml())
	}
}

// TestOwnTextIsNotAwaited: text on which both files agree is complete, even if it is recent and its last line has no newline.
func TestOwnTextIsNotAwaited(t *testing.T) {
	t.Parallel()
	b := newBench(t, strings.TrimSuffix(two, "\n"))
	b.set("a", registry.Stopped)
	b.now = func() time.Time {
		info, err := os.Stat(b.path)
		if err != nil {
			t.Error(err)
		}
		return info.ModTime()
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tries := 0
	b.step = func(step string) {
		if step == "locked" {
			tries++
		}
		if tries > 5 {
			cancel()
		}
	}
	_, err := b.Change(ctx, "a", func(r *registry.Row, _ bool) error { r.Status = registry.Archived; return nil })
	if err != nil || tries != 1 || strings.HasSuffix(b.yaml(), "\n") {
		t.Errorf("%v, after %d tries\n%s", err, tries, b.yaml())
	}
}

// TestTagsBeforeValues: a tag that does not fit to its word makes no broken JSON, and no mapping of a word.
func TestTagsBeforeValues(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"!!bool yes": `"yes"`, "!!bool TRUE": "true", "!!bool 'x y'": `"x y"`, "!!int 0x1F": "31", `!!int '{"a": 1}'`: `"{\"a\": 1}"`, "!!int ' 5 '": "5",
		"!!float '[1]'": `"[1]"`, "!!float 'null'": `"null"`, "!!float 1.50": "1.50", "!!int true": `"true"`, ".inf": `".inf"`, "0o17": "15", "+1": "1",
		"18446744073709551615": "18446744073709551615", "2026-11-21": `"2026-11-21"`, "!x {a: !y 1}": `{"a":"1"}`, "!!null x": "null",
	} {
		d, err := parse([]byte("x: " + text + "\n"))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := string(d.rest.at("x").json(nil)); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestManyOfEverything reads files of a few megabytes that have more of one thing than anybody needs. Work that grows with the square of it
// would take minutes and hours.
func TestManyOfEverything(t *testing.T) {
	boundtest.OneGoroutine(t)
	t.Parallel()
	many := 50_000 // work that grew with its square took 24 s and more
	members := func(n int, indent string) string {
		var s strings.Builder
		for i := range n {
			fmt.Fprintf(&s, "%sx%d: %d\n", indent, i, i)
		}
		return s.String()
	}
	rows := func(n int) string {
		var s strings.Builder
		for i := range n {
			fmt.Fprintf(&s, "- {name: r%d, status: stopped, pane: {}}\n", i)
		}
		return s.String()
	}
	for what, c := range map[string]struct{ text, problem string }{
		"members of a row":    {two[:strings.Index(two, "agent_id")] + members(many, "    "), "more than 1000 members"},
		"members of a pane":   {two[:strings.Index(two, "agent_id")] + "  - name: c\n    status: running\n    pane:\n" + members(many, "      "), "more than 1000 members"},
		"members beside":      {two + "others:\n" + members(many, "  "), ""},
		"members merged":      {"base: &b\n" + members(many*4/5, "  ") + two + "others:\n  <<: *b\n" + members(many, "  "), ""},
		"rows":                {"tmux_sessions:\n" + rows(many/10), ""},
		"rows without a name": {"tmux_sessions:\n" + strings.Repeat("- {}\n", many*2/5), "no pane"},
	} {
		t.Run(what, func(t *testing.T) {
			b := newBench(t, c.text)
			boundtest.Work(t, "reading and changing it", 10*time.Second, func() {
				if _, problems := b.rows(); !strings.Contains(problems, c.problem) || c.problem == "" && problems != "" {
					t.Errorf("problems %.300q, want one about %q", problems, c.problem)
				}
				b.set("one more", registry.Running)
			})
		})
	}
}

// TestWriteManyRows makes a large file again from the database.
func TestWriteManyRows(t *testing.T) {
	boundtest.OneGoroutine(t)
	t.Parallel()
	text := "tmux_sessions:\n"
	for i := range 300 {
		text += fmt.Sprintf("- name: r%d\n  status: stopped\n  pane: {cwd: /srv/%d}\n  last_visible_screen: %q\n", i, i, strings.Repeat("a line of a screen\n", 100))
	}
	b := newBench(t, text)
	b.names()
	if err := os.Remove(b.path); err != nil {
		t.Fatal(err)
	}
	boundtest.Work(t, "making the file", 5*time.Second, func() {
		if rows, problems, err := b.Rows(t.Context()); err != nil || len(rows) != 300 || len(problems) > 0 {
			t.Errorf("%d rows, %v, %v", len(rows), problems, err)
		}
	})
}
