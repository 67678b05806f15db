package remote

import (
	"context"
	"errors"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/canonjson"
	"tutti/internal/store"
)

// Markers are a Memory with a document for each thing, as programs keep it that we share a bus with. Of two processes that take
// a thing at the same moment one learns that the other was faster.
type Markers struct {
	Docs store.Docs
	Kind store.Kind
}

func (m *Markers) key(name string) store.Key { return store.Key{Kind: m.Kind, Name: name} }

// Known knows nothing without a look.
func (m *Markers) Known(Thing) bool { return false }

// Seen looks which markers there are.
func (m *Markers) Seen(ctx context.Context, all ...Thing) []error {
	errs := make([]error, len(all))
	for i, t := range all {
		_, err := m.Docs.Get(ctx, m.key(t.Name))
		if err == nil || errors.As(err, new(*store.UnfitError)) { // whatever is under that name, it was there for a reason
			errs[i] = ErrTaken
		} else if !errors.Is(err, store.ErrNotFound) {
			errs[i] = err
		}
	}
	return errs
}

// Keep makes markers.
func (m *Markers) Keep(ctx context.Context, all ...Thing) error {
	var errs []error
	for _, t := range all {
		var o canonjson.Object
		o.Str("id", t.ID)
		o.Str("createdAt", t.CreatedAt)
		_, err := m.Docs.Create(ctx, m.key(t.Name), append(o.Bytes(), '\n'))
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Sweep removes markers of what is no longer fresh, at most so many. One that does not say goes by when it was stored.
func (m *Markers) Sweep(ctx context.Context, most int, now time.Time) (gone int, err error) {
	var old []string
	for e, err := range m.Docs.List(ctx, m.Kind, "") {
		if errors.As(err, new(*store.UnfitError)) {
			continue
		}
		if err != nil {
			return 0, err
		}
		if len(old) < most && now.Sub(e.Stored) > keepTaken {
			old = append(old, e.Key.Name)
		}
	}
	for _, name := range old {
		d, err := m.Docs.Get(ctx, m.key(name))
		if err == nil && stale(d.Data, now) {
			err = m.Docs.Delete(ctx, d.Key, d.Rev)
			if err == nil {
				gone++
			}
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.As(err, new(*store.UnfitError)) {
			return gone, err
		}
	}
	return gone, nil
}

// stale tells whether what a marker is of is no longer fresh.
func stale(marker []byte, now time.Time) bool {
	at, _ := canonjson.Get(marker, "createdAt")
	text, _ := canonjson.String(at)
	made, ok := envelope.ParseTime(text)
	return !ok || now.Sub(made) > MaxAge+MaxSkew
}
