package overview

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tutti/internal/comms/exchange"
	"tutti/internal/comms/machines"
	"tutti/internal/comms/protocol"
	"tutti/internal/platform/atomicfile"
)

// look reads the mailbox and the archive of its project.
func (b *box) look() {
	top, rel := b.Path, protocol.MailboxFolder
	if top == b.Mailbox { // one of another name
		top, rel = filepath.Dir(top), filepath.Base(top)
	}
	d, err := openFolder(top, rel)
	if err != nil {
		b.fail(err)
		return
	}
	defer d.Close()
	if err := b.inspect(d); err != nil {
		b.fail(err)
		return
	}
	heads, foreign, err := scan(d, false)
	if err != nil {
		b.fail(err)
		return
	}
	b.heads, b.Messages, b.Foreign = heads, len(heads), len(foreign)
	if b.Foreign > 0 {
		b.warn(WarnForeign, counted(b.Foreign, "file is no message", "files are no messages")+": "+foreign[0])
	}
	if a, err := openFolder(b.Path, protocol.ArchiveFolder); err == nil { // most projects have none
		defer a.Close()
		b.archive, _, _ = scan(a, true)
	}
}

func (b *box) fail(err error) {
	b.Err = err
	b.warn(WarnMailbox, err.Error())
}

// inspect judges the folder as who delivers into it does.
func (b *box) inspect(d *atomicfile.Dir) error {
	self, err := d.Self()
	if err != nil {
		return err
	}
	if int(self.UID) != os.Geteuid() {
		return &exchange.MailboxError{Path: b.Mailbox, Why: "belongs to another user (uid " + strconv.Itoa(int(self.UID)) + ")"}
	}
	if self.Mode&0o077 != 0 {
		b.warn(WarnWide, "others than you may look into the mailbox: chmod 700 "+b.Mailbox)
	}
	return nil
}

// outgoing finds what each project has put into the mailboxes of the others, by the slug of the sender. Of two projects with one
// slug nobody can say which of them it was.
func outgoing(o *exchange.Service, boxes []*box) map[*box][]*head {
	names := machines.Local{Hostname: o.Host}.Names()
	owner := make(map[string]*box, len(boxes))
	for _, b := range boxes {
		slug := b.Slug()
		if _, twice := owner[slug]; twice {
			owner[slug] = nil
			continue
		}
		owner[slug] = b
	}
	sent := make(map[*box][]*head)
	for _, b := range boxes {
		for _, list := range [...][]head{b.heads, b.archive} {
			for i := range list {
				h := &list[i]
				if from := owner[h.sender]; from != nil && from != b && h.counts() && h.here(names) {
					sent[from] = append(sent[from], h)
				}
			}
		}
	}
	return sent
}

// judge says what waits in a mailbox, and how its conversations stand.
func (b *box) judge(o *exchange.Service, theirs []*head) {
	if b.Err != nil {
		return
	}
	sent, err := sentHeads(o, b.Project.Project)
	if err != nil {
		b.warn(WarnSent, err.Error())
	}
	b.pending(released(sent, theirs, b.at))
	b.fold(b.collect(machines.Local{Hostname: o.Host}.Names(), sent, theirs), err != nil)
}

// released are the releases that lie elsewhere: those that the project wrote.
func released(sent []head, theirs []*head, now time.Time) map[string]time.Time {
	latest := map[string]time.Time{}
	note := func(conv string, at time.Time) {
		if t, had := latest[conv]; (!had || at.After(t)) && protocol.Ends(at, now) {
			latest[conv] = at
		}
	}
	for i := range sent {
		if h := &sent[i]; h.kind == protocol.Release && !h.unreadable() {
			note(h.conv, h.at)
		}
	}
	for _, h := range theirs {
		if h.kind == protocol.Release {
			note(h.conv, h.at)
		}
	}
	return latest
}

func (b *box) pending(releases map[string]time.Time) {
	items := make([]protocol.Item, len(b.heads))
	for i := range b.heads {
		items[i] = b.heads[i].item()
		if b.heads[i].unsigned {
			b.Unsigned++
		}
	}
	w := protocol.Pending(items, releases, b.at)
	b.waiting, b.Pending, b.Unreadable = w.Pending, len(w.Pending), len(w.Unreadable)
	b.Literal = literal(b.heads)
	if w.Latest >= 0 {
		latest := b.message(w.Latest)
		b.Latest = &latest
	}
	if b.Unreadable > 0 {
		b.warn(WarnHeader, counted(b.Unreadable, "file has no header that can be read", "files have no header that can be read")+": "+b.heads[w.Unreadable[0]].name)
	}
	if b.Unsigned > 0 {
		i := slices.IndexFunc(b.heads, func(h head) bool { return h.unsigned })
		b.warn(WarnUnsigned, counted(b.Unsigned, "message has no signature", "messages have no signature")+" and will be refused: "+b.heads[i].name)
	}
}

// literal counts what waits by the letter: of each conversation what is strictly later than its latest release here, whoever may
// have written that and whenever.
func literal(heads []head) int {
	latest := map[string]time.Time{}
	for i := range heads {
		h := &heads[i]
		if t, had := latest[h.conv]; h.kind == protocol.Release && !h.unreadable() && (!had || h.at.After(t)) {
			latest[h.conv] = h.at
		}
	}
	n := 0
	for i := range heads {
		h := &heads[i]
		if t, had := latest[h.conv]; h.unreadable() || !had || h.at.After(t) {
			n++
		}
	}
	return n
}

// A thread is a conversation while its messages are collected.
type thread struct {
	events []protocol.Event
	first  protocol.Event // of those that came
	to     string         // whom the last own message went to
}

// collect sorts all messages of a project by their conversations.
func (b *box) collect(names []string, sent []head, theirs []*head) map[string]*thread {
	slug, threads := b.Slug(), map[string]*thread{}
	of := func(h *head) *thread {
		if threads[h.conv] == nil {
			threads[h.conv] = &thread{}
		}
		return threads[h.conv]
	}
	came := func(h *head) {
		t, e, here := of(h), h.event(), h.here(names)
		if e.From == slug && !here {
			e.From = h.host + "." + slug // a project of our name, and another one
		}
		t.events = append(t.events, e)
		if e.From != slug && (t.first.From == "" || protocol.Compare(e, t.first) < 0) {
			t.first = e
		}
	}
	for _, list := range [...][]head{b.heads, b.archive} {
		for i := range list {
			if h := &list[i]; h.counts() && (h.sender != slug || !h.here(names)) {
				came(h)
			}
		}
	}
	for _, h := range theirs {
		came(h)
	}
	for i := range sent {
		t := of(&sent[i])
		t.events = append(t.events, sent[i].event())
		if sent[i].host != "" {
			t.to = sent[i].host
		}
	}
	return threads
}

// fold says how each conversation stands.
func (b *box) fold(threads map[string]*thread, unread bool) {
	waiting := map[string]int{}
	for _, i := range b.waiting {
		waiting[b.heads[i].conv]++
	}
	b.Conversations = make([]Conversation, 0, len(threads))
	for id, t := range threads {
		c := Conversation{ID: id, Partner: cmp.Or(t.first.From, t.to), Waiting: waiting[id]}
		c.State = protocol.Fold(t.events, protocol.View{Now: b.at, Self: b.Slug(), Partner: c.Partner, Missing: unread})
		b.Conversations = append(b.Conversations, c)
	}
	slices.SortFunc(b.Conversations, compareConversations)
	for i := range b.Conversations {
		b.warnOf(&b.Conversations[i])
	}
}

// compareConversations orders them for people: the open ones first, then those in which something happened last.
func compareConversations(a, b Conversation) int {
	if a.Open != b.Open {
		if a.Open {
			return -1
		}
		return 1
	}
	if c := b.Last.Time.Compare(a.Last.Time); c != 0 {
		return c
	}
	return strings.Compare(a.ID, b.ID)
}

// warnOf tells what is wrong with a conversation that is open.
func (b *box) warnOf(c *Conversation) {
	if !c.Open {
		return
	}
	if c.VerificationOverdue {
		b.warn(WarnOverdue, c.ID+": completed more than a day ago, and not released")
	}
	if c.ReplyOverdue {
		b.warn(WarnNoReply, c.ID+": no answer for more than a day; escalate")
	}
	if c.CapReached {
		b.warn(WarnCapReached, c.ID+": insisted often enough; the next message must be escalate")
	}
	if c.Stalled {
		b.warn(WarnStalled, c.ID+": no step forward in many messages; escalate")
	}
	if c.OneSided {
		b.warn(WarnOneSided, c.ID+": the messages of one side are not here, and what is told of it may be wrong")
	}
	for _, code := range c.State.Warnings {
		b.warn(WarnProtocol, c.ID+": "+code)
	}
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
