package daemon

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tutti/internal/app"
	"tutti/internal/app/full"
	"tutti/internal/attention/watchdog"
	"tutti/internal/bus/identity"
	people "tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/signature"
	"tutti/internal/governance/escalation"
	"tutti/internal/governance/negotiation"
)

// begun is a program that was begun for a test.
type begun struct {
	out  *page
	stop func()
}

// beside begins the part for a bus, for a user with a home and settings of its own.
func beside(t *testing.T, root, settings string, parts ...Part) begun {
	t.Helper()
	return besideAs(t, root, settings, func(string) string { return "" }, parts...)
}

// besideAs is beside with an environment.
func besideAs(t *testing.T, root, settings string, env func(string) string, parts ...Part) begun {
	t.Helper()
	home := t.TempDir()
	config := filepath.Join(home, ".config/tutti/config.toml")
	if err := os.MkdirAll(filepath.Dir(config), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	a := app.New(app.Settings{Home: home, Root: root, Dir: home, Getenv: env, Maker: "tutti@test"})
	out := &page{}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = serve(ctx, full.Service{App: a, Out: out, Err: out, Version: "test"}, parts)
	}()
	b := begun{out, func() { cancel(); <-done }}
	t.Cleanup(b.stop)
	return b
}

// TestTwoWatchdogs: of two programs on a bus one asks agents to go on. The other names it, asks no agent, and takes over when the first has
// ended. One without a relauncher does not take the role.
func TestTwoWatchdogs(t *testing.T) {
	t.Parallel()
	b := prepare(t)
	root := b.w.Root.Path
	const who = address.Instance("claude:api:3f2a9c01b7de")
	book := &watchdog.Book{Store: b.w.Store}
	if _, err := book.Record(t.Context(), watchdog.Stop{Instance: who, Status: "paused"}, time.Now().Add(-time.Minute)); err != nil {
		t.Fatal(err)
	}
	part := Part{"drumbeat", drum}
	const asks = "[drumbeat]\nrelauncher = \"headless\"\ninterval = \"1s\"\nmin_age = \"1s\"\nspacing = \"1s\"\nmax_relances = 1000\n"
	const tried = "claude:api:3f2a9c01b7de cannot be asked to go on: "
	dry := beside(t, root, "", part)
	dry.out.shows(t, " up: drumbeat says which agents have stopped, and asks none to go on")
	dry.out.shows(t, "claude:api:3f2a9c01b7de would be asked to go on")
	one := beside(t, root, asks, part)
	one.out.shows(t, " up: drumbeat asks agents to go on that have stopped, by headless\n")
	one.out.shows(t, tried)
	two := beside(t, root, asks, part)
	two.out.shows(t, fmt.Sprintf(" drumbeat: agents are asked to go on by tutti up, process %d on ", os.Getpid()))
	if text := two.out.String(); strings.Contains(text, tried) || strings.Count(text, "are asked to go on by") != 1 {
		t.Errorf("the second one said:\n%s", text)
	}
	if text := dry.out.String(); strings.Contains(text, "are asked to go on by") {
		t.Errorf("the observer learned which watchdog asks:\n%s", text)
	}
	one.stop()
	two.out.shows(t, tried)
}

// TestLapse: an escalation that is not decided in time is recorded once when its deadline passes, and the journal stays valid.
func TestLapse(t *testing.T) {
	t.Parallel()
	b := prepare(t)
	bus := full.Agreements(b.w)
	now := time.Now()
	ana := address.Instance("claude:ana:0a0a0a0a0a0a")
	act := negotiation.Act{By: ana, Key: signature.Generate()}
	reg := people.Build(people.Agent{Instance: ana, Roles: []string{"CONDUCTOR"}, Scopes: []string{"scope:x"}, Root: "/bus", PublicKeys: []string{act.Key.Public().PEM()}}, now)
	if err := b.w.Registry.Register(t.Context(), reg); err != nil {
		t.Fatal(err)
	}
	record := fmt.Appendf(nil, `{"id":"n:1","scope":"scope:x","parties":[%q],"subject":"engagement","requiredSigners":[%q]}`, ana, ana)
	if _, err := bus.Open(t.Context(), record, negotiation.Act{By: ana}, now); err != nil {
		t.Fatal(err)
	}
	escalate := func(in time.Duration, fallback string) {
		t.Helper()
		terms := escalation.Terms{Question: "which?", Options: []escalation.Option{{ID: "keep"}, {ID: "drop"}}, Until: now.Add(in), Fallback: fallback}
		if _, err := bus.Escalate(t.Context(), "n:1", act, "decide", terms.Payload(nil), now); err != nil {
			t.Fatal(err)
		}
	}
	escalate(time.Millisecond, "drop")
	escalate(time.Second, "keep")
	p := beside(t, b.w.Root.Path, "", Part{"escalations", escalations})
	p.out.shows(t, ` of n:1 in time: "drop" applies`)
	p.out.shows(t, ` of n:1 in time: "keep" applies`) // long before the next look at everything
	if took := time.Since(now); took > settleEvery {
		t.Errorf("it took %s", took)
	}
	all, err := bus.Matters().In(t.Context(), "n:1")
	if err != nil || len(all) != 2 || !all[0].Recorded || !all[1].Recorded {
		t.Errorf("afterwards %+v, %v", all, err)
	}
	if v, err := bus.Negotiations().Verify(t.Context(), "n:1", time.Now()); err != nil || !v.OK() {
		t.Errorf("the journal: %+v, %v", v, err)
	}
	if text := p.out.String(); strings.Count(text, "no answer to") != 2 {
		t.Errorf("told of:\n%s", text)
	}
}

// TestPrincipalNotified: when an agent is escalated, its registered principal gets one message from the identity that started the daemon.
// Without such an identity, or if it is the principal itself, no message is sent.
func TestPrincipalNotified(t *testing.T) {
	t.Parallel()
	b := prepare(t)
	connect := func(name string) address.Instance {
		t.Helper()
		r, err := b.w.Identity.Connect(t.Context(), identity.Request{Host: "codex", Name: name, Place: identity.Workplace{Path: t.TempDir(), Machine: "m"}}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return r.Instance
	}
	by, boss := connect("by"), connect("boss")
	book := &watchdog.Book{Store: b.w.Store}
	stop := func(who, principal address.Instance) {
		t.Helper()
		raw := people.Build(people.Agent{Instance: who, Roles: []string{"AGENTS"}, Scopes: []string{"scope:x"}, Root: b.w.Root.Path, Principal: string(principal)}, time.Now())
		if err := b.w.Registry.Register(t.Context(), raw); err != nil {
			t.Fatal(err)
		}
		if _, err := book.Record(t.Context(), watchdog.Stop{Instance: who, Status: "paused"}, time.Now().Add(-time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	const theirs, mine = address.Instance("claude:api:3f2a9c01b7de"), address.Instance("claude:web:3f2a9c01b7df")
	stop(theirs, boss)
	stop(mine, by)
	p := besideAs(t, b.w.Root.Path, "[drumbeat]\nrelauncher = \"headless\"\ninterval = \"1s\"\nmin_age = \"1s\"\nspacing = \"1s\"\nmax_relances = 1\n",
		func(name string) string { return map[string]string{"TUTTI_INSTANCE": string(by)}[name] }, Part{"drumbeat", drum})
	for _, who := range []address.Instance{theirs, mine} {
		p.out.shows(t, string(who)+" waits for you: ")
	}
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if all, _, err := b.w.Mail.Read(t.Context(), boss); err != nil || len(all) > 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("no message for %s:\n%s", boss, p.out)
		}
	}
	p.stop()
	for to, want := range map[address.Instance]int{boss: 1, by: 0} {
		all, _, err := b.w.Mail.Read(t.Context(), to)
		if err != nil || len(all) != want {
			t.Errorf("%s has %d messages, want %d; %v", to, len(all), want, err)
		}
		for _, m := range all {
			if m.Envelope.Actor.Instance != by || !strings.Contains(string(m.Envelope.Body), string(theirs)+" has stopped") {
				t.Errorf("got %s from %s", m.Envelope.Body, m.Envelope.Actor.Instance)
			}
		}
	}
}
