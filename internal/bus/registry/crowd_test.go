package registry

import (
	"encoding/binary"
	"testing"
	"time"

	"tutti/internal/core/signature"
)

// TestFoldOfManyKeys: anybody can add keys to an agent, and each of its messages asks for all of them.
func TestFoldOfManyKeys(t *testing.T) {
	const n = 100_000
	const id = "claude:api:3f2a9c01b7de"
	events := make([]Event, n)
	for i := range events {
		var key signature.Public
		binary.BigEndian.PutUint32(key[:], uint32(i/2))
		events[i] = Event{Instance: id, Key: key.PEM(), Type: Added}
		if i%4 == 3 {
			events[i].Type = Revoked
		}
	}
	begun := time.Now()
	k := Fold(id, nil, events)
	if len(k.Active) != n/4 || len(k.Revoked) != n/4 {
		t.Errorf("%d active and %d revoked, want %d of each", len(k.Active), len(k.Revoked), n/4)
	}
	// Half a second where each event costs the same, and a quarter of a minute where it costs a look at all others.
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
}
