package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"tutti/internal/app"
	"tutti/internal/attention/todo"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/members"
	"tutti/internal/bus/presence"
	"tutti/internal/bus/registry"
	"tutti/internal/bus/trust"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/halt"
)

// runStatus shows one screen of everything; under h2a it is the inventory of live sessions.
func runStatus(ctx context.Context, c *Call) error {
	if c.under == H2A {
		return c.inventory(ctx)
	}
	root, err := c.App.Root()
	if err != nil {
		return err
	}
	v := &statusView{root: root, halted: halt.Read()}
	near, letters := c.sessionsNear(ctx), c.lettersNear(ctx)
	w, err := c.world(app.Reading)
	var none *app.NoBusError
	switch {
	case errors.As(err, &none):
		v.hints = append(v.hints, strings.Split(none.Hint(), "\n")...)
	case err != nil:
		return err
	default:
		defer w.Close()
		v.exists, v.up = true, c.App.RunningUp(root.Path)
		if err := c.survey(ctx, w, v); err != nil {
			return err
		}
	}
	v.meet(near())
	v.letters = letters()
	person := sync.OnceValue(func() bool { _, is := c.jobActor(); return is })
	v.waiting = v.asking(person)
	v.blind = waitingHere(ctx, c, w, v, person)
	v.hints = v.letters.hintsTo(v.hints)
	v.news = readHaltNews(ctx)
	v.denied = denial{v.halted.Halted, v.news.Pauses}
	if v.halted.Halted && c.userReads() {
		v.hints = append(v.hints, `"tutti resume" lets the agents go on`)
	}
	if c.json {
		c.emit(v.json())
		return nil
	}
	c.sayStatus(v)
	return nil
}

// inventory lists the live sessions of this bus, and those mirrored from others.
func (c *Call) inventory(ctx context.Context) error {
	w, err := c.reads()
	if err != nil {
		return err
	}
	if w != nil {
		defer w.Close()
	}
	found, err := c.fresh(ctx, w)
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
	var counts, o canonjson.Object
	counts.Int("direct", int64(len(direct)))
	counts.Int("indirect", int64(len(indirect)))
	counts.Int("total", int64(len(found)))
	o.Bool("ok", true)
	o.Str("root", root.Path)
	o.Raw("counts", counts.Bytes())
	o.Raw("direct", sessionsJSON(direct))
	o.Raw("indirect", sessionsJSON(indirect))
	c.emit(o.Bytes())
	return nil
}

// newestShown is how many unread messages the screen names.
const newestShown = 5

// A statusView is what the one screen shows.
type statusView struct {
	root     *app.Root
	exists   bool
	halted   halt.State
	up       *app.Up // looks after the bus; nil: nobody does
	you      *identity.Speaker
	nobody   error // why nobody speaks here
	agents   []members.Row
	sessions []sessionLine // of this folder, in tmux
	others   []members.Row // agents without those of the sessions, where there are sessions
	unread   int
	newest   []mailLine
	bad      int         // files in the mailbox that are no messages
	unseen   []agentMail // of other agents of this user that nothing wakes
	waiting  []todo.Item
	blind    error // why it is not known what waits
	letters  *letterView
	seat     *seatView // who conducts this folder; nil: that is no question here
	hints    []string
	news     haltNews
	denied   denial
	folder   string // in which you work; "" when it is not known
}

// A mailLine is one unread message.
type mailLine struct {
	id, from, text string
	word           trust.Word
	at             time.Time
}

// survey fills the view from the bus.
func (c *Call) survey(ctx context.Context, w *app.World, v *statusView) error {
	var err error
	if v.agents, err = w.Book.Discover(ctx, members.Filter{}, time.Now()); err != nil {
		return err
	}
	if err := v.findSeat(ctx, c, w); err != nil {
		return err
	}
	v.you, v.nobody = c.whose(ctx, w)
	v.unseen = unseen(ctx, w, v)
	if v.you == nil {
		var unknown *identity.UnknownError
		if !errors.As(v.nobody, &unknown) {
			v.hints = append(v.hints, hintOf(v.nobody))
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
		v.folder = cmp.Or(v.folder, folderOf(&r))
		return true
	})
	if err := v.mail(ctx, w); err != nil {
		return err
	}
	if v.unread > 0 {
		v.hints = append(v.hints, `"tutti receive" shows the mail`)
	}
	return nil
}

// whose is who speaks here, or whom --instance names.
func (c *Call) whose(ctx context.Context, w *app.World) (*identity.Speaker, error) {
	if i := c.value("instance"); i != "" {
		if err := address.Check(i); err != nil {
			return nil, err
		}
		who, err := c.meant(ctx, w, i)
		return &identity.Speaker{Instance: who, How: "--instance"}, err
	}
	return c.peek(ctx, w)
}

// mail counts what is unread and judges the newest of it.
func (v *statusView) mail(ctx context.Context, w *app.World) error {
	all, bad, err := w.Mail.List(ctx, v.you.Instance, mailbox.Query{Unread: true, Brief: true})
	if err != nil {
		return err
	}
	v.unread, v.bad = len(all), len(bad)
	if v.unread == 0 {
		return nil
	}
	newest, _, err := w.Mail.List(ctx, v.you.Instance, mailbox.Query{Unread: true, Newest: newestShown})
	if err != nil {
		return err
	}
	for _, m := range newest {
		from := m.Envelope.Actor.Instance
		keys, err := w.Registry.Keys(ctx, from)
		if err != nil {
			return err
		}
		pins, _ := w.Pins.Get(from)
		gone := w.Registry.Standing(ctx, from)
		if gone != nil && !errors.Is(gone, registry.ErrGone) {
			return gone
		}
		verdict := trust.Keys{Active: keys.Active, Revoked: keys.Revoked, Pins: pins, Gone: gone != nil}.Judge(m.Envelope)
		v.newest = append(v.newest, mailLine{
			id: m.ID, from: string(from), text: m.Envelope.Text(), word: verdict.Word,
			at: time.UnixMilli(m.Order),
		})
	}
	return nil
}

func (v *statusView) json() []byte {
	var o canonjson.Object
	o.Bool("ok", true)
	o.Bool("halted", v.halted.Halted)
	o.Opt("haltReason", v.halted.Reason)
	o.Str("root", v.root.Path)
	o.Str("rootSource", string(v.root.Source))
	o.Bool("exists", v.exists)
	upJSON(&o, v.up)
	if v.you != nil {
		var you canonjson.Object
		you.Str("instance", string(v.you.Instance))
		you.Opt("role", v.you.Role)
		you.Str("how", v.you.How)
		v.denied.of(v.you.Instance, v.folder).json(&you)
		o.Raw("you", you.Bytes())
	} else {
		o.Null("you")
		if v.nobody != nil {
			o.Str("nobody", whyNobody(v.nobody))
		}
	}
	var agents, newest list
	for i := range v.agents {
		agents.raw(peerJSON(&v.agents[i], v.denied.peer(&v.agents[i])))
	}
	o.Raw("agents", agents.bytes())
	if len(v.sessions) > 0 {
		var all list
		for i := range v.sessions {
			all.raw(v.sessions[i].json(v.denied.session(&v.sessions[i])))
		}
		o.Raw("sessions", all.bytes())
	}
	o.Int("unread", int64(v.unread))
	for _, m := range v.newest {
		var one canonjson.Object
		one.Str("id", m.id)
		one.Str("from", m.from)
		one.Str("trust", m.word.String())
		one.Str("at", m.at.UTC().Format(jsonTime))
		newest.obj(&one)
	}
	o.Raw("newest", newest.bytes())
	if len(v.unseen) > 0 {
		o.Raw("unseen", marshal(v.unseen))
	}
	v.seat.json(&o)
	o.Raw("waiting", v.waitingJSON())
	if v.blind != nil {
		o.Str("waitingFault", v.blind.Error())
	}
	o.Raw("comms", v.letters.json())
	o.Strs("hints", v.hints)
	if b, err := json.Marshal(v.news.Pauses); err == nil {
		o.Raw("pauses", b)
	}
	if b, err := json.Marshal(v.news.Lifts); err == nil {
		o.Raw("lifts", b)
	}
	return o.Bytes()
}

// sayStatus prints the screen.
func (c *Call) sayStatus(v *statusView) {
	c.prose("", 0, v.answer())
	if !v.exists || v.root.Source != app.FromDefault {
		bus := c.App.Shown(v.root.Path) + " (" + v.root.Source.Why() + ")"
		if !v.exists {
			bus = "none at " + bus
		}
		c.prose(c.paint(bold, "bus  ")+" ", 6, Clean(bus))
	}
	if !v.exists {
		c.saySessions(v)
		c.sayLetters(v.letters)
	} else {
		c.sayYou(v)
		c.saySessions(v)
		c.sayLive(v)
		c.saySeat(v.seat)
		c.sayMail(v)
		c.sayUnseen(v)
		c.sayLetters(v.letters)
		c.prose(c.paint(bold, "up   ")+" ", 6, upText(v.up))
	}
	c.sayHaltNews(v.news)
	c.sayWaiting(v)
	for _, h := range v.hints {
		c.line("→ " + Clean(h))
	}
}

func (c *Call) sayYou(v *statusView) {
	text := ""
	switch {
	case v.you == nil:
		text = "nobody yet: " + Clean(whyNobody(v.nobody))
	default:
		text = Clean(string(v.you.Instance)+" ("+v.you.How+")") + v.denied.of(v.you.Instance, v.folder).words()
	}
	c.prose(c.paint(bold, "you  ")+" ", 6, text)
}

func (c *Call) sayLive(v *statusView) {
	head := c.paint(bold, "live ") + " "
	agents := v.elsewhere()
	if len(agents) == 0 {
		c.prose(head, 6, nobodyElse(v))
		return
	}
	c.line(head + plural(len(agents), "session") + " of others")
	var rows [][]string
	for i := range agents {
		line := peerLine(&agents[i], v.denied.peer(&agents[i]))
		rows = append(rows, append([]string{"     ", line[0]}, line[2:5]...))
	}
	c.table(rows)
}

// nobodyElse is the line on live agents where no row shows one.
func nobodyElse(v *statusView) string {
	who := "nobody else"
	if len(v.sessions) > 0 {
		who = "nobody outside these sessions"
	}
	return who + "; an agent that is not live may still be at work"
}

func (c *Call) sayMail(v *statusView) {
	if v.you == nil {
		return
	}
	text := "nothing unread"
	if v.unread > 0 {
		text = fmt.Sprintf("%d unread", v.unread)
	}
	if v.bad > 0 {
		text += "; " + plural(v.bad, "file") + " that cannot be read as a message"
	}
	c.line(c.paint(bold, "mail ") + " " + text)
	var rows [][]string
	for _, m := range v.newest {
		first, _, _ := strings.Cut(strings.TrimSpace(m.text), "\n")
		rows = append(rows, []string{"     ", m.from, m.word.String(), ago(max(0, time.Since(m.at))), Truncate(Clean(first), textShown)})
	}
	c.table(rows)
	if more := v.unread - len(v.newest); more > 0 {
		c.line(fmt.Sprintf("       and %d more", more))
	}
}
