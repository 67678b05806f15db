package mirror

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/remote"
	"tutti/internal/store"
)

// maxFence is the size in bytes from which on numbers are taken out that no fresh push can come below.
const maxFence = 512 << 10

// Passes is the rule of the fence: only a number above the last one passes.
func Passes(stored, seq int64) bool { return seq > stored }

// pass moves the fence of an agent to a number, if it is below. Numbers are milliseconds of the sender's clock; one that is further
// ahead of ours than clocks may differ would lock the agent out until then.
func (r *Receiver) pass(ctx context.Context, who address.Instance, seq int64, now time.Time) (remote.Reason, error) {
	limit := now.Add(remote.MaxSkew).UnixMilli()
	if seq > limit {
		return remote.Future, nil
	}
	r.fence.Lock() // those of this process wait for each other instead of failing by turns
	defer r.fence.Unlock()
	key := store.Key{Kind: store.MirrorFence}
	const tries = 100 // each fails only because another process has succeeded
	for range tries {
		d, err := r.Docs.Get(ctx, key)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return "", fmt.Errorf("read the fence: %w", err)
		}
		if !Passes(standing(d.Data, who, limit), seq) {
			return StaleSeq, nil
		}
		next := moved(d.Data, who, seq, now)
		if d.Rev == "" {
			if _, err = r.Docs.Create(ctx, key, next); errors.Is(err, store.ErrExists) {
				err = store.ErrConflict
			}
		} else {
			_, err = r.Docs.Replace(ctx, key, next, d.Rev)
		}
		if err == nil {
			return "", nil
		}
		if !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrNotFound) {
			return "", fmt.Errorf("move the fence: %w", err)
		}
	}
	return "", fmt.Errorf("move the fence: %w", store.ErrConflict)
}

// standing is where the fence of an agent stands, in whatever spelling older programs wrote it. A number beyond the limit, which an older
// program took or a clock that was wrong has left, says nothing: it would lock the agent out until then.
func standing(fence []byte, who address.Instance, limit int64) (seq int64) {
	for name, value := range canonjson.Members(fence) {
		if address.Instance(name).Canonical() == who {
			if n, ok := canonjson.Int(value); ok && n <= limit {
				seq = max(seq, n)
			}
		}
	}
	return seq
}

// moved is the fence with another number for an agent.
func moved(fence []byte, who address.Instance, seq int64, now time.Time) []byte {
	var o canonjson.Object
	old := now.Add(-2 * (remote.MaxAge + remote.MaxSkew)).UnixMilli()
	for name, value := range canonjson.Members(fence) {
		n, ok := canonjson.Int(value)
		if address.Instance(name).Canonical() == who || len(fence) > maxFence && ok && n < old {
			continue
		}
		o.Raw(name, value)
	}
	o.Int(string(who), seq)
	return append(canonjson.Indent(o.Bytes()), '\n')
}
