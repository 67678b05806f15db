package haltreport

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tutti/internal/attention/hookmark"
	"tutti/internal/platform/proc"
	"tutti/internal/sessions/agentproc"
)

// look reports on agents with marks. The marks are those of this very process, which runs.
func look(t *testing.T, a agentproc.Agent, m *hookmark.Mark, change func(*Options)) Agent {
	t.Helper()
	state := t.TempDir()
	self := proc.Self()
	a.Process, a.All = self, []proc.ID{self}
	if m != nil {
		m.PID, m.Start, m.Boot = self.PID, self.Start, self.Boot
		if err := hookmark.Record(state, *m); err != nil {
			t.Fatal(err)
		}
	}
	o := Options{
		Home: t.TempDir(), State: state, Build: "b2", Epoch: 3, Wait: 60 * time.Millisecond,
		Find: func(string) ([]agentproc.Agent, error) { return []agentproc.Agent{a}, nil },
	}
	if change != nil {
		change(&o)
	}
	r, _, err := Look(t.Context(), o)
	if err != nil || len(r.Agents) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	if n := r.Stop + r.Kill + r.Elsewhere; n != 1 {
		t.Errorf("counted %d agents of one", n)
	}
	return r.Agents[0]
}

func TestStates(t *testing.T) {
	claude := agentproc.Agent{CLI: "claude", Dir: "/src/api", TTY: "pts/3"}
	with := func(change func(*agentproc.Agent)) agentproc.Agent {
		a := claude
		change(&a)
		return a
	}
	for name, c := range map[string]struct {
		a    agentproc.Agent
		m    *hookmark.Mark
		want State
		text string
	}{
		"it acknowledged":              {claude, &hookmark.Mark{Build: "b2", Denies: true, Acked: 3}, Acknowledged, "acknowledged"},
		"hooks of another build did":   {claude, &hookmark.Mark{Build: "b1", Denies: true, Acked: 3}, Acknowledged, "acknowledged"},
		"notice only":                  {claude, &hookmark.Mark{Build: "b2", Acked: 3}, Older, "told of the halt, only edits are denied; run tutti host setup"},
		"it acknowledged another halt": {claude, &hookmark.Mark{Build: "b2", Denies: true, Acked: 2}, Denied, "denied at its next tool call"},
		"of another build":             {claude, &hookmark.Mark{Build: "b1", Denies: true}, Older, "older hooks deny only edits; run tutti host setup"},
		"older settings":               {claude, &hookmark.Mark{Build: "b2"}, Older, "older hooks deny only edits"},
		"no hooks":                     {claude, nil, NoHooks, " on pts/3: needs --kill"},
		"elsewhere":                    {with(func(a *agentproc.Agent) { a.Elsewhere = true }), nil, Elsewhere, "other home or container: not reached"},
		"opencode 2":                   {with(func(a *agentproc.Agent) { a.CLI, a.Version = "opencode", "2.0.1" }), nil, NotStopped, "no hook stops it"},
		"opencode 1":                   {with(func(a *agentproc.Agent) { a.CLI, a.Version = "opencode", "1.18.33" }), &hookmark.Mark{Build: "b2", Denies: true}, Denied, "denied"},
		"Antigravity":                  {with(func(a *agentproc.Agent) { a.CLI = "agy" }), nil, NotStopped, "no hook stops it"},
	} {
		t.Run(name, func(t *testing.T) {
			got := look(t, c.a, c.m, nil)
			if got.State != c.want || !strings.Contains(got.Text, c.text) {
				t.Errorf("got %s %q, want %s %q", got.State, got.Text, c.want, c.text)
			}
			if stops := c.want == Acknowledged || c.want == Denied; got.Stops() != stops {
				t.Errorf("it stops: %v", got.Stops())
			}
		})
	}
}

// TestInstalledHookIsNotRunning: an entry in the settings is not taken for a hook that runs.
func TestInstalledHookIsNotRunning(t *testing.T) {
	got := look(t, agentproc.Agent{CLI: "claude"}, nil, func(o *Options) {
		dir := filepath.Join(o.Home, ".claude")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "settings.json"), []byte(`{"command":"/bin/tutti hook claude PreToolUse --all-tools"}`), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	if got.State != Unproven || got.Stops() {
		t.Errorf("got %+v", got)
	}
}

// TestNoToolYet: a Codex whose settings name the hook before tools, and that has not run it, is not said to have older hooks.
func TestNoToolYet(t *testing.T) {
	codex := agentproc.Agent{CLI: "codex", Dir: "/src/api"}
	set := func(reviewed bool) func(*Options) {
		return func(o *Options) {
			dir := filepath.Join(o.Home, ".codex")
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			text := `{"command":"[ -x /bin/tutti ] || exit 0; exec /bin/tutti hook codex PreToolUse --all-tools"}`
			if err := os.WriteFile(filepath.Join(dir, "hooks.json"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			o.Unreviewed = func(*agentproc.Agent) bool { return !reviewed }
		}
	}
	for _, m := range []*hookmark.Mark{nil, {Build: "b2"}, {Build: "b1", Denies: true}} {
		got := look(t, codex, m, set(true))
		if want := "yet"; got.State != Unproven || !strings.Contains(got.Text, want) || m != nil && got.Text != "no tool call seen yet: needs --kill" {
			t.Errorf("reviewed, mark %+v: %+v", m, got)
		}
		if got = look(t, codex, m, set(false)); got.State != Unreviewed || got.Stops() || got.Text != "waits for your review of its hooks: needs --kill" {
			t.Errorf("not reviewed, mark %+v: %+v", m, got)
		}
	}
	if got := look(t, codex, &hookmark.Mark{Build: "b2", Denies: true}, set(false)); got.State != Denied {
		t.Errorf("its hook was seen: %+v", got)
	}
}

// TestWaitsForAcknowledgement: an acknowledgement within the time counts.
func TestWaitsForAcknowledgement(t *testing.T) {
	self := proc.Self()
	got := look(t, agentproc.Agent{CLI: "claude"}, &hookmark.Mark{Build: "b2", Denies: true}, func(o *Options) {
		o.Wait = 20 * time.Second
		find := o.Find
		o.Find = func(home string) ([]agentproc.Agent, error) {
			go func() {
				_ = hookmark.Record(o.State, hookmark.Mark{PID: self.PID, Start: self.Start, Boot: self.Boot, Build: "b2", Denies: true, Acked: 3})
			}()
			return find(home)
		}
	})
	if got.State != Acknowledged {
		t.Errorf("got %+v", got)
	}
}

func TestInterrupts(t *testing.T) {
	interrupt := func(err error) func(*Options) {
		return func(o *Options) {
			o.Interrupt = func(context.Context, agentproc.Agent) error { return err }
		}
	}
	server := agentproc.Agent{CLI: "codex", Server: true, Argv: []string{"codex", "app-server", "--managed-daemon"}}
	if got := look(t, server, nil, interrupt(nil)); got.State != Interrupted || !got.Interrupted {
		t.Errorf("got %+v", got)
	}
	if got := look(t, server, &hookmark.Mark{Build: "b2", Denies: true}, interrupt(nil)); got.State != Denied || !got.Interrupted {
		t.Errorf("got %+v", got)
	}
	if got := look(t, server, nil, interrupt(errors.New("no socket"))); got.State != NoHooks || got.Stops() {
		t.Errorf("got %+v", got)
	}
}

func TestFirstLine(t *testing.T) {
	for want, r := range map[string]Report{
		"Halted. Sends and tool calls are refused; no agent CLI of yours runs here.":                           {},
		"Halted. The only agent stops at once.":                                                                {Stop: 1},
		"Halted. All 12 agents stop at once.":                                                                  {Stop: 12},
		"Halted. 3 of 4 agents stop at once, 1 needs --kill.":                                                  {Stop: 3, Kill: 1},
		"Halted. 1 of 3 agents stops at once, 2 need --kill.":                                                  {Stop: 1, Kill: 2},
		"Halted. 0 of 1 agent stop at once, 1 needs --kill.":                                                   {Kill: 1},
		"Halted. All 2 agents stop at once; the switch does not reach 1 under another home or in a container.": {Stop: 2, Elsewhere: 1},
	} {
		if got := r.First(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestLines: a line tells agents of one name apart, and fits a terminal of 80 columns.
func TestLines(t *testing.T) {
	r := Report{}
	for i, s := range []State{Acknowledged, Denied, Interrupted, Older, Unproven, Unreviewed, NoHooks, NotStopped, Elsewhere} {
		a := Agent{Name: "shop", CLI: "claude", Version: "2.1.330", PID: 471100 + i, TTY: "pts/12", State: s}
		a.Text = a.words(false)
		r.Agents = append(r.Agents, a)
	}
	alone := Agent{Name: "docs", CLI: "codex", Version: "0.169", PID: 4, State: Denied}
	alone.Text = alone.words(false)
	r.Agents = slices.Insert(r.Agents, 0, alone) // before the one elsewhere, which comes last
	for i, line := range r.Lines() {
		if len(line) > 80 && r.Agents[i].State != Older && r.Agents[i].State != Unreviewed && r.Agents[i].State != Elsewhere { // which add the pid only to tell twins apart
			t.Errorf("%d columns: %s", len(line), line)
		}
		if twin := r.Agents[i].Name == "shop"; strings.Count(line, r.Agents[i].where()) != map[bool]int{true: 1}[twin] {
			t.Errorf("process of %+v: %s", r.Agents[i], line)
		}
	}
}

func TestShort(t *testing.T) {
	t.Parallel()
	r := &Report{Agents: []Agent{{PID: 7, State: NoHooks}, {PID: 8, Instance: "claude:api:aaaaaaaaaaaa", State: Acknowledged}, {PID: 9, State: Unproven}}}
	for _, c := range []struct {
		pid            int
		instance, want string
	}{
		{7, "", "not stopped: needs halt --kill"}, {0, "claude:api:aaaaaaaaaaaa", "halted"}, {9, "claude:api:aaaaaaaaaaaa", "halt not confirmed: needs halt --kill"},
	} {
		if a := r.Of(c.pid, c.instance); a == nil || a.HaltState().Words() != c.want {
			t.Errorf("pid %d, %s: got %+v, want %q", c.pid, c.instance, a, c.want)
		}
	}
	var none *Report
	if r.Of(0, "") != nil || r.Of(1, "x") != nil || none.Of(7, "") != nil {
		t.Error("a line for an agent that is not in the report")
	}
}
