package registry

import (
	"fmt"
	"testing"
	"time"

	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
)

const heldID = "human:ana:0123456789ab"

// stamped is a line with a proof by a key.
func stamped(t *testing.T, raw []byte, by *signature.Private) Event {
	t.Helper()
	signed, err := ownWords(raw)
	if err != nil {
		t.Fatal(err)
	}
	p := by.Object(heldID, signed)
	e, err := parseEvent(canonjson.Set(raw, mProof, fmt.Appendf(nil, `{"by":%q,"alg":%q,"value":%q}`, p.By, p.Alg, p.Value)))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestInvalidProofLimit: entries with another key's proof are checked up to a limit per type, and cost no valid entry.
func TestInvalidProofLimit(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)
	own, next, thief := signature.Generate(), signature.Generate(), signature.Generate()
	genuine := []Event{
		stamped(t, AddedEvent(heldID, next.Public(), now), own),
		stamped(t, event(heldID, own.Public().PEM(), Revoked, now, "sha256:x"), own),
	}
	for bogus, want := range map[int]string{0: "2 true", maxVain - 1: "2 true", maxVain: "1 true"} {
		var events []Event
		for range bogus {
			events = append(events, stamped(t, AddedEvent(heldID, thief.Public(), now), thief))
		}
		held := Fold(heldID, []string{own.Public().PEM()}, append(events, genuine...)).Own([]signature.Public{own.Public()})
		if got := fmt.Sprint(len(held), " ", held[0].Revoked); got != want {
			t.Errorf("after %d lines of others: %s, want %s", bogus, got, want)
		}
	}
}

// TestPersonKeyAfterTombstone: a tombstone, which anybody can write, takes no key of a person out of use that is known; a proved revocation does.
func TestPersonKeyAfterTombstone(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)
	own := signature.Generate()
	unproved, err := parseEvent(event(heldID, own.Public().PEM(), Revoked, now))
	if err != nil {
		t.Fatal(err)
	}
	proved := stamped(t, event(heldID, own.Public().PEM(), Revoked, now, "sha256:x"), own)
	for name, v := range map[string]struct {
		events []Event
		gone   bool
	}{"alone": {nil, false}, "with a revocation of anybody": {[]Event{unproved}, false}, "with one that is proved": {[]Event{unproved, proved}, true}} {
		k := Fold(heldID, []string{own.Public().PEM()}, v.events)
		k.end()
		held := k.Own([]signature.Public{own.Public()})
		if len(k.Active) > 0 || len(held) != 1 || held[0].Revoked != v.gone || v.gone && len(held[0].Before) != 1 {
			t.Errorf("a tombstone %s: %+v, want revoked: %v", name, held, v.gone)
		}
	}
}
