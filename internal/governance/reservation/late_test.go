package reservation_test

import (
	"context"
	"errors"
	"testing"

	"tutti/internal/core/address"
	"tutti/internal/governance/reservation"
	"tutti/internal/store"
)

// A halting store calls somebody before certain steps.
type halting struct {
	store.Docs
	create, turn func() // before a lease is created; before the turn is changed
}

func (h *halting) Create(ctx context.Context, k store.Key, data []byte) (store.Rev, error) {
	if h.create != nil && k.Kind == store.FileLease {
		h.create()
	}
	return h.Docs.Create(ctx, k, data)
}

func (h *halting) Replace(ctx context.Context, k store.Key, data []byte, rev store.Rev) (store.Rev, error) {
	if h.turn != nil && k.Name+".json" == reservation.TurnFile {
		h.turn()
	}
	return h.Docs.Replace(ctx, k, data, rev)
}

// TestLateTaker: a process that stalled after it had read the turn does not take what belongs to a later take.
func TestLateTaker(t *testing.T) {
	each(t, func(t *testing.T, d *reservation.Reservations) {
		take(t, d, reservation.Want{Spots: file("/before"), Holder: beta}, now) // there is a turn
		other := address.Instance("claude:other:000000000009")
		quick, late := *d, *d
		written, go2, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		once := true
		quick.Docs = &halting{Docs: d.Docs, turn: func() {
			if once {
				once = false
				close(written)
				<-go2
			}
		}}
		steps := 0
		var got error
		late.Docs = &halting{Docs: d.Docs, create: func() {
			switch steps++; steps {
			case 1: // the turn goes on, and somebody else is about to take the same
				take(t, d, reservation.Want{Spots: file("/elsewhere"), Holder: other}, now)
				go func() {
					_, err := quick.Take(t.Context(), reservation.Want{Spots: file("/p"), Holder: alpha}, now)
					done <- err
				}()
				<-written
			case 2:
				close(go2)
				got = <-done
			}
		}}
		_, err := late.Take(t.Context(), reservation.Want{Spots: file("/p"), Holder: beta}, now)
		if _, refused := errors.AsType[*reservation.HeldError](err); got != nil || !refused {
			t.Errorf("who was quick: %v; who was late: %v", got, err)
		}
		if a, b := held(t, d, alpha, now), held(t, d, beta, now); a != "/p" || b != "/before" {
			t.Errorf("they hold %q and %q", a, b)
		}
	})
}
