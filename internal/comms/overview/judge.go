package overview

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tutti/internal/comms/exchange"
	"tutti/internal/comms/machines"
	"tutti/internal/comms/protocol"
	"tutti/internal/platform/atomicfile"
)

// A worker looks at mailboxes.
type worker struct {
	Options
	at    time.Time
	cache cache
	grain time.Duration
}

// look reads a mailbox and the archive of its project.
func (w *worker) look(b *box) {
	b.at = w.at
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
	f := &folder{dir: d, shelf: w.cache.shelf("mailbox", b.Mailbox), now: time.Now(), grain: w.grain}
	if err := f.scan(); err != nil {
		b.fail(err)
		return
	}
	b.heads = f.heads
	b.Messages, b.Foreign = len(b.heads), len(f.foreign)
	if b.Foreign > 0 {
		b.warn(WarnForeign, counted(b.Foreign, "file is no message", "files are no messages")+": "+f.foreign[0])
	}
	b.archive = w.archived(b)
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
		return &exchange.MailboxError{Path: b.Mailbox, Why: "belongs to another user (uid " + itoa(int(self.UID)) + ")"}
	}
	if self.Mode&0o077 != 0 {
		b.warn(WarnWide, "others than you may look into the mailbox: chmod 700 "+b.Mailbox)
	}
	return nil
}

// archived reads the archive of a project; most have none.
func (w *worker) archived(b *box) []head {
	d, err := openFolder(b.Path, protocol.ArchiveFolder)
	if err != nil {
		return nil
	}
	defer d.Close()
	f := &folder{dir: d, archive: true, shelf: w.cache.shelf("archive", b.Path), now: time.Now(), grain: w.grain}
	if f.scan() != nil {
		return nil
	}
	return f.heads
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
func (w *worker) judge(b *box, theirs []*head) {
	if b.Err != nil {
		return
	}
	sent, err := w.sent(b.Project.Project)
	if err != nil {
		b.warn(WarnSent, err.Error())
	}
	var m *scratch
	var t *threads
	names := machines.Local{Hostname: w.Office.Host}.Names()
	both := [...]func(){
		func() { b.pending(released(sent, theirs, w.at)) },
		func() { m, t = b.collect(names, sent, theirs) },
	}
	if len(b.heads) > chunk {
		parallel(len(both), func(i int) { both[i]() })
	} else {
		both[0]()
		both[1]()
	}
	defer scratches.Put(m)
	b.fold(t, err != nil)
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
	m := scratches.Get().(*scratch)
	defer scratches.Put(m)
	m.items = sized(m.items, len(b.heads))
	items := m.items
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
	id      string
	events  []protocol.Event
	count   int
	first   protocol.Event // of those that came
	to      string         // whom the last own message went to
	waiting int
}

// threads are those of a mailbox.
type threads struct {
	list  []thread
	place map[string]int
	last  int // the place that was asked for last; -1: none
}

// find returns the place of a thread. As a rule a message is of the conversation of the one before it.
func (t *threads) find(id string) (int, bool) {
	if t.last >= 0 && t.list[t.last].id == id {
		return t.last, true
	}
	i, ok := t.place[id]
	if ok {
		t.last = i
	}
	return i, ok
}

// of is find for a thread that may be a new one.
func (t *threads) of(id string) int {
	i, ok := t.find(id)
	if !ok {
		i = len(t.list)
		t.place[id], t.last = i, i
		t.list = append(t.list, thread{id: id})
	}
	return i
}

// An arrival is a message that came, and the place of its thread.
type arrival struct {
	h  *head
	at int
}

// collect sorts all messages of a project by their conversations. Their events lie in the memory of the scratch.
func (b *box) collect(names []string, sent []head, theirs []*head) (*scratch, *threads) {
	m, slug := scratches.Get().(*scratch), b.Slug()
	t := &threads{place: map[string]int{}, last: -1}
	came := sized(m.came, len(b.heads)+len(b.archive)+len(theirs))[:0]
	m.came = came
	for _, list := range [...][]head{b.heads, b.archive} {
		for i := range list {
			if h := &list[i]; h.counts() && (h.sender != slug || !h.here(names)) {
				came = append(came, arrival{h, t.of(h.conv)})
			}
		}
	}
	for _, h := range theirs {
		came = append(came, arrival{h, t.of(h.conv)})
	}
	for _, a := range came {
		t.list[a.at].count++
	}
	for i := range sent {
		t.list[t.of(sent[i].conv)].count++ // which may have made it
	}
	m.events = sized(m.events, len(came)+len(sent))
	room := m.events
	for i := range t.list {
		n := t.list[i].count
		t.list[i].events, room = room[:0:n], room[n:]
	}
	for _, a := range came {
		th, e := &t.list[a.at], a.h.event()
		if e.From == slug && !a.h.here(names) {
			e.From = a.h.host + "." + slug // a project of our name, and another one
		}
		th.events = append(th.events, e)
		if e.From != slug && (th.first.From == "" || protocol.Compare(e, th.first) < 0) {
			th.first = e
		}
	}
	for i := range sent {
		th := &t.list[t.of(sent[i].conv)]
		th.events = append(th.events, sent[i].event())
		if sent[i].host != "" {
			th.to = sent[i].host
		}
	}
	return m, t
}

// awaited counts for each thread what waits of it.
func (b *box) awaited(t *threads) {
	for _, i := range b.waiting {
		if at, ok := t.find(b.heads[i].conv); ok {
			t.list[at].waiting++
		}
	}
}

// folds is how many conversations one worker takes at a time.
const folds = 64

// fold says how each conversation stands.
func (b *box) fold(t *threads, unread bool) {
	b.awaited(t)
	slug, list := b.Slug(), t.list
	all := make([]Conversation, len(list))
	parallel((len(list)+folds-1)/folds, func(part int) {
		for i := part * folds; i < min((part+1)*folds, len(list)); i++ {
			t, c := &list[i], &all[i]
			c.ID, c.Partner, c.Waiting = t.id, t.first.From, t.waiting
			if c.Partner == "" {
				c.Partner = t.to
			}
			c.State = protocol.Fold(t.events, protocol.View{Now: b.at, Self: slug, Partner: c.Partner, Missing: unread})
		}
	})
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return compareConversations(&all[i], &all[j]) })
	b.Conversations = make([]Conversation, len(all))
	for i, from := range order {
		b.Conversations[i] = all[from]
		b.warnOf(&b.Conversations[i])
	}
}

// compareConversations orders them for people: the open ones first, then those in which something happened last.
func compareConversations(a, b *Conversation) int {
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
	return itoa(n) + " " + many
}

// Missing reports whether the mailbox went while it was looked at.
func (p *Project) Missing() bool { return errors.Is(p.Err, fs.ErrNotExist) }
