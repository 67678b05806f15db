package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"tutti/internal/store"
)

// testExtend: many lines are added in their order and together, or none where the backend can do so.
func testExtend(f *fixture) {
	k := key(store.Trail, "a")
	extend := func(what string, lines ...[]byte) {
		f.Helper()
		if added, _, err := store.ExtendWith(f.ctx, f.s, k, store.AnyEnd, lines); err != nil || added != len(lines) {
			f.Errorf("%s: %d added, %v", what, added, err)
		}
	}
	extend("no line for a log that does not exist")
	f.wantLines(k)
	extend("lines for a log that does not exist", doc(1), doc(2))
	end := f.append(k, store.AnyEnd, doc(3))
	extend("no line")
	f.append(k, end, doc(4)) // nothing has come in between
	extend("lines for a log that is there", doc(5), doc(6), doc(7))
	f.wantLines(k, doc(1), doc(2), doc(3), doc(4), doc(5), doc(6), doc(7))
	if _, err := f.s.Append(f.ctx, k, end, doc("late")); !errors.Is(err, store.ErrConflict) {
		f.Errorf("Append after what lines were added to: %v, want %v", err, store.ErrConflict)
	}

	if added, _, err := store.ExtendWith(f.ctx, f.s, k, end, [][]byte{doc("late"), doc("too")}); added != 0 || !errors.Is(err, store.ErrConflict) {
		f.Errorf("Extend after what lines were added to: %d added, %v, want %v", added, err, store.ErrConflict)
	}
	end = f.append(k, store.AnyEnd, doc(8))
	_, next, err := store.ExtendWith(f.ctx, f.s, k, end, [][]byte{doc(9), doc(10)})
	if err != nil {
		f.Errorf("Extend after the last line: %v", err)
	}
	f.append(k, next, doc(11))
	var want [][]byte
	for n := range 11 {
		want = append(want, doc(n+1))
	}
	f.wantLines(k, want...)

	e, ok := f.s.(store.Extender)
	if !ok {
		return
	}
	for _, bad := range [][]byte{nil, []byte("{\"a\":\n1}"), make([]byte, store.Trail.Spec().WriteLimit+1)} {
		_, err := e.Extend(f.ctx, k, store.AnyEnd, [][]byte{doc("good"), bad})
		f.wantRefused(fmt.Sprintf("Extend by a good line and one of %d bytes", len(bad)), err)
	}
	f.wantLines(k, want...)
	f.togetherOnly(e)
}

// togetherOnly has several add lines at once: those of each stay together.
func (f *fixture) togetherOnly(e store.Extender) {
	const writers, times, lines = 4, 5, 3
	k := key(store.Trail, "b")
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for t := range times {
				var mine [][]byte
				for range lines {
					mine = append(mine, doc(fmt.Sprint(w, " ", t)))
				}
				if _, err := e.Extend(f.ctx, k, store.AnyEnd, mine); err != nil {
					f.Errorf("Extend beside others: %v", err)
				}
			}
		})
	}
	all.Wait()
	got := f.lines(k, "")
	if len(got) != writers*times*lines {
		f.Fatalf("%d lines, want %d", len(got), writers*times*lines)
	}
	for three := range slices.Chunk(got, lines) {
		for _, line := range three {
			if string(line.Data) != string(three[0].Data) {
				f.Errorf("a line %q among those of %q", line.Data, three[0].Data)
			}
		}
	}
}
