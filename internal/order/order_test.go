package order

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

type pair struct{ key, place int }

// It must give what the stable sort of the library gives.
func TestStable(t *testing.T) {
	t.Parallel()
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		list := make([]pair, r.IntN(120))
		for i := range list {
			list[i] = pair{r.IntN(1 + int(seed%50)), i}
		}
		want := slices.Clone(list)
		slices.SortStableFunc(want, func(a, b pair) int { return cmp.Compare(a.key, b.key) })
		given := slices.Clone(list)
		Stable(list, func(a, b *pair) int { return cmp.Compare(a.key, b.key) })
		if !slices.Equal(list, want) {
			t.Fatalf("%v\n got %v\nwant %v", given, list, want)
		}
	}
}

func TestInOrder(t *testing.T) {
	list := []pair{{1, 0}, {1, 1}, {2, 2}}
	if n := testing.AllocsPerRun(10, func() { Stable(list, func(a, b *pair) int { return cmp.Compare(a.key, b.key) }) }); n != 0 {
		t.Errorf("a sorted list costs %v allocations", n)
	}
}
