package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"tutti/internal/app"
	"tutti/internal/attention/watchdog"
	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/governance/blocker"
	"tutti/internal/governance/escalation"
	"tutti/internal/store"
)

// whole is the value of a flag that is a whole number, no less than least.
func (c *Call) whole(name string, otherwise, least int) (int, error) {
	text := c.value(name)
	if text == "" && !c.isSet(name) {
		return otherwise, nil
	}
	const most = 1 << 30
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, usagef("--%s %s: want a whole number, at least %d", name, Clean(text), least)
	}
	return n, nil
}

func runDrumRecord(ctx context.Context, c *Call) error {
	s := watchdog.Stop{Status: c.value("status")}
	if c.under == H2A && c.value("instance") == "" {
		return c.missing("instance")
	}
	if s.Status == "" {
		return c.missing("status")
	}
	if command := c.value("command"); command != "" {
		s.Launch = &presence.Launch{Cwd: c.value("cwd"), Command: command, ResumeCommand: c.value("resume-command"), TTY: c.value("tty")}
		if s.Launch.Cwd == "" {
			s.Launch.Cwd, _ = os.Getwd() // one that cannot be found out stays empty
		}
		if session, pane := c.value("tmux-session"), c.value("tmux-pane"); session != "" && pane != "" {
			s.Launch.Tmux = &presence.Tmux{Session: session, Window: c.value("tmux-window"), Pane: pane}
		}
	}
	w, err := c.world(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	if s.Instance, err = c.subject(ctx, w); err != nil {
		return err
	}
	if err := s.Check(); err != nil {
		return usagef("%s", Clean(err.Error()))
	}
	e, err := (&watchdog.Book{Store: w.Store}).Record(ctx, s, time.Now())
	if err != nil {
		return err
	}
	if c.json {
		var o canonjson.Object
		o.Bool("ok", true)
		o.Str("instance", string(e.Instance))
		o.Str("workStatus", e.WorkStatus)
		c.emit(o.Bytes())
		return nil
	}
	words := "recorded: " + Clean(string(e.Instance)) + " " + e.WorkStatus
	if e.RelanceCount > 0 {
		words += ", asked to go on " + times(e.RelanceCount) + " lately"
	}
	c.line(words)
	return nil
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return itoa(n) + " times"
}

// drumBook opens the bus for reading. Without a bus there is nothing.
func (c *Call) drumBook() (*watchdog.Book, func(), error) {
	w, err := c.reads()
	if err != nil || w == nil {
		return nil, func() {}, err
	}
	return &watchdog.Book{Store: w.Store}, func() { w.Close() }, nil
}

func runDrumScan(ctx context.Context, c *Call) error {
	most, err := c.whole("max-relances", watchdog.Cap, 0)
	if err != nil {
		return err
	}
	b, done, err := c.drumBook()
	if err != nil {
		return err
	}
	defer done()
	var all []*watchdog.Entry
	if b != nil {
		var problems []error
		if all, problems, err = b.All(ctx); err != nil {
			return err
		}
		c.drumProblems(problems)
	}
	findings, exhausted := watchdog.Scan(all, most)
	if c.json {
		var found, spent list
		for _, f := range findings {
			found.raw(f.JSON())
		}
		for _, e := range exhausted {
			spent.raw(canonjson.Compact(e.Raw))
		}
		var o canonjson.Object
		o.Raw("findings", found.bytes())
		o.Raw("exhausted", spent.bytes())
		c.emit(o.Bytes())
		return nil
	}
	blocked, err := c.blockedAgents(ctx, b)
	if err != nil {
		return err
	}
	c.sayStopped(all, most, blocked)
	return nil
}

// blockedAgents are those that have said what they are blocked by, in canonical form.
func (c *Call) blockedAgents(ctx context.Context, b *watchdog.Book) (map[address.Instance]bool, error) {
	blocked := map[address.Instance]bool{}
	if b == nil {
		return blocked, nil
	}
	all, problems, err := blocker.List(ctx, b.Store, blocker.Filter{Active: true})
	c.drumProblems(problems)
	for _, one := range all {
		blocked[one.Instance.Canonical()] = true
	}
	return blocked, err
}

func (c *Call) drumProblems(problems []error) {
	for _, err := range problems {
		c.warn("%s", Clean(err.Error()))
	}
}

// sayStopped lists the entries for people.
func (c *Call) sayStopped(all []*watchdog.Entry, most int, blocked map[address.Instance]bool) {
	if len(all) == 0 {
		c.nothing("no agent is recorded as stopped")
		return
	}
	s := watchdog.Settings{Cap: most}
	if most == 0 {
		s.Cap = -1
	}
	s = s.Full()
	now := time.Now()
	var rows [][]string
	for _, e := range all {
		since := ""
		if !e.StoppedAt.IsZero() {
			since = ago(max(0, now.Sub(e.StoppedAt)))
		}
		rows = append(rows, []string{Clean(string(e.Instance)), e.WorkStatus, since, dueWords(e, watchdog.Known{Blocked: blocked[e.Instance.Canonical()]}, &s, now)})
	}
	c.table(rows)
}

// dueWords says what is due by an entry, and little beside it.
func dueWords(e *watchdog.Entry, k watchdog.Known, s *watchdog.Settings, now time.Time) string {
	asked := ""
	if e.RelanceCount > 0 {
		asked = ", asked " + times(e.RelanceCount)
	}
	switch ruling, why, until := watchdog.Judge(e, k, s, now); ruling {
	case watchdog.Due:
		return "due" + asked
	case watchdog.Wait:
		words := "due in " + until.Sub(now).Round(time.Second).String()
		if why != "" {
			words += ": " + why
		}
		return words + asked
	case watchdog.Spent:
		return "waits for you: " + Clean(why)
	default:
		return Clean(why) + asked
	}
}

func runDrumClear(ctx context.Context, c *Call) error {
	w, err := c.world(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	var who address.Instance
	if i := c.arg(0); i != "" && c.under != H2A {
		if c.value("instance") != "" {
			return usagef("the agent was given twice")
		}
		who, err = c.checked(ctx, w, i)
	} else {
		who, err = c.subject(ctx, w)
	}
	if err != nil {
		return err
	}
	b := &watchdog.Book{Store: w.Store}
	known := knows(ctx, b, who)
	if err := b.Clear(ctx, who, time.Now()); err != nil {
		return err
	}
	if c.json {
		var o canonjson.Object
		o.Bool("ok", true)
		o.Str("instance", string(who))
		o.Bool("cleared", true)
		c.emit(o.Bytes())
		return nil
	}
	if !known {
		c.line("nothing to clear: " + Clean(string(who)) + " was not recorded as stopped")
		return nil
	}
	c.line("cleared: " + Clean(string(who)))
	return nil
}

// knows tells whether a book has anything about an agent. What cannot be read is something.
func knows(ctx context.Context, b *watchdog.Book, who address.Instance) bool {
	if _, err := b.Get(ctx, who); !errors.Is(err, store.ErrNotFound) {
		return true
	}
	all, problems, err := b.Alerts(ctx)
	return err != nil || len(problems) > 0 || slices.ContainsFunc(all, func(a *escalation.Alert) bool { return a.Instance.Canonical() == who.Canonical() })
}

func runDrumEscalations(ctx context.Context, c *Call) error {
	b, done, err := c.drumBook()
	if err != nil {
		return err
	}
	defer done()
	var all []*escalation.Alert
	if b != nil {
		var problems []error
		if all, problems, err = b.Alerts(ctx); err != nil {
			return err
		}
		c.drumProblems(problems)
	}
	if c.json {
		var l list
		for _, a := range all {
			l.raw(canonjson.Compact(a.Raw))
		}
		c.emit(l.bytes())
		return nil
	}
	if len(all) == 0 {
		c.nothing("no agent waits for you")
		return nil
	}
	var rows [][]string
	for _, a := range all {
		why := a.Detail
		if why == "" {
			why = a.Reason
		}
		rows = append(rows, []string{Clean(string(a.Instance)), ago(max(0, time.Since(a.At))), Clean(why)})
	}
	c.table(rows)
	c.remark("to let one go on: tutti drumbeat clear %s", Clean(app.QuoteArg(string(all[0].Instance))))
	return nil
}

func runDrumSimulate(_ context.Context, c *Call) error {
	s, err := c.drumSettings()
	if err != nil {
		return err
	}
	in, path := c.In, c.arg(0)
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return failIO(`the log of this bus: tutti store log drumbeat-decisions | tutti drumbeat simulate -`, err, "drumbeat simulate")
		}
		defer f.Close()
		in = f
	}
	day, err := watchdog.ReadDay(in)
	if err != nil {
		return failIO("", err, "drumbeat simulate: %s", Clean(path))
	}
	if len(day.Lines) == 0 {
		return refuse("drumbeat record and drumbeat watch write such lines; to see them: tutti store log drumbeat-decisions", "drumbeat simulate: nothing in %s is a line of the log of a drumbeat", Clean(path))
	}
	if day.Bad > 0 {
		c.warn("%s no line of that log", isAre(day.Bad))
	}
	c.sayReplay(day.Replay(*s))
	return nil
}

func isAre(n int) string {
	if n == 1 {
		return "1 line is"
	}
	return itoa(n) + " lines are"
}

func (c *Call) sayReplay(r *watchdog.Replay) {
	if c.json {
		var steps list
		for i := range r.Steps {
			steps.raw(r.Steps[i].JSON())
		}
		var o canonjson.Object
		o.Str("from", r.From.UTC().Format(jsonTime))
		o.Str("to", r.To.UTC().Format(jsonTime))
		o.Int("agents", int64(r.Agents))
		o.Int("stops", int64(r.Stops))
		o.Raw("steps", steps.bytes())
		o.Within("would", func(o *canonjson.Object) {
			o.Int("relanced", int64(r.Asked))
			o.Int("escalated", int64(r.Raised))
			o.Int("wentOn", int64(r.Ended))
		})
		o.Within("was", func(o *canonjson.Object) {
			o.Int("relanced", int64(r.WasAsked))
			o.Int("escalated", int64(r.WasRaised))
		})
		c.emit(o.Bytes())
		return
	}
	var rows [][]string
	for i := range r.Steps {
		s := &r.Steps[i]
		rows = append(rows, []string{s.At.Local().Format(time.DateTime), Clean(string(s.Instance)), Clean(s.Text)})
	}
	c.table(rows)
	c.line(fmt.Sprintf("%s, %s, from %s to %s", plural(r.Agents, "agent"), plural(r.Stops, "stop"),
		r.From.Local().Format(time.DateTime), r.To.Local().Format(time.DateTime)))
	c.line(fmt.Sprintf("asked %s (it was %d), put before a person %s (it was %d), gone on by themselves %s",
		times(r.Asked), r.WasAsked, times(r.Raised), r.WasRaised, times(r.Ended)))
}
