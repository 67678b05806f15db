package mailbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/store"
)

// Offer claims messages for a reader and returns those that it got, in the order of ids. Only these may be shown. A message
// that is claimed is left to its reader for ten minutes, so that of several sessions of one instance, and of several
// agents that look into one channel, one answers; after that, as long as it is not acknowledged, others may have it.
//
// A claim is a line that is added to the trail after all lines there were judged. A claimant that finds that others were faster
// reads what they added and judges again; the trail is read once, however many messages are claimed.
func (m *Mailbox) Offer(ctx context.Context, inst address.Instance, ids []string, r Reader, now time.Time) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	sources, err := m.lying(ctx, inst)
	if err != nil {
		return nil, fmt.Errorf("offer mail of %s: %w", inst, err)
	}
	by, err := m.byTrail(ctx, inst, sources, ids)
	if err != nil {
		return nil, fmt.Errorf("offer mail of %s: %w", inst, err)
	}
	won := map[string]bool{}
	for n, name := range trailsOf(sources) {
		if err = m.offer(ctx, name, by[name], r, now, won); err != nil {
			if n > 0 && closed(err) { // what cannot be claimed is not offered
				err = nil
				continue
			}
			err = fmt.Errorf("offer mail of %s: %w", inst, err)
			break // what was claimed until now is claimed, and has to be shown
		}
	}
	var out []string
	for _, id := range ids {
		if won[id] {
			out = append(out, id)
			delete(won, id)
		}
	}
	return out, err
}

// byTrail sorts messages by the trail of their folder. A message that is in no folder cannot be offered. For a reader of no
// channel there is one trail, and no check: the caller has just listed them.
func (m *Mailbox) byTrail(ctx context.Context, inst address.Instance, sources []Source, ids []string) (map[string][]string, error) {
	trails := trailsOf(sources)
	if len(trails) == 1 {
		ids, err := m.own(ctx, inst, sources, ids)
		return map[string][]string{trails[0]: ids}, err
	}
	out := map[string][]string{}
	for _, id := range ids {
		c, err := m.first(ctx, sources, id, store.Inbox)
		if errors.Is(err, ErrNoMessage) || store.IsUnfit(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out[c.source.Trail] = append(out[c.source.Trail], id)
	}
	return out, nil
}

// own leaves out messages that are not in the folders of the instance itself. They were listed while the channel was read as
// well, and another agent that reads it has taken them since, or its owner has come: a claim in the trail of the instance would
// be seen by neither.
func (m *Mailbox) own(ctx context.Context, inst address.Instance, sources []Source, ids []string) ([]string, error) {
	if m.Live == nil || !inst.Perennial() || m.once != nil && !m.once.channel { // none was listed in a channel
		return ids, nil
	}
	names := map[string]bool{} // of many, so that not each is read once more
	for i := 0; i < len(sources) && len(ids) > fewIDs; i++ {
		for e, err := range m.s.List(ctx, store.Inbox, sources[i].Owner) {
			if err == nil {
				names[e.Key.Name] = true
			} else if !store.IsUnfit(err) {
				return nil, err
			}
		}
	}
	own := make([]string, 0, len(ids))
	for _, id := range ids {
		if !names[address.Segment(id)] {
			_, err := m.first(ctx, sources, id, store.Inbox)
			if errors.Is(err, ErrNoMessage) || store.IsUnfit(err) {
				continue
			}
			if err != nil {
				return nil, err
			}
		}
		own = append(own, id)
	}
	return own, nil
}

// offer claims messages in one trail and adds those that it got to won.
func (m *Mailbox) offer(ctx context.Context, name string, ids []string, r Reader, now time.Time, won map[string]bool) error {
	if len(ids) == 0 {
		return nil
	}
	f := newFold(ids)
	end, err := m.fold(ctx, name, f)
	for err == nil {
		var free []string
		var lines [][]byte
		for _, id := range ids {
			if !won[id] && f.free(id, r, now) && !slices.Contains(free, id) {
				mark := Mark{ID: id, Step: Offered, At: now, By: string(r.By), Session: r.Session}
				free, lines = append(free, id), append(lines, mark.line())
			}
		}
		if len(free) == 0 {
			break
		}
		added, next, aerr := store.ExtendWith(ctx, m.s, trailKey(name), end, lines)
		end = next
		for _, id := range free[:added] {
			won[id] = true
		}
		switch {
		case errors.Is(aerr, store.ErrConflict):
			end, err = m.readOn(ctx, name, end, f) // another session was faster: judge again
		case aerr != nil:
			err = aerr
		}
	}
	if err == nil {
		m.anchors.set(name, end)
	}
	return err
}

// fold reads a trail to its end, as little of it as will do.
func (m *Mailbox) fold(ctx context.Context, name string, f *fold) (store.Pos, error) {
	from := store.Pos("")
	if _, indexed := m.s.(store.Viewer); indexed && len(f.ids) <= fewIDs {
		var err error
		if from, err = m.lookUp(ctx, name, f); err != nil {
			return "", err
		}
	}
	return m.readOn(ctx, name, from, f)
}
