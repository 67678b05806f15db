package attacktest

import (
	"slices"
	"testing"
)

// TestAttacks: a reader sees each attack.
func TestAttacks(t *testing.T) {
	t.Parallel()
	for _, a := range slices.Concat(chain, records, keys) {
		t.Run(a.class+"/"+a.name, func(t *testing.T) { attempt(t, a) })
	}
}
