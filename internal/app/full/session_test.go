package full

import (
	"os/exec"
	"slices"
	"testing"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/platform/proc"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/lifecycle"
	"tutti/internal/sessions/registry"
)

// program starts a process that stands for an agent.
func program(t *testing.T) proc.ID {
	t.Helper()
	c := exec.Command("sleep", "600")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	id, err := proc.Of(c.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestSessionBus(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	a := app.New(app.Settings{Home: home, Dir: home, Getenv: func(string) string { return "" }})
	bus := SessionBus(a, func(string) {})
	now := func() time.Time { return time.Now() }
	births := map[string]lifecycle.Birth{}
	for i, name := range []string{"x-api-creator-codex", "second"} {
		births[name] = lifecycle.Birth{
			Name: name, Agent: "codex", Owner: []string{"0123456789abcdef", "fedcba9876543210"}[i], Dir: home, Process: program(t),
			Pane: tmux.Pane{ID: "%7", Window: "@2"}, Command: []string{"codex", "--no-daemon", "a b"}, Resume: []string{"tutti", "session", "resume", name},
		}
	}
	who := map[string]string{}
	for name, b := range births {
		i, err := bus.Began(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		who[name] = i
		b.Instance = i
		births[name] = b
		if again, err := bus.Began(t.Context(), b); err != nil || again != i {
			t.Errorf("told again: %s, %v; it was %s", again, err, i)
		}
	}
	if who["second"] == who["x-api-creator-codex"] || address.Instance(who["second"]).Canonical().Label() != "second" {
		t.Errorf("the two are %v", who)
	}
	w, err := a.World(app.Writing)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for name, b := range births {
		of, err := w.Presence.Of(t.Context(), address.Instance(b.Instance), now())
		if err != nil || len(of) != 1 {
			t.Fatalf("%s is there %d times, %v", name, len(of), err)
		}
		s := of[0]
		if !s.StandsIn() || !identity.Serves(s.Raw, b.Process) || s.PID != b.Process.PID || s.Launch.Tmux.Pane != "%7" || s.Launch.Tmux.Session != name ||
			s.Launch.Command != "codex '--no-daemon' 'a b'" || s.Launch.Cwd != home {
			t.Errorf("%s: %s", name, s.Raw)
		}
		// What runs below its process is the same agent, conversation or not.
		below := identity.Request{Host: "codex", Place: a.In(home).Workplace(), Process: program(t), Above: []proc.ID{b.Process}}
		for _, conversation := range []string{"", "thread-of-" + name} {
			below.Session = conversation
			if r, err := w.Connect(t.Context(), below, now()); err != nil || string(r.Instance) != b.Instance {
				t.Errorf("%s, conversation %q: %+v, %v", name, conversation, r, err)
			}
		}
		if got, err := bus.Conversation(t.Context(), "codex", home, b.Process); err != nil || got != "thread-of-"+name {
			t.Errorf("the conversation of %s is %q, %v", name, got, err)
		}
	}
	b := births["second"]
	row := registry.Row{Name: b.Name, OwnerID: b.Owner, Instance: b.Instance, Pane: registry.Pane{Cwd: home}}
	there := func() []*presence.Session {
		all, err := w.Presence.Of(t.Context(), address.Instance(b.Instance), now())
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	before := there()[0].HeartbeatAt
	time.Sleep(2 * time.Millisecond) // heartbeats are written in milliseconds
	if err := bus.Kept(t.Context(), b); err != nil || there()[0].HeartbeatAt == before || len(there()) != 1 {
		t.Errorf("kept: %v: %d", err, len(there()))
	}
	for range 2 {
		if err := bus.Ended(t.Context(), &row); err != nil || len(there()) != 0 {
			t.Errorf("ended: %v: %d", err, len(there()))
		}
	}
	if err := bus.Kept(t.Context(), b); err != nil || len(there()) != 1 || !there()[0].StandsIn() {
		t.Errorf("kept without a record: %v", err)
	}
	// A server of its own says that it is there: nobody stands in any more.
	if err := bus.Ended(t.Context(), &row); err != nil {
		t.Fatal(err)
	}
	self := b
	self.Process = proc.ID{}
	for id := range proc.Ancestors(proc.Self().PID) {
		self.Process = id
		break
	}
	if _, err := w.Presence.Open(t.Context(), presence.Start{Instance: address.Instance(b.Instance), Host: "codex", PID: proc.Self().PID}, now()); err != nil {
		t.Fatal(err)
	}
	for what, f := range map[string]func() error{
		"began": func() error { _, err := bus.Began(t.Context(), self); return err },
		"kept":  func() error { return bus.Kept(t.Context(), self) },
	} {
		if err := f(); err != nil || len(there()) != 1 || slices.ContainsFunc(there(), (*presence.Session).StandsIn) {
			t.Errorf("%s beside a server: %v, %d sessions", what, err, len(there()))
		}
	}
}
