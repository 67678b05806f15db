// Package follow follows mailboxes and presence for a person who looks on: a message arrived, a session joined, a session left.
//
// Each change is reported once. What is there when the watch begins is not reported, and neither is a message that was taken
// before it could be read.
//
// A file that cannot be read as a message is tried again, since foreign programs make a file first and fill it afterwards;
// one that still is unfit at the next full look is named, once. It hides no other.
//
// While the halt switch is on, the watch stays and falls silent: it says so once, and once when the switch was cleared, with the
// number of messages that came meanwhile, which are those that lie there when the clearing is noticed. It then goes on with what is new, because it speaks to people only; nothing of an
// agent is resumed by it. The switch is asked before each event, not only when it is heard to change.
//
// Nothing is marked, claimed or taken here: who reads the mail afterwards finds it as it was. What a message is worth is
// asked of the function that the caller gives. Texts are handed on as they are: who shows them makes them harmless.
package follow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/presence"
	"tutti/internal/bus/trust"
	"tutti/internal/halt"
	"tutti/internal/store"
)

// A Kind says what an event is about.
type Kind string

// The kinds of events.
const (
	Watching Kind = "watching" // the first one: from here on nothing is missed
	Mail     Kind = "mail"
	Joined   Kind = "joined"
	Left     Kind = "left"
	Halted   Kind = "halted"
	Resumed  Kind = "resumed"
	Unfit    Kind = "unfit"   // a file in a mailbox is not a message
	Changed  Kind = "changed" // documents of one of Options.Also may be others than before
)

// An Event is one thing that happened. The members behind At are those of its kind.
type Event struct {
	Kind Kind
	At   time.Time // when it was noticed

	Mailbox string             // Mail, Unfit: the owner whose mailbox it is, as a segment
	Message *envelope.Envelope // Mail
	Verdict *trust.Verdict     // Mail: the verdict on the signatures; nil when there is no judge, or Err says why not
	Session *presence.Session  // Joined, Left

	Reason string    // Halted: why, "" when no reason was given
	Since  time.Time // Halted: since when, zero when that is not known
	Missed int       // Resumed: messages that came while the switch was on

	Mailboxes int   // Watching: how many are followed
	Polled    bool  // Watching: without a kernel watcher, looked at once a second
	Err       error // Unfit: what it is; Mail: why it was not judged

	Of store.Key // Changed: which document; without a name: any of the kind
}

// A Store is what is followed. One that is a [store.Watcher] as well tells of changes by itself.
type Store interface{ store.Reader }

// A Switch is the halt switch as the watch sees it.
type Switch struct {
	// Read tells whether it is on.
	Read func() halt.State
	// Look delivers after everything that may concern the switch; nil: it is looked at once a second.
	Look <-chan struct{}
}

// Options say what is followed. Store and Switch are needed.
type Options struct {
	Store  Store
	Switch Switch
	// Mailboxes returns the owners of the mailboxes that belong to one reader, asked again at each full look; a message that is
	// in several of them is reported once. Nil: all mailboxes, each on its own.
	Mailboxes func(context.Context) ([]string, error)
	// Judge returns the verdict on the signatures of a message in a mailbox; nil: there is no judge.
	Judge func(ctx context.Context, mailbox string, e *envelope.Envelope) (trust.Verdict, error)
	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// Every is the time between two full looks; 0: a minute, or a second for a store without a watcher.
	Every time.Duration
	// Full asks for a full look. Who sets it has a timer of his own: with Every 0 a store with a watcher is then looked at
	// when Full says so and at no other time.
	Full <-chan struct{}
	// Gone tells whether a session that was there has left: its document is missing, closed, or its heartbeat is old. One
	// that has not is asked about again at the next full look. It may be called with the document as it was read first,
	// when that is missing. Nil: whatever is missing or expired has left.
	Gone func(s *presence.Session, missing bool) bool
	// Expiry is how old a heartbeat may be; 0: presence.Expiry.
	Expiry time.Duration
	// Also are further kinds of documents, without owners, for callers that look at them themselves when they change.
	Also []store.Kind
}

// Times between full looks. A minute is also the longest that an index may miss an overwrite, and a third of it would keep a
// machine with a hundred thousand messages busy for a percent of its time.
const (
	slowLook = time.Minute
	fastLook = time.Second
)

// A Watch is one run of the look-out. It is used by one goroutine.
type Watch struct {
	o       Options
	emit    func(Event) error
	boxes   map[string]*box              // by owner
	shown   recent                       // messages that were reported
	peers   map[string]*presence.Session // by name of the presence document: those that count as there
	hints   <-chan store.Change
	unhear  context.CancelFunc // ends hints
	owners  []string           // that hints are about; nil: all
	halted  bool
	missed  int
	started bool // the first look is over
}

// New returns a watch that has looked at nothing yet.
func New(o Options) *Watch {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Expiry <= 0 {
		o.Expiry = presence.Expiry
	}
	return &Watch{o: o, boxes: map[string]*box{}, peers: map[string]*presence.Session{}, unhear: func() {}}
}

// Run reports events until ctx is done, which is not an error, or emit returns an error, which Run returns.
func (w *Watch) Run(ctx context.Context, emit func(Event) error) error {
	w.emit = emit
	defer func() { w.unhear() }()
	err := w.run(ctx)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

func (w *Watch) run(ctx context.Context) error {
	if err := w.hear(ctx); err != nil {
		return err
	}
	if err := w.lookAtAll(ctx); err != nil {
		return err
	}
	w.started = true
	if err := w.emit(Event{Kind: Watching, At: w.o.Now(), Mailboxes: len(w.boxes), Polled: w.polled()}); err != nil {
		return err
	}
	if err := w.askSwitch(ctx); err != nil {
		return err
	}
	every := w.o.Every
	switch {
	case every != 0:
	case w.hints == nil:
		every = fastLook
	case w.o.Full != nil:
		return w.loop(ctx, nil)
	default:
		every = slowLook
	}
	full := time.NewTicker(every)
	defer full.Stop()
	return w.loop(ctx, full.C)
}

// loop waits for what may be news. If the system reports no changes of the switch, a ticker of its own polls it.
func (w *Watch) loop(ctx context.Context, full <-chan time.Time) error {
	var ask <-chan time.Time
	look := w.o.Switch.Look
	for {
		if look == nil && ask == nil {
			t := time.NewTicker(fastLook)
			defer t.Stop()
			ask = t.C
		}
		var err error
		select {
		case <-ctx.Done():
			return ctx.Err()
		case c, ok := <-w.hints:
			if !ok {
				w.hints, w.owners = nil, nil // heard again at the next full look
				break
			}
			if err = w.askSwitch(ctx); err == nil {
				err = w.take(ctx, c)
			}
		case _, ok := <-look:
			if !ok {
				look = nil
			}
			err = w.askSwitch(ctx)
		case <-ask:
			err = w.askSwitch(ctx)
		case <-full:
			err = w.fullLook(ctx)
		case <-w.o.Full:
			err = w.fullLook(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// fullLook looks at everything, at the mailboxes as they are now.
func (w *Watch) fullLook(ctx context.Context) error {
	if err := w.askSwitch(ctx); err != nil {
		return err
	}
	if err := w.hear(ctx); err != nil {
		return err
	}
	return w.lookAtAll(ctx)
}

// take follows a hint.
func (w *Watch) take(ctx context.Context, c store.Change) error {
	switch {
	case c.Rescan && c.Key.Kind == store.Presence, c.Key.Kind == store.Presence && c.Key.Name == "":
		return w.lookAtPeers(ctx)
	case slices.Contains(w.o.Also, c.Key.Kind):
		return w.tell(Event{Kind: Changed, Of: c.Key})
	case c.Rescan && c.Key.Owner != "":
		return w.lookAtBox(ctx, c.Key.Owner)
	case c.Rescan:
		return w.lookAtAll(ctx)
	case c.Key.Kind == store.Presence:
		return w.peer(ctx, c.Key)
	case c.Key.Kind == store.Inbox:
		return w.mail(ctx, c.Key)
	}
	return nil
}

// hear asks the store for hints about the mailboxes as they are now. Hints that already are about them stay.
func (w *Watch) hear(ctx context.Context) error {
	watcher, ok := w.o.Store.(store.Watcher)
	var owners []string
	if w.o.Mailboxes != nil {
		var err error
		if owners, err = w.o.Mailboxes(ctx); err != nil {
			return fmt.Errorf("list the mailboxes to watch: %w", err)
		}
	}
	if w.hints != nil && slices.Equal(owners, w.owners) {
		return nil
	}
	w.unhear()
	w.owners, w.hints = owners, nil
	if !ok {
		return nil
	}
	scopes := []store.Scope{{Kind: store.Presence}}
	for _, k := range w.o.Also {
		scopes = append(scopes, store.Scope{Kind: k})
	}
	if w.o.Mailboxes == nil {
		scopes = append(scopes, store.Scope{Kind: store.Inbox})
	}
	for _, o := range owners {
		scopes = append(scopes, store.Scope{Kind: store.Inbox, Owner: o})
	}
	heard, stop := context.WithCancel(ctx)
	hints, err := watcher.Watch(heard, scopes)
	if err != nil {
		stop()
		return fmt.Errorf("watch: %w", err)
	}
	w.hints, w.unhear = hints, stop
	return nil
}

// polled tells whether changes are noticed by looking.
func (w *Watch) polled() bool {
	if p, ok := w.o.Store.(interface{ Polled() bool }); ok && p.Polled() {
		return true
	}
	return w.hints == nil || w.o.Switch.Look == nil
}

// lookAtAll looks at everything that is followed: at the peers, then at the mail.
func (w *Watch) lookAtAll(ctx context.Context) error {
	if err := w.askHalted(); err != nil {
		return err
	}
	if err := w.lookAtPeers(ctx); err != nil {
		return err
	}
	owners := w.owners
	if w.o.Mailboxes == nil {
		owners = nil
		for o, err := range w.o.Store.Owners(ctx, store.Inbox) {
			if errors.As(err, new(*store.UnfitError)) {
				continue // no mailbox, and no owner
			}
			if err != nil {
				return err
			}
			owners = append(owners, o)
		}
	}
	there := make(map[string]bool, len(owners))
	for _, o := range owners {
		there[o] = true
		if err := w.lookAtBox(ctx, o); err != nil {
			return err
		}
	}
	for o := range w.boxes {
		if !there[o] {
			delete(w.boxes, o)
		}
	}
	for _, k := range w.o.Also {
		if err := w.tell(Event{Kind: Changed, Of: store.Key{Kind: k}}); err != nil {
			return err
		}
	}
	return nil
}

// askSwitch looks at the halt switch and tells when it is another than before. Before the first look is over it tells
// nothing.
func (w *Watch) askSwitch(ctx context.Context) error {
	if !w.halted {
		return w.askHalted()
	}
	if w.o.Switch.Read().Halted {
		return nil
	}
	// Hints of what came while the switch was on may still be on their way, and it is not to be told as news.
	if err := w.lookAtAll(ctx); err != nil {
		return err
	}
	missed := w.missed
	w.halted, w.missed = false, 0
	return w.emit(Event{Kind: Resumed, At: w.o.Now(), Missed: missed})
}

// askHalted is the half of it that needs no look at anything else: a switch that was set.
func (w *Watch) askHalted() error {
	if !w.started || w.halted {
		return nil
	}
	s := w.o.Switch.Read()
	if !s.Halted {
		return nil
	}
	w.halted = true
	reason := s.Reason
	if s.Unreadable {
		reason = "the switch cannot be read"
	}
	return w.emit(Event{Kind: Halted, At: w.o.Now(), Reason: reason, Since: s.Since})
}

// tell emits an event unless the switch is on, or the first look is not over.
func (w *Watch) tell(e Event) error {
	if !w.started {
		return nil
	}
	if err := w.askHalted(); err != nil {
		return err
	}
	if w.halted {
		if e.Kind == Mail {
			w.missed++
		}
		return nil
	}
	e.At = w.o.Now()
	return w.emit(e)
}
