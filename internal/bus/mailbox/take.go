package mailbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/store"
)

// Take moves a message from the mailbox to the archive and returns it, from the first folder that has it; copies in other
// folders, or under other names, go with it. If several callers take one message exactly one gets it; the others, and callers
// that ask for a message that is not there, get ErrNoMessage.
func (m *Mailbox) Take(ctx context.Context, inst address.Instance, id string) (*Message, error) {
	sources, err := m.Sources(ctx, inst)
	if err != nil {
		return nil, fmt.Errorf("take message %s: %w", id, err)
	}
	msg, err := m.remove(ctx, sources, id, toArchive)
	if err != nil {
		return nil, fmt.Errorf("take message %s from the mailbox of %s: %w", id, inst, err)
	}
	msg.Archived = true
	return msg, nil
}

// Quarantine moves a message of the mailbox to where no agent reads it by accident, and notes the reason in the trail.
func (m *Mailbox) Quarantine(ctx context.Context, inst address.Instance, id, why string, now time.Time) error {
	sources, err := m.Sources(ctx, inst)
	if err != nil {
		return fmt.Errorf("quarantine message %s: %w", id, err)
	}
	msg, err := m.remove(ctx, sources, id, toQuarantine)
	if err != nil {
		return fmt.Errorf("quarantine message %s of %s: %w", id, inst, err)
	}
	trail := inst.Mailbox()
	for _, s := range sources {
		if s.Owner == msg.Source {
			trail = s.Trail
		}
	}
	mark := Mark{ID: id, Step: Failed, At: now, By: string(inst), Result: quarantined + why}
	if _, err := m.s.Append(ctx, trailKey(trail), store.AnyEnd, mark.line()); err != nil {
		return fmt.Errorf("note quarantine of message %s: %w", id, err)
	}
	return nil
}

// quarantined begins the result of the step that a quarantine leaves.
const quarantined = "quarantined: "

// A Quarantined message is in quarantine.
type Quarantined struct {
	*Message
	Why string    // "" when the trail does not know
	At  time.Time // zero then
}

// ListQuarantine returns what was quarantined from a mailbox, by rising id.
func (m *Mailbox) ListQuarantine(ctx context.Context, inst address.Instance) ([]Quarantined, []error, error) {
	sources, err := m.Sources(ctx, inst)
	if err != nil {
		return nil, nil, fmt.Errorf("list quarantine of %s: %w", inst, err)
	}
	all, bad, err := m.readAll(ctx, store.Quarantine, sources)
	ids := make([]string, len(all))
	for n, msg := range all {
		ids[n] = msg.ID
	}
	var states map[string]State
	if err == nil {
		states, err = m.states(ctx, trailsOf(sources), ids)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("list quarantine of %s: %w", inst, err)
	}
	out := make([]Quarantined, len(all))
	for n, msg := range all {
		msg.State = states[msg.ID]
		out[n] = Quarantined{Message: msg}
		if why, ok := strings.CutPrefix(msg.State.Result, quarantined); ok {
			out[n].Why, out[n].At = why, msg.State.Failed
		}
	}
	return out, bad, nil
}

// A place says where a removed document goes.
type place func(k store.Key) store.Key

func toArchive(k store.Key) store.Key {
	return store.Key{Kind: store.Archive, Owner: k.Owner, Name: k.Name}
}

func toQuarantine(k store.Key) store.Key {
	return store.Key{Kind: store.Quarantine, Owner: k.Owner, Name: k.Name}
}

// remove moves all copies of a message away. All callers go through the copies in one order: by name in each folder, then by
// content in those that had it not by name. The one who moves the first copy has the message. A caller that moves only a later
// one finds that the first has gone before, because it is in the place of removed ones, and has nothing.
//
// In a folder where the message has its own name no second copy is searched for: that costs a look at each file, and a copy
// that stays is marked as taken in the trail.
func (m *Mailbox) remove(ctx context.Context, sources []Source, id string, to place) (*Message, error) {
	var got *Message
	miss := error(ErrNoMessage)
	var rest []Source // where it does not lie under its name
	moved := map[store.Key]bool{}
	for _, s := range sources {
		h, err := m.away(ctx, store.Key{Kind: store.Inbox, Owner: s.Owner, Name: address.Segment(id)}, s, id, to)
		switch {
		case err == nil:
			moved[to(h.Key)] = true
			if got == nil {
				got = h.Message
			}
		case errors.Is(err, ErrNoMessage):
			rest = append(rest, s)
		case store.IsUnfit(err):
			miss = err
			rest = append(rest, s)
		default:
			return got, keep(got, err)
		}
	}
	scanned := false
	for _, s := range rest {
		keys, err := m.scan(ctx, store.Inbox, s, id)
		if err != nil {
			return got, keep(got, err)
		}
		slices.SortStableFunc(keys, byName)
		for _, k := range keys {
			h, err := m.away(ctx, k, s, id, to)
			if errors.Is(err, ErrNoMessage) || store.IsUnfit(err) {
				continue
			}
			if err != nil {
				return got, keep(got, err)
			}
			moved[to(h.Key)] = true
			if got == nil {
				got, scanned = h.Message, true
			}
		}
	}
	if got == nil {
		return nil, miss
	}
	if gone, err := m.goneBefore(ctx, sources, got, to, moved, scanned); err != nil || gone {
		return nil, errors.Join(err, noneIf(gone))
	}
	return got, nil
}

func byName(a, b store.Key) int { return compareIDs(a.Name, b.Name) }

// keep drops an error that came after the message was had: it says that a second copy may have stayed.
func keep(got *Message, err error) error {
	if got != nil {
		return nil
	}
	return err
}

func noneIf(yes bool) error {
	if yes {
		return ErrNoMessage
	}
	return nil
}

// goneBefore reports whether another process moved a copy that comes before the one we moved.
func (m *Mailbox) goneBefore(ctx context.Context, sources []Source, got *Message, to place, moved map[store.Key]bool, scanned bool) (bool, error) {
	for _, s := range sources {
		k := to(store.Key{Kind: store.Inbox, Owner: s.Owner, Name: address.Segment(got.ID)})
		if !scanned && s.Owner == got.Source {
			return false, nil
		}
		if moved[k] || k.Check() != nil {
			continue
		}
		_, err := m.hold(ctx, k, s, got.ID)
		if err == nil {
			return true, nil
		}
		if !errors.Is(err, ErrNoMessage) && !store.IsUnfit(err) {
			return false, err
		}
	}
	if !scanned {
		return false, nil
	}
	for _, s := range sources {
		keys, err := m.scan(ctx, to(store.Key{Kind: store.Inbox, Owner: s.Owner, Name: "any"}).Kind, s, got.ID)
		if err != nil {
			return false, err
		}
		slices.SortStableFunc(keys, byName)
		for _, k := range keys {
			if !moved[k] {
				return true, nil
			}
			if k == to(got.Key) {
				return false, nil
			}
		}
	}
	return false, nil
}

// away moves one document if it is the message of that id. ErrNoMessage: it is not, or another process was faster.
func (m *Mailbox) away(ctx context.Context, k store.Key, s Source, id string, to place) (*held, error) {
	if k.Check() != nil {
		return nil, ErrNoMessage
	}
	for range tries {
		h, err := m.hold(ctx, k, s, id)
		if err != nil {
			return nil, err
		}
		err = m.s.Move(ctx, k, h.rev, to(k))
		if errors.Is(err, store.ErrExists) {
			err = m.moveTwin(ctx, h, to)
		}
		switch {
		case err == nil:
			return h, nil
		case errors.Is(err, store.ErrNotFound):
			return nil, ErrNoMessage
		case !errors.Is(err, store.ErrConflict):
			return nil, err
		}
	}
	return nil, store.ErrConflict // another program rewrites it all the time
}

// moveTwin removes a message whose place is taken: it was put again, by a program that does not know the archive, after it
// was taken before. The same bytes are there already; others get a name of their own beside them.
func (m *Mailbox) moveTwin(ctx context.Context, h *held, to place) error {
	target := to(h.Key)
	d, err := m.s.Get(ctx, target)
	if err == nil && string(d.Data) == string(h.Envelope.Raw) {
		return m.s.Delete(ctx, h.Key, h.rev)
	}
	if err != nil && !store.IsUnfit(err) && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	sum := sha256.Sum256(h.Envelope.Raw)
	const room = 180 // of the 200 bytes that a name has
	name := target.Name
	if len(name) > room {
		name = strings.ToValidUTF8(name[:room], "") // without half a character at its end
	}
	target.Name = name + "~" + hex.EncodeToString(sum[:8])
	err = m.s.Move(ctx, h.Key, h.rev, target)
	if !errors.Is(err, store.ErrExists) {
		return err
	}
	if d, gerr := m.s.Get(ctx, target); gerr == nil && string(d.Data) == string(h.Envelope.Raw) {
		return m.s.Delete(ctx, h.Key, h.rev)
	}
	return err // something else took that name on purpose: the message stays where it is
}
