package memstore

import (
	"context"
	"slices"
	"sync"

	"tutti/internal/store"
)

// queueLen is how many changes wait for a slow reader before they are merged into one that says only Rescan.
const queueLen = 256

// A watcher collects the changes of some scopes until their reader takes them.
type watcher struct {
	owner  *Store
	scopes []store.Scope
	wake   chan struct{} // holds one token while something waits
	end    chan struct{} // closed when the connection ends

	mu     sync.Mutex // guards below; taken under server.mu, never the other way round
	queue  []store.Change
	rescan bool
}

// Watch reports the changes of the scopes from now on.
func (s *Store) Watch(ctx context.Context, of []store.Scope) (<-chan store.Change, error) {
	for _, scope := range of {
		k := store.Key{Kind: scope.Kind}
		if err := s.usable(ctx, false); err != nil {
			return nil, fail("watch", k, err)
		}
		if !slices.Contains(store.Kinds(), scope.Kind) {
			return nil, fail("watch", k, k.Check())
		}
	}
	w := &watcher{owner: s, scopes: slices.Clone(of), wake: make(chan struct{}, 1), end: make(chan struct{})}
	s.srv.mu.Lock()
	s.srv.watchers[w] = true
	s.srv.mu.Unlock()
	out := make(chan store.Change)
	go func() {
		defer close(out)
		defer s.srv.forget(w)
		w.run(ctx, out)
	}()
	return out, nil
}

// run hands changes over until the context or the connection ends.
func (w *watcher) run(ctx context.Context, out chan<- store.Change) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.end:
			return
		case <-w.wake:
		}
		for _, c := range w.take() {
			select {
			case <-ctx.Done():
				return
			case <-w.end:
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
	if w.rescan {
		all = []store.Change{{Rescan: true}}
	}
	w.queue, w.rescan = nil, false
	return all
}

// offer adds a change when a scope covers it.
func (w *watcher) offer(k store.Key) {
	covers := func(s store.Scope) bool {
		return s.Kind == k.Kind && (s.Owner == "" || s.Owner == k.Owner) && (s.Name == "" || s.Name == k.Name)
	}
	if !slices.ContainsFunc(w.scopes, covers) {
		return
	}
	w.mu.Lock()
	if len(w.queue) == queueLen {
		w.queue, w.rescan = nil, true
	}
	if !w.rescan {
		w.queue = append(w.queue, store.Change{Key: k})
	}
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// tell offers a changed subject to all watchers. The caller holds s.mu.
func (s *server) tell(subject string) {
	if len(s.watchers) == 0 {
		return
	}
	k, err := store.ParseSubject(subject)
	if err != nil {
		return
	}
	for w := range s.watchers {
		w.offer(k)
	}
}

func (s *server) forget(w *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.watchers, w)
}

// endWatchers ends the watchers of one connection.
func (s *server) endWatchers(of *Store) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watchers {
		if w.owner == of {
			close(w.end)
			delete(s.watchers, w)
		}
	}
}
