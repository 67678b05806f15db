package attacktest

import (
	"slices"
	"testing"

	"tutti/internal/test/boundtest"
)

// TestAttacks: a reader sees each attack.
func TestAttacks(t *testing.T) {
	if boundtest.Race {
		t.Skip("what runs is in other processes")
	}
	t.Parallel()
	base := newHome(t)
	for _, a := range slices.Concat(chain, records, openings, keys, acts, claims(), files, paths(), odd(), pipes(), alikes(), tools) {
		t.Run(a.class+"/"+a.name, func(t *testing.T) { attempt(t, base, a) })
	}
}
