package monitor

import (
	"context"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/platform/proc"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/observe"
	"tutti/internal/store/memstore"
	"tutti/internal/test/sessiontest"
)

// A pane keeps a session present only while the agent's own program is in it.
func TestKeepalive(t *testing.T) {
	t.Parallel()
	sc := sessiontest.New(t)
	claude := sc.Program("claude")
	alone := sc.Begin("alone", "sleep", "1000")
	one := sc.Begin("one", claude, "1000")
	inner := sc.Begin("inner", "sh", "-c", claude+" 1000; sleep 1000")
	below := func(comm string) func() bool {
		return func() bool {
			tree := proc.Tree(mustList(t), proc.ID{PID: inner.Pane.PID, Start: inner.Pane.StartTicks, Boot: inner.BootID})
			return slices.ContainsFunc(tree, func(p proc.Process) bool { return p.Comm == comm })
		}
	}
	sc.Until("the agent runs below its shell", below("claude"))
	elsewhere := exec.Command("sleep", "1000")
	if err := elsewhere.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = elsewhere.Process.Kill(); _ = elsewhere.Wait() }()

	p := presence.New(memstore.New(memstore.Options{}))
	now := time.Now()
	session := func(id, pane string, pid int, at time.Time, change func(*presence.Start)) {
		t.Helper()
		s := presence.Start{
			SessionID: address.SessionID("sess:" + id), Instance: "claude:api:3f2a9c01b7de", Host: "claude", PID: pid,
			Launch: &presence.Launch{Cwd: sc.Dir, Command: "claude", Tmux: &presence.Tmux{Session: "x", Pane: pane}},
		}
		if change != nil {
			change(&s)
		}
		if _, err := p.Open(t.Context(), s, at); err != nil {
			t.Fatal(err)
		}
	}
	long := now.Add(-time.Hour)
	session("pid in the pane", alone.Pane.ID, alone.Pane.PID, now, nil)
	session("pid elsewhere", alone.Pane.ID, elsewhere.Process.Pid, now, nil)
	session("another has the pid", alone.Pane.ID, alone.Pane.PID, long, nil)
	session("program of its kind", one.Pane.ID, 0, now, nil)
	session("program below a shell", inner.Pane.ID, 0, now, nil)
	session("its server elsewhere", one.Pane.ID, elsewhere.Process.Pid, now, nil)
	session("a newer program", one.Pane.ID, 0, long, nil)
	session("another kind", one.Pane.ID, 0, now, func(s *presence.Start) { s.Host, s.Instance = "gemini", "gemini:api:3f2a9c01b7de" })
	session("no pane", "%99", one.Pane.PID, now, nil)
	session("mirrored", one.Pane.ID, one.Pane.PID, now, func(s *presence.Start) { s.MirroredAt = "2026-01-01T00:00:00.000Z" })
	session("of another machine", one.Pane.ID, one.Pane.PID, now, func(s *presence.Start) {
		s.Workspace = &presence.Workspace{ID: "ws:x:y", Path: "/", Host: "elsewhere", Label: "y"}
	})
	session("in a workspace", one.Pane.ID, 0, now, func(s *presence.Start) { // as tutti writes it
		s.Workspace = &presence.Workspace{ID: "ws:x:y", Path: "/", Host: "claude", Label: "y"}
	})
	session("closed", one.Pane.ID, one.Pane.PID, now, nil)
	if _, err := p.Amend(t.Context(), "sess:closed", presence.Change{State: presence.Closed}); err != nil {
		t.Fatal(err)
	}
	var kept []string
	later := now.Add(time.Minute)
	k := Keepalive{
		Presence: p, Servers: func() []tmux.Server { return []tmux.Server{sc.Server} }, Now: func() time.Time { return later },
		Kept:    func(s *presence.Session) { kept = append(kept, strings.TrimPrefix(string(s.SessionID), "sess:")) },
		Problem: func(err error) { t.Error(err) },
	}
	pass := func() string {
		t.Helper()
		kept = nil
		if err := k.Pass(t.Context()); err != nil {
			t.Fatal(err)
		}
		slices.Sort(kept)
		return strings.Join(kept, ", ")
	}
	if got, want := pass(), "in a workspace, its server elsewhere, pid in the pane, program below a shell, program of its kind"; got != want {
		t.Errorf("kept %q, want %q", got, want)
	}
	s, err := p.Get(t.Context(), "sess:program of its kind")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(s.HeartbeatAt, later.UTC().Format("2006-01-02T15:04:05")) {
		t.Errorf("heartbeat %s, want %s", s.HeartbeatAt, later.UTC())
	}

	// The agent ends, and the pane goes on: with a shell, or to show its last screen.
	if err := syscall.Kill(one.Pane.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for _, c := range proc.Tree(mustList(t), proc.ID{PID: inner.Pane.PID, Start: inner.Pane.StartTicks, Boot: inner.BootID}) {
		if c.Comm == "claude" {
			if err := proc.Signal(c.ID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
	sc.Until("the shell goes on", below("sleep"))
	if got, want := pass(), "pid in the pane"; got != want {
		t.Errorf("when the agents have ended: kept %q, want %q", got, want)
	}
	// Without a server nobody is kept, and it is no fault.
	sc.Do("kill-server")
	if got := pass(); got != "" {
		t.Errorf("without a server: kept %q", got)
	}
}

func mustList(t *testing.T) []proc.Process {
	t.Helper()
	all, err := proc.List()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// It goes on until it is ended, and looks when tmux says that something has changed, also a server that came later.
func TestKeepaliveRuns(t *testing.T) {
	t.Parallel()
	first, sc := sessiontest.New(t), sessiontest.New(t)
	first.Begin("first", "sleep", "1000")
	p := presence.New(memstore.New(memstore.Options{}))
	ctx, stop := context.WithCancel(t.Context())
	kept := make(chan string, 100)
	k := Keepalive{
		Presence: p, Every: time.Hour, Kept: func(s *presence.Session) { kept <- s.Launch.Tmux.Pane },
		Servers: func() []tmux.Server { return []tmux.Server{first.Server, sc.Server} },
	}
	ended := make(chan error)
	go func() { ended <- k.Run(ctx) }()
	one := sc.Begin("one", sc.Program("claude"), "1000")
	_, err := p.Open(t.Context(), presence.Start{
		SessionID: "sess:one", Instance: "claude:api:3f2a9c01b7de", Host: "claude",
		Launch: &presence.Launch{Cwd: sc.Dir, Command: "claude", Tmux: &presence.Tmux{Session: "one", Pane: one.Pane.ID}},
	}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; ; i++ { // a session more is a change, whenever it has begun to listen
		for _, of := range []*sessiontest.Scene{first, sc} {
			of.Do("new-session", "-d", "sleep", "1000")
		}
		select {
		case pane := <-kept:
			if pane != one.Pane.ID {
				t.Errorf("kept %s", pane)
			}
		case <-time.After(time.Second):
			if i < 20 {
				continue
			}
			t.Error("nothing was kept")
		}
		break
	}
	stop()
	if err := <-ended; err != context.Canceled {
		t.Errorf("ended with %v", err)
	}
}

// Agents live in whatever server their user has started for them.
func TestServers(t *testing.T) {
	t.Parallel()
	a, b := sessiontest.New(t), sessiontest.New(t)
	a.Begin("one", "sleep", "1000")
	b.Begin("two", "sleep", "1000")
	inside := b.Do("display-message", "-p", "#{socket_path},#{pid},0")
	all := observe.Servers(func(name string) string { return map[string]string{"TMUX": inside}[name] })
	n := 0
	for _, s := range []tmux.Server{a.Server, b.Server} {
		if !s.Among(all) {
			t.Errorf("%s is not among %v", s, all)
		}
		for _, one := range all {
			if one.Among([]tmux.Server{s}) {
				n++
			}
		}
	}
	if n != 2 {
		t.Errorf("of the two there are %d in %v", n, all)
	}
}
