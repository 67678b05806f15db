package trust

import (
	"encoding/binary"
	"testing"

	"tutti/internal/core/signature"
)

// TestManyKeys: anyone who can write the registry can add keys to an agent. Each costs a reader one verification per signature, so only
// some are tried, and the pinned one always is.
func TestManyKeys(t *testing.T) {
	t.Parallel()
	k := Keys{Pins: []signature.Public{{1, 2, 3}}}
	for n := range uint32(100_000) {
		var key signature.Public
		binary.BigEndian.PutUint32(key[8:], n+1)
		if n%2 == 0 {
			k.Active = append(k.Active, key)
		} else {
			k.Revoked = append(k.Revoked, key)
		}
	}
	all := k.All()
	if len(all) != MaxKeys || all[0] != k.Pins[0] || all[1] != k.Active[0] {
		t.Errorf("%d keys are tried, the first two %x and %x; want %d, the pin and the first active one", len(all), all[0], all[1], MaxKeys)
	}
	for _, untried := range []signature.Public{k.Active[len(k.Active)-1], k.Revoked[0]} {
		for _, a := range all {
			if a == untried {
				t.Errorf("%x is tried", untried)
			}
		}
	}
}
