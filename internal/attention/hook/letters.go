package hook

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/comms/exchange"
	"tutti/internal/comms/overview"
	"tutti/internal/comms/protocol"
)

// Projects is the access to conversations between projects: mail in files of the project whose folder an agent works in, and
// not on the bus.
type Projects struct {
	home string // of this user
	open func() (*exchange.Service, exchange.ReceiveOptions, error)
	look func(e *event, ctx context.Context, r *round, room int) error // nil: what looks is not in this program

	instead func() error
}

// Here are projects whose mail is looked at in this process. open makes the office, and says how messages are judged, by the settings. It
// is asked only when there is something to look at.
func Here(home string, open func() (*exchange.Service, exchange.ReceiveOptions, error)) *Projects {
	return &Projects{home: home, open: open, look: (*event).look}
}

// Elsewhere are projects whose mail another program looks at, because what judges messages is large, and mostly none have come. instead is
// called before anything was done when there may be something to look at: it puts the other program in the place of this one, which does
// the whole event. If it returns, there was none, and the mail of the bus is dealt with here.
func Elsewhere(home string, instead func() error) *Projects {
	return &Projects{home: home, instead: instead}
}

const (
	// maxJudged is how many messages of one look are judged, oldest first. gpg takes 15 ms for one; the others come with the next event.
	maxJudged = 5
	// lookTime bounds one look. What was not judged by then is left for the next event, and not told as refused.
	lookTime = 5 * time.Second
	// silence is after how long a conversation whose other side has to answer is reported as silent: twelve polls that found
	// nothing.
	silence = protocol.EmptyPolls * protocol.PollCadence
	// maxSilent is how many silent conversations are reported at once.
	maxSilent = 2
	// minLetters is the least room with which a look is worth it: where mail of the bus fills the answer, it comes with the next event.
	minLetters = 900
	// grain is how young a change may be so that one that follows need not show in the times of a folder: the clock of a file system
	// ticks in 1 to 10 ms.
	grain = 100 * time.Millisecond
)

// A round is one look at the mailbox of the project, while its messages are shown.
type round struct {
	project exchange.Project
	mark    string // of the mailbox and of the record of sends, as they were before
	text    string
	fresh   []string // names of messages, those too for which there is no room
	told    []string // names of messages, and of silences
	judged  []string // names of messages that stand in the ledger because of this look
	next    time.Time
	left    bool // there was no room or no time for all of them
}

// letters checks for new messages between projects, and writes its notice about them into at most room bytes. nil: nothing.
func (e *event) letters(ctx context.Context, room int) (*round, error) {
	p, mark, ok := e.project()
	if !ok {
		return nil, nil
	}
	if err := e.arrive(); err != nil {
		return nil, err
	}
	if e.unchanged(p, mark) {
		return nil, nil
	}
	if held, begins := e.held(); held {
		if begins {
			return nil, e.keep(func(l *letterNote) { l.Held = true })
		}
		return nil, nil
	}
	if look := e.o.Projects.look; look != nil && room >= minLetters {
		r := &round{project: p, mark: mark}
		if err := look(e, ctx, r, room); err != nil {
			return nil, err
		}
		return r, nil
	}
	return nil, nil
}

// unchanged tells whether all was said the last time, and nothing has come since.
func (e *event) unchanged(p exchange.Project, mark string) bool {
	was := &e.was.Letters
	return was.Project == p.Path && was.Mark == mark && (was.Next.IsZero() || e.now.Before(was.Next))
}

// replace lets another program do the whole event, if that is what looks at such mail and there may be something to look at. It returns when
// this one goes on.
func (e *event) replace() error {
	if e.o.Projects == nil || e.o.Projects.instead == nil {
		return nil
	}
	if _, hears := e.answer("x"); !hears {
		return nil
	}
	p, mark, ok := e.project()
	if !ok || e.unchanged(p, mark) && !(e.lost() && len(e.was.Letters.Last) > 0) {
		return nil
	}
	if held, _ := e.held(); held {
		return nil
	}
	return e.o.Projects.instead()
}

// lost reports whether the text shown with the prompt before was lost.
func (e *event) lost() bool {
	return e.call.Event.Moment == driver.Prompt && e.now.Sub(e.was.Letters.Prompt).Abs() >= sameMoment
}

// arrive notes what the event itself shows: that the user has written, and whether the text shown with the prompt before was
// lost, see printed.lostBy. It is then shown once more.
func (e *event) arrive() error {
	was := &e.was.Letters
	prompt := e.call.Event.Moment == driver.Prompt
	lost := e.lost()
	if !prompt && len(was.Last) == 0 {
		return nil
	}
	note := func(l *letterNote) {
		switch {
		case lost && len(l.Last) > 0:
			l.Told = slices.DeleteFunc(l.Told, func(name string) bool { return slices.Contains(l.Last, name) })
			l.Again, l.Twice = append(l.Again, l.Last...), append(l.Twice, l.Last...)
			l.Mark, l.Last = "", nil
		case !prompt:
			l.Last = nil
		}
		if prompt {
			l.Prompt, l.Held = e.now, false
		}
	}
	note(was)
	return e.keep(note)
}

// held tells whether the look is put off: the user wrote less than a minute ago, and when that was so once, until the user writes again, or
// has not for five minutes. A look at the beginning of a turn is the one that it is put off to. begins: it was not put off before.
func (e *event) held() (held, begins bool) {
	was := &e.was.Letters
	if m := e.call.Event.Moment; m == driver.Start || m == driver.Prompt || was.Prompt.IsZero() {
		return false, false
	}
	since := e.now.Sub(was.Prompt)
	switch {
	case since < 0: // the clock was set back
		return false, false
	case was.Held:
		return since < protocol.DeferEnd, false
	}
	return since < protocol.DeferWindow, since < protocol.DeferWindow
}

// keep changes what is remembered of this kind of mail.
func (e *event) keep(change func(*letterNote)) error {
	return e.notes.update(func(n *note) { change(&n.Letters) })
}

// look reads the mailbox and writes the text.
func (e *event) look(ctx context.Context, r *round, room int) error {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	o, how, err := e.o.Projects.open()
	if err != nil {
		return err
	}
	s, err := overview.Look(ctx, overview.Options{
		Office: o, Globs: []string{overview.Literal(r.project.MailboxPath())}, Halt: e.o.Switch, Now: e.o.Now,
	})
	if err != nil {
		return err
	}
	if len(s.Projects) == 0 { // no mailbox: it has written, and got nothing
		return e.wrote(ctx, o, r, room)
	}
	p := s.Projects[0]
	if p.Err != nil {
		return p.Err
	}
	w := &writer{e: e, r: r, room: room, office: o, how: how}
	fresh, err := e.fresh(o, p, r)
	if err != nil {
		return err
	}
	if len(fresh) > 0 && e.call.Event.Moment == driver.Stop {
		r.text, r.left = lettersStopLine, true // what it is comes with the next event
		return nil
	}
	if len(fresh) > 0 {
		w.room -= cost(w.head(len(fresh))) + cost(w.foot(len(fresh)))
	}
	for i, m := range fresh {
		if i >= maxJudged || ctx.Err() != nil {
			r.left = true
			break
		}
		said, err := w.message(ctx, p, &m)
		if err != nil || !said {
			if err != nil && len(w.parts) == 0 {
				return err
			}
			r.left = true
			break
		}
	}
	w.silences(p.Conversations, r.project.Slug())
	r.text = w.text()
	return nil
}

// lettersStopLine is all that is said of such mail at the end of a turn, see page.stops.
const lettersStopLine = "tutti: before you stop: another project has written to yours. Run \"tutti comms poll\"."

// wrote looks at the conversations of a project that has written and got nothing: there is a record of that, and no mailbox.
func (e *event) wrote(ctx context.Context, o *exchange.Service, r *round, room int) error {
	sent, err := o.Sent(r.project).Entries("")
	if err != nil {
		return err
	}
	var all []overview.Conversation
	for _, m := range sent {
		if slices.ContainsFunc(all, func(c overview.Conversation) bool { return c.ID == m.Conversation }) {
			continue
		}
		t, err := o.Thread(ctx, r.project, m.Conversation)
		if err != nil {
			return err
		}
		all = append(all, overview.Conversation{ID: t.ID, Partner: t.Partner, State: t.State})
	}
	w := &writer{e: e, r: r, room: room, office: o}
	w.silences(all, r.project.Slug())
	r.text = w.text()
	return nil
}

// fresh are the messages that this conversation of the agent has to see, oldest first: those that wait, and since it has looked
// first also the releases, which wait for no answer. Messages in the ledger were given to another conversation, or to a poll:
// it comes again only where one begins, or comes into the project. At the end of a turn those that ask for no other one come
// with the next event.
func (e *event) fresh(o *exchange.Service, p *overview.Project, r *round) ([]overview.Message, error) {
	was := e.was.Letters
	if was.Project != p.Path {
		was = letterNote{}
	}
	all := p.Unread()
	for i := range p.Conversations {
		c := &p.Conversations[i]
		last := &c.Last
		if c.Terminal && last.Type == protocol.Release && last.From != p.Slug() && !was.Since.IsZero() && last.Time.After(was.Since) {
			all = append(all, overview.Message{
				Name: last.Name, Sender: last.From, Conversation: c.ID, Type: last.Type, Sequence: last.Sequence, Time: last.Time,
				Age: max(e.now.Sub(last.Time), 0),
			})
		}
	}
	all = slices.DeleteFunc(all, func(m overview.Message) bool { return slices.Contains(was.Told, m.Name) })
	if m := e.call.Event.Moment; m != driver.Start && !(m == driver.Prompt && was.Since.IsZero()) {
		given, err := given(o.Ledger(r.project), all)
		if err != nil {
			return nil, err
		}
		all = slices.DeleteFunc(all, func(m overview.Message) bool { return given[m.Name] && !slices.Contains(was.Again, m.Name) })
	}
	all = slices.DeleteFunc(all, func(m overview.Message) bool {
		later := e.call.Event.Moment == driver.Stop && (!m.Unreadable && !asks(m.Type) || slices.Contains(was.Asked, m.Name))
		r.left = r.left || later
		return later
	})
	for i := range all {
		r.fresh = append(r.fresh, all[i].Name)
	}
	return all, nil
}

// given are the messages that were given to an agent of this project, by the ledger. For entries that were made again from a
// mailbox that is unknown.
func given(l exchange.Ledger, all []overview.Message) (map[string]bool, error) {
	names, asked := map[string]bool{}, map[string]bool{}
	for i := range all {
		id := all[i].Conversation
		if asked[id] || id == "" {
			continue
		}
		asked[id] = true
		entries, err := l.Entries(id)
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			names[entry.Name] = names[entry.Name] || !entry.Rebuilt
		}
	}
	return names, nil
}

// asks reports whether a message is a reason for one more turn: an agent has to see it.
func asks(t protocol.Type) bool { return t.Surfaces() && t != protocol.Release }

// claim notes what is about to be said, so that no other hook of this conversation says it as well. It returns false when one has.
func (r *round) claim(e *event) (mine bool, err error) {
	mine = true
	err = e.keep(func(l *letterNote) {
		if l.Project != r.project.Path {
			*l = letterNote{Project: r.project.Path, Prompt: l.Prompt, Held: l.Held}
		}
		if l.Since.IsZero() {
			l.Since = e.now
		}
		for _, name := range r.told {
			if slices.Contains(l.Told, name) {
				mine = false
			}
		}
		for _, name := range r.told {
			if !slices.Contains(l.Told, name) {
				l.Told = append(l.Told, name)
			}
		}
		if e.call.Event.Moment == driver.Prompt { // behind what another hook for this prompt has told
			l.Last = append(l.Last, slices.DeleteFunc(slices.Clone(r.told), func(name string) bool {
				return slices.Contains(l.Twice, name) || slices.Contains(l.Last, name)
			})...)
		}
		l.Again = slices.DeleteFunc(append(l.Again, r.judged...), func(name string) bool { return slices.Contains(l.Told, name) })
		l.Next = r.next
		if l.Mark = r.mark; r.left || strings.Contains(r.mark, "young") {
			l.Mark = "" // there is more to say than was said, or may be
		}
		if e.call.Event.Moment == driver.Stop {
			l.Asked = append(l.Asked, r.fresh...) // the turn is for those without room, too
		}
	})
	return mine, err
}

// back takes back what could not be said; of nothing it is nothing.
func (r *round) back(e *event) error {
	if r == nil {
		return nil
	}
	return e.keep(func(l *letterNote) {
		l.Mark = ""
		ours := func(name string) bool { return slices.Contains(r.told, name) }
		l.Told, l.Last = slices.DeleteFunc(l.Told, ours), slices.DeleteFunc(l.Last, ours)
		l.Again = append(l.Again, r.judged...)
	})
}

// join notes a look as done and puts its text behind that of the bus. What it returns is nil when nothing is said.
func (e *event) join(r *round, text *string) (*round, error) {
	if r == nil {
		return nil, nil
	}
	mine, err := r.claim(e)
	switch {
	case err != nil || !mine || r.text == "":
		return nil, err // what cannot be remembered would be said again and again
	case *text == "":
		*text = r.text
	default:
		*text += "\n" + r.text
	}
	return r, nil
}

// room is what an answer has left behind a text.
func (e *event) room(text string) int {
	a, hears := e.answer("x")
	if !hears {
		return 0
	}
	return MaxAnswer - (len(a.Out) - 1) - cost(text) - cost("\n")
}

// remark is how an agent of a project with such mail ends a reply while it is halted, or after that; "" for others.
func (e *event) remark(when, words string) string {
	if _, _, ok := e.project(); !ok {
		return ""
	}
	return when + ` to your user with "` + words + `"`
}

// file is the path of a message for a command.
func (r *round) file(name string) string { return filepath.Join(r.project.MailboxPath(), name) }
