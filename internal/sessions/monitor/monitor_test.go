package monitor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"tutti/internal/platform/proc"
	"tutti/internal/sessions/lifecycle"
	"tutti/internal/sessions/observe"
	"tutti/internal/sessions/registry"
	"tutti/internal/sessions/registry/yaml"
	"tutti/internal/test/sessiontest"
)

// A patrol is a monitor over a scene.
type patrol struct {
	*sessiontest.Scene
	reg  registry.Registry
	m    *lifecycle.Manager
	mu   sync.Mutex
	told []string
}

func newPatrol(t *testing.T) *patrol {
	t.Helper()
	p := &patrol{Scene: sessiontest.New(t)}
	dir := filepath.Join(p.Dir, registry.Folder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, registry.File)
	if err := os.WriteFile(path, []byte("tmux_sessions: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	if p.reg, err = yaml.Open(path); err != nil {
		t.Fatal(err)
	}
	p.m = lifecycle.New(lifecycle.Options{Registry: p.reg, Workspace: p.Dir, Home: p.Home, Server: p.Name})
	return p
}

func (p *patrol) observer() *observe.Observer {
	return &observe.Observer{Home: p.Home, Workspace: p.Dir, Env: func(string) string { return "" }, Servers: []string{p.Name}}
}

func TestMain(m *testing.M) { sessiontest.Main(m) }

// put puts a row into the registry as it is.
func (p *patrol) put(r registry.Row) {
	p.T.Helper()
	_, err := p.reg.Change(p.T.Context(), r.Name, func(row *registry.Row, _ bool) error {
		*row = r.Clone()
		return nil
	})
	if err != nil {
		p.T.Fatal(err)
	}
}

func (p *patrol) row(name string) (r registry.Row) {
	p.T.Helper()
	rows, _, err := p.reg.Rows(p.T.Context())
	if err != nil {
		p.T.Fatal(err)
	}
	for _, r := range rows {
		if r.Name == name {
			return r
		}
	}
	return r
}

func (p *patrol) watching() Watching {
	o := p.observer()
	return Watching{Observer: o, Tell: func(d Difference) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.told = append(p.told, fmt.Sprintf("%s %s: %s, %s %v %v", d.Class, d.Session, d.Found, d.Does, d.Done, d.Err))
	}}
}

func (p *patrol) heard(part string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Contains(strings.Join(p.told, "\n"), part)
}

// live runs a monitor until the test ends.
func (p *patrol) live() {
	p.T.Helper()
	w, ready, ended := p.watching(), make(chan struct{}), make(chan error, 1)
	w.Ready = func() { close(ready) }
	ctx, stop := context.WithCancel(context.Background())
	go func() { ended <- Run(ctx, p.m, w) }()
	select {
	case <-ready:
	case err := <-ended:
		p.T.Fatal(err)
	}
	p.T.Cleanup(func() {
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			p.T.Errorf("the monitor ended with %v", err)
		}
		if p.T.Failed() {
			p.T.Logf("told:\n%s", strings.Join(p.told, "\n"))
		}
	})
}

func (p *patrol) reconcile(dry bool) {
	p.T.Helper()
	w := p.watching()
	w.DryRun = dry
	if err := Reconcile(p.T.Context(), p.m, w); err != nil {
		p.T.Fatal(err)
	}
}

// TestMonitorEnd: an ended session is recorded with its last screen, and its tmux remains are removed. A known conversation can be resumed.
func TestMonitorEnd(t *testing.T) {
	t.Parallel()
	p := newPatrol(t)
	one := p.Begin("a-creator-claude", p.Program("claude"), "1000")
	one.SetConversation("claude", sessiontest.Conversation)
	p.put(one)
	two := p.Begin("b", "sh", "-c", "echo the last words; read x; exit 3")
	two.Agent = "mine"
	p.put(two)
	p.live()
	p.Do("send-keys", "-t", "=b:", "Enter")
	if err := syscall.Kill(one.Pane.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.Until("both are written down", func() bool {
		return p.row("b").Status == registry.Terminated && p.row("a-creator-claude").Status == registry.Terminated
	})
	a, b := p.row("a-creator-claude"), p.row("b")
	if a.Resumable != registry.Yes || a.Mode != "auto-detected" || !strings.Contains(a.VisibleNote, "signal 9") || a.TerminatedAt.IsZero() {
		t.Errorf("killed: %s", a.JSON())
	}
	if b.Resumable != registry.No || !strings.Contains(b.VisibleScreen, "the last words") || !strings.Contains(b.VisibleNote, "status 3") {
		t.Errorf("ended: %s", b.JSON())
	}
	if !p.heard("A b: its program has ended, with status 3, look again false") || !p.heard("terminated true") {
		t.Errorf("told %q", p.told)
	}
	p.Until("tmux keeps nothing of them", func() bool { return p.Tmux("has-session").Run() != nil })
	beat, ok := ReadBeat(p.reg.Path())
	if !ok || beat.Process != proc.Self() || beat.Pass < 2 || len(beat.Servers) != 1 {
		t.Errorf("the beat: %+v, %v", beat, ok)
	}
}

// TestMonitorLeaves: uncertain states are not recorded: a server that does not answer, a program that still runs, a stop under way, and a
// renamed session.
func TestMonitorLeaves(t *testing.T) {
	t.Parallel()
	p := newPatrol(t)
	claude := p.Program("claude")
	loop := filepath.Join(os.Getenv("TMUX_TMPDIR"), fmt.Sprintf("tmux-%d", os.Getuid()), p.Name+"loop")
	silent := p.Begin("silent", claude, "1000")
	if err := os.Symlink(loop, loop); err != nil { // so that nobody knows whether there is a server
		t.Fatal(err)
	}
	silent.Server, silent.BootID = p.Name+"loop", "before"
	p.put(silent)
	p.Do("kill-session", "-t", "=silent")
	renamed := p.Begin("renamed", claude, "1000")
	p.put(renamed)
	p.Do("rename-session", "-t", "=renamed", "other")
	orphan := p.Begin("orphan", "sh", "-c", `trap "" HUP; while :; do sleep 1000; done`)
	p.put(orphan)
	p.Until("it ignores the hangup", func() bool {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", orphan.Pane.PID))
		_, mask, _ := strings.Cut(string(status), "SigIgn:\t")
		mask, _, _ = strings.Cut(mask, "\n")
		return mask != "" && strings.ContainsAny(mask[len(mask)-1:], "13579bdf")
	})
	p.Do("kill-session", "-t", "=orphan")
	t.Cleanup(func() { _ = syscall.Kill(-orphan.Pane.PID, syscall.SIGKILL) })
	stopping := p.Begin("stopping", claude, "1000")
	self := proc.Self()
	stopping.Intent = &registry.Intent{Verb: "stop", PID: self.PID, Start: self.Start, Boot: self.Boot}
	p.put(stopping)
	p.Do("kill-session", "-t", "=stopping")
	before, err := os.ReadFile(p.reg.Path())
	if err != nil {
		t.Fatal(err)
	}
	p.reconcile(false)
	if after, err := os.ReadFile(p.reg.Path()); err != nil || string(after) != string(before) {
		t.Errorf("the registry was changed: %s\nwas %s", after, before)
	}
	if !p.heard("runs on") || !p.heard("? silent: tmux does not tell") {
		t.Errorf("told %q", p.told)
	}
}

// A stop that was cut off when all was done but the writing is a stop.
func TestMonitorSettles(t *testing.T) {
	t.Parallel()
	p := newPatrol(t)
	one := p.Begin("a", p.Program("claude"), "1000")
	one.Intent = &registry.Intent{Verb: "stop", PID: 1, Start: 1, Boot: "before"}
	p.put(one)
	p.reconcile(false)
	if got := p.row("a"); got.Intent == nil || !p.heard("it lives: tutti session stop a") {
		t.Errorf("it lives: %s, told %q", got.JSON(), p.told)
	}
	p.Do("kill-session", "-t", "=a")
	p.Until("its program ended", func() bool {
		return !(proc.ID{PID: one.Pane.PID, Start: one.Pane.StartTicks, Boot: one.BootID}).Alive()
	})
	p.reconcile(false)
	if got := p.row("a"); got.Status != registry.Stopped || got.Intent != nil || got.StoppedAt.IsZero() {
		t.Errorf("it has ended: %s, told %q", got.JSON(), p.told)
	}
}

// After a boot, and after the end of a server, sessions are lost, and can be taken up again.
func TestMonitorBoot(t *testing.T) {
	t.Parallel()
	p := newPatrol(t)
	one := registry.Row{Name: "a-creator-claude", Status: registry.Running, Server: p.Name, BootID: "before", OwnerID: "0123", Pane: registry.Pane{PID: os.Getpid(), Cwd: p.Dir, StartTicks: 5}}
	one.SetConversation("claude", sessiontest.Conversation)
	p.put(one)
	p.reconcile(true)
	if got := p.row(one.Name); got.Status != registry.Running || !p.heard("started anew, terminated false") {
		t.Errorf("a dry run: %s, told %q", got.JSON(), p.told)
	}
	p.reconcile(false)
	if got := p.row(one.Name); got.Status != registry.Terminated || got.Resumable != registry.Yes || !lifecycle.CutOff(&got) {
		t.Errorf("got %s", got.JSON())
	}
}

// TestMonitorBegin: a session that begins while the monitor runs is observed, and gets its conversation, and a row if it has none.
func TestMonitorBegin(t *testing.T) {
	t.Parallel()
	p := newPatrol(t)
	p.live()
	claude := p.Program("claude")
	one := p.Begin("a-creator-claude", claude, "1000")
	one.SetConversation("claude", "")
	one.Set("looks", []byte(`["start"]`))
	p.WriteReport(proc.ID{PID: one.Pane.PID, Start: one.Pane.StartTicks}, sessiontest.Conversation, "idle")
	p.put(one)
	p.Until("the conversation is recorded", func() bool { r := p.row(one.Name); return r.Conversation() == sessiontest.Conversation })
	p.Until("the looks are done", func() bool { r := p.row(one.Name); return strings.Join(lifecycle.Looks(&r), " ") == "start 0.3s 2s" })
	p.Do("new-session", "-d", "-s", registry.Name(p.Dir, "claude", nil), "-c", p.Dir, "--", claude, "1000")
	p.Do("new-session", "-d", "-s", "not-ours", "-c", p.Dir, "--", claude, "1000")
	p.Until("it has a row", func() bool { return p.row(registry.Name(p.Dir, "claude", nil)).Status == registry.Running })
	got := p.row(registry.Name(p.Dir, "claude", nil))
	if got.VisibleNote != "auto-registered" || got.Kind() != "claude" || got.Pane.PID <= 1 || got.Pane.StartTicks == 0 || got.BootID != proc.BootID() || got.Pane.Cwd != p.Dir {
		t.Errorf("got %s", got.JSON())
	}
	if p.row("not-ours").Name != "" {
		t.Error("a session of the user has a row")
	}
	for _, f := range p.observer().Status(t.Context(), []registry.Row{got}).Sessions {
		if f.Name == got.Name && (f.Drift != "" || f.State != observe.Alive) {
			t.Errorf("its row is not what is true: %+v", f)
		}
	}
}

// A registry has one monitor.
func TestOneMonitor(t *testing.T) {
	t.Parallel()
	p := newPatrol(t)
	p.live()
	var e *WatchedError
	if err := Reconcile(t.Context(), p.m, p.watching()); !errors.As(err, &e) || e.Holder != proc.Self() {
		t.Errorf("a second one: %v", err)
	}
	w := p.watching()
	w.DryRun = true
	if err := Reconcile(t.Context(), p.m, w); err != nil {
		t.Errorf("a dry run writes nothing, and may look at any time: %v", err)
	}
	if _, err := os.Stat(filepath.Join(p.Dir, registry.Folder, "monitor.lock")); err != nil {
		t.Error(err)
	}
}
