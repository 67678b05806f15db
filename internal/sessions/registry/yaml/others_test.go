package yaml

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tutti/internal/sessions/registry"
	"tutti/internal/test/boundtest"
	"tutti/internal/test/progfile"
)

// TestForeignWriteDuringChange lets another program write the YAML, without our lock, at each step of a change. Its writing and ours are
// both there in the end.
func TestForeignWriteDuringChange(t *testing.T) {
	t.Parallel()
	replace := func(b *bench, text string) error {
		if err := os.WriteFile(b.path+".new", []byte(text), 0o600); err != nil {
			return err
		}
		return os.Rename(b.path+".new", b.path)
	}
	for how, write := range map[string]func(b *bench, text string) error{
		"by rename": replace,
		"in place":  func(b *bench, text string) error { return os.WriteFile(b.path, []byte(text), 0o600) },
		"removed first": func(b *bench, text string) error {
			if err := os.Remove(b.path); err != nil {
				return err
			}
			return os.WriteFile(b.path, []byte(text), 0o600)
		},
	} {
		for n := 1; n <= 9; n++ {
			t.Run(fmt.Sprint(how, " at step ", n), func(t *testing.T) {
				t.Parallel()
				b := newBench(t, two)
				b.names()
				at := 0
				b.step = func(string) {
					if at++; at == n {
						now := strings.Replace(b.yaml(), "status: stopped", "status: archived", 1)
						if err := write(b, now); err != nil {
							t.Error(err)
						}
					}
				}
				b.set("a", registry.Terminated)
				b.step = func(string) {}
				b.agree("a=terminated b=archived")
				if left, _ := filepath.Glob(filepath.Join(filepath.Dir(b.path), ".tutti-*")); len(left) > 0 {
					t.Errorf("left behind: %v", left)
				}
			})
		}
	}
}

// TestForeignWriter runs our changes against a program that rewrites the file as scripts do, three times a change. We lose none of
// its lines.
func TestForeignWriter(t *testing.T) {
	t.Parallel()
	b := newBench(t, two)
	place, err := b.find(false)
	if err != nil {
		t.Fatal(err)
	}
	defer place.dir.Close()
	turns := make(chan int)
	var theirs sync.WaitGroup
	var written, unread []string
	theirs.Go(func() {
		for n := range turns {
			text, err := os.ReadFile(b.path)
			if err != nil {
				t.Error(err)
				continue
			}
			line := fmt.Sprintf("# line %d of theirs\n", n)
			if err := os.WriteFile(b.path+".theirs", append(text, line...), 0o600); err != nil {
				t.Error(err)
				continue
			}
			// They look once more before they write. Between that look and the writing another text can still come in, also one of
			// their own that we put back: if they write over it, they lose it, not we.
			if now, err := os.ReadFile(b.path); err != nil || !bytes.Equal(text, now) {
				continue
			}
			if err := place.dir.Exchange(place.name+".theirs", place.dir, place.name); err != nil {
				t.Error(err)
				continue
			}
			written = append(written, line)
			if out, err := os.ReadFile(b.path + ".theirs"); err != nil {
				t.Error(err)
			} else if !bytes.Equal(text, out) {
				unread = append(unread, string(out))
			}
		}
	})
	for n := range 20 {
		done := make(chan struct{})
		go func() {
			defer close(done)
			for i := range 3 {
				turns <- 3*n + i
			}
		}()
		_, err := b.Change(t.Context(), fmt.Sprintf("r%d", n), func(r *registry.Row, _ bool) error { r.Status = registry.Running; return nil })
		if err != nil {
			t.Error(err)
		}
		<-done
	}
	close(turns)
	theirs.Wait()
	// What they wrote on top of a text of ours that was there for a moment does not have what they wrote before.
	kept, _ := filepath.Glob(b.path + aside + "*")
	rows, problems, err := b.Rows(t.Context())
	if err != nil || (len(problems) > 0) != (len(kept) > 0) {
		t.Fatal(problems, kept, err)
	}
	all := b.yaml() + strings.Join(unread, "")
	for _, name := range kept {
		text, _ := os.ReadFile(name)
		all += string(text)
	}
	// The other program may have taken a row of ours away with an older text.
	if len(rows) < 2 || len(rows) > 22 || len(written) == 0 {
		t.Errorf("%d rows, %d writings of the other program", len(rows), len(written))
	}
	for _, line := range written {
		if !strings.Contains(all, line) {
			t.Errorf("%q is lost:\n%s", line, all)
		}
	}
	b.stored()
	t.Logf("%d rows, %d writings of the other program, %d over a text that it had not read", len(rows), len(written), len(unread))
}

// TestHalfWritten looks while an editor has emptied the file and not yet written it.
func TestHalfWritten(t *testing.T) {
	t.Parallel()
	for what, half := range map[string]string{
		"empty": "", "half a row": two[:len(two)/2], "in a word": two[:strings.Index(two, "cwd")], "the first row only": two[:strings.Index(two, "  - name: b")],
		"in the last word of the last row": two[:strings.Index(two, "tester")+3],
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, two)
			b.names()
			// While the file is half written it is always just written: what is waited for is the other program, and not a time.
			// Time goes on at a look that begins after the file is whole: an earlier one may have read the half.
			var written, whole atomic.Bool
			b.now = func() time.Time {
				if info, err := os.Stat(b.path); err == nil && !whole.Load() {
					return info.ModTime()
				}
				return time.Now().Add(time.Hour)
			}
			if err := os.WriteFile(b.path, []byte(half), 0o600); err != nil {
				t.Fatal(err)
			}
			looked := make(chan struct{})
			var once sync.Once
			b.step = func(at string) {
				if at == "locked" && written.Load() {
					whole.Store(true)
				}
				once.Do(func() { close(looked) })
			}
			wrote := make(chan error)
			go func() {
				<-looked
				err := os.WriteFile(b.path, []byte(strings.Replace(two, "status: stopped", "status: archived", 1)), 0o600)
				written.Store(true)
				wrote <- err
			}()
			b.set("a", registry.Terminated)
			if err := <-wrote; err != nil {
				t.Fatal(err)
			}
			b.old()
			b.agree("a=terminated b=archived")
		})
	}
}

// TestDatabaseOpenElsewhere reads and writes while another program reads in the database, and while it holds it.
func TestDatabaseOpenElsewhere(t *testing.T) {
	t.Parallel()
	b := newBench(t, two)
	b.names()
	reader, err := b.sql().Begin()
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := reader.QueryRow("SELECT count(*) FROM sessions").Scan(&n); err != nil || n != 2 {
		t.Fatal(n, err)
	}
	b.wait = time.Hour // a change that waited for the reader would not come back
	b.set("a", registry.Terminated)
	b.set("b", registry.Running)
	b.wait = busyFor
	if got := b.names(); got != "a=terminated b=running" {
		t.Errorf("rows %s", got)
	}
	if err := reader.Rollback(); err != nil {
		t.Fatal(err)
	}
	b.set("a", registry.Stopped)
	b.agree("a=stopped b=running")

	holder := b.sql()
	holder.SetMaxOpenConns(1)
	if _, err := holder.Exec("BEGIN EXCLUSIVE"); err != nil {
		t.Fatal(err)
	}
	b.wait = 50 * time.Millisecond
	if got, odd := b.rows(); got != "a=stopped b=running" || !strings.Contains(odd, "holds the database") {
		t.Errorf("rows %s, problems %s", got, odd)
	}
	before := b.yaml()
	if _, err := b.Change(t.Context(), "a", func(r *registry.Row, _ bool) error { r.Status = registry.Archived; return nil }); !busy(err) || b.yaml() != before {
		t.Errorf("change while another program holds the database: %v", err)
	}
	if _, err := holder.Exec("COMMIT"); err != nil {
		t.Fatal(err)
	}
	holder.Close()
	b.wait = busyFor
	b.set("a", registry.Archived)
	b.agree("a=archived b=running")
}

func TestLinks(t *testing.T) {
	t.Parallel()
	b := newBench(t, two)
	dir := t.TempDir()
	link := filepath.Join(dir, "sessions.yaml")
	if err := os.Symlink(b.path, link); err != nil {
		t.Fatal(err)
	}
	other, err := Open(link)
	if err != nil {
		t.Fatal(err)
	}
	l := &bench{other, t}
	l.old()
	l.set("a", registry.Archived)
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link became %v, %v", info.Mode(), err)
	}
	b.agree("a=archived b=stopped")
	b.set("a", registry.Stopped)
	if got := l.names(); got != "a=stopped b=stopped" {
		t.Errorf("through the link: %s", got)
	}
	if list, _ := os.ReadDir(dir); len(list) != 1 {
		t.Errorf("beside the link: %v", list)
	}
	nowhere := filepath.Join(dir, "nowhere.yaml")
	if err := os.Symlink(filepath.Join(dir, "gone"), nowhere); err != nil {
		t.Fatal(err)
	}
	lost, err := Open(nowhere)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lost.Change(t.Context(), "a", func(r *registry.Row, _ bool) error { r.Status = registry.Running; return nil }); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("a link that leads nowhere: %v", err)
	}
	// A database that is a link leads out of the folder, and so does a journal of it.
	mine := filepath.Join(dir, "mine")
	if err := os.WriteFile(mine, []byte("precious: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, end := range []string{"", "-wal", "-shm", "-journal"} {
		c := newBench(t, two)
		if err := os.Symlink(mine, registry.Database(c.path)+end); err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.Rows(t.Context()); err == nil || !strings.Contains(err.Error(), "plain file") {
			t.Errorf("a database%s that is a link: %v", end, err)
		}
	}
	// A link to a file that is no registry does not make it one.
	c := newBench(t, "")
	if err := os.Mkdir(filepath.Dir(c.path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(mine, c.path); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Change(t.Context(), "a", func(r *registry.Row, _ bool) error { r.Status = registry.Running; return nil }); err == nil || !strings.Contains(err.Error(), "not a registry") {
		t.Errorf("a link to something else: %v", err)
	}
	if text, err := os.ReadFile(mine); err != nil || string(text) != "precious: 1\n" {
		t.Errorf("the foreign file became %q, %v", text, err)
	}
}

func TestOddFolderNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a b", "a?b=c", "a#b", "a%20b", "é", "a'b\"c", "a&_pragma=x"} {
		dir := filepath.Join(t.TempDir(), name)
		r, err := Open(filepath.Join(dir, "x.y.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		b := &bench{r, t}
		b.set("a", registry.Running)
		if _, err := os.Stat(filepath.Join(dir, "x.y.db")); err != nil {
			t.Errorf("in %q: %v", name, err)
		}
		if list, _ := os.ReadDir(dir); len(list) != 3 {
			t.Errorf("in %q: %v", name, list)
		}
	}
}

func TestHostileFiles(t *testing.T) {
	boundtest.OneGoroutine(t)
	t.Parallel()
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for i := 'b'; i <= 'i'; i++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", i-1), 10), ","))
	}
	for what, c := range map[string]struct{ text, want string }{
		"a bomb of aliases":        {bomb + two, "aliases"},
		"a bomb in a row":          {strings.Replace(two, "    role: tester", "    role: tester\n    x: *i", 1) + "", "unknown anchor"},
		"a bomb behind the rows":   {"tmux_sessions: []\n" + bomb, "aliases"},
		"itself":                   {"tmux_sessions: []\na: &a [*a, *a]\n", "line"},
		"a mapping in itself":      {"tmux_sessions: []\na: &a {<<: *a}\n", "line"},
		"50 MB":                    {"tmux_sessions: []\n# " + strings.Repeat("x", 50<<20), "large"},
		"brackets":                 {"x: " + strings.Repeat("[", 9000), "line"},
		"brackets that are closed": {"x: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000), "in each other"},
		"no UTF-8":                 {"tmux_sessions: []\n# \xff\n", "line 2: this is not UTF-8"},
		"zeros":                    {two + "\x00\x00", "zero"},
		"two documents":            {two + "---\n" + two, "second document"},
		"a list":                   {"- a\n", "mapping"},
		"a word":                   {"words\n", "mapping"},
		"rows that are a mapping":  {"tmux_sessions: {a: 1}\n", "not a list"},
	} {
		b := newBench(t, c.text)
		_, _, err := b.Rows(t.Context())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %.300v, want something about %q", what, err, c.want)
		}
		if _, err := b.Change(t.Context(), "n", func(r *registry.Row, _ bool) error { r.Status = registry.Running; return nil }); err == nil || b.yaml() != c.text {
			t.Errorf("%s was changed: %.300v", what, err)
		}
	}
	// A change that would make the file too large is refused as a whole.
	b := newBench(t, two+"# "+strings.Repeat("x", registry.MaxSize-len(two)-100)+"\n")
	if _, err := b.Change(t.Context(), "a", func(r *registry.Row, _ bool) error { r.StopReason = strings.Repeat("x", 200); return nil }); err == nil || !strings.Contains(err.Error(), "limit") {
		t.Errorf("beyond the limit: %.300v", err)
	}
	b.agree("a=running b=stopped")
	// A row with a bomb of its own spoils everything, for the allowance is one for the file.
	inRow := "tmux_sessions:\n- name: a\n  status: running\n  pane: {}\n" + strings.ReplaceAll("  "+strings.ReplaceAll(strings.TrimSuffix(bomb, "\n"), "\n", "\n  "), "\n\n", "\n") + "\n"
	c := newBench(t, inRow)
	if _, _, err := c.Rows(t.Context()); err == nil || !strings.Contains(err.Error(), "aliases") {
		t.Errorf("a bomb in a row: %v", err)
	}
}

// TestDatabaseWithTriggers opens a database whose tables do more than they should.
func TestDatabaseWithTriggers(t *testing.T) {
	t.Parallel()
	b := newBench(t, two)
	b.names()
	b.exec(`CREATE TRIGGER t AFTER INSERT ON sessions BEGIN UPDATE sessions SET data = json_set(data, '$.start_argv', json('["evil"]')) WHERE name = new.name; END`)
	b.set("n", registry.Running)
	b.names() // what the trigger wrote is a change of another program
	b.exec("DROP TRIGGER t")
	b.set("n", registry.Stopped)
	b.agree("a=running b=stopped n=stopped")
	if err := os.Truncate(registry.Database(b.path), maxDatabase+1); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.Rows(t.Context()); err == nil || !strings.Contains(err.Error(), "limit") {
		t.Errorf("a database beyond the limit: %v", err)
	}
}

// notRoot runs a child as a user without rights. The binary of the tests has to lie where everybody can reach it.
func (b *bench) notRoot(t *testing.T, args ...string) string {
	t.Helper()
	cmd := b.command(args...)
	if os.Getuid() == 0 {
		dir, err := os.MkdirTemp("/tmp", "roster-test-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		self, err := os.ReadFile(os.Args[0])
		if err != nil {
			t.Fatal(err)
		}
		err = progfile.Write(filepath.Join(dir, "test"), self, 0o755)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		cmd.Path, cmd.Dir = filepath.Join(dir, "test"), dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

func TestReadOnlyFolder(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("/tmp", "roster-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(filepath.Join(dir, "p"), 0o755); os.RemoveAll(dir) })
	os.Chmod(dir, 0o755)
	path := filepath.Join(dir, "p", "agent-sessions.yaml")
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{r, t}
	os.Mkdir(filepath.Dir(path), 0o755)
	b.write(two)
	os.Chmod(path, 0o444)
	os.Chmod(filepath.Dir(path), 0o555)
	out := b.notRoot(t, "look")
	if !strings.HasPrefix(out, "2 <nil>\n") || !strings.Contains(out, "permission denied") {
		t.Errorf("in a folder that cannot be written: %s", out)
	}
	os.Chmod(filepath.Dir(path), 0o755)
	// Somebody has taken the right to write the file away: that is a wish.
	if got := b.names(); got != "a=running b=stopped" {
		t.Errorf("rows of a file that may not be written: %s", got)
	}
	if _, err := b.Change(t.Context(), "a", func(r *registry.Row, _ bool) error { r.Status = registry.Archived; return nil }); !errors.Is(err, errReadOnly) || b.yaml() != two {
		t.Errorf("change of a file that may not be written: %v", err)
	}
}

// TestFullDisk lets no file grow beyond a size, for every size at which something else is the first that does not fit.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	refused, done := 0, 0
	for _, limit := range []int{0, 100, 400, 1000, 5000, 20000, 30000, 60000, 200000} {
		b := newBench(t, two)
		b.names()
		before := b.yaml()
		cmd := b.command("full", strconv.Itoa(limit))
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		err := cmd.Run()
		var exit *exec.ExitError
		switch {
		case errors.As(err, &exit) && exit.ExitCode() == 1:
			refused++
			if b.yaml() != before {
				t.Errorf("limit %d: refused (%s), and the file became\n%s", limit, stderr.String(), b.yaml())
			}
		case err != nil:
			t.Fatalf("limit %d: %v\n%s", limit, err, stderr.String())
		default:
			done++
			if !strings.Contains(b.yaml(), "full disk") {
				t.Errorf("limit %d: done, and not there", limit)
			}
		}
		b.agree("a=running b=stopped")
		b.set("b", registry.Archived)
		b.agree("a=running b=archived")
	}
	if refused == 0 || done == 0 {
		t.Errorf("%d refused, %d done", refused, done)
	}
}

// TestTwoForeignWrites lets another program write while a change is prepared, and once more while the files are exchanged, from what
// is there in that moment. What it wrote first is kept aside and told of.
func TestTwoForeignWrites(t *testing.T) {
	t.Parallel()
	b := newBench(t, two)
	b.names()
	once := map[string]bool{}
	b.step = func(step string) {
		line := map[string]string{"staged": "# the first\n", "exchanged": "# the second\n"}[step]
		if line == "" || once[step] {
			return
		}
		once[step] = true
		if err := os.WriteFile(b.path+".new", []byte(b.yaml()+line), 0o600); err != nil {
			t.Error(err)
		}
		if err := os.Rename(b.path+".new", b.path); err != nil {
			t.Error(err)
		}
	}
	b.set("a", registry.Terminated)
	b.step = func(string) {}
	kept, err := os.ReadFile(b.path + aside)
	if err != nil || !strings.Contains(string(kept), "# the first") || !strings.Contains(b.yaml(), "# the second") {
		t.Fatalf("kept %q, %v; the file:\n%s", kept, err, b.yaml())
	}
	if _, problems, err := b.Rows(t.Context()); err != nil || len(problems) != 1 || !strings.Contains(problems[0].Reason, aside) {
		t.Errorf("%v, %v", problems, err)
	}
	if err := os.Remove(b.path + aside); err != nil {
		t.Fatal(err)
	}
	if _, problems, err := b.Rows(t.Context()); err != nil || len(problems) != 0 {
		t.Errorf("after it was deleted: %v, %v", problems, err)
	}
}
