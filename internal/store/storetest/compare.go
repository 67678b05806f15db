package storetest

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"tutti/internal/store"
)

func (m *machine) compareSometimes(*rapid.T) {
	if m.steps++; m.steps%compareEvery == 0 {
		m.compare()
	}
}

// compare wants the same contents of both.
func (m *machine) compare() {
	for _, k := range m.docs {
		real, errReal := m.real.Get(m.ctx, k)
		model, errModel := m.model.Get(m.ctx, k)
		m.agree(fmt.Sprintf("Get %v", k), errReal, errModel)
		if !bytes.Equal(real.Data, model.Data) {
			m.rt.Fatalf("Get %v: %s, the model has %s", k, short(real.Data), short(model.Data))
		}
		if last := len(m.revs[k]) - 1; errReal == nil && (real.Rev != m.revs[k][last].real || model.Rev != m.revs[k][last].model) {
			m.rt.Fatalf("Get %v: revision %q, it was written as %q", k, real.Rev, m.revs[k][last].real)
		}
	}
	kinds := map[store.Kind]bool{}
	for _, k := range m.docs {
		kinds[k.Kind] = true
	}
	for kind := range kinds {
		m.compareLists(kind)
	}
	for _, k := range m.logs {
		m.compareLog(k, twin[store.Pos]{})
	}
}

// compareLists compares the listings of all owners.
func (m *machine) compareLists(kind store.Kind) {
	owners := twin[[]string]{[]string{""}, []string{""}}
	if kind.Spec().HasOwner() {
		owners = twin[[]string]{m.owners(m.real, kind), m.owners(m.model, kind)}
	}
	for _, owner := range owners.model {
		if !slices.Contains(owners.real, owner) {
			m.rt.Fatalf("Owners of %v: %q, the model has %q", kind, owners.real, owners.model)
		}
	}
	for _, owner := range owners.real { // those whose documents are all gone may still be there
		real, model := m.list(m.real, kind, owner), m.list(m.model, kind, owner)
		if !maps.Equal(real, model) {
			m.rt.Fatalf("List %v of %q: %v, the model has %v", kind, owner, real, model)
		}
	}
}

func (m *machine) owners(s Store, kind store.Kind) []string {
	var all []string
	for owner, err := range s.Owners(m.ctx, kind) {
		if err != nil {
			m.rt.Fatalf("Owners of %v: %v", kind, err)
		}
		all = append(all, owner)
	}
	return all
}

// list returns the sizes of the documents listed.
func (m *machine) list(s Store, kind store.Kind, owner string) map[store.Key]int64 {
	sizes := map[store.Key]int64{}
	for e, err := range s.List(m.ctx, kind, owner) {
		if _, twice := sizes[e.Key]; err != nil || twice {
			m.rt.Fatalf("List %v of %q: %v, error %v, listed before: %t", kind, owner, e.Key, err, twice)
		}
		sizes[e.Key] = e.Size
	}
	return sizes
}

// compareLog compares a log from a position on.
func (m *machine) compareLog(k store.Key, from twin[store.Pos]) {
	real, model := m.lines(m.real, k, from.real), m.lines(m.model, k, from.model)
	if !slices.Equal(real, model) {
		m.rt.Fatalf("Read %v from %q: %q, the model has %q", k, from.real, real, model)
	}
}

func (m *machine) lines(s Store, k store.Key, from store.Pos) []string {
	var all []string
	for l, err := range s.Read(m.ctx, k, from) {
		if err != nil {
			m.rt.Fatalf("Read %v from %q: %v", k, from, err)
		}
		all = append(all, string(l.Data))
	}
	return all
}
