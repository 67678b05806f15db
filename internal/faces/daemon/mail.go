package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/app/config"
	"tutti/internal/attention/wake"
	"tutti/internal/bus/follow"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/trust"
	"tutti/internal/core/address"
	"tutti/internal/core/termsafe"
	"tutti/internal/governance/agreement"
	"tutti/internal/governance/escalation"
	"tutti/internal/halt"
	"tutti/internal/platform/notify"
	"tutti/internal/store"
)

// maxReaders is how many mailboxes with mail in them are looked after.
const maxReaders = 1024

// bySession is what stands in the record of a mailbox as the session of whatever is done here.
const bySession = "up"

// mailer tells people of mail for those of their agents who are not there, and of their own.
type mailer struct {
	*Site
	config  *config.Wake
	times   wake.Times
	desktop notify.Desktop
	absent  *wake.Absent
	nudges  *nudges
	full    sync.Once // said that there are too many
}

// carryMail is the part that does it. What counts is what comes from now on, and what came within the time in which a mailbox
// causes no second notice: it may have come while this part was about to be started. What is older was there for all to see.
func carryMail(ctx context.Context, s *Site) error {
	m := &mailer{Site: s, times: wake.Usual(), desktop: notify.Desktop{Env: s.Facts.Env}}
	var err error
	if m.config, err = s.World.App.Wake(); err != nil {
		s.Fault(err.Error() + "; people still get notices")
	}
	if !m.config.Enabled {
		s.Ready("tells of nothing: wake.enabled is off in the settings")
		return nil
	}
	m.times.Climb = cmp.Or(m.config.Climb, m.times.Climb)
	m.absent = wake.NewAbsent(m.options())
	defer func() {
		within, cancel := context.WithTimeout(context.Background(), endFor)
		defer cancel()
		m.absent.Leave(within)
	}()
	inner, stop := context.WithCancel(ctx)
	m.nudges = &nudges{mailer: m, ctx: inner, all: map[address.Instance]*wake.Ladder{}}
	defer m.nudges.works.Wait()
	defer stop()
	look, unlook := s.World.App.HaltLook()
	defer unlook()
	w := follow.New(follow.Options{Store: s.World.Store, Judge: s.Office.JudgeIn, Switch: follow.Switch{Read: halt.Settled, Look: look}})
	return w.Run(ctx, func(e follow.Event) error { return m.event(ctx, &e) })
}

func (m *mailer) options() wake.AbsentOptions {
	o := wake.AbsentOptions{
		Mail: m.World.Mail, Book: m.World.Book, Registry: m.World.Registry, Ring: m.World.Ring, Leases: m.World.Store,
		Holder: "up", Times: m.times, Say: m.say, Note: m.note, Most: maxReaders, Log: m.Fault,
	}
	if !m.Quiet {
		o.Otherwise = m.line
	}
	return o
}

// say tells the person at the desktop.
func (m *mailer) say(ctx context.Context, who address.Instance, text string) (told bool, err error) {
	if !m.config.Desktop {
		return false, nil
	}
	if told, err = m.desktop.Say(ctx, "Mail for "+string(who), text); told && err == nil {
		m.Tell(Event{Kind: "told", Text: "told you at your desktop that mail waits for " + string(who), For: who, By: wake.Desktop})
	}
	return told, err
}

// line tells them here.
func (m *mailer) line(who address.Instance, unread int) {
	m.Tell(Event{Kind: "told", Text: fmt.Sprintf("mail waits for %s, and it has not been read: %s", who, count(unread, "message")), For: who, By: wake.Line})
}

// noteWithin bounds the writing of one line of the record.
const noteWithin = 5 * time.Second

// note puts it on record, as done for the reader.
func (m *mailer) note(reader, _ address.Instance, mark mailbox.Mark) {
	ctx, cancel := context.WithTimeout(context.Background(), noteWithin)
	defer cancel()
	mark.By, mark.Session = string(reader), bySession
	if err := m.World.Mail.Step(ctx, reader, mark); err != nil && !errors.Is(err, mailbox.ErrNoMessage) {
		m.Fault(fmt.Sprintf("could not record that you were notified: %v", err))
	}
}

// event takes what the watch tells.
func (m *mailer) event(ctx context.Context, e *follow.Event) error {
	switch e.Kind {
	case follow.Watching:
		return m.begin(ctx, e)
	case follow.Mail:
		return m.came(ctx, e)
	case follow.Left:
		m.absent.Left(e.Session.Instance)
	case follow.Halted:
		m.absent.Halt()
		m.nudges.halt()
	case follow.Resumed:
		if e.Missed > 0 {
			m.Tell(Event{Kind: "missed", Text: count(e.Missed, "message") + " came meanwhile: tutti inbox --unread", Missed: e.Missed})
		}
	case follow.Unfit:
		m.Fault(e.Err.Error())
	}
	return nil
}

// begin says what this part does, and looks at what waits already.
func (m *mailer) begin(ctx context.Context, e *follow.Event) error {
	all, err := m.waiting(ctx)
	if err != nil {
		return err
	}
	first := m.Ready(m.does(e.Polled))
	now := time.Now()
	since, epoch := now.Add(-m.times.Again), uint64(halt.UnknownEpoch)
	if last, err := halt.Memory(); err != nil {
		since = now // what came before a halt is unknown
	} else if epoch = last.Count; epoch > 0 && last.Seen.After(since) {
		since = last.Seen
	}
	if at := m.cleared(); at.After(since) {
		since = at
	}
	if halt.Read().Halted {
		since = now
	}
	for _, b := range all {
		if b.live {
			m.nudges.wakes(b.who)
		}
		for _, msg := range b.unread {
			if msg.Stored.After(since) && !m.waits(b.who, msg.Summary.Kind) {
				m.noted(b.who, msg.Summary.Actor.Instance, msg.ID, epoch)
			}
		}
	}
	if first {
		m.sayWaiting(all)
	}
	return nil
}

// does says what the user can expect.
func (m *mailer) does(polled bool) string {
	how := "at your desktop"
	switch {
	case !m.config.Desktop:
		how = "here (wake.desktop is off in the settings)"
	case !m.desktop.There():
		how = "here (there is no desktop)"
	}
	text := fmt.Sprintf("tells you %s of your own unread mail at once, and of mail for agents that are not live after %s", how, termsafe.Duration(m.times.Climb))
	if polled {
		text += " (the system grants no watcher: looking once a second)"
	}
	return text
}

// came notes a message, and says so if no agent is live to read it.
func (m *mailer) came(ctx context.Context, e *follow.Event) error {
	epoch := halt.Epoch()
	who := e.Message.Target.Canonical()
	if who.Mailbox() != e.Mailbox {
		who = address.Instance(address.SegmentToAddress(e.Mailbox)).Canonical()
	}
	ours, err := m.absent.Ours(ctx, who)
	if err != nil || !ours {
		return err
	}
	from := e.Message.Actor.Instance
	if !m.waits(who, e.Message.Kind()) {
		m.noted(who, from, e.Message.ID, epoch)
	}
	found, err := m.World.Book.Resolve(ctx, string(who), time.Now())
	if err == nil && found.Live > 0 {
		m.nudges.wakes(who)
	}
	if err != nil || found.Live > 0 && wakeable(who) {
		return err
	}
	why := "which is not live"
	if found.Live > 0 {
		why = "which cannot be woken"
	}
	text := fmt.Sprintf("for %s, %s, from %s (%s)", who, why, from, verdict(e.Verdict))
	if who.Host() == identity.Human {
		text = fmt.Sprintf("for %s, from %s (%s): tutti receive", who, from, verdict(e.Verdict))
	}
	m.Tell(Event{Kind: "mail", Text: text, ID: e.Message.ID, For: who, From: string(from), Signature: verdict(e.Verdict)})
	return nil
}

// wakeable tells whether the program of an agent can be woken while it is idle. One that is not known might be.
func wakeable(who address.Instance) bool {
	d, ok := driver.Kind(who.Host())
	return !ok || d.Wake.Can()
}

func verdict(v *trust.Verdict) string {
	if v == nil {
		return "not checked"
	}
	return v.Word.String()
}

// waits tells whether the part that tells of what waits for the user shows a notice of what this mail is about.
func (m *mailer) waits(who address.Instance, kind string) bool {
	return m.config.Desktop && who.Canonical().Host() == identity.Human && (kind == escalation.NoticeKind || kind == agreement.ProposalKind)
}

// noted looks after a message, see [wake.Absent.Mail].
func (m *mailer) noted(who, from address.Instance, id string, epoch uint64) {
	if !m.absent.Mail(who, from, id, epoch) {
		m.full.Do(func() {
			m.Fault("mail waits in more than " + strconv.Itoa(maxReaders) + " mailboxes; there are no notices about the others")
		})
	}
}

// A waitingBox is a mailbox of this user with unread mail in it.
type waitingBox struct {
	who    address.Instance
	live   bool
	unread []*mailbox.Message // in brief
}

// waiting are those that have some.
func (m *mailer) waiting(ctx context.Context) (all []waitingBox, err error) {
	for owner, err := range m.World.Store.Owners(ctx, store.Inbox) {
		if errors.As(err, new(*store.UnfitError)) {
			continue // not a mailbox of an agent
		}
		if err != nil {
			return nil, err
		}
		b := waitingBox{who: address.Instance(address.SegmentToAddress(owner)).Canonical()}
		if b.who.Mailbox() != owner {
			continue // another spelling of one that is read with it
		}
		if ours, err := m.absent.Ours(ctx, b.who); err != nil || !ours {
			continue // the programs that use the registry report its faults
		}
		if b.unread, _, err = m.World.Mail.List(ctx, b.who, mailbox.Query{Unread: true, Brief: true}); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			m.Fault(fmt.Sprintf("cannot read the mailbox of %s: %v", b.who, err)) // it hides no other
			continue
		}
		if len(b.unread) == 0 {
			continue
		}
		found, err := m.World.Book.Resolve(ctx, string(b.who), time.Now())
		if err != nil {
			return nil, err
		}
		b.live = found.Live > 0
		all = append(all, b)
	}
	return all, nil
}

// maxWaiting is how many mailboxes are named at the start.
const maxWaiting = 5

// sayWaiting names those with the most recent mail.
func (m *mailer) sayWaiting(all []waitingBox) {
	all = slices.DeleteFunc(all, func(b waitingBox) bool { return b.live && wakeable(b.who) })
	newest := func(b waitingBox) int64 {
		var at int64
		for _, msg := range b.unread {
			at = max(at, msg.Order)
		}
		return at
	}
	slices.SortFunc(all, func(a, b waitingBox) int { return cmp.Compare(newest(b), newest(a)) })
	for i, b := range all {
		if i == maxWaiting {
			m.Tell(Event{Kind: "waiting", Text: "and in " + count(len(all)-i, "other mailbox") + " of yours", Mailboxes: len(all) - i})
			return
		}
		m.Tell(Event{Kind: "waiting", Text: fmt.Sprintf("for %s, unread from before: %d", b.who, len(b.unread)), For: b.who, Unread: len(b.unread)})
	}
}

// count writes a number of things.
func count(n int, of string) string {
	switch {
	case n == 1:
		return "1 " + of
	case of[len(of)-1] == 'x':
		return strconv.Itoa(n) + " " + of + "es"
	}
	return strconv.Itoa(n) + " " + of + "s"
}
