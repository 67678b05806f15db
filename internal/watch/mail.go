package watch

import (
	"context"
	"errors"
	"hash/maphash"
	"strings"
	"unicode/utf8"

	"tutti/internal/canonjson"
	"tutti/internal/store"
)

// A Message is what is told of one.
type Message struct {
	ID, Thread, ReplyTo string
	From, To            string // as they stand in the message
	Role                string // that the sender claims
	Kind                string // of the body, "" when it has none
	Line                string // the first line of the text, at most lineLimit bytes
	CreatedAt           string
	Verdict             string // what the signatures are worth, "" when nobody was asked
}

// lineLimit bounds the first line in bytes: more than the widest terminal shows.
const lineLimit = 400

// A box is what is known of one mailbox. Names are kept as hashes, so that a hundred thousand of them take two megabytes.
type box struct {
	known map[uint64]bool // messages that were read or lay there before; false: unfit and told
	tried map[uint64]bool // unfit ones, not told yet
}

var seed = maphash.MakeSeed()

func hashOf(parts ...string) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for _, p := range parts {
		h.WriteString(p)
		h.WriteByte(0)
	}
	return h.Sum64()
}

func (w *Watch) box(owner string) *box {
	b := w.boxes[owner]
	if b == nil {
		b = &box{known: map[uint64]bool{}, tried: map[uint64]bool{}}
		w.boxes[owner] = b
	}
	return b
}

// lookAtBox looks at all names of a mailbox and reads those that are new. What is gone is forgotten.
func (w *Watch) lookAtBox(ctx context.Context, owner string) error {
	b := w.box(owner)
	known, tried := b.known, b.tried
	b.known, b.tried = make(map[uint64]bool, len(known)), map[uint64]bool{}
	for e, err := range w.o.Store.List(ctx, store.Inbox, owner) {
		unfit, isUnfit := errors.AsType[*store.UnfitError](err)
		if err != nil && !isUnfit {
			b.known, b.tried = known, tried // nothing is known to be gone
			return err
		}
		key := e.Key
		if isUnfit {
			key = unfit.Key
		}
		h := hashOf(key.Name)
		fit, old := known[h]
		switch {
		case !w.started && (err != nil || e.Size > 0): // an empty one is in the making
			b.known[h] = err == nil
			continue
		case old:
			b.known[h] = fit
			if fit || err != nil {
				continue
			}
		}
		if tried[h] {
			b.tried[h] = true
		}
		if err == nil {
			err = w.read(ctx, b, key)
		} else {
			err = w.strange(b, key, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mail follows a hint about one message. What is unfit may be in the making.
func (w *Watch) mail(ctx context.Context, k store.Key) error {
	b := w.box(k.Owner)
	if b.known[hashOf(k.Name)] {
		return nil
	}
	doc, err := w.o.Store.Get(ctx, k)
	if errors.Is(err, store.ErrNotFound) || errors.As(err, new(*store.UnfitError)) {
		return nil
	}
	if err != nil {
		return err
	}
	if m, ok := parse(doc.Data); ok {
		return w.arrived(ctx, b, k, doc.Data, m)
	}
	return nil
}

// read is mail for a name that a full look has found: what is unfit then is told at the second time.
func (w *Watch) read(ctx context.Context, b *box, k store.Key) error {
	doc, err := w.o.Store.Get(ctx, k)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case errors.As(err, new(*store.UnfitError)):
		return w.strange(b, k, err)
	case err != nil:
		return err
	}
	if m, ok := parse(doc.Data); ok {
		return w.arrived(ctx, b, k, doc.Data, m)
	}
	return w.strange(b, k, &store.UnfitError{Key: k, Where: k.Path(), Why: "is no message"})
}

// strange notes something unfit, and tells of it when it was unfit before.
func (w *Watch) strange(b *box, k store.Key, err error) error {
	h := hashOf(k.Name)
	if fit, told := b.known[h]; told && !fit {
		return nil
	}
	if !b.tried[h] {
		b.tried[h] = true
		return nil
	}
	delete(b.tried, h)
	b.known[h] = false
	return w.tell(Event{Kind: Unfit, Mailbox: k.Owner, Err: err})
}

func (w *Watch) arrived(ctx context.Context, b *box, k store.Key, raw []byte, m Message) error {
	b.known[hashOf(k.Name)] = true
	reader := k.Owner
	if w.o.Mailboxes != nil {
		reader = "" // all mailboxes are those of one reader
	}
	if !w.shown.add(hashOf(reader, m.ID)) {
		return nil
	}
	if w.o.Judge != nil {
		word, err := w.o.Judge(ctx, raw)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			word = "not checked"
		}
		m.Verdict = word
	}
	return w.tell(Event{Kind: Mail, Mailbox: k.Owner, Message: &m})
}

// parse reads what is told of a message; false when it is none.
func parse(raw []byte) (m Message, ok bool) {
	var v [7][]byte
	names := []string{"id", "actor", "target", "threadId", "replyTo", "createdAt", "body"}
	if !canonjson.Valid(raw) || !canonjson.Pick(raw, names, v[:]) {
		return m, false
	}
	if m.ID, ok = canonjson.String(v[0]); !ok || m.ID == "" {
		return m, false
	}
	var actor [2][]byte
	if !canonjson.Pick(v[1], []string{"instance", "role"}, actor[:]) {
		return m, false
	}
	if m.From, ok = canonjson.String(actor[0]); !ok {
		return m, false
	}
	m.Role, _ = canonjson.String(actor[1])
	to, _ := canonjson.Get(v[2], "instance")
	m.To, _ = canonjson.String(to)
	m.Thread, _ = canonjson.String(v[3])
	m.ReplyTo, _ = canonjson.String(v[4])
	m.CreatedAt, _ = canonjson.String(v[5])
	m.Kind, m.Line = body(v[6])
	return m, true
}

// body returns the kind of a body and the first line of its text; a body without text is shown as it is.
func body(raw []byte) (kind, line string) {
	var v [2][]byte
	if canonjson.IsObject(raw) {
		canonjson.Pick(raw, []string{"kind", "text"}, v[:])
	}
	kind, _ = canonjson.String(v[0])
	text, ok := canonjson.String(v[1])
	if !ok {
		text = string(canonjson.Compact(raw))
	}
	return kind, firstLine(text)
}

func firstLine(text string) string {
	text = strings.TrimLeft(text, " \t\r\n")
	if i := strings.IndexAny(text, "\r\n"); i >= 0 {
		text = text[:i]
	}
	if len(text) <= lineLimit {
		return strings.Clone(text) // the message itself need not stay in memory
	}
	end := lineLimit
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// recentLimit is how many hashes a recent keeps for certain: half a megabyte of them.
const recentLimit = 1 << 15

// A recent remembers the last hashes that were added, at least recentLimit of them.
type recent struct{ now, before map[uint64]struct{} }

// add tells whether h is new.
func (r *recent) add(h uint64) bool {
	if _, ok := r.now[h]; ok {
		return false
	}
	if _, ok := r.before[h]; ok {
		return false
	}
	if r.now == nil || len(r.now) >= recentLimit {
		r.now, r.before = map[uint64]struct{}{}, r.now
	}
	r.now[h] = struct{}{}
	return true
}
