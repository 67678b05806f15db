package filestore

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"tutti/internal/store"
	"tutti/internal/test/boundtest"
)

// small lets a store take few documents for many.
func small(s *Store, crowd, throng int) *Store {
	s.crowd, s.throng = crowd, throng
	return s
}

// oldest asks for the oldest rows and tells their names, and whether these are only a part.
func (r *rig) oldest(s *Store, made *int, n int) (names []string, part bool) {
	r.t.Helper()
	q := store.Query{Oldest: n, Part: &part}
	for row, err := range s.View(r.t.Context(), store.Inbox, viewOwner, listing(made), q) {
		if err != nil {
			r.t.Fatal(err)
		}
		names = append(names, row.Key.Name)
	}
	return names, part
}

func (r *rig) wantOldest(what string, s *Store, n int, part bool, want ...string) {
	r.t.Helper()
	got, only := r.oldest(s, nil, n)
	if !slices.Equal(got, want) || only != part {
		r.t.Errorf("%s: got %q, part %v; want %q, part %v", what, got, only, want, part)
	}
}

// A few documents are looked at as a whole, and the answer is all of them.
func TestOldestOfFew(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.wantOldest("none", r.s, 2, false)
	r.fill(4)
	for range 2 {
		r.wantOldest("four", r.s, 2, false, "m00003", "m00002", "m00001", "m00000")
		r.settle()
	}
}

// TestOldestOfMany: the oldest n of many are read: additions, removals and changes are seen.
func TestOldestOfMany(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	small(r.s, 10, 1000)
	r.fill(300)
	r.put("bad", []byte("nothing"))
	r.settle()
	viewLines(t, r.s, listing(nil), store.Query{})
	ask := func(what string, want ...string) {
		t.Helper()
		got, part := []string(nil), false
		for row, err := range r.s.View(t.Context(), store.Inbox, viewOwner, listing(nil), store.Query{Oldest: 2, Part: &part}) {
			if err == nil {
				got = append(got, row.Key.Name)
			} else if row.Key.Name != "bad" {
				t.Error(err)
			}
		}
		if !slices.Equal(got, want) || !part {
			t.Errorf("%s: got %q, part %v; want %q, part true", what, got, part, want)
		}
	}
	ask("as it was listed", "m00001", "m00000")
	r.put("early", viewMsg(-5, "k", "came"))
	ask("an older one came", "m00000", "early")
	if err := os.Remove(r.path("m00000")); err != nil {
		t.Fatal(err)
	}
	ask("one went", "m00001", "early")
	r.put("m00001", viewMsg(7000, "k", "changed in place"))
	ask("one was changed", "m00002", "early")
	r.wantNothingOlder()
}

// wantNothingOlder compares an Exact view with the sources: what a query for the oldest has kept is right.
func (r *rig) wantNothingOlder() {
	r.t.Helper()
	r.check("afterwards", store.Query{})
	r.check("afterwards", store.Query{Newest: 20})
}

// TestOldestOfVeryMany: of very many, nothing is listed and only the requested rows are read, until too few are left.
func TestOldestOfVeryMany(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	small(r.s, 10, 20)
	r.fill(600)
	r.settle()
	viewLines(t, r.s, listing(nil), store.Query{})
	r.put("early", viewMsg(-5, "k", "came"))
	made := 0
	if got, part := r.oldest(r.s, &made, 3); !slices.Equal(got, []string{"m00002", "m00001", "m00000"}) || !part || made != 0 {
		t.Errorf("got %q, part %v, %d documents read; want the oldest three that are known, and none read", got, part, made)
	}
	for i := range 2 {
		if err := os.Remove(r.path(fmt.Sprintf("m%05d", i))); err != nil {
			t.Fatal(err)
		}
	}
	r.wantOldest("two went", r.s, 3, true, "m00004", "m00003", "m00002")
	for i := range 598 {
		if err := os.Remove(r.path(fmt.Sprintf("m%05d", i+2))); err != nil {
			t.Fatal(err)
		}
	}
	r.wantOldest("all that were known went", r.s, 3, false, "early")
	r.wantNothingOlder()
}

// Hundreds that went are taken out of the table without a listing.
func TestOldestAfterRemovals(t *testing.T) {
	t.Parallel()
	boundtest.OneGoroutine(t)
	r := newRig(t)
	small(r.s, 10, 20)
	r.fill(fewChanges * 20)
	r.settle()
	viewLines(t, r.s, listing(nil), store.Query{})
	for i := range fewChanges {
		if err := os.Remove(r.path(fmt.Sprintf("m%05d", i))); err != nil {
			t.Fatal(err)
		}
	}
	next := fmt.Sprintf("m%05d", fewChanges)
	r.wantOldest("many went", r.s, 1, true, next)
	c := r.s.cacheFor(store.Key{Kind: store.Inbox, Owner: viewOwner}, listing(nil))
	defer c.close()
	tab, err := c.dir.OpenTable(c.name, c.of)
	if err != nil {
		t.Fatal(err)
	}
	if n := tab.Len(); n != fewChanges*19 {
		t.Errorf("the table has %d rows, want %d", n, fewChanges*19)
	}
	tab.Close()
	r.wantOldest("and again", r.s, 1, true, next)
	r.wantNothingOlder()
}

// TestOldestWithoutTable: of very many without a table, only a few documents are read.
func TestOldestWithoutTable(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	small(r.s, 10, 20)
	small(r.plain, 10, 20)
	r.fill(2 * sampled)
	for _, s := range []*Store{r.s, r.plain} {
		made := 0
		if got, part := r.oldest(s, &made, 3); len(got) != 3 || !part || made > sampled {
			t.Errorf("got %q, part %v, %d documents read; want three, of at most %d", got, part, made, sampled)
		}
		if got, part := r.oldest(s, &made, 3*sampled); len(got) != 2*sampled || part {
			t.Errorf("got %d, part %v; want all", len(got), part)
		}
	}
}

// The answer to any query is that of the sources, however large a crowd is.
func TestOldestMatchesSource(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	small(r.s, 10, 100)
	for i := range 90 {
		r.put(fmt.Sprintf("m%d", i*7%90), viewMsg(i/3, "k", "equal orders"))
	}
	r.settle()
	viewLines(t, r.s, listing(nil), store.Query{})
	all := viewLines(t, r.plain, listing(nil), store.Query{})
	for n := 1; n <= 91; n += 10 {
		got := viewLines(t, r.s, listing(nil), store.Query{Oldest: n})
		sameLines(t, fmt.Sprint("oldest ", n), got, all[max(0, len(all)-n):])
	}
}
