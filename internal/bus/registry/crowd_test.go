package registry

import (
	"encoding/binary"
	"testing"
	"time"

	"tutti/internal/core/signature"
	"tutti/internal/test/boundtest"
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
	// A fifth of a second where each event costs the same, and a quarter of a minute where it costs a look at all others.
	var k *Keys
	boundtest.Work(t, "many keys", 5*time.Second, func() { k = Fold(id, nil, events) })
	if len(k.Active) != n/4 || len(k.Revoked) != n/4 {
		t.Errorf("%d active and %d revoked, want %d of each", len(k.Active), len(k.Revoked), n/4)
	}
}
