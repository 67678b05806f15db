package web

import (
	"cmp"
	"context"
	"slices"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/envelope"
	"tutti/internal/bus/mail"
	"tutti/internal/core/address"
	"tutti/internal/store"
)

const (
	maxThreads  = 20  // on the overview
	maxPerBox   = 60  // newest messages that are looked at in each folder of a mailbox
	maxInThread = 200 // messages of one thread that are shown
	lastShown   = 3   // messages of a thread on the overview
)

// A thread is a conversation on a bus in which an agent of this user takes part.
type thread struct {
	bus, id  string
	last     time.Time
	count    int
	messages []message // the newest, oldest first
}

// A message is one of a thread, as an agent of this user has it.
type message struct {
	id, from, to string
	text         string
	verdict      string // in words
	counts       bool   // the verdict lets the message count as its sender's
	at           time.Time
	key          store.Key
	reader       address.Instance
}

// A box is what is looked at to find threads: the agents of this user on one bus.
type box struct {
	w     *app.World
	owned []address.Instance
}

func boxOf(ctx context.Context, w *app.World) (b box, err error) {
	b.w = w
	for reg, err := range w.Registry.All(ctx) {
		if store.IsUnfit(err) {
			continue
		}
		if err != nil {
			return b, err
		}
		if who := reg.Instance.Canonical(); w.Ring.Has(who) && !slices.Contains(b.owned, who) {
			b.owned = append(b.owned, who)
		}
	}
	return b, nil
}

// rows are the messages in the mailboxes of these agents, each once. wants chooses among them by their thread.
func (b *box) rows(ctx context.Context, newest int, wants func(id string) bool) (map[string][]message, error) {
	found, seen := map[string][]message{}, map[string]bool{}
	for _, who := range b.owned {
		for _, kind := range []store.Kind{store.Inbox, store.Archive, store.Outbox} {
			sources, err := b.w.Mail.Sources(ctx, who)
			if err != nil {
				return nil, err
			}
			owners := []string{who.Mailbox()}
			if kind != store.Outbox {
				owners = owners[:0]
				for i := range sources {
					owners = append(owners, sources[i].Owner)
				}
			}
			for _, owner := range owners {
				for row, err := range store.ViewOf(ctx, b.w.Store, kind, owner, b.w.Mail.Projection, store.Query{Newest: newest}) {
					if store.IsUnfit(err) {
						continue
					}
					if err != nil {
						return nil, err
					}
					m, err := envelope.Decode(row.Summary)
					id := cmp.Or(m.ThreadID, m.ID)
					if err != nil || seen[m.ID] || !wants(id) {
						continue
					}
					seen[m.ID] = true
					found[id] = append(found[id], message{
						id: m.ID, from: string(m.Actor.Instance), to: string(m.Target), text: m.Preview, at: time.UnixMilli(row.Order), key: row.Key, reader: who,
					})
				}
			}
		}
	}
	return found, nil
}

// fill reads the whole text of a message and judges its signature.
func (b *box) fill(ctx context.Context, office *mail.Service, m *message) {
	m.verdict = "not read"
	doc, err := b.w.Store.Get(ctx, m.key)
	if err != nil {
		return // it was just moved to the archive; the next look finds it there
	}
	e, err := envelope.Parse(doc.Data)
	if err != nil {
		return
	}
	m.text = e.Text()
	reader := m.reader
	if m.key.Kind == store.Outbox {
		reader = e.Target
	}
	if v, err := office.Judge(ctx, reader, e); err == nil {
		m.verdict, m.counts = v.Said(), v.Counts()
	}
}

// threadsOn are the threads of a bus that changed last.
func threadsOn(ctx context.Context, w *app.World) ([]thread, error) {
	b, err := boxOf(ctx, w)
	if err != nil {
		return nil, err
	}
	rows, err := b.rows(ctx, maxPerBox, func(string) bool { return true })
	if err != nil {
		return nil, err
	}
	all := make([]thread, 0, len(rows))
	for id, messages := range rows {
		all = append(all, newThread(w, id, messages, lastShown))
	}
	slices.SortFunc(all, newestFirst)
	all = all[:min(len(all), maxThreads)]
	b.fillAll(ctx, all)
	return all, nil
}

func newestFirst(a, b thread) int { return cmp.Or(b.last.Compare(a.last), cmp.Compare(a.id, b.id)) }

func newThread(w *app.World, id string, messages []message, newest int) thread {
	slices.SortFunc(messages, func(a, b message) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.id, b.id)) })
	t := thread{bus: w.Root.Path, id: id, count: len(messages), last: messages[len(messages)-1].at}
	t.messages = messages[max(0, len(messages)-newest):]
	return t
}

func (b *box) fillAll(ctx context.Context, all []thread) {
	office := &mail.Service{Mail: b.w.Mail, Registry: b.w.Registry, Pins: b.w.Pins}
	for i := range all {
		for n := range all[i].messages {
			b.fill(ctx, office, &all[i].messages[n])
		}
	}
}

// threadOn is one thread, nil if the agents of this user have no message of it.
func threadOn(ctx context.Context, w *app.World, id string) (*thread, error) {
	b, err := boxOf(ctx, w)
	if err != nil {
		return nil, err
	}
	rows, err := b.rows(ctx, 0, func(other string) bool { return other == id })
	if err != nil || len(rows[id]) == 0 {
		return nil, err
	}
	all := []thread{newThread(w, id, rows[id], maxInThread)}
	b.fillAll(ctx, all)
	return &all[0], nil
}
