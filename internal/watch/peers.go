package watch

import (
	"context"
	"errors"
	"time"

	"tutti/internal/canonjson"
	"tutti/internal/store"
)

// A Session is what is told of one connection of an agent.
type Session struct {
	ID       string
	Instance string
	Name     string // for people, "" for none
	Host     string
}

// expiry is how long a session counts as there after its last heartbeat: what all readers of a bus use, see package presence.
const expiry = 90 * time.Second

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
	s, fresh, ok := session(doc.Data, w.o.Now())
	switch {
	case !ok:
		return nil
	case !fresh:
		return w.left(k.Name)
	case w.peers[k.Name] != nil:
		return nil
	}
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

// session reads a presence document; fresh tells whether it stands for somebody who is there.
func session(raw []byte, now time.Time) (s *Session, fresh, ok bool) {
	var v [6][]byte
	names := []string{"sessionId", "instance", "name", "host", "state", "heartbeatAt"}
	if !canonjson.Valid(raw) || !canonjson.Pick(raw, names, v[:]) {
		return nil, false, false
	}
	s = &Session{}
	if s.ID, ok = canonjson.String(v[0]); !ok {
		return nil, false, false
	}
	if s.Instance, ok = canonjson.String(v[1]); !ok || s.Instance == "" {
		return nil, false, false
	}
	s.Name, _ = canonjson.String(v[2])
	s.Host, _ = canonjson.String(v[3])
	state, _ := canonjson.String(v[4])
	beat, _ := canonjson.String(v[5])
	at, err := time.Parse(time.RFC3339, beat)
	fresh = err == nil && state != "closed" && state != "expired" && now.Sub(at) <= expiry
	return s, fresh, true
}
