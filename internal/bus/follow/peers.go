package follow

import (
	"context"
	"errors"

	"tutti/internal/bus/presence"
	"tutti/internal/store"
)

// lookAtPeers reads all presence documents, and tells who joined before it tells who left. A session whose document is gone
// has left.
func (w *Watch) lookAtPeers(ctx context.Context) error {
	there := map[string]bool{}
	var found []store.Key
	for e, err := range w.o.Store.List(ctx, store.Presence, "") {
		if errors.As(err, new(*store.UnfitError)) {
			continue // without an owner
		}
		if err != nil {
			return err
		}
		there[e.Key.Name] = true
		found = append(found, e.Key)
	}
	var absent []seen
	for _, k := range found {
		now, err := w.lookAtPeer(ctx, k)
		if err == nil && now.absent {
			absent = append(absent, now)
		} else if err == nil {
			err = w.joined(now)
		}
		if err != nil {
			return err
		}
	}
	for name := range w.peers {
		if !there[name] {
			absent = append(absent, seen{name: name, absent: true})
		}
	}
	for _, a := range absent {
		if err := w.left(a); err != nil {
			return err
		}
	}
	return nil
}

// seen is what a look at one presence document has found.
type seen struct {
	name    string
	session *presence.Session // nil: the document is missing, or has no owner
	absent  bool              // it does not count as there
}

// peer follows a hint about one presence document.
func (w *Watch) peer(ctx context.Context, k store.Key) error {
	now, err := w.lookAtPeer(ctx, k)
	if err != nil {
		return err
	}
	if now.absent {
		return w.left(now)
	}
	return w.joined(now)
}

func (w *Watch) lookAtPeer(ctx context.Context, k store.Key) (seen, error) {
	now := seen{name: k.Name}
	doc, err := w.o.Store.Get(ctx, k)
	if errors.Is(err, store.ErrNotFound) {
		now.absent = true
		return now, nil
	}
	if errors.As(err, new(*store.UnfitError)) {
		return now, nil // in the making, or without an owner: a known session stays until its document is readable or gone
	}
	if err != nil {
		return now, err
	}
	if s, err := presence.ParseDoc(doc); err == nil { // else without an owner, as above
		now.session, now.absent = s, presence.Absent(s, w.o.Now(), w.o.Expiry)
	}
	return now, nil
}

// joined tells of a session that is there. A heartbeat of one that is known tells nothing.
func (w *Watch) joined(now seen) error {
	if now.session == nil || w.peers[now.name] != nil {
		return nil
	}
	now.session.Raw = nil // a session may last for days
	w.peers[now.name] = now.session
	return w.tell(Event{Kind: Joined, Session: now.session})
}

// left tells of a session that is not there any more.
func (w *Watch) left(now seen) error {
	s := w.peers[now.name]
	if s == nil {
		return nil
	}
	if w.o.Gone != nil {
		asked := now.session
		if asked == nil {
			asked = s
		}
		if !w.o.Gone(asked, now.session == nil) {
			return nil
		}
	}
	delete(w.peers, now.name)
	return w.tell(Event{Kind: Left, Session: s})
}
