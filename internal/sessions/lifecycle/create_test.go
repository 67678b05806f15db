package lifecycle

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tutti/internal/platform/proc"
	"tutti/internal/sessions/observe"
	"tutti/internal/sessions/registry"
	"tutti/internal/test/progfile"
)

// creator is a manager that starts the test agent as the program of any kind, with these habits.
func (r *rig) creator(modes string, change ...func(*Options)) *Manager {
	r.t.Helper()
	o := r.m.o
	o.Environ = append(r.environ(modes), "PATH="+r.program("claude")+":"+os.Getenv("PATH"))
	for _, f := range change {
		f(&o)
	}
	m := New(o)
	m.starts = 0
	return m
}

// environ is the environment for an agent whose files go to the folder "out".
func (r *rig) environ(modes string) []string {
	dir := filepath.Join(r.dir, "out")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		r.t.Fatal(err)
	}
	return []string{modeVariable + "=" + modes, dirVariable + "=" + dir, shotsVariable + "=/nonexistent", "HOME=" + r.home()}
}

// program puts the test binary under the name of a program into a folder, and returns that.
func (r *rig) program(name string) string {
	r.t.Helper()
	self, err := os.Executable()
	if err != nil {
		r.t.Fatal(err)
	}
	bin := filepath.Join(r.dir, "bin")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(bin, name)); err != nil && !errors.Is(err, os.ErrExist) {
		r.t.Fatal(err)
	}
	return bin
}

// out waits for a file that the agent writes.
func (r *rig) out(name string) string {
	r.t.Helper()
	var text []byte
	r.until(name, func() bool {
		var err error
		text, err = os.ReadFile(filepath.Join(r.dir, "out", name))
		return err == nil
	})
	return string(text)
}

func (r *rig) never(name string) {
	r.t.Helper()
	if _, err := os.Stat(filepath.Join(r.dir, "out", name)); err == nil {
		r.t.Errorf("the agent has written %s", name)
	}
}

// kind is the kind of an error, and whether it is one of this package.
func kindOfError(err error) (Kind, bool) {
	var e *Error
	ok := errors.As(err, &e)
	if !ok {
		return 0, false
	}
	return e.Kind, true
}

func (r *rig) wants(err error, kind Kind, part string) {
	r.t.Helper()
	if got, ok := kindOfError(err); !ok || got != kind || !strings.Contains(err.Error(), part) {
		r.t.Errorf("error %v (kind %d), want kind %d with %q", err, got, kind, part)
	}
}

func TestCreate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var births []Birth
	m := r.creator("types,print-env", func(o *Options) {
		o.Environ = append(o.Environ, "API_KEY=of ours", "CLAUDECODE=1", "CLAUDE_CODE_SESSION_ID=x", "TMUX=/x,1,0", "TUTTI_SESSION=other", "TERM=dumb", "GIT_DIR=/x")
		o.Bus.Began = func(_ context.Context, b Birth) (string, error) {
			births = append(births, b)
			return "claude:api:0123456789ab", nil
		}
	})
	done, err := m.Create(t.Context(), CreateRequest{Agent: "claude", Role: "reviewer", Job: "j1", Argv: []string{"--model", "big one;"}})
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	row := r.row(registry.Name(r.dir, "claude", nil))
	id, err := proc.Of(row.Pane.PID)
	if err != nil {
		t.Fatal(err)
	}
	if row.Status != registry.Running || row.Agent != "claude" || row.Server != r.name || row.Role != "reviewer" || row.Job != "j1" || row.Pane.Cwd != dir ||
		row.Pane.StartTicks != id.Start || row.BootID != id.Boot || row.Pane.ID != "%0" || row.TmuxSession != "$0" || row.Intent != nil ||
		row.CreatedAt.IsZero() || row.Instance != "claude:api:0123456789ab" || row.Name != done.Row.Name {
		t.Errorf("the row: %s", row.JSON())
	}
	if conversation := row.Conversation(); len(conversation) != 36 || !slices.Equal(row.StartArgv, []string{"claude", "--session-id", conversation, "--model", "big one;"}) ||
		row.StartCommand != "claude --session-id "+conversation+" --model 'big one;'" {
		t.Errorf("started with %q", row.StartArgv)
	}
	if got := r.out("arguments"); got != strings.Join(row.StartArgv[1:], "\x00") {
		t.Errorf("the program got %q", got)
	}
	if pane, err := r.srv.Find(t.Context(), row.Name); err != nil || pane.Owner != row.OwnerID || len(row.OwnerID) != 16 {
		t.Errorf("in tmux: %+v, %v; owner %q", pane, err, row.OwnerID)
	}
	env := strings.Split(r.out("environ"), "\x00")
	for _, want := range []string{"API_KEY=of ours", observe.Variable + "=" + row.OwnerID, observe.HomeVariable + "=" + r.dir} {
		if !slices.Contains(env, want) {
			t.Errorf("the program lacks %s", want)
		}
	}
	for _, v := range env {
		if name, value, _ := strings.Cut(v, "="); name == "CLAUDECODE" || name == "CLAUDE_CODE_SESSION_ID" || name == "GIT_DIR" || name == "TERM" && value == "dumb" || name == "TMUX" && strings.HasPrefix(value, "/x") {
			t.Errorf("the program has %s", v)
		}
	}
	if len(births) != 1 || births[0].Process != id || births[0].Conversation != row.Conversation() || births[0].Pane.ID != "%0" || births[0].Dir != dir || births[0].Owner != row.OwnerID {
		t.Errorf("the bus got %+v", births)
	}
	if got := Looks(&row); !slices.Equal(got, []string{"start"}) {
		t.Errorf("looks: %q", got)
	}

	_, err = m.Create(t.Context(), CreateRequest{Agent: "claude"})
	r.wants(err, Refused, "already running")
	if again := r.row(row.Name); again.Revision != row.Revision {
		t.Errorf("a refusal has changed the row: %s", again.JSON())
	}
}

// TestCreateWaits does all the looks, and says what it has seen.
func TestCreateWaits(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	done, err := r.creator("types,trust").Create(t.Context(), CreateRequest{Agent: "claude", Name: "a", Wait: true})
	if err != nil {
		t.Fatal(err)
	}
	row := r.row("a")
	if want := []string{"start", "0.3s", "2s"}; !slices.Equal(done.Looks, want) || !slices.Equal(Looks(&row), want) {
		t.Errorf("looks: %q, %q", done.Looks, Looks(&row))
	}
	if want := "it asks whether this folder is trusted"; done.Dialog != want || row.VisibleNote != want {
		t.Errorf("it says %q, the row %q", done.Dialog, row.VisibleNote)
	}
	if row.Pane.Cmd != "claude" {
		t.Errorf("in front is %q", row.Pane.Cmd)
	}
	r.never("approved")
}

// TestCreateWrapped: a user's own script above the program is not taken for the shell after its end.
func TestCreateWrapped(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	script := filepath.Join(r.dir, "wrapper")
	if err := progfile.Write(script, []byte("#!/bin/sh\n"+filepath.Join(r.program("claude"), "claude")+" \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	done, err := r.creator("types").Create(t.Context(), CreateRequest{Agent: "claude", Name: "a", Program: script, Wait: true, Prompt: "hello"})
	if err != nil || !done.Prompted || r.row("a").VisibleNote != "" {
		t.Errorf("%v; %q", err, r.row("a").VisibleNote)
	}
	if got := r.out("submitted"); got != "hello" {
		t.Errorf("it got %q", got)
	}
}

func TestCreateEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ended := false
	m := r.creator("exits-at-once", func(o *Options) {
		o.Bus.Ended = func(context.Context, *registry.Row) error { ended = true; return nil }
	})
	done, err := m.Create(t.Context(), CreateRequest{Agent: "claude", Name: "a", Wait: true})
	r.wants(err, NotUp, "with status 7")
	row := r.row("a")
	if row.Status != registry.Terminated || row.Resumable != registry.No || row.Intent != nil || !strings.Contains(row.VisibleNote, "status 7") || row.TerminatedAt.IsZero() || done == nil {
		t.Errorf("the row: %s", row.JSON())
	}
	if _, err := r.srv.Find(t.Context(), "a"); err == nil {
		t.Error("its session is left in tmux")
	}
	if !ended {
		t.Error("the bus was not told")
	}
	again, err := r.creator("types").Create(t.Context(), CreateRequest{Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if again.Row.Status != registry.Running || again.Former == "" || again.Row.PreviousIDs[0] != again.Former || again.Row.Conversation() == again.Former {
		t.Errorf("begun again: %s", again.Row.JSON())
	}
	if again.Row.VisibleNote != "" || !again.Row.TerminatedAt.IsZero() || again.Row.Resumable != registry.Unsaid {
		t.Errorf("what was of the end is left: %s", again.Row.JSON())
	}
}

// TestCreateTaken: a session of the user's has the name. It is neither used nor ended, and no row is made.
func TestCreateTaken(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.tmux("new-session", "-d", "-s", "a", "cat")
	before := r.tmux("list-panes", "-a", "-F", "#{pane_pid} #{pane_dead}")
	m := r.creator("types")
	_, err := m.Create(t.Context(), CreateRequest{Agent: "claude", Name: "a"})
	r.wants(err, NotTheOne, "not ours")
	if rows, _, err := r.reg.Rows(t.Context()); len(rows) != 0 {
		t.Errorf("rows %v, %v", rows, err)
	}
	// The same with a row of that name whose session is gone, and when the other one comes at the last moment.
	row := r.begin("b", "idle")
	r.tmux("kill-session", "-t", "=b")
	r.until("its end", func() bool { _, err := proc.Of(row.Pane.PID); return err != nil })
	r.tmux("new-session", "-d", "-s", "b", "cat")
	_, err = m.Create(t.Context(), CreateRequest{Name: "b"})
	r.wants(err, NotTheOne, "not ours")
	_, err = m.Resume(t.Context(), ResumeRequest{Name: "b"})
	r.wants(err, NotTheOne, "not ours")
	late := r.creator("types")
	late.at = func(step string) {
		if step == "claimed" {
			r.tmux("new-session", "-d", "-s", "c", "cat")
		}
	}
	_, err = late.Create(t.Context(), CreateRequest{Agent: "claude", Name: "c"})
	r.wants(err, NotTheOne, "not ours")
	if c := r.row("c"); c.Status != registry.Terminated || c.Intent != nil || !strings.Contains(c.VisibleNote, "not started") {
		t.Errorf("the row: %s", c.JSON())
	}
	if after := r.tmux("list-panes", "-t", "=a", "-F", "#{pane_pid} #{pane_dead}"); after != before {
		t.Errorf("the user's session: %s, was %s", after, before)
	}
	if again := r.row("b"); again.Revision != row.Revision {
		t.Errorf("the row of b: %s", again.JSON())
	}
}

// TestCreateSlug: two workspaces with one slug, and a folder whose name would be a command in tmux, in a shell or in a registry.
func TestCreateSlug(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.creator("types")
	mark := filepath.Join(r.dir, "executed")
	names := map[string]string{}
	for _, dir := range []string{"x/a_b", "y/x/a-b", "z/#(touch " + strings.ReplaceAll(mark, "/", "_") + ")/$(touch executed);\n'\"#{pid}\\"} {
		dir = filepath.Join(r.dir, dir)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		done, err := m.Create(t.Context(), CreateRequest{Agent: "claude", Dir: dir, Argv: []string{"#(touch executed)", ";", "a\nb", `'"\`, "$(touch executed)"}})
		if err != nil {
			t.Fatalf("%q: %v", dir, err)
		}
		if names[done.Row.Name] != "" {
			t.Errorf("%s is the name of %q and of %q", done.Row.Name, dir, names[done.Row.Name])
		}
		names[done.Row.Name] = dir
		id, err := proc.Of(done.Row.Pane.PID)
		if err != nil {
			t.Fatal(err)
		}
		if cwd, err := os.Readlink("/proc/" + strings.TrimPrefix(filepath.Join("/", itoa(id.PID)), "/") + "/cwd"); err != nil || cwd != dir {
			t.Errorf("it works in %q, want %q: %v", cwd, dir, err)
		}
		if args, err := proc.Cmdline(id.PID); err != nil || !slices.Equal(args[1:], done.Row.StartArgv[1:]) {
			t.Errorf("it got %q, want %q", args, done.Row.StartArgv)
		}
		if row := r.row(done.Row.Name); row.Pane.Cwd != dir || !slices.Equal(row.StartArgv, done.Row.StartArgv) {
			t.Errorf("the row: %s", row.JSON())
		}
	}
	for _, name := range []string{"#(touch executed)", "a;b", "a\nb", "a b", "a.b", "=a", "-a", `a'"`, strings.Repeat("a", 200), "a\x1b"} {
		if _, err := m.Create(t.Context(), CreateRequest{Agent: "claude", Name: name}); err == nil {
			t.Errorf("a session is called %q", name)
		}
	}
	for _, server := range []string{"../x", "a/b", "#(touch executed)", strings.Repeat("a", 100)} {
		if _, err := m.Create(t.Context(), CreateRequest{Agent: "claude", Name: "s", Server: server}); err == nil {
			t.Errorf("a server is called %q", server)
		}
	}
	if found, _ := filepath.Glob(filepath.Join(r.dir, "*executed*")); len(found) > 0 {
		t.Errorf("something was executed: %q", found)
	}
	if left, _, err := r.reg.Rows(t.Context()); err != nil || len(left) != 3 {
		t.Errorf("%d rows, %v", len(left), err)
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

// TestPrompt: the prompt arrives byte for byte, only when the program is ready for it.
func TestPrompt(t *testing.T) {
	t.Parallel()
	long := "begin #(touch x) $(touch x) `touch x`; 'a' \"b\" \\ #{pid} %0 é 漢字 \U0001f600\n\ttab\n" + strings.Repeat("0123456789 abcdefghij\n", 5000) + "end;"
	for name, c := range map[string]struct{ modes, text string }{
		"a word":        {"types", "hello"},
		"several lines": {"types", "first\nsecond\n\nlast"},
		"a broken line": {"types", strings.Repeat("word and more ", 40) + "end"},
		"100 KB":        {"types", long},
		"a slow start":  {"types,slow", "hello;"},
		"a lost Enter":  {"types,deaf", "-t x"},
		"a lost paste":  {"types,late", "hello"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			done, err := r.creator(c.modes).Create(t.Context(), CreateRequest{Agent: "claude", Name: "a", Prompt: c.text})
			if err != nil || !done.Prompted {
				t.Fatalf("%+v, %v", done, err)
			}
			if got := r.out("submitted"); got != c.text {
				t.Errorf("%d bytes arrived of %d: %.80q", len(got), len(c.text), got)
			}
			row := r.row("a")
			if got := string(row.Get(promptMember)); got != `"taken"` {
				t.Errorf("the row says %s", got)
			}
		})
	}
}

// TestPromptNotFree: nothing is typed into a question.
func TestPromptNotFree(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var told []string
	m := r.creator("types,trust", func(o *Options) { o.Tell = func(line string) { told = append(told, line) } })
	done, err := m.Create(t.Context(), CreateRequest{Agent: "claude", Name: "a", Prompt: "hello", Ready: 1500 * time.Millisecond})
	r.wants(err, Refused, "whether this folder is trusted")
	row := r.row("a")
	if done == nil || done.Prompted || row.Status != registry.Running || string(row.Get(promptMember)) != `"not given"` || !strings.Contains(row.VisibleNote, "trusted") {
		t.Errorf("%+v; the row: %s", done, row.JSON())
	}
	if len(told) != 1 || !strings.Contains(told[0], "trusted") {
		t.Errorf("its user got %q", told)
	}
	r.never("approved")
	r.never("submitted")
	_, err = m.Create(t.Context(), CreateRequest{Agent: "custom", Name: "b", Argv: []string{"cat"}, Prompt: "x"})
	r.wants(err, Refused, "tutti types only into Claude Code")
}

// TestPromptHalted: a halt that comes while the program starts keeps the prompt back.
func TestPromptHalted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	halted := errors.New("halted")
	var on bool
	m := r.creator("types", func(o *Options) {
		o.Halted = func() error {
			if on {
				return halted
			}
			return nil
		}
	})
	m.at = func(step string) { on = on || step == "recorded" }
	_, err := m.Create(t.Context(), CreateRequest{Agent: "claude", Name: "a", Prompt: "hello"})
	if !errors.Is(err, halted) {
		t.Errorf("the error is %v", err)
	}
	r.never("submitted")
	if _, err := m.Create(t.Context(), CreateRequest{Agent: "claude", Name: "b"}); !errors.Is(err, halted) {
		t.Errorf("the error is %v", err)
	}
	if rows, _, _ := r.reg.Rows(t.Context()); len(rows) != 1 {
		t.Errorf("%d rows", len(rows))
	}
}

func TestCreateWorktree(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	repo := filepath.Join(r.dir, "repo")
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = repo
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
		return string(out)
	}
	if err := os.Mkdir(repo, 0o700); err != nil {
		t.Fatal(err)
	}
	run("init", "-q")
	run("commit", "-q", "--allow-empty", "-m", "first")
	m := r.creator("types")
	done, err := m.Create(t.Context(), CreateRequest{Agent: "claude", Dir: repo, Branch: "feature/x"})
	if err != nil {
		t.Fatal(err)
	}
	tree := filepath.Join(r.dir, "repo-feature-x")
	if done.Worktree != tree || done.Row.Pane.Cwd != tree || !strings.Contains(string(done.Row.Get(worktreeMember)), `"feature/x"`) {
		t.Errorf("%+v", done)
	}
	if got := strings.TrimSpace(run("-C", tree, "branch", "--show-current")); got != "feature/x" {
		t.Errorf("the branch there is %q", got)
	}
	_, err = m.Create(t.Context(), CreateRequest{Agent: "claude", Dir: repo, Branch: "feature/x"})
	r.wants(err, Refused, "is there already")
	for _, bad := range []string{"-b", "a..b", "a b", "x.lock"} {
		if _, err := m.Create(t.Context(), CreateRequest{Agent: "claude", Dir: repo, Branch: bad}); err == nil {
			t.Errorf("the branch %q", bad)
		}
	}
	_, err = m.Create(t.Context(), CreateRequest{Agent: "claude", Branch: "y"})
	r.wants(err, Refused, "in no git repository")
	// What fails leaves neither folder nor branch.
	for _, modes := range []string{"exits-at-once", ""} {
		bad := r.creator(modes)
		q := CreateRequest{Agent: "claude", Dir: repo, Branch: "gone", Wait: true}
		if modes == "" {
			q.Program = "no-such-program"
		}
		if _, err := bad.Create(t.Context(), q); err == nil {
			t.Error("it was begun")
		}
		if _, err := os.Stat(filepath.Join(r.dir, "repo-gone")); err == nil || strings.Contains(run("branch"), "gone") {
			t.Errorf("something is left: %s", run("worktree", "list"))
		}
	}
}

func TestCreateRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.creator("types")
	for part, q := range map[string]CreateRequest{
		"missing agent CLI":        {Name: "a"},
		"is not a known agent CLI": {Name: "a", Agent: "vim"},
		"no such workspace":        {Name: "a", Agent: "claude", Dir: "nowhere"},
		"not said what":            {Name: "a", Agent: "custom"},
		"on your PATH":             {Name: "x", Agent: "codex", Program: "no-such-program"},
	} {
		_, err := m.Create(t.Context(), q)
		r.wants(err, Refused, part)
	}
	if rows, _, _ := r.reg.Rows(t.Context()); len(rows) != 0 { // nothing of it is left, perhaps not even a registry
		t.Errorf("rows: %v", rows)
	}
	row := r.begin("other", "idle")
	if _, err := m.Create(t.Context(), CreateRequest{Name: "other", Server: "elsewhere"}); err == nil || !strings.Contains(err.Error(), "registered on the tmux server") {
		t.Errorf("another server: %v", err)
	}
	// Its server is killed, and it lives on.
	hup := r.begin("orphan", "idle,ignore-hup")
	r.tmux("kill-session", "-t", "=orphan")
	_, err := m.Create(t.Context(), CreateRequest{Name: "orphan"})
	r.wants(err, Refused, "these processes of it run")
	if id, err := proc.Of(hup.Pane.PID); err == nil {
		_ = proc.Signal(id, syscall.SIGKILL)
	}
	_ = row
}

// TestCreateNotifiesBus has a bus that is not done before the row has the address that it gave.
func TestCreateNotifiesBus(t *testing.T) {
	t.Parallel()
	for what, fault := range map[string]error{"told": nil, "not told all": errors.New("the rest failed")} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			const is = "claude:api:0123456789ab"
			m := r.creator("types", func(o *Options) {
				o.Bus.Began = func(context.Context, Birth) (string, error) { return is, fault }
			})
			made, err := m.Create(t.Context(), CreateRequest{Agent: "claude", Name: "a", Server: r.name})
			if err != nil || made.Row.Instance != is {
				t.Fatalf("made %+v, %v", made, err)
			}
			pane, err := r.srv.Find(t.Context(), "a")
			if row := r.row("a"); err != nil || row.Pane.Cmd != pane.Command || row.Instance != is || row.Intent != nil {
				t.Errorf("the row: %s; in tmux: %+v, %v", row.JSON(), pane, err)
			}
		})
	}
}
