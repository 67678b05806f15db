package exchange

import (
	"context"
	"fmt"
	"time"

	"tutti/internal/core/canonjson"
)

// ClaimTime is how long a claim keeps other sessions of the project from a message: 10 minutes. Asking again renews it for
// another 10.
const ClaimTime = 10 * time.Minute

// tidyAt is the size, in lines, at which a file of claims that have all run out is begun anew.
const tidyAt = 200

var claimKeys = []string{"name", "sha256", "by", "until"}

func (o *Service) claims(p Project) journal { return journal{o, "ledger", p.Key() + ".claims.jsonl"} }

// claim leases a message, known by its bytes, to by. It returns who has it: by itself, or another until its lease ends.
func (o *Service) claim(ctx context.Context, p Project, name, sum, by string) (holder string, until time.Time, err error) {
	now := o.now()
	holder, until = by, now.Add(ClaimTime)
	err = o.claims(p).change(ctx, func(old [][]byte) ([][]byte, bool) {
		live := false
		values := make([][]byte, len(claimKeys))
		for _, line := range old {
			if !canonjson.Pick(line, claimKeys, values) {
				continue
			}
			end, err := time.Parse(time.RFC3339Nano, text(values[3]))
			// A lease that ends later than one can is of a clock that was wrong: it blocks no one.
			if err != nil || !end.After(now) || end.After(now.Add(2*ClaimTime)) {
				continue
			}
			live = true
			if text(values[0]) != name || text(values[1]) != sum {
				continue
			}
			holder, until = text(values[2]), end
		}
		if holder != by {
			return nil, false
		}
		until = now.Add(ClaimTime)
		return [][]byte{claimLine(name, sum, by, until)}, !live && len(old) >= tidyAt
	})
	if err != nil {
		return "", time.Time{}, fmt.Errorf("claim %s: %w", name, err)
	}
	return holder, until, nil
}

func claimLine(name, sum, by string, until time.Time) []byte {
	var o canonjson.Object
	o.Str("name", name)
	o.Str("sha256", sum)
	o.Str("by", by)
	o.Str("until", until.UTC().Format(time.RFC3339Nano))
	return o.End()
}

var askedKeys = []string{"conversation_id", "reason"}

func (o *Service) askedFor(p Project) journal { return journal{o, "ledger", p.Key() + ".asked.jsonl"} }

// asks notes that a reply was proposed for a reason, and tells whether it is the first time in this conversation.
func (o *Service) asks(ctx context.Context, p Project, conversation, reason string) (first bool, err error) {
	err = o.askedFor(p).change(ctx, func(old [][]byte) ([][]byte, bool) {
		first = !asked(old, conversation, reason)
		if !first {
			return nil, false
		}
		var l canonjson.Object
		l.Str("t", stampOf(o.now()))
		l.Str("conversation_id", conversation)
		l.Str("reason", reason)
		return [][]byte{l.End()}, false
	})
	return first, err
}

// asked tells whether a reply was proposed already.
func asked(lines [][]byte, conversation, reason string) bool {
	values := make([][]byte, len(askedKeys))
	for _, line := range lines {
		if canonjson.Pick(line, askedKeys, values) && text(values[0]) == conversation && text(values[1]) == reason {
			return true
		}
	}
	return false
}

// hasAsked is asks without noting anything.
func (o *Service) hasAsked(p Project, conversation, reason string) bool {
	lines, err := o.askedFor(p).read()
	return err == nil && asked(lines, conversation, reason)
}
