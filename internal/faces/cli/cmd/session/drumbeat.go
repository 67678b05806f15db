package session

import (
	"context"
	"encoding/json"
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
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/governance/blocker"
	"tutti/internal/governance/escalation"
	"tutti/internal/store"
)

// whole is the value of a flag that is a whole number, no less than least.
func whole(c *kit.Call, flag *string, otherwise, least int) (int, error) {
	text := *flag
	if text == "" && !c.IsSet(flag) {
		return otherwise, nil
	}
	const most = 1 << 30
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, kit.Usagef("--%s %s: want a whole number, at least %d", c.FlagName(flag), kit.Clean(text), least)
	}
	return n, nil
}

// A recordedStatus is what an agent says that it does.
type recordedStatus struct {
	OK         bool   `json:"ok"`
	Instance   string `json:"instance"` // the agent
	WorkStatus string `json:"workStatus"`
}

type drumRecordOptions struct {
	Instance, Status, Command, ResumeCommand, Cwd, Tty, TmuxSession, TmuxPane, TmuxWindow string
}

func runDrumRecord(ctx context.Context, c *kit.Call, opt *drumRecordOptions) error {
	s := watchdog.Stop{Status: opt.Status}
	if c.Under == kit.H2A && opt.Instance == "" {
		return c.Missing(&opt.Instance)
	}
	if s.Status == "" {
		return c.Missing(&opt.Status)
	}
	if command := opt.Command; command != "" {
		s.Launch = &presence.Launch{Cwd: opt.Cwd, Command: command, ResumeCommand: opt.ResumeCommand, TTY: opt.Tty}
		if s.Launch.Cwd == "" {
			s.Launch.Cwd, _ = os.Getwd() // one that cannot be found out stays empty
		}
		if session, pane := opt.TmuxSession, opt.TmuxPane; session != "" && pane != "" {
			s.Launch.Tmux = &presence.Tmux{Session: session, Window: opt.TmuxWindow, Pane: pane}
		}
	}
	w, err := c.World(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	if s.Instance, err = c.Subject(ctx, w, opt.Instance); err != nil {
		return err
	}
	if err := s.Check(); err != nil {
		return kit.Usagef("%s", kit.Clean(err.Error()))
	}
	e, err := (&watchdog.Book{Store: w.Store}).Record(ctx, s, time.Now())
	if err != nil {
		return err
	}
	if c.JSON {
		c.Result(recordedStatus{true, string(e.Instance), e.WorkStatus})
		return nil
	}
	words := "recorded: " + kit.Name(e.Instance) + " " + e.WorkStatus
	if e.RelanceCount > 0 {
		words += ", asked to go on " + times(e.RelanceCount) + " lately"
	}
	c.Line(words)
	return nil
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return strconv.Itoa(n) + " times"
}

// drumBook opens the bus for reading. Without a bus there is nothing.
func drumBook(c *kit.Call) (*watchdog.Book, func(), error) {
	w, err := c.Reads()
	if err != nil || w == nil {
		return nil, func() {}, err
	}
	return &watchdog.Book{Store: w.Store}, func() { w.Close() }, nil
}

// A scanned is the agents that stopped.
type scanned struct {
	Findings  []watchdog.FindingView `json:"findings"`
	Exhausted []json.RawMessage      `json:"exhausted"` // those that are not asked any more, as they are stored
}

type drumScanOptions struct {
	MaxRelances string
}

func runDrumScan(ctx context.Context, c *kit.Call, opt *drumScanOptions) error {
	most, err := whole(c, &opt.MaxRelances, watchdog.Cap, 0)
	if err != nil {
		return err
	}
	b, done, err := drumBook(c)
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
		drumProblems(c, problems)
	}
	findings, exhausted := watchdog.Scan(all, most)
	if c.JSON {
		c.Result(scanned{render.Each(findings, watchdog.Finding.View), render.Each(exhausted, func(e *watchdog.Entry) json.RawMessage { return e.Raw })})
		return nil
	}
	blocked, err := blockedAgents(ctx, c, b)
	if err != nil {
		return err
	}
	sayStopped(c, all, most, blocked)
	return nil
}

// blockedAgents are those that have said what they are blocked by, in canonical form.
func blockedAgents(ctx context.Context, c *kit.Call, b *watchdog.Book) (map[address.Instance]bool, error) {
	blocked := map[address.Instance]bool{}
	if b == nil {
		return blocked, nil
	}
	all, problems, err := blocker.List(ctx, b.Store, blocker.Filter{Active: true})
	drumProblems(c, problems)
	for _, one := range all {
		blocked[one.Instance.Canonical()] = true
	}
	return blocked, err
}

func drumProblems(c *kit.Call, problems []error) {
	for _, err := range problems {
		c.Warn("%s", kit.Clean(err.Error()))
	}
}

// sayStopped lists the entries for people.
func sayStopped(c *kit.Call, all []*watchdog.Entry, most int, blocked map[address.Instance]bool) {
	if len(all) == 0 {
		c.Nothing("no agent is recorded as stopped")
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
			since = kit.Ago(max(0, now.Sub(e.StoppedAt)))
		}
		rows = append(rows, []string{kit.Name(e.Instance), e.WorkStatus, since, dueWords(e, watchdog.Known{Blocked: blocked[e.Instance.Canonical()]}, &s, now)})
	}
	c.Rows(rows)
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
		return "waits for you: " + kit.Clean(why)
	default:
		return kit.Clean(why) + asked
	}
}

// A cleared is an agent that is no longer recorded as stopped.
type cleared struct {
	OK       bool   `json:"ok"`
	Instance string `json:"instance"` // the agent
	Cleared  bool   `json:"cleared"`  // true
}

type drumClearOptions struct {
	Instance string
}

func runDrumClear(ctx context.Context, c *kit.Call, opt *drumClearOptions) error {
	w, err := c.World(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	var who address.Instance
	if i := c.Arg(0); i != "" && c.Under != kit.H2A {
		if opt.Instance != "" {
			return kit.Usagef("the agent was given twice")
		}
		who, err = c.Checked(ctx, w, i)
	} else {
		who, err = c.Subject(ctx, w, opt.Instance)
	}
	if err != nil {
		return err
	}
	b := &watchdog.Book{Store: w.Store}
	known := knows(ctx, b, who)
	if err := b.Clear(ctx, who, time.Now()); err != nil {
		return err
	}
	if c.JSON {
		c.Result(cleared{true, string(who), true})
		return nil
	}
	if !known {
		c.Line("nothing to clear: " + kit.Name(who) + " was not recorded as stopped")
		return nil
	}
	c.Line("cleared: " + kit.Name(who))
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

func runDrumEscalations(ctx context.Context, c *kit.Call) error {
	b, done, err := drumBook(c)
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
		drumProblems(c, problems)
	}
	if c.JSON {
		c.Result(render.Each(all, func(a *escalation.Alert) json.RawMessage { return a.Raw }))
		return nil
	}
	if len(all) == 0 {
		c.Nothing("no agent waits for you")
		return nil
	}
	var rows [][]string
	for _, a := range all {
		why := a.Detail
		if why == "" {
			why = a.Reason
		}
		rows = append(rows, []string{kit.Name(a.Instance), kit.Ago(max(0, time.Since(a.At))), kit.Clean(why)})
	}
	c.Rows(rows)
	c.Remark("to let one go on: tutti watchdog clear %s", kit.Clean(app.QuoteArg(string(all[0].Instance))))
	return nil
}

type drumSimulateOptions struct {
	drumOptions
}

func runDrumSimulate(_ context.Context, c *kit.Call, opt *drumSimulateOptions) error {
	s, err := drumSettings(c, &opt.drumOptions)
	if err != nil {
		return err
	}
	in, path := c.In, c.Arg(0)
	if path != "-" {
		f, err := kit.OpenNamed(path)
		if err != nil {
			return kit.FailIO(`the log of this bus: tutti store log drumbeat-decisions | tutti watchdog simulate -`, err, "drumbeat simulate")
		}
		defer f.Close()
		in = f
	}
	day, err := watchdog.ReadDay(in)
	if err != nil {
		return kit.FailIO("", err, "drumbeat simulate: %s", kit.Clean(path))
	}
	if len(day.Lines) == 0 {
		return kit.Refuse("drumbeat record and drumbeat watch write such lines; to see them: tutti store log drumbeat-decisions", "drumbeat simulate: nothing in %s is a line of the log of a drumbeat", kit.Clean(path))
	}
	if day.Bad > 0 {
		c.Warn("%s no line of that log", isAre(day.Bad))
	}
	sayReplay(c, day.Replay(*s))
	return nil
}

func isAre(n int) string {
	if n == 1 {
		return "1 line is"
	}
	return strconv.Itoa(n) + " lines are"
}

func sayReplay(c *kit.Call, r *watchdog.Replay) {
	if c.JSON {
		c.Result(simulated{
			r.From.UTC().Format(kit.JSONTime), r.To.UTC().Format(kit.JSONTime), r.Agents, r.Stops,
			render.Each(r.Steps, func(s watchdog.Step) json.RawMessage { return s.JSON() }),
			wouldHave{r.Asked, r.Raised, r.Ended},
			hasBeen{r.WasAsked, r.WasRaised},
		})
		return
	}
	var rows [][]string
	for i := range r.Steps {
		s := &r.Steps[i]
		rows = append(rows, []string{s.At.Local().Format(time.DateTime), kit.Name(s.Instance), kit.Clean(s.Text)})
	}
	c.Rows(rows)
	c.Line(fmt.Sprintf("%s, %s, from %s to %s", kit.Plural(r.Agents, "agent"), kit.Plural(r.Stops, "stop"),
		r.From.Local().Format(time.DateTime), r.To.Local().Format(time.DateTime)))
	c.Line(fmt.Sprintf("asked %s (it was %d), escalated %s (it was %d), gone on by themselves %s",
		times(r.Asked), r.WasAsked, times(r.Raised), r.WasRaised, times(r.Ended)))
}

// A simulated is what the watchdog would have done.
type simulated struct {
	From   string            `json:"from"`
	To     string            `json:"to"`
	Agents int               `json:"agents"`
	Stops  int               `json:"stops"` // how often an agent stopped
	Steps  []json.RawMessage `json:"steps"` // what would have been done, in order
	Would  wouldHave         `json:"would"`
	Was    hasBeen           `json:"was"`
}

// A wouldHave counts what would have been done.
type wouldHave struct {
	Relanced  int `json:"relanced"`
	Escalated int `json:"escalated"`
	WentOn    int `json:"wentOn"` // agents that went on by themselves
}

// A hasBeen counts what was done.
type hasBeen struct {
	Relanced  int `json:"relanced"`
	Escalated int `json:"escalated"`
}
