package overview

import (
	"cmp"
	"context"
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

// look reads the mailbox and the archive of its project, and judges what may move a conversation. After until gpg is asked no more.
func (b *box) look(ctx context.Context, o *Options, until time.Time) {
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
		b.warn(WarnForeign, counted(b.Foreign, "file is not a message", "files are not messages")+": "+foreign[0])
	}
	a, err := openFolder(b.Path, protocol.ArchiveFolder)
	if err == nil { // most projects have none
		defer a.Close()
		b.archive, _, _ = scan(a, true)
	}
	if !o.ByTheLetter {
		b.sift(o.Office.Verifier(ctx, b.Project.Project, until), d, a)
	}
}

// sift finds what is refused in the mailbox d and the archive.
func (b *box) sift(verifier *exchange.Verifier, d, archive *atomicfile.Dir) {
	defer verifier.Close()
	for i := range b.heads {
		h := &b.heads[i]
		h.refused = h.counts() && !verifier.Accepts(d, h.file)
	}
	for i := range b.archive {
		h := &b.archive[i]
		h.refused = h.counts() && !verifier.AcceptsArchived(archive, h.file)
	}
	if n := verifier.Skipped(); n > 0 {
		b.warn(WarnUnjudged, counted(n, "signature was", "signatures were")+" not checked yet and not counted: look again")
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

// outgoing finds what each project has put into the mailboxes of the others, by the slug of the sender. Of two projects with
// one slug it is unknown which of them it was.
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
	threads := b.collect(machines.Local{Hostname: o.Host}.Names(), sent, theirs)
	b.fold(threads, err != nil)
	b.pending(b.released(threads))
}

// released is until when each conversation was ended. Only the side that opened a conversation ends it; where that is unknown, a
// release of this project does, and one of the only writer that there is.
func (b *box) released(threads map[string]*thread) map[string]time.Time {
	latest := map[string]time.Time{}
	for i := range b.Conversations {
		c := &b.Conversations[i]
		if !c.Released.IsZero() {
			latest[c.key] = c.Released
		}
		if c.Rounds > 0 {
			continue
		}
		events := threads[c.key].events
		two := slices.ContainsFunc(events, func(e protocol.Event) bool { return e.From != events[0].From })
		for _, e := range events {
			ends := e.Type == protocol.Release && protocol.Ends(e.Time, b.at) && (!two || e.From == b.Slug())
			if ends && e.Time.After(latest[c.key]) {
				latest[c.key] = e.Time
			}
		}
	}
	return latest
}

// pending finds what waits. A refused message waits, too, so that the user sees it; it is counted apart.
func (b *box) pending(releases map[string]time.Time) {
	items := make([]protocol.Item, len(b.heads))
	for i := range b.heads {
		items[i] = b.heads[i].item()
		items[i].Conversation = b.heads[i].key
		items[i].Unsigned = items[i].Unsigned || items[i].Type == protocol.Release // it is in releases, if it ends anything
		if b.heads[i].unsigned {
			b.Unsigned++
		}
	}
	w := protocol.Pending(items, releases, b.at)
	b.waiting, b.Pending, b.Unreadable = w.Pending, len(w.Pending), len(w.Unreadable)
	for _, i := range b.waiting {
		if b.heads[i].refused {
			b.Refused, b.Pending = b.Refused+1, b.Pending-1
		}
	}
	if b.Refused > 0 {
		i := slices.IndexFunc(b.heads, func(h head) bool { return h.refused })
		b.warn(WarnRefused, counted(b.Refused, "message is", "messages are")+" refused: "+b.heads[i].name)
	}
	b.Literal = literal(b.heads)
	waiting := map[string]int{}
	for _, i := range w.Pending {
		if !b.heads[i].refused {
			waiting[b.heads[i].key]++
		}
	}
	for i := range b.Conversations {
		b.Conversations[i].Waiting = waiting[b.Conversations[i].key]
	}
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

// literal counts pending messages by the letter: of each conversation what is strictly later than its latest release here,
// regardless of its writer and time.
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
	id     string
	events []protocol.Event
	first  protocol.Event // of those that came
	to     string         // whom the last own message went to
}

// collect sorts all messages of a project by their conversations.
func (b *box) collect(names []string, sent []head, theirs []*head) map[string]*thread {
	slug, threads := b.Slug(), map[string]*thread{}
	apart := b.split(names, sent)
	of := func(key, id string) *thread {
		if threads[key] == nil {
			threads[key] = &thread{id: id}
		}
		return threads[key]
	}
	came := func(h *head, key string) {
		t, e, here := of(key, h.conv), h.event(), h.here(names)
		if !here && (e.From == slug || apart[h.conv+" "+e.From]) {
			e.From = h.host + "." + e.From // of two projects of one name the other one
		}
		t.events = append(t.events, e)
		if e.From != slug && (t.first.From == "" || protocol.Compare(e, t.first) < 0) {
			t.first = e
		}
	}
	for _, list := range [...][]head{b.heads, b.archive} {
		for i := range list {
			if h := &list[i]; h.counts() && (h.sender != slug || !h.here(names)) {
				came(h, h.key)
			}
		}
	}
	for _, h := range theirs {
		came(h, h.conv) // they lie on this machine
	}
	for i := range sent {
		t := of(sent[i].key, sent[i].conv)
		t.events = append(t.events, sent[i].event())
		if sent[i].host != "" {
			if t.to = sent[i].host; sent[i].key != sent[i].conv {
				t.to = sent[i].machine + "." + t.to
			}
		}
	}
	return threads
}

// split gives each message the key of its conversation. That is the name of the conversation, except where two projects of one name, on
// this machine and on another one, both take part: what came from the other machine, or went there, is a conversation of its own. The
// result has the pairs of conversation and project for which that was done.
func (b *box) split(names []string, sent []head) map[string]bool {
	slug, here, away := b.Slug(), map[string]bool{}, map[string]bool{}
	each := func(do func(h *head, pair, machine string)) {
		for _, list := range [...][]head{b.heads, b.archive} {
			for i := range list {
				if h := &list[i]; h.counts() && h.sender != slug {
					do(h, h.conv+" "+h.sender, h.host)
				}
			}
		}
		for i := range sent {
			if h := &sent[i]; h.host != "" && !strings.Contains(h.host, ".") {
				do(h, h.conv+" "+h.host, h.machine)
			}
		}
	}
	for _, list := range [...][]head{b.heads, b.archive, sent} {
		for i := range list {
			list[i].key = list[i].conv
		}
	}
	isHere := func(machine string) bool { return slices.Contains(names, strings.ToLower(machine)) }
	each(func(_ *head, pair, machine string) {
		switch {
		case machine == "": // one that names no machine splits nothing
		case isHere(machine):
			here[pair] = true
		default:
			away[pair] = true
		}
	})
	both := map[string]bool{}
	for pair := range here {
		if away[pair] {
			both[pair] = true
		}
	}
	if len(both) == 0 {
		return nil
	}
	each(func(h *head, pair, machine string) {
		if both[pair] && machine != "" && !isHere(machine) {
			h.key = h.conv + " " + strings.ToLower(machine)
		}
	})
	return both
}

// fold says how each conversation stands.
func (b *box) fold(threads map[string]*thread, unread bool) {
	b.Conversations = make([]Conversation, 0, len(threads))
	for key, t := range threads {
		c := Conversation{ID: t.id, key: key, Partner: cmp.Or(t.first.From, t.to)}
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
		b.warn(WarnOneSided, c.ID+": the messages of one side are not here, so what is shown about it may be wrong")
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
