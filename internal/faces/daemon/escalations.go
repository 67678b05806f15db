package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"time"

	"tutti/internal/app/full"
	"tutti/internal/core/address"
	"tutti/internal/governance/escalation"
	"tutti/internal/governance/negotiation"
	"tutti/internal/halt"
	"tutti/internal/platform/proc"
)

// settleEvery is the time between two looks at the journals; a matter whose end is known is looked at when it comes.
const settleEvery = time.Minute

// settlerID is who writes that a matter has lapsed: no agent and no person, and without a key. The entry decides nothing.
func settlerID() address.Instance {
	const digits = 12
	sum := sha256.Sum256(fmt.Append(nil, proc.Hostname(), " ", os.Getuid()))
	return address.Instance("tutti:up:" + hex.EncodeToString(sum[:])[:digits])
}

// escalations is the part that records the fallback of each escalation that was not decided in time, in the journal of its negotiation.
func escalations(ctx context.Context, s *Site) error {
	s.Ready("records the default once an escalation has run out of time")
	bus, by, ends, said := full.Agreements(s.World), settlerID(), &escalation.Ends{}, map[string]bool{}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		}
		wait := settleEvery
		if halt.Check("record escalations") == nil {
			now := time.Now()
			done, problems, err := bus.Settle(ctx, negotiation.Act{By: by}, ends, now)
			for _, m := range done {
				s.lapsed(m)
			}
			for _, err := range problems {
				if text := err.Error(); !said[text] && !isHalt(err) {
					said[text] = true
					s.Fault(text)
				}
			}
			if err != nil && !isHalt(err) {
				return err
			}
			if next := ends.Next(); next.After(now) {
				wait = min(wait, next.Sub(now))
			}
		}
		timer.Reset(wait)
	}
}

func isHalt(err error) bool {
	_, is := errors.AsType[*halt.Error](err)
	return is
}

// lapsed reports an escalation that was not decided in time.
func (s *Site) lapsed(m *escalation.Escalation) {
	s.Tell(Event{
		Kind: "lapsed", Text: fmt.Sprintf("no answer to %s of %s in time: %q applies", m.ID, m.Negotiation, m.Fallback),
		Escalation: m.ID, Negotiation: m.Negotiation, Fallback: m.Fallback,
	})
}
