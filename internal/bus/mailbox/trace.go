package mailbox

import (
	"context"
	"fmt"
	"slices"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/store"
)

// Trace returns all that the trail of a mailbox says of one message, by time. What another program has written there and what
// cannot be read is left out. The trail is shortened some time after the message has left the mailbox.
func (m *Mailbox) Trace(ctx context.Context, inst address.Instance, id string) ([]Mark, error) {
	trails, err := m.trails(ctx, inst)
	if err != nil {
		return nil, fmt.Errorf("trace message %s: %w", id, err)
	}
	var all []Mark
	for _, name := range trails {
		for line, err := range store.FindIn(ctx, m.s, trailKey(name), &trailProjection, trailID(id)) {
			if store.IsUnfit(err) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("trace message %s: %w", id, err)
			}
			var v [markEnd][]byte
			canonjson.Pick(line.Data, markMembers, v[:])
			if mark, ok := markOf(&v); ok {
				mark.ID = id
				all = append(all, mark)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Mark) int { return a.At.Compare(b.At) })
	return all, nil
}
