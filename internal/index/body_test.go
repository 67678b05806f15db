package index

import (
	"slices"
	"sync"
	"testing"
)

// TestAllAndHold compares All with Rows, and the bodies that several goroutines hold with those that are read, in a table that
// was written at once and in one that was continued.
func TestAllAndHold(t *testing.T) {
	t.Parallel()
	d := openDir(t)
	if err := d.SaveTable("x", scope, State{}, nil, nil, rows(0, 3000)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		tab, err := d.OpenTable("x", scope)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		var some []Row
		for r, err := range tab.Rows() {
			if err != nil {
				t.Fatal(err)
			}
			if len(want)%700 == 5 {
				some = append(some, r)
			}
			s, err := show(r)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, s)
		}
		all, err := tab.All()
		if err != nil {
			t.Fatal(err)
		}
		var work sync.WaitGroup
		for n := range 3 {
			bodies := tab.Bodies()
			work.Go(func() {
				for i := n; i < len(all); i += 3 {
					bodies.Hold(&all[i])
				}
			})
		}
		work.Wait()
		if err := d.SaveTable("x", scope, State{}, tab, some, rows(5000, 5100)); err != nil {
			t.Fatal(err)
		}
		tab.Close()
		got := make([]string, len(all))
		for i := range all {
			if got[i], err = show(all[i]); err != nil { // which would need the table if nothing were held
				t.Fatal(err)
			}
			_, summary, _ := all[i].Body()
			if s, err := all[i].Summary(); err != nil || s != summary {
				t.Fatalf("Summary of %s: %q, %v, want %q", all[i].Name, s, err, summary)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("All has %d rows, Rows %d, or they differ", len(got), len(want))
		}
	}
}
