package watch

import (
	"context"
	"errors"

	"tutti/internal/presence"
	"tutti/internal/store"
)

// lookAtPeers reads all presence documents. A session whose document is gone has left.
func (w *Watch) lookAtPeers(ctx context.Context) error {
	there := map[string]bool{}
	var found []store.Key
	for e, err := range w.o.Store.List(ctx, store.Presence, "") {
		if errors.As(err, new(*store.UnfitError)) {
			continue // nobody's
		}
		if err != nil {
			return err
		}
		there[e.Key.Name] = true
		found = append(found, e.Key)
	}
	for _, k := range found {
		if err := w.peer(ctx, k); err != nil {
			return err
		}
	}
	for name := range w.peers {
		if !there[name] {
			if err := w.left(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// peer looks at one presence document. A heartbeat of a session that is known tells nothing.
func (w *Watch) peer(ctx context.Context, k store.Key) error {
	doc, err := w.o.Store.Get(ctx, k)
	if errors.Is(err, store.ErrNotFound) {
		return w.left(k.Name)
	}
	if errors.As(err, new(*store.UnfitError)) {
		return nil // in the making, or nobody's: a known session stays until its document is readable or gone
	}
	if err != nil {
		return err
	}
	s, err := presence.Parse(doc.Data)
	switch {
	case err != nil:
		return nil // nobody's, as above
	case presence.Expired(s, w.o.Now(), presence.Expiry):
		return w.left(k.Name)
	case w.peers[k.Name] != nil:
		return nil
	}
	s.Raw = nil // a session may last for days
	w.peers[k.Name] = s
	return w.tell(Event{Kind: Joined, Session: s})
}

func (w *Watch) left(name string) error {
	s := w.peers[name]
	if s == nil {
		return nil
	}
	delete(w.peers, name)
	return w.tell(Event{Kind: Left, Session: s})
}
