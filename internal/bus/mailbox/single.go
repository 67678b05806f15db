package mailbox

import (
	"context"
	"errors"
	"slices"

	"tutti/internal/core/address"
	"tutti/internal/store"
)

// Whoever can write into a folder can put a file there that has the id of a message of somebody else. Two files cannot have
// one name, though, so the one that lies under the name of the id is the message, and another is one only where there is
// none such: programs of other makers may name their files as they like.

// own tells whether a message lies under the name of its id.
func own(id string, k store.Key) bool { return k.Name == address.Segment(id) }

// singles keeps of the messages with one id the first one that lies under its name, or else the first. The errors name the
// files of a mailbox that have an id of a message which lies under its name; in the archive there are some of our own making.
func singles(all []*Message) (kept []*Message, bad []error) {
	chosen := make(map[string]*Message, len(all))
	for _, msg := range all {
		best, lost := chosen[msg.ID], msg
		if best == nil {
			chosen[msg.ID] = msg
			continue
		}
		if own(msg.ID, msg.Key) && !own(msg.ID, best.Key) {
			best, lost = msg, best
			chosen[msg.ID] = msg
		}
		if own(msg.ID, best.Key) && !own(msg.ID, lost.Key) && lost.Key.Kind == store.Inbox {
			bad = append(bad, copied(msg.ID, lost.Key))
		}
	}
	return slices.DeleteFunc(all, func(msg *Message) bool { return chosen[msg.ID] != msg }), bad
}

func copied(id string, k store.Key) error {
	return &store.UnfitError{
		Key: k, Where: k.String(),
		Why: "has the id " + id + ", but another message lies under the name of that id",
	}
}

// settle drops from a part of a mailbox the files that have the id of a message which lies under its name outside of that part.
func (m *Mailbox) settle(ctx context.Context, sources []Source, part []*Message) (kept []*Message, bad []error, err error) {
	for _, msg := range part {
		if !own(msg.ID, msg.Key) {
			_, err := m.byName(ctx, store.Inbox, sources, msg.ID)
			if err == nil {
				bad = append(bad, copied(msg.ID, msg.Key))
				continue
			}
			if !store.IsUnfit(err) && !errors.Is(err, ErrNoMessage) {
				return nil, nil, err
			}
		}
		kept = append(kept, msg)
	}
	return kept, bad, nil
}
