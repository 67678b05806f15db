package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"sync"

	"tutti/internal/store"
)

// testShrink: what goes is gone, all else stays in its order, and who appends or reads on meanwhile loses nothing.
func testShrink(f *fixture) {
	s, ok := f.s.(store.Shrinker)
	if !ok {
		f.Skip("the backend shrinks no logs")
	}
	for _, kind := range store.Kinds() {
		if kind.Spec().Shrinks {
			testShrinkOf(f, s, key(kind, "a"))
		}
	}
	other := key(store.Instances)
	f.append(other, store.AnyEnd, doc(1))
	if _, err := s.Shrink(f.ctx, other, func([]byte) bool { return false }); !errors.Is(err, errors.ErrUnsupported) {
		f.Errorf("Shrink of a log that others write: %v, want ErrUnsupported", err)
	}
	f.wantLines(other, doc(1))
}

func testShrinkOf(f *fixture, s store.Shrinker, k store.Key) {
	shrink := func(what string, keep func([]byte) bool, want int) {
		f.Helper()
		if gone, err := s.Shrink(f.ctx, k, keep); err != nil || gone != want {
			f.Errorf("%s: took out %d lines, %v; want %d", what, gone, err, want)
		}
	}
	all := func([]byte) bool { return true }
	shrink("Shrink of a log that does not exist", all, 0)
	f.wantLines(k)

	var end store.Pos
	var even [][]byte
	for i := range 100 {
		line := doc(i)
		end = f.append(k, store.AnyEnd, line)
		if i%2 == 0 {
			even = append(even, line)
		}
	}
	shrink("Shrink that keeps everything", all, 0)
	if _, err := f.s.Append(f.ctx, k, end, doc("more")); err != nil {
		f.Errorf("Append after a Shrink that took nothing: %v", err)
	}
	even = append(even, doc("more"))
	kept := func(line []byte) bool {
		for _, one := range even {
			if bytes.Equal(one, line) {
				return true
			}
		}
		return false
	}
	shrink("Shrink", kept, 50)
	f.wantLines(k, even...)
	shrink("Shrink once more", kept, 0)
	if _, err := f.s.Append(f.ctx, k, end, doc("late")); !errors.Is(err, store.ErrConflict) {
		f.Errorf("Append after a line that is gone: %v, want ErrConflict", err)
	}
	if err := f.readErr(f.ctx, f.s, k, end); !errors.Is(err, store.ErrConflict) {
		f.Errorf("Read on from a line that is gone: %v, want ErrConflict", err)
	}

	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 25 {
				if _, err := f.s.Append(f.ctx, k, store.AnyEnd, doc(fmt.Sprint(w, "-", i))); err != nil {
					f.Errorf("Append beside Shrink: %v", err)
				}
			}
		})
	}
	for range 20 {
		if _, err := s.Shrink(f.ctx, k, func(line []byte) bool { return !bytes.Equal(line, even[0]) }); err != nil {
			f.Errorf("Shrink beside Append: %v", err)
		}
	}
	wg.Wait()
	if got := len(f.lines(k, "")); got != len(even)-1+100 {
		f.Errorf("after Shrink beside Append: %d lines, want %d", got, len(even)-1+100)
	}
	shrink("Shrink to nothing", func([]byte) bool { return false }, len(even)-1+100)
	f.wantLines(k)
	f.append(k, "", doc("anew"))
	f.wantLines(k, doc("anew"))
}
