package status

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tutti/internal/app"
	"tutti/internal/app/full"
	"tutti/internal/attention/haltreport"
	"tutti/internal/attention/todo"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/members"
	"tutti/internal/bus/presence"
	"tutti/internal/bus/trust"
	"tutti/internal/core/address"
	"tutti/internal/faces/cli/cmd/bus"
	"tutti/internal/faces/cli/cmd/stop"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/halt"
)

type statusOptions struct {
	Scope, Instance, Name string
	Here, Long            bool
}

// runStatus shows one screen of all agents of this machine; under h2a it is the inventory of live sessions.
func runStatus(ctx context.Context, c *kit.Call, opt *statusOptions) error {
	if c.Under == kit.H2A {
		c.Banner(halt.Read())
		return inventory(ctx, c, opt)
	}
	v, err := lookAtAll(ctx, c, opt, opt.Long || c.JSON)
	if v == nil {
		return err
	}
	v.hints = v.letters.hintsTo(v.hints)
	if v.halted.Halted && c.UserReads() {
		v.hints = append(v.hints, kit.LiftHint(v.halted))
	}
	if c.JSON {
		c.Result(v.screen())
	} else {
		sayStatus(c, opt, v)
	}
	return err // of the bus of this folder
}

// lookAtAll reads everything that the screen shows, with facts also what is known of each agent beside what it does. An error beside a view is one of the bus of this folder.
func lookAtAll(ctx context.Context, c *kit.Call, opt *statusOptions, facts bool) (*statusView, error) {
	root, err := c.App.Root()
	if err != nil {
		return nil, err
	}
	v := &statusView{root: root, halted: halt.Read(), long: opt.Long, whole: opt.Long || c.JSON, facts: facts}
	if c.JSON {
		c.Banner(v.halted)
	}
	if opt.Here {
		v.here = folderHere()
	}
	near, letters := sessionsNear(ctx, c, opt.Here), lettersNear(ctx, c)
	if v.halted.Halted {
		v.reached = stop.HaltKnown(ctx, c)
	}
	v.news = kit.ReadHaltNews(ctx)
	v.denied = fast.Denial{Halted: v.halted.Halted, Pauses: v.news.Pauses}
	w, err := c.World(app.Reading)
	var none *app.NoBusError
	switch {
	case errors.As(err, &none):
		v.hints = append(v.hints, strings.Split(none.Hint(), "\n")...)
		err = nil
	case err == nil:
		defer w.Close()
		v.exists = true
	}
	lookAtBuses(ctx, c, v)
	if w != nil {
		err = survey(ctx, c, opt, w, v)
	}
	v.sessions = near()
	v.tabulate(time.Now(), v.here)
	if home, err := c.App.Home(); err == nil {
		for i := range v.rows {
			v.rows[i].report(home)
		}
		if facts {
			v.learn(c, home)
		}
	}
	v.letters = letters()
	person := sync.OnceValue(func() bool { _, is := c.JobActor(); return is })
	v.waiting = v.asking(person)
	v.blind = waitingHere(ctx, c, w, v, person)
	return v, err
}

// inventory lists the live sessions of this bus, and those mirrored from others.
func inventory(ctx context.Context, c *kit.Call, opt *statusOptions) error {
	w, err := c.Reads()
	if err != nil {
		return err
	}
	if w != nil {
		defer w.Close()
	}
	found, err := bus.Fresh(ctx, &bus.SessionFilter{Scope: opt.Scope, Instance: opt.Instance, Name: opt.Name}, w)
	if err != nil {
		return err
	}
	var direct, indirect []*presence.Session
	for _, s := range found {
		if s.MirroredAt != "" {
			indirect = append(indirect, s)
		} else {
			direct = append(direct, s)
		}
	}
	root, err := c.App.Root()
	if err != nil {
		return err
	}
	d := directory{OK: true, Root: root.Path, Direct: bus.SessionsJSON(direct), Indirect: bus.SessionsJSON(indirect)}
	d.Counts.Direct, d.Counts.Indirect, d.Counts.Total = len(direct), len(indirect), len(found)
	c.Result(d)
	return nil
}

// newestShown is how many unread messages the screen names.
const newestShown = 5

// maxCounted is among how many messages of a mailbox those that are unread are counted.
const maxCounted = 1000

// A statusView is what the one screen shows.
type statusView struct {
	root     *app.Root // of this folder
	exists   bool
	here     string // the folder to which --here restricts the screen; "" for the whole machine
	long     bool   // ids, addresses and folders of buses are shown, too
	whole    bool   // all of it is read: --long or --json
	facts    bool   // also what is known of each agent beside what it does
	halted   halt.State
	reached  *haltreport.Report // what the halt reached; nil: nothing is halted, or that is not known
	news     kit.HaltNews
	denied   fast.Denial
	rows     []agentRow // of this machine
	sessions []sessionLine
	buses    []busView
	problems []kit.BusProblem
	waiting  []todo.Item
	blind    error // why it is not known what waits
	letters  *letterView
	hints    []string
	// Of the bus of this folder:
	up     *app.Up // looks after it; nil: nothing does
	you    *identity.Speaker
	nobody error         // why it is not known who you are
	folder string        // in which you work; "" when it is not known
	agents []members.Row // that are live, without you
	away   []carriage    // messages of this bus to agents on other machines that were not carried yet
	unread int
	more   bool     // there is more unread than was counted
	asked  []string // ids of the questions that unread messages announce
	newest []mailLine
	bad    int       // files in your mailbox that are not messages
	seat   *seatView // who conducts this folder; nil: that is not a question here
}

// A mailLine is one unread message.
type mailLine struct {
	id, from, text string
	verdict        trust.Verdict
	at             time.Time
}

// survey fills the view from the bus.
func survey(ctx context.Context, c *kit.Call, opt *statusOptions, w *app.World, v *statusView) error {
	for i := range v.buses {
		if v.buses[i].own {
			v.agents = slices.Clone(v.buses[i].agents)
		}
	}
	if err := v.findAway(ctx, w); err != nil {
		return err
	}
	if v.whole || len(v.away) > 0 {
		v.up = app.RunningUp(c.App, v.root.Path)
	}
	if v.whole {
		if err := v.findSeat(ctx, c, w); err != nil {
			return err
		}
	}
	v.you, v.nobody = whose(ctx, c, opt, w)
	if v.you == nil {
		var unknown *identity.UnknownError
		if !errors.As(v.nobody, &unknown) {
			v.hints = append(v.hints, kit.HintOf(v.nobody))
		}
		return nil
	}
	me := v.you.Instance.Canonical()
	if v.seat != nil {
		v.seat.own = v.seat.conductor.Canonical() == me
	}
	v.agents = slices.DeleteFunc(v.agents, func(r members.Row) bool {
		if r.Instance.Canonical() != me {
			return false
		}
		v.folder = cmp.Or(v.folder, fast.FolderOf(&r))
		return true
	})
	if err := v.mail(ctx, w); err != nil {
		return err
	}
	if v.unread > 0 && c.JSON {
		v.hints = append(v.hints, `"tutti receive" shows the mail`)
	}
	return nil
}

// whose is who speaks here, or whom --instance names.
func whose(ctx context.Context, c *kit.Call, opt *statusOptions, w *app.World) (*identity.Speaker, error) {
	if i := opt.Instance; i != "" {
		if err := address.Check(i); err != nil {
			return nil, err
		}
		who, err := c.Meant(ctx, w, i)
		return &identity.Speaker{Instance: who, How: "--instance"}, err
	}
	return c.Peek(ctx, w, "")
}

// unreadText is a count of unread messages, of which there may be more.
func unreadText(n int, more bool) string {
	if more {
		return strconv.Itoa(n) + " or more unread messages"
	}
	return kit.Plural(n, "unread message")
}

// mail counts what is unread and judges the newest of it.
func (v *statusView) mail(ctx context.Context, w *app.World) error {
	unread, more, bad, err := w.Mail.Oldest(ctx, v.you.Instance, maxCounted, mailbox.Query{Unread: true})
	if err != nil {
		return err
	}
	v.unread, v.more, v.bad = len(unread), more, len(bad)
	v.asked = full.Announced(ctx, w.Mail, unread)
	if v.unread == 0 || v.more || !v.whole { // the newest of a crowd are found by reading all of it
		return nil
	}
	newest, _, err := w.Mail.List(ctx, v.you.Instance, mailbox.Query{Unread: true, Newest: newestShown})
	if err != nil {
		return err
	}
	office := mail.Service{Mail: w.Mail, Registry: w.Registry, Pins: w.Pins}
	for _, m := range newest {
		from := m.Envelope.Actor.Instance
		verdict, err := office.Judge(ctx, v.you.Instance, m.Envelope)
		if err != nil {
			return err
		}
		v.newest = append(v.newest, mailLine{
			id: m.ID, from: string(from), text: m.Envelope.Text(), verdict: verdict,
			at: time.UnixMilli(m.Order),
		})
	}
	return nil
}
