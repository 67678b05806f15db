package address_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"tutti/internal/core/address"
)

// TestMintOrder: ids of one process sort in the order in which they were minted, also within one millisecond.
func TestMintOrder(t *testing.T) {
	at := time.Date(2031, 6, 12, 10, 0, 0, 0, time.UTC)
	var all []string
	for range 3000 {
		id := address.NewEnvelope(at)
		all = append(all, string(id))
	}
	if !slices.IsSorted(all) || len(slices.Compact(all)) != 3000 {
		t.Fatal("ids of one millisecond are not in order, or repeat")
	}
	if id := address.NewEnvelope(at.Add(-time.Hour)); string(id) > all[0] {
		t.Errorf("a clock that was set back does not count: %s", id)
	}
}

func TestMintConcurrently(t *testing.T) {
	at := time.Date(2032, 6, 12, 10, 0, 0, 0, time.UTC)
	var mu sync.Mutex
	seen := map[address.MessageID]bool{}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 500 {
				id := address.NewEnvelope(at)
				mu.Lock()
				seen[id] = true
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if len(seen) != 2000 {
		t.Errorf("%d ids, want 2000", len(seen))
	}
}
