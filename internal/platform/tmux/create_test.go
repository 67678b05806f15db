package tmux

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tutti/internal/test/progfile"
)

// empty is a world whose server does not run yet.
func empty(t *testing.T) *world {
	t.Helper()
	needTmux(t)
	s, err := Named("t" + rand.Text()[:8])
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t, s, t.TempDir()}
	t.Cleanup(w.end)
	return w
}

// make makes a session as a program would.
func (w *world) make(spec Spec) Pane {
	w.t.Helper()
	if spec.Dir == "" {
		spec.Dir = w.dir
	}
	if spec.Argv == nil {
		spec.Argv = []string{"cat"}
	}
	spec.Isolated = true
	p, err := w.New(w.t.Context(), spec)
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

func TestNew(t *testing.T) {
	t.Parallel()
	w := empty(t)
	p := w.make(Spec{Name: "a", Owner: "0123abcd", Env: []string{"MARK=of a"}, Argv: []string{"sh", "-c", `printf %s "$MARK" >mark; exec cat`}})
	if p.ID != "%0" || p.Session != "$0" || p.SessionName != "a" || p.Owner != "0123abcd" || p.Command != "" || p.Path != w.dir || p.Dead || p.PID <= 1 || p.Status != -1 {
		t.Errorf("made %+v", p)
	}
	if got := w.holds("mark", 4); got != "of a" {
		t.Errorf("the variable is %q", got)
	}
	now := w.until(p.ID, "cat in front", func(p Pane) bool { return p.Command == "cat" })
	if now.Owner != "0123abcd" || now.PID != p.PID || now.Server != p.Server || now.Started != p.Started || now.Status != -1 || now.Signal != 0 || !now.DeadAt.IsZero() {
		t.Errorf("listed %+v, made %+v", now, p)
	}
	if err := w.Paste(t.Context(), p.Ref(), "x"); err != nil { // what was made can be typed into, whatever is in front
		t.Error(err)
	}
	if size := w.do("display-message", "-p", "-t", p.ID, "#{pane_width} #{pane_height} #{config_files}"); size != "200 50 /dev/null" {
		t.Errorf("size and settings are %q", size)
	}
	b := w.make(Spec{Name: "b", Width: 90, Height: 20})
	if size := w.do("display-message", "-p", "-t", b.ID, "#{pane_width} #{pane_height}"); size != "90 20" || b.Owner != "" {
		t.Errorf("size of the second is %q, owner %q", size, b.Owner)
	}
	// One program without arguments is not handed to a shell, and becomes the first process.
	w.until(b.ID, "cat in front", func(p Pane) bool { return p.Command == "cat" && p.PID == b.PID })
}

func TestNewKeepsDeadPane(t *testing.T) {
	t.Parallel()
	w := empty(t)
	w.make(Spec{Name: "keep"})
	for name, c := range map[string]struct {
		script         string
		status, signal int
	}{
		"fine":   {"exit 0", 0, 0},
		"failed": {"echo why; exit 3", 3, 0},
		"killed": {"kill -9 $$", -1, int(syscall.SIGKILL)},
	} {
		before := time.Now().Add(-2 * time.Second)
		p := w.make(Spec{Name: name, Argv: []string{"sh", "-c", c.script}})
		// Looking makes the server look, if it has missed the end.
		p = w.until(p.ID, "known how it ended", func(p Pane) bool { return p.Dead && !p.unreaped() })
		if p.Status != c.status || p.Signal != c.signal || p.DeadAt.Before(before) || p.DeadAt.After(time.Now().Add(2*time.Second)) {
			t.Errorf("%s: status %d, signal %d, at %v; want %d, %d", name, p.Status, p.Signal, p.DeadAt, c.status, c.signal)
		}
	}
}

// A server that has missed how a program ended is made to look.
func TestMissedEnd(t *testing.T) {
	t.Parallel()
	w := empty(t)
	missed := 0
	for i := range 40 {
		p := w.make(Spec{Name: "s" + strconv.Itoa(i), Argv: []string{"cat", "-"}})
		if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil { // a child of this test's server
			t.Fatal(err)
		}
		p = w.until(p.ID, "dead", func(p Pane) bool { return p.Dead })
		if p.unreaped() {
			missed++
		}
		w.until(p.ID, "known how it ended", func(p Pane) bool { return p.Signal == int(syscall.SIGKILL) && p.Status == -1 })
		found, err := w.Find(t.Context(), p.SessionName)
		if err != nil || found.Signal != int(syscall.SIGKILL) {
			t.Errorf("found %+v, %v", found, err)
		}
	}
	t.Logf("not known at first sight: %d of 40", missed)
}

func TestHostileSessions(t *testing.T) {
	t.Parallel()
	w := empty(t)
	mark := w.file("ran")
	run := "#(touch " + mark + ")"
	every := make([]byte, 255)
	for i := range every {
		every[i] = byte(i + 1)
	}
	texts := []string{
		run, "#{pid}", "##", "#", ";", "a;", `a\;`, "\\", "it's", `"`, "`touch " + mark + "`", "$(touch " + mark + ")", "$HOME", "~", "{", "}", "%Y", "%if",
		"new\nline", "\n", "\n\t # (x)\n  y\n", "\n#{pid}", "#[x", "##[x", "tab\t", "\r", "\x1b[201~", "\x7f", " ", "", "-s", "--", "-", "# no comment", "a,b}c", "✋ ä", "\xff", "x\xffy\xc3", string(every),
		strings.Repeat("z", 100_000) + ";",
	}
	env := []string{"ALL=" + string(every), "LONG=" + strings.Repeat("ä", 50_000) + ";", "RUN=" + run, "EMPTY=", "EQUAL=a=b;"}
	folder := w.file("f'\"\n\t" + strings.ReplaceAll(run, "/", "") + "#{pid}%Y;\xff#[fg=red]##[ $HOME ;#")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	record := `for v; do printf '%s\0' "$v"; done >"$OUT/args"; pwd | tr -d '\n' >"$OUT/pwd"; env -0 >"$OUT/env"; : >"$OUT/done"; exec cat`
	names := []string{"#{pid}", "#(touch " + filepath.Base(mark) + ")", "a b;", ";", "it's \"x\"", "ä✋", "*", "a,b}c", "#[x]##[", "x#", "###y", "%", "-"}
	for i, name := range names {
		if strings.HasPrefix(name, "%") || strings.HasPrefix(name, "-") {
			name = "x" + name
		}
		out := w.file("out" + strconv.Itoa(i))
		if err := os.Mkdir(out, 0o700); err != nil {
			t.Fatal(err)
		}
		p := w.make(Spec{Name: name, Dir: folder, Owner: "o" + strconv.Itoa(i), Argv: append([]string{"sh", "-c", record, "sh"}, texts...), Env: append(env, "OUT="+out)})
		found, err := w.Find(t.Context(), name)
		if err != nil || found.ID != p.ID || found.SessionName != name || found.Owner != p.Owner {
			t.Errorf("session %q: found %+v, %v, made %+v", name, found, err, p)
		}
		eventually(t, func() (string, bool) {
			_, err := os.Stat(filepath.Join(out, "done"))
			return fmt.Sprintf("session %q has recorded nothing: %+v", name, w.pane(p.ID)), err == nil
		})
		if got := read(t, filepath.Join(out, "args")); got != strings.Join(texts, "\x00")+"\x00" {
			t.Errorf("session %q: the arguments arrived as %.400q", name, got)
		}
		if got := read(t, filepath.Join(out, "pwd")); got != strings.ReplaceAll(folder, "\n", "") {
			t.Errorf("session %q: the program is in %q, want %q", name, got, folder)
		}
		got := strings.Split(read(t, filepath.Join(out, "env")), "\x00")
		for _, v := range env {
			if !slices.Contains(got, v) {
				t.Errorf("session %q: %.60q is not in the environment", name, v)
			}
		}
		if err := w.Kill(t.Context(), found); err != nil {
			t.Errorf("session %q: %v", name, err)
		}
		if i == 0 {
			w.make(Spec{Name: "keep"})
		}
	}
	time.Sleep(300 * time.Millisecond) // a command in a text would run on its own, a little later
	for _, f := range []string{mark, filepath.Join(folder, "ran"), "ran", "/ran"} {
		if _, err := os.Lstat(f); err == nil {
			t.Errorf("a text was run: %s is there", f)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	w := empty(t)
	file := w.file("file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	good := Spec{Name: "a", Dir: w.dir, Argv: []string{"cat"}, Isolated: true}
	for what, c := range map[string]struct {
		change func(*Spec)
		kind   error
	}{
		"no folder":             {func(s *Spec) { s.Dir = "" }, nil},
		"relative folder":       {func(s *Spec) { s.Dir = "." }, nil},
		"missing folder":        {func(s *Spec) { s.Dir = w.file("gone") }, fs.ErrNotExist},
		"a file as folder":      {func(s *Spec) { s.Dir = file }, syscall.ENOTDIR},
		"NUL in folder":         {func(s *Spec) { s.Dir += "\x00" }, nil},
		"no program":            {func(s *Spec) { s.Argv = nil }, nil},
		"empty program":         {func(s *Spec) { s.Argv = []string{"", "x"} }, nil},
		"missing program":       {func(s *Spec) { s.Argv = []string{"no-such-program-here", "x"} }, exec.ErrNotFound},
		"missing absolute":      {func(s *Spec) { s.Argv = []string{w.file("gone")} }, fs.ErrNotExist},
		"relative program":      {func(s *Spec) { s.Argv = []string{"./file"} }, nil},
		"not executable":        {func(s *Spec) { s.Argv = []string{file} }, fs.ErrPermission},
		"a folder as program":   {func(s *Spec) { s.Argv = []string{w.dir} }, nil},
		"PATH of the session":   {func(s *Spec) { s.Env = []string{"PATH=" + w.dir} }, exec.ErrNotFound},
		"relative PATH":         {func(s *Spec) { s.Env = []string{"PATH=.:bin:"} }, exec.ErrNotFound},
		"NUL in argument":       {func(s *Spec) { s.Argv = []string{"cat", "a\x00b"} }, nil},
		"NUL in variable":       {func(s *Spec) { s.Env = []string{"A=\x00"} }, nil},
		"variable without name": {func(s *Spec) { s.Env = []string{"=x"} }, nil},
		"no variable":           {func(s *Spec) { s.Env = []string{"x"} }, nil},
		"argument too long":     {func(s *Spec) { s.Argv = []string{"cat", strings.Repeat("x", MaxArgument+1)} }, nil},
		"too much": {func(s *Spec) {
			s.Argv = append(s.Argv, slices.Repeat([]string{strings.Repeat("x", MaxArgument)}, 8)...)
		}, nil},
		"owner": {func(s *Spec) { s.Owner = "a b" }, nil},
		"width": {func(s *Spec) { s.Width = -1 }, nil},
	} {
		spec := good
		spec.Argv = slices.Clone(good.Argv)
		c.change(&spec)
		p, err := w.New(t.Context(), spec)
		if err == nil || c.kind != nil && !errors.Is(err, c.kind) {
			t.Errorf("%s: %+v, %v, want %v", what, p, err, c.kind)
		}
	}
	for _, name := range []string{
		"", ".", "a.b", "a:b", "a:", `a\b`, "a$b", "$1", "@1", "%1", "=a", "-a", "+1", "!", "~", "{last}", "a\nb", "a\tb", "a\x1b", "a\x00", "\u0085", "\xff",
		strings.Repeat("x", MaxSession+1),
	} {
		spec := good
		spec.Name = name
		if p, err := w.New(t.Context(), spec); err == nil {
			t.Errorf("a session named %q was made: %+v", name, p)
		}
	}
	_, err := w.Panes(t.Context())
	want(t, "panes after refusals", err, ErrAbsent)
	long := w.make(Spec{Name: strings.Repeat("x", MaxSession), Argv: []string{"cat", "-", strings.Repeat("x", MaxArgument)}})
	if p := w.pane(long.ID); p.SessionName != long.SessionName {
		t.Errorf("the longest name is %q", p.SessionName)
	}
}

// The commands that follow are not done to a session that has the name already.
func TestDuplicate(t *testing.T) {
	t.Parallel()
	w := empty(t)
	first := w.make(Spec{Name: "a", Owner: "first"})
	_, err := w.New(t.Context(), Spec{Name: "a", Dir: w.dir, Argv: []string{"cat"}, Owner: "second"})
	var dup *DuplicateError
	if !errors.As(err, &dup) || dup.Name != "a" {
		t.Errorf("got %v, want a *DuplicateError", err)
	}
	if p := w.pane(first.ID); p.Owner != "first" {
		t.Errorf("the session belongs to %q now", p.Owner)
	}
	wins, dups := 0, 0
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			p, err := w.New(t.Context(), Spec{Name: "b", Dir: w.dir, Argv: []string{"cat"}, Owner: "o" + strconv.Itoa(i)})
			mu.Lock()
			defer mu.Unlock()
			var dup *DuplicateError
			switch {
			case err == nil:
				wins++
				if now, err := w.Find(t.Context(), "b"); err != nil || now.Owner != p.Owner || now.ID != p.ID {
					t.Errorf("the winner is %+v, there is %+v, %v", p, now, err)
				}
			case errors.As(err, &dup):
				dups++
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if wins != 1 || dups != 9 {
		t.Errorf("%d made, %d got a duplicate error", wins, dups)
	}
}

func TestParallelStarts(t *testing.T) {
	t.Parallel()
	w := empty(t)
	var all sync.WaitGroup
	servers := make([]int, 20)
	for i := range servers {
		all.Go(func() {
			p, err := w.New(t.Context(), Spec{Name: "s" + strconv.Itoa(i), Dir: w.dir, Argv: []string{"cat"}, Isolated: true})
			if err != nil {
				t.Error(err)
			}
			servers[i] = p.Server
		})
	}
	all.Wait()
	snap, err := w.Panes(t.Context())
	if err != nil || len(snap.Panes) != 20 || len(slices.Compact(slices.Sorted(slices.Values(servers)))) != 1 {
		t.Errorf("%v, servers %v, panes %d", err, servers, len(snap.Panes))
	}
}

func TestNewAfterTheServerEnded(t *testing.T) {
	t.Parallel()
	w := empty(t)
	seen := map[int]bool{}
	for i := range 20 {
		if i > 0 {
			w.do("kill-server")
		}
		p := w.make(Spec{Name: "a"})
		if seen[p.Server] {
			t.Errorf("server %d again", p.Server)
		}
		seen[p.Server] = true
	}
}

// TestSettingsOfTheUser: the user's settings do not end detached sessions, neither on our own server nor on the user's.
func TestSettingsOfTheUser(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".tmux.conf"), []byte("set -g destroy-unattached on\nset -g @seen yes\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	for isolated, seen := range map[bool]string{true: "", false: "yes"} {
		w := empty(t)
		for _, name := range []string{"a", "b"} {
			if _, err := w.New(t.Context(), Spec{Name: name, Dir: w.dir, Argv: []string{"cat"}, Isolated: isolated}); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 { // whenever a client leaves, the server looks who is watched
			if snap, err := w.Panes(t.Context()); err != nil || len(snap.Panes) != 2 {
				t.Errorf("isolated %t: %+v, %v", isolated, snap, err)
			}
		}
		if got := w.do("display-message", "-p", "#{@seen}"); got != seen {
			t.Errorf("isolated %t: the user's settings were read: %q, want %q", isolated, got, seen)
		}
	}
}

func TestEnvironmentOfAServer(t *testing.T) {
	t.Setenv("TUTTI_TEST_KEY", "secret")
	t.Setenv("ANTHROPIC_API_KEY", "secret")
	t.Setenv("TMUX", "/nowhere,1,0")
	t.Setenv("LC_TIME", "C")
	t.Setenv("SSH_AUTH_SOCK", "/first")
	for _, isolated := range []bool{true, false} {
		w := empty(t)
		t.Setenv("HOME", w.dir) // without settings
		for i, name := range []string{"a", "b"} {
			env := w.file("env" + name)
			t.Setenv("SSH_AUTH_SOCK", "/"+name)
			_, err := w.New(t.Context(), Spec{Name: name, Dir: w.dir, Argv: []string{"sh", "-c", "env -0 >env; mv env " + env + "; exec cat"}, Env: []string{"OWN=" + name}, Isolated: isolated})
			if err != nil {
				t.Fatal(err)
			}
			eventually(t, func() (string, bool) { _, err := os.Stat(env); return "no environment", err == nil })
			got := strings.Split(read(t, env), "\x00")
			for _, v := range got {
				if strings.Contains(v, "secret") || strings.HasPrefix(v, "TMUX=/nowhere") || i == 1 && v == "OWN=a" {
					t.Errorf("session %s, isolated %t: %q has come along", name, isolated, v)
				}
			}
			for _, v := range []string{"OWN=" + name, "LC_TIME=C", "HOME=" + w.dir, "SSH_AUTH_SOCK=/" + name} {
				if !slices.Contains(got, v) {
					t.Errorf("session %s, isolated %t: %q is missing in %q", name, isolated, v, got)
				}
			}
		}
		snap, err := w.Panes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if env := read(t, fmt.Sprintf("/proc/%d/environ", snap.PID)); strings.Contains(env, "secret") {
			t.Error("the server has a secret in its environment")
		}
		if cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", snap.PID)); err != nil || cwd != "/" {
			t.Errorf("the server stands in %q, %v", cwd, err)
		}
	}
}

// A context that has ended, or ends meanwhile, ends the call.
func TestNewEndsWithItsContext(t *testing.T) {
	needTmux(t)
	bin := t.TempDir()
	if err := progfile.Write(filepath.Join(bin, "tmux"), []byte("#!/bin/sh\necho 'server exited unexpectedly' >&2; exit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	s, err := Named("t" + rand.Text()[:8])
	if err != nil {
		t.Fatal(err)
	}
	spec := Spec{Name: "a", Dir: bin, Argv: []string{"cat"}}
	begin := time.Now()
	if _, err := s.New(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "server exited") || time.Since(begin) < bornLimit {
		t.Errorf("after %s: %v, want what tmux says, after %s", time.Since(begin), err, bornLimit)
	}
	halted := errors.New("halted")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(30*time.Millisecond, func() { cancel(halted) })
	_, err = s.New(ctx, spec)
	want(t, "new", err, halted)
	_, err = s.New(ctx, spec)
	want(t, "new again", err, halted)
	_, err = s.Find(ctx, "a")
	want(t, "find", err, halted)
	want(t, "kill", s.Kill(ctx, Pane{Server: 1 << 22, Started: 1, Session: "$0"}), halted)
	_, err = s.Watch(ctx)
	want(t, "watch", err, halted)
	want(t, "key", s.Key(ctx, Ref{Server: 1 << 22, Started: 1, ID: "%0", PID: 1 << 22}, "Escape"), halted)
}
