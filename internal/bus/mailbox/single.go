package mailbox

import (
	"context"
	"errors"

	"tutti/internal/core/address"
	"tutti/internal/store"
)

// Anyone who can write into a folder can put a file there that has the id of another agent's message. Two files cannot have one
// name, though, so the one under the name of the id is the message, and another one counts only if there is none: other
// programs may name their files as they like.

// own reports whether a message is stored under the name of its id.
func own(id string, k store.Key) bool { return k.Name == address.Segment(id) }

// single chooses of the messages with one id the first one that is stored under its name, or else the first. of tells id and
// place of each of n, chosen is the place of the one of an id, lost are all others: nil when there are none. The errors name
// the files of a mailbox that have an id of a message stored under its name; in the archive there are some of our own making.
func single(n int, of func(i int) (id string, k store.Key)) (chosen map[string]int32, lost map[int]bool, bad []error) {
	chosen = make(map[string]int32, n)
	for i := range n {
		id, k := of(i)
		was, known := chosen[id]
		if !known {
			chosen[id] = int32(i)
			continue
		}
		loser := i
		_, best := of(int(was))
		if own(id, k) && !own(id, best) {
			chosen[id], loser = int32(i), int(was)
			k, best = best, k
		}
		if lost == nil {
			lost = map[int]bool{}
		}
		lost[loser] = true
		if own(id, best) && !own(id, k) && k.Kind == store.Inbox {
			bad = append(bad, copied(id, k))
		}
	}
	return chosen, lost, bad
}

// left returns what was not lost, in the memory of all.
func left[T any](all []T, lost map[int]bool) []T {
	if lost == nil {
		return all
	}
	kept := all[:0]
	for i, one := range all {
		if !lost[i] {
			kept = append(kept, one)
		}
	}
	return kept
}

// singles is single for messages.
func singles(all []*Message) ([]*Message, []error) {
	_, lost, bad := single(len(all), func(i int) (string, store.Key) { return all[i].ID, all[i].Key })
	return left(all, lost), bad
}

func copied(id string, k store.Key) error {
	return &store.UnfitError{
		Key: k, Where: k.String(),
		Why: "has the id " + id + ", but another message is stored under the name of that id",
	}
}

// settle drops from a part of a mailbox the files that have the id of a message which is stored under its name outside of that
// part.
func (m *Mailbox) settle(ctx context.Context, sources []Source, part []Line) ([]Line, []error, error) {
	kept := part[:0]
	var bad []error
	for _, l := range part {
		if k := l.Key(); !own(l.ID, k) {
			_, err := m.byName(ctx, store.Inbox, sources, l.ID)
			if err == nil {
				bad = append(bad, copied(l.ID, k))
				continue
			}
			if !store.IsUnfit(err) && !errors.Is(err, ErrNoMessage) {
				return nil, nil, err
			}
		}
		kept = append(kept, l)
	}
	return kept, bad, nil
}
