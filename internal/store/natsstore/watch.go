package natsstore

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"tutti/internal/store"
)

// queueLen is how many changes wait for a slow reader before they are merged into one that says only Rescan.
const queueLen = 256

// watchIdle is after how long the server itself drops the consumer of a watcher that has ended. One that goes on asks
// each half minute.
const watchIdle = 2 * time.Minute

// A watcher collects the changes of some scopes until their reader takes them.
type watcher struct {
	scopes []store.Scope
	wake   chan struct{} // holds one token while something waits

	mu     sync.Mutex // guards below
	queue  []store.Change
	missed bool
}

// Watch reports the changes of the scopes from now on: one ordered consumer for each stream that they lie in. What leaves
// by age brings no hint.
func (s *Store) Watch(ctx context.Context, of []store.Scope) (<-chan store.Change, error) {
	for _, scope := range of {
		k := store.Key{Kind: scope.Kind}
		err := s.usable(ctx, false)
		if err == nil && !slices.Contains(store.Kinds(), scope.Kind) {
			err = k.Check()
		}
		if err != nil {
			return nil, fail("watch", k, err)
		}
	}
	w := &watcher{scopes: slices.Clone(of), wake: make(chan struct{}, 1)}
	var running []jetstream.ConsumeContext
	stop := func() {
		for _, c := range running {
			c.Stop()
		}
	}
	for h, filters := range filtersOf(of) {
		c, err := s.follow(ctx, h, filters, w)
		if err != nil {
			stop()
			return nil, fail("watch", store.Key{Kind: of[0].Kind}, err)
		}
		running = append(running, c)
	}
	s.mu.Lock()
	s.watchers[w] = true
	s.mu.Unlock()
	out := make(chan store.Change)
	go func() {
		defer close(out)
		defer stop()
		defer s.forget(w)
		w.run(ctx, s.done, out)
	}()
	return out, nil
}

// filtersOf are the subjects of scopes, below the prefix of their streams. No two of a stream may overlap, so a kind with
// several owners and names is filtered as a whole, and offer does the rest.
func filtersOf(scopes []store.Scope) map[home][]string {
	byKind := map[store.Kind][]store.Scope{}
	for _, scope := range scopes {
		byKind[scope.Kind] = append(byKind[scope.Kind], scope)
	}
	filters := map[home][]string{}
	for kind, all := range byKind {
		filter := kind.String()
		if spec := kind.Spec(); spec.HasName() {
			filter += ".>"
			if one := all[0]; len(all) == 1 && (one.Owner != "") == spec.HasOwner() {
				filter = store.Key{Kind: kind, Owner: one.Owner, Name: one.Name}.Subject()
				if one.Name == "" {
					filter += ".>"
				}
			}
		}
		filters[homeOf(kind)] = append(filters[homeOf(kind)], filter)
	}
	return filters
}

// follow starts the consumer of one stream. It begins after what the stream holds now, so that it loses nothing when it
// is made anew before it has seen a message.
func (s *Store) follow(ctx context.Context, h home, filters []string, w *watcher) (jetstream.ConsumeContext, error) {
	within, cancel := context.WithTimeout(ctx, s.opt.Timeout)
	defer cancel()
	name, prefix := h.stream(s.opt.Name), h.prefix(s.opt.Name)
	stream, err := s.js.Stream(within, name)
	if err != nil {
		return nil, s.said(ctx, err)
	}
	for i := range filters {
		filters[i] = prefix + filters[i]
	}
	consumer, err := stream.OrderedConsumer(within, jetstream.OrderedConsumerConfig{
		FilterSubjects: filters,
		DeliverPolicy:  jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:    stream.CachedInfo().State.LastSeq + 1,
		HeadersOnly:    true,

		InactiveThreshold: watchIdle,
	})
	if err != nil {
		return nil, s.said(ctx, err)
	}
	running, err := consumer.Consume(func(in jetstream.Msg) {
		if k, err := store.ParseSubject(strings.TrimPrefix(in.Subject(), prefix)); err == nil {
			w.offer(store.Change{Key: k})
		}
	}, jetstream.ConsumeErrHandler(func(jetstream.ConsumeContext, error) { w.offer(store.Change{Rescan: true}) }))
	if err != nil {
		return nil, s.said(ctx, err)
	}
	return running, nil
}

// run hands changes over until the context or the connection ends.
func (w *watcher) run(ctx context.Context, done <-chan struct{}, out chan<- store.Change) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-done:
			return
		case <-w.wake:
		}
		for _, c := range w.take() {
			select {
			case <-ctx.Done():
				return
			case <-done:
				return
			case out <- c:
			}
		}
	}
}

// take empties the queue.
func (w *watcher) take() []store.Change {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.queue
	if w.missed {
		all = []store.Change{{Rescan: true}}
	}
	w.queue, w.missed = nil, false
	return all
}

// offer adds a change when a scope covers it.
func (w *watcher) offer(c store.Change) {
	covers := func(s store.Scope) bool {
		return s.Kind == c.Key.Kind && (s.Owner == "" || s.Owner == c.Key.Owner) && (s.Name == "" || s.Name == c.Key.Name)
	}
	if !c.Rescan && !slices.ContainsFunc(w.scopes, covers) {
		return
	}
	w.mu.Lock()
	if c.Rescan || len(w.queue) == queueLen {
		w.queue, w.missed = nil, true
	}
	if !w.missed {
		w.queue = append(w.queue, c)
	}
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// rescan tells all watchers that hints may have been lost.
func (s *Store) rescan() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watchers {
		w.offer(store.Change{Rescan: true})
	}
}

func (s *Store) forget(w *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.watchers, w)
}
