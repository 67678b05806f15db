package vectortest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"tutti/internal/attention/wake"
	"tutti/internal/attention/watchdog"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/store"
	"tutti/internal/store/memstore"
)

// An entryCase is an entry as the tables have it.
type entryCase struct {
	Instance     address.Instance
	WorkStatus   string
	RelanceCount int
	StoppedAt    string
	Terminal     *struct{ Action, At string }
}

func (c entryCase) entry(t *testing.T) *watchdog.Entry {
	t.Helper()
	var o canonjson.Object
	o.Str("instance", string(c.Instance))
	o.Str("workStatus", c.WorkStatus)
	o.Int("relanceCount", int64(c.RelanceCount))
	o.Opt("stoppedAt", c.StoppedAt)
	if c.Terminal != nil {
		o.Within("terminal", func(o *canonjson.Object) { o.Str("action", c.Terminal.Action); o.Str("at", c.Terminal.At) })
	}
	e, err := watchdog.ParseEntry(o.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func drumbeatScan(t *testing.T, c kase) {
	var v struct {
		Name          string
		Entries       []entryCase
		MaxRelances   int
		SkipInstances []address.Instance
		Expect        struct {
			Findings []struct {
				Instance     address.Instance
				Reason       string
				RelanceCount int
			}
			Exhausted []address.Instance
		}
	}
	c.into(t, &v)
	var all []*watchdog.Entry
	for _, e := range v.Entries {
		all = append(all, e.entry(t))
	}
	findings, exhausted := watchdog.Scan(all, v.MaxRelances, v.SkipInstances...)
	if len(findings) != len(v.Expect.Findings) || len(exhausted) != len(v.Expect.Exhausted) {
		t.Fatalf("got %d findings and %d exhausted, want %+v", len(findings), len(exhausted), v.Expect)
	}
	for i, want := range v.Expect.Findings {
		if got := findings[i]; got.Instance != want.Instance || got.Reason != want.Reason || got.RelanceCount != want.RelanceCount {
			t.Errorf("finding %d: got %s %s %d, want %+v", i, got.Instance, got.Reason, got.RelanceCount, want)
		}
	}
	for i, want := range v.Expect.Exhausted {
		if exhausted[i].Instance != want {
			t.Errorf("exhausted %d: got %s, want %s", i, exhausted[i].Instance, want)
		}
	}
}

// A drummed is a drum over one agent that stopped a while ago and was asked some times.
type drummed struct {
	t      *testing.T
	book   *watchdog.Book
	now    time.Time
	events []string
	asked  int
}

// drumbeatLog is where the decisions stand.
var drumbeatLog = store.Key{Kind: store.DrumbeatDecisions}

const drummedAgent = address.Instance("agy:gamma:ccccccccccc3")

func (d *drummed) Try(context.Context, watchdog.Target) (watchdog.Attempt, error) {
	d.asked++
	return watchdog.Attempt{Did: true, How: "asked"}, nil
}

func newDrummed(t *testing.T, status string, asked int) *drummed {
	t.Helper()
	d := &drummed{t: t, book: &watchdog.Book{Store: memstore.New(memstore.Options{})}, now: time.Now()}
	stopped := d.now.Add(-time.Minute)
	if _, err := d.book.Record(t.Context(), watchdog.Stop{Instance: drummedAgent, Status: status}, stopped); err != nil {
		t.Fatal(err)
	}
	for range asked {
		if _, err := d.book.Relanced(t.Context(), drummedAgent, stopped); err != nil {
			t.Fatal(err)
		}
	}
	d.now = d.now.Add(2 * time.Minute) // later than any spacing of that many
	return d
}

func (d *drummed) beat(o watchdog.Options) {
	d.t.Helper()
	o.Book, o.Relaunch, o.Now = d.book, d, func() time.Time { return d.now }
	o.Halted = func(string) error { return nil }
	o.Tell = func(e watchdog.Event) { d.events = append(d.events, e.Kind+": "+e.Text) }
	if err := watchdog.New(o).Beat(d.t.Context()); err != nil {
		d.t.Fatal(err)
	}
}

func drumbeatGovernance(t *testing.T, c kase) {
	var v struct {
		Name             string
		Self             address.Instance
		SelfWorkspace    string
		TargetWorkspace  string
		ClaimedConductor address.Instance
		RelanceCount     int
		ReachOk          *bool
		Expect           struct {
			Relanced    bool
			LogContains []string
			Log         string
		}
	}
	c.into(t, &v)
	d := newDrummed(t, "paused", v.RelanceCount)
	d.beat(watchdog.Options{
		Self: v.Self,
		Workspace: func(_ context.Context, i address.Instance) (string, error) {
			if i == v.Self {
				return v.SelfWorkspace, nil
			}
			return v.TargetWorkspace, nil
		},
		Conductor: func(_ context.Context, workspace string, _ time.Time) (address.Instance, error) {
			if workspace != v.TargetWorkspace {
				return "", errors.New("asked for " + workspace)
			}
			return v.ClaimedConductor, nil
		},
		Reach: func(context.Context, address.Instance, time.Time) (string, error) {
			if v.ReachOk != nil && !*v.ReachOk {
				return "no agent has this address", nil
			}
			return "", nil
		},
	})
	log := strings.Join(d.events, "\n")
	if (d.asked == 1) != v.Expect.Relanced {
		t.Errorf("relanced: got %d, want %v\n%s", d.asked, v.Expect.Relanced, log)
	}
	for _, want := range append(v.Expect.LogContains, v.Expect.Log) {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q:\n%s", want, log)
		}
	}
	if v.Expect.Relanced && len(v.Expect.LogContains) == 0 && strings.Contains(log, "advisory") {
		t.Errorf("an unexpected advisory:\n%s", log)
	}
}

func drumbeatDecider(t *testing.T, c kase) {
	var v struct {
		Name         string
		Decider      bool
		RelanceCount int
		DeciderAfter int
		Verdict      string
		Enforce      bool
		WorkStatus   string
		Expect       struct {
			Consulted                bool
			Decided, Applied, Effect string
		}
	}
	c.into(t, &v)
	d := newDrummed(t, v.WorkStatus, v.RelanceCount)
	d.now = d.now.Add(2 * time.Hour) // the tokens are back
	o := watchdog.Options{Settings: watchdog.Settings{Enforce: v.Enforce, DeciderAfter: v.DeciderAfter}}
	if v.Decider {
		o.Decider = &watchdog.Decider{Argv: []string{"printf", `sure: {"action":"` + v.Verdict + `"} %.0s`}}
	}
	d.beat(o)
	decided, applied := "", watchdog.Relance
	for l, err := range d.book.Store.Read(t.Context(), drumbeatLog, "") {
		if err != nil {
			t.Fatal(err)
		}
		if line, ok := watchdog.ParseLine(l.Data); ok && line.Event == "" {
			decided, applied = line.Decided, line.Applied
		}
	}
	if (decided != "") != v.Expect.Consulted || decided != v.Expect.Decided || applied != v.Expect.Applied {
		t.Errorf("got %q, applied %q; want %+v\n%s", decided, applied, v.Expect, strings.Join(d.events, "\n"))
	}
	alerts, _, err := d.book.Alerts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e, err := d.book.Get(t.Context(), drummedAgent)
	if err != nil {
		t.Fatal(err)
	}
	reason := map[string]string{watchdog.Escalate: watchdog.Watchdog, watchdog.Reroute: watchdog.RerouteAsk}[v.Expect.Applied]
	if reason == "" {
		if d.asked != 1 || len(alerts) != 0 || e.RelanceCount != v.RelanceCount+1 || e.Terminal != "" {
			t.Errorf("want it to be asked, and that counted: %d, %+v, %+v", d.asked, alerts, e)
		}
		return
	}
	if d.asked != 0 || len(alerts) != 1 || alerts[0].Reason != reason || e.Terminal != v.Expect.Applied {
		t.Errorf("want %s: asked %d, %+v, %+v", v.Expect.Effect, d.asked, alerts, e)
	}
	if !strings.Contains(v.Expect.Effect, reason) {
		t.Errorf("the effect %q is not %s", v.Expect.Effect, reason)
	}
}

func reflexiveDecision(t *testing.T, c kase) {
	var v struct {
		Text   string
		Expect struct{ Action, Reason string }
	}
	c.into(t, &v)
	if got := watchdog.ParseVerdict([]byte(v.Text)); got.Action != v.Expect.Action || got.Reason != v.Expect.Reason {
		t.Errorf("%s: got %+v, want %+v", v.Text, got, v.Expect)
	}
}

// resumeOurs are the answers where ours differ from those of the original, all for the sixth weakness: a request from anywhere does not lift the cap,
// and what could not be done now stays where it is.
var resumeOurs = map[string]struct {
	result string
	popped bool
}{
	"cap is not checked on this path": {watchdog.IsSpent, true},
	"relauncher says no":              {watchdog.Refuses, false},
	"relauncher throws":               {watchdog.Fails, false},
}

func drumbeatInboxResume(t *testing.T, c kase) {
	var v struct {
		Name         string
		Inbox, Actor address.Instance
		Body         map[string]string
		Entry        *entryCase
		Relauncher   string
		Expect       struct {
			Popped       bool
			Result       string
			RelanceCount int
		}
	}
	c.into(t, &v)
	var body canonjson.Object
	for name, value := range v.Body {
		body.Str(name, value)
	}
	result := ""
	q, is, whole := watchdog.ParseRequest(v.Actor, body.Bytes())
	switch {
	case !is:
		result = "ignored"
	case !whole:
		result = watchdog.Malformed
	default:
		var e *watchdog.Entry
		if v.Entry != nil {
			e = v.Entry.entry(t)
		}
		settings := watchdog.Settings{}.Full()
		result = watchdog.Refused(q, v.Inbox, e, &settings, time.Now())
	}
	popped := result != "ignored" && watchdog.Final(result)
	if result == "" {
		result = map[string]string{"": watchdog.Relanced, "declines": watchdog.Refuses, "throws": watchdog.Fails}[v.Relauncher]
		popped = watchdog.Final(result)
	}
	wantResult, wantPopped := v.Expect.Result, v.Expect.Popped
	if ours, differs := resumeOurs[v.Name]; differs {
		if wantResult == ours.result && wantPopped == ours.popped {
			t.Errorf("the original does the same: %s, popped %v", wantResult, wantPopped)
		}
		wantResult, wantPopped = ours.result, ours.popped
	}
	if result != wantResult || popped != wantPopped {
		t.Errorf("got %s, popped %v; want %s, %v", result, popped, wantResult, wantPopped)
	}
}

func paneActivity(t *testing.T, c kase) {
	var v struct {
		Name              string
		SessionName       string
		ClientActivitySec []int64
		NowMs             int64
		WindowMs          *int64
		Expect            struct{ Defer bool }
	}
	c.into(t, &v)
	window := wake.TypingFor
	if v.WindowMs != nil {
		window = time.Duration(*v.WindowMs) * time.Millisecond
	}
	var used []time.Time
	if v.SessionName != "" { // else the question had no answer
		for _, sec := range v.ClientActivitySec {
			used = append(used, time.Unix(sec, 0))
		}
	}
	if got := wake.Typing(used, time.UnixMilli(v.NowMs), window); got != v.Expect.Defer {
		t.Errorf("got %v, want %v", got, v.Expect.Defer)
	}
	slices.Reverse(used)
	if got := wake.Typing(used, time.UnixMilli(v.NowMs), window); got != v.Expect.Defer {
		t.Errorf("in another order: got %v, want %v", got, v.Expect.Defer)
	}
}
