package tmux

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"tutti/internal/platform/proc"
)

// generous is how long an event may take on a machine that does much else; how long it takes is logged.
const generous = 10 * time.Second

func (w *world) watch() *Watcher {
	w.t.Helper()
	watcher, err := w.Watch(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(watcher.Close)
	return watcher
}

// next returns the next event; none is not one.
func next(t *testing.T, watcher *Watcher) (e Event, open bool) {
	t.Helper()
	select {
	case e, open = <-watcher.C:
		return e, open
	case <-time.After(generous):
		t.Fatal("no event")
	}
	return
}

// until takes events until the state is what it shall be, and logs how long that took.
func (w *world) told(watcher *Watcher, what string, kind Kind, ok func(*Snapshot) bool) {
	w.t.Helper()
	begin := time.Now()
	for seen := false; ; {
		e, open := next(w.t, watcher)
		if !open || e.Kind == Exit {
			w.t.Fatalf("%s: the watch ended: %v", what, e.Err)
		}
		heard := time.Since(begin)
		seen = seen || e.Kind == kind
		snap, err := w.Panes(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		if seen && ok(snap) {
			w.t.Logf("%s: heard after %s", what, heard.Round(100*time.Microsecond))
			return
		}
	}
}

func has(snap *Snapshot, name string) bool {
	for _, p := range snap.Panes {
		if p.SessionName == name {
			return true
		}
	}
	return false
}

// clientsOf returns the processes that are clients of a server.
func clientsOf(t *testing.T, server string) (pids []int) {
	t.Helper()
	all, err := proc.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		args, err := proc.Cmdline(p.PID)
		if err == nil && p.Comm == "tmux: client" && slices.Contains(args, server) {
			pids = append(pids, p.PID)
		}
	}
	return pids
}

func TestWatch(t *testing.T) {
	t.Parallel()
	w := empty(t)
	w.make(Spec{Name: "first"})
	watcher := w.watch()
	a := w.make(Spec{Name: "a"})
	w.told(watcher, "created", Changed, func(s *Snapshot) bool { return has(s, "a") })
	w.do("rename-session", "-t", "=a", "b")
	w.told(watcher, "renamed", Renamed, func(s *Snapshot) bool { return has(s, "b") })
	if err := w.Kill(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	w.told(watcher, "ended", Changed, func(s *Snapshot) bool { return !has(s, "b") })
	// The pane stays, and tmux may miss its end: every one is told, with how it ended.
	for i := range 30 {
		p := w.make(Spec{Name: "d" + strconv.Itoa(i)})
		w.told(watcher, "created", Changed, func(s *Snapshot) bool { return has(s, p.SessionName) })
		if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil { // a child of this test's server
			t.Fatal(err)
		}
		w.told(watcher, "died", Changed, func(s *Snapshot) bool {
			p, ok := s.Find(p.ID)
			return ok && p.Dead && p.Signal == int(syscall.SIGKILL)
		})
	}
	watcher.Close()
	watcher.Close()
	if e, open := next(t, watcher); open {
		t.Errorf("after Close: %+v", e)
	}
	w.untilAlone()
}

// untilAlone waits until the server has no client but who asks.
func (w *world) untilAlone() {
	w.t.Helper()
	eventually(w.t, func() (string, bool) {
		left := clientsOf(w.t, w.name)
		return fmt.Sprintf("processes stay: %v", left), len(left) == 0
	})
}

func TestWatchOfAUser(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	if err := os.WriteFile(filepath.Join(home, ".tmux.conf"), []byte("set-hook -g session-closed 'run-shell \"touch \\\"$HOME/ran\\\"\"'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSH_AUTH_SOCK", "/of/the/user")
	w := empty(t)
	var panes []Pane
	for _, name := range []string{"a", "b", "c"} {
		p, err := w.New(t.Context(), Spec{Name: name, Dir: w.dir, Argv: []string{"cat"}})
		if err != nil {
			t.Fatal(err)
		}
		panes = append(panes, p)
	}
	t.Setenv("SSH_AUTH_SOCK", "/of/somebody/else")
	watcher := w.watch()
	snap, err := w.Panes(t.Context())
	if err != nil || len(snap.Panes) != 3 {
		t.Fatalf("%+v, %v, want the user's three and no more", snap, err)
	}
	for _, name := range []string{"a", "b", "c"} {
		if got := w.do("show-environment", "-t", "="+name, "SSH_AUTH_SOCK"); got != "SSH_AUTH_SOCK=/of/the/user" {
			t.Errorf("the environment of session %s was changed: %s", name, got)
		}
	}
	if out := w.do("list-clients"); out != "" {
		t.Errorf("the user sees a guest: %s", out)
	}
	w.do("source-file", filepath.Join(home, ".tmux.conf")) // it sets a hook of the user's own, and ours is dropped
	w.do("set-hook", "-gu", "session-renamed")
	if err := w.Kill(t.Context(), panes[0]); err != nil {
		t.Fatal(err)
	}
	w.told(watcher, "ended", Changed, func(s *Snapshot) bool { return len(s.Panes) == 2 })
	w.do("rename-session", "-t", "=c", "d")
	w.told(watcher, "renamed", Renamed, func(s *Snapshot) bool { return has(s, "d") })
	if _, err := os.Stat(filepath.Join(home, "ran")); err != nil {
		t.Errorf("the user's own hook does not work: %v", err)
	}
	// Whoever waits is killed: another one waits.
	for _, pid := range clientsOf(t, w.name) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil { // of this test
			t.Fatal(err)
		}
	}
	w.told(watcher, "killed", Changed, func(*Snapshot) bool { return true })
	w.do("kill-session", "-t", "=b")
	w.told(watcher, "ended", Changed, func(s *Snapshot) bool { return len(s.Panes) == 1 })
	if err := w.Kill(t.Context(), panes[2]); err != nil {
		t.Fatal(err)
	}
	exit(t, watcher, nil)
}

// exit waits for the last event.
func exit(t *testing.T, watcher *Watcher, kind error) {
	t.Helper()
	begin := time.Now()
	for {
		e, open := next(t, watcher)
		if !open {
			t.Fatal("the watch is over without having said so")
		}
		if e.Kind != Exit {
			continue
		}
		t.Logf("its end: heard after %s", time.Since(begin).Round(100*time.Microsecond))
		if kind == nil && e.Err != nil || !errors.Is(e.Err, kind) {
			t.Errorf("the end of the server is reported as %v, want %v", e.Err, kind)
		}
		if e, open := next(t, watcher); open {
			t.Errorf("after the last event: %+v", e)
		}
		return
	}
}

func TestEndsOfAServer(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		end  func(w *world, server int)
		kind error
	}{
		"kill-server": {func(w *world, _ int) { w.do("kill-server") }, nil},
		"SIGTERM":     {func(w *world, server int) { _ = syscall.Kill(server, syscall.SIGTERM) }, nil},
		"SIGKILL":     {func(w *world, server int) { _ = syscall.Kill(server, syscall.SIGKILL) }, ErrCrashed},
		"SIGSEGV":     {func(w *world, server int) { _ = syscall.Kill(server, syscall.SIGSEGV) }, ErrCrashed},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := empty(t)
			p := w.make(Spec{Name: "a"})
			watcher := w.watch()
			c.end(w, p.Server)
			exit(t, watcher, c.kind)
			watcher.Close()
			_, err := w.Watch(t.Context())
			want(t, "watch no server", err, ErrAbsent)
		})
	}
}

// TestCrashWithSlowClient: on a busy machine the end of a program may be noticed before its server's own client has run.
func TestCrashWithSlowClient(t *testing.T) {
	if !canHold {
		t.Skip("no end of a program is noticed here")
	}
	t.Parallel()
	w := empty(t)
	p := w.make(Spec{Name: "a"})
	watcher := w.watch()
	client := 0
	all, err := proc.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if argv, err := proc.Cmdline(c.PID); err == nil && c.Parent == os.Getpid() && slices.Contains(argv, "wait-for") && slices.Contains(argv, w.name) {
			client = c.PID
		}
	}
	if client == 0 {
		t.Fatal("no client waits")
	}
	if err := errors.Join(syscall.Kill(client, syscall.SIGSTOP), syscall.Kill(p.Server, syscall.SIGKILL)); err != nil {
		t.Fatal(err)
	}
	for { // the program loses its terminal
		if _, err := proc.Of(p.PID); err != nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	time.Sleep(200 * time.Millisecond) // the watch learns of it after 40 ms
	if err := syscall.Kill(client, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	exit(t, watcher, ErrCrashed)
}

// Neither the user's screens nor what programs print wakes a watch.
func TestIdleWatch(t *testing.T) {
	t.Parallel()
	w := empty(t)
	w.make(Spec{Name: "loud", Argv: []string{"sh", "-c", "while :; do echo 'some output'; sleep 0.02; done"}})
	watcher := w.watch()
	w.make(Spec{Name: "mark"})
	w.told(watcher, "created", Changed, func(s *Snapshot) bool { return has(s, "mark") })
	select { // what belongs to the creation may come in two
	case <-watcher.C:
	case <-time.After(300 * time.Millisecond):
	}
	before := watcher.wakes.Load()
	select {
	case e := <-watcher.C:
		t.Errorf("nothing has happened, but got %+v", e)
	case <-time.After(time.Second):
	}
	if n := watcher.wakes.Load() - before; n > 0 {
		t.Errorf("woken %d times in a second of nothing", n)
	}
}

func TestWatchesOfOneServer(t *testing.T) {
	t.Parallel()
	w := empty(t)
	w.make(Spec{Name: "first"})
	one, two := w.watch(), w.watch()
	for i := range 10 {
		p := w.make(Spec{Name: "s" + strconv.Itoa(i)})
		for _, watcher := range []*Watcher{one, two} {
			w.told(watcher, "created", Changed, func(s *Snapshot) bool { return has(s, p.SessionName) })
		}
		if err := syscall.Kill(p.PID, syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		var both sync.WaitGroup
		for _, watcher := range []*Watcher{one, two} {
			both.Go(func() {
				for {
					e, open := <-watcher.C
					if !open || e.Kind == Exit {
						t.Errorf("the watch ended: %v", e.Err)
						return
					}
					snap, err := w.Panes(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					if p, ok := snap.Find(p.ID); ok && p.Signal == int(syscall.SIGTERM) {
						return
					}
				}
			})
		}
		both.Wait()
	}
	one.Close()
	p := w.make(Spec{Name: "last"})
	w.told(two, "created", Changed, func(s *Snapshot) bool { return has(s, p.SessionName) })
	two.Close()
	w.untilAlone()
	if now := w.pane(p.ID); now.Server != p.Server {
		t.Errorf("the server was %d, is %d", p.Server, now.Server)
	}
}

// TestConcurrentWatches: watches begin and end while sessions do, and the server survives: with clients in control mode tmux 3.3a crashes
// then.
func TestConcurrentWatches(t *testing.T) {
	t.Parallel()
	w := empty(t)
	first := w.make(Spec{Name: "first"})
	var all sync.WaitGroup
	for g := range 3 {
		all.Go(func() {
			for i := range 8 {
				watcher, err := w.Watch(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				p, err := w.New(t.Context(), Spec{Name: fmt.Sprintf("s%d-%d", g, i), Dir: w.dir, Argv: []string{"cat"}})
				if err == nil && i%2 == 0 {
					err = syscall.Kill(p.PID, syscall.SIGKILL) // a child of this test's server
				}
				if err == nil && i%3 == 0 {
					watcher.Close() // else while the session ends
				}
				if err == nil {
					err = w.Kill(t.Context(), p)
				}
				if err != nil {
					t.Error(err)
				}
				watcher.Close()
			}
		})
	}
	all.Wait()
	w.untilAlone()
	if now := w.pane(first.ID); now.Server != first.Server || now.Dead {
		t.Errorf("the server was %d, there is %+v", first.Server, now)
	}
}

// The end of the context ends a watch, whether or not anybody takes its events.
func TestWatchEndsWithItsContext(t *testing.T) {
	w := empty(t)
	w.make(Spec{Name: "first"})
	ctx, cancel := context.WithCancel(t.Context())
	watcher, err := w.Watch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		w.make(Spec{Name: "s" + strconv.Itoa(i)})
	}
	cancel()
	<-watcher.done
	w.untilAlone()
	if e, open := next(t, watcher); open {
		t.Errorf("after its context: %+v", e)
	}
}

// watchForEver is what a copy of this program does that is to be killed.
func watchForEver(server string) int {
	s, err := Named(server)
	if err == nil {
		_, err = s.Watch(context.Background())
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("watches")
	time.Sleep(time.Hour) // an empty select is a deadlock to a program without C
	return 0
}

// TestKilledWatch: a killed watcher leaves no waiting process behind.
func TestKilledWatch(t *testing.T) {
	t.Parallel()
	w := empty(t)
	p := w.make(Spec{Name: "first"})
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "TUTTI_TEST_WATCH="+w.name)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "watches\n" || len(clientsOf(t, w.name)) == 0 {
		t.Errorf("it says %q, %v; clients %v", line, err, clientsOf(t, w.name))
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if runtime.GOOS != "linux" {
		w.make(Spec{Name: "second"}) // elsewhere the next signal ends who waits
	}
	w.untilAlone()
	if now := w.pane(p.ID); now.Server != p.Server || now.Dead {
		t.Errorf("the session is %+v", now)
	}
}

// A server that hangs is given up.
func TestWatchOfAHangingServer(t *testing.T) {
	w := empty(t)
	p := w.make(Spec{Name: "first"})
	if err := syscall.Kill(p.Server, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(p.Server, syscall.SIGCONT)
	halted := errors.New("halted")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, halted)
	defer cancel()
	begin := time.Now()
	_, err := w.Watch(ctx)
	if want(t, "watch", err, halted); time.Since(begin) > Limit {
		t.Errorf("given up after %s", time.Since(begin))
	}
}
