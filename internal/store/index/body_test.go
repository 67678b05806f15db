package index

import (
	"errors"
	"math"
	"os"
	"path/filepath"
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
		var bodies *Bodies
		var work sync.WaitGroup
		work.Go(func() { bodies = tab.Bodies() })
		all, err := tab.All()
		if err != nil {
			t.Fatal(err)
		}
		work.Wait()
		for n := range 3 {
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

// TestBodiesOfChangedTable changes a table while it is open: what is held is right, and a row that is not asked for its body
// says so, unless it can still be read.
func TestBodiesOfChangedTable(t *testing.T) {
	t.Parallel()
	const n, odd = 500, 77
	for _, tt := range []struct {
		name string
		do   func(t *testing.T, tab *Table, file *os.File, all []Row)
		held int // rows
		read int // rows whose body is got
	}{
		{"nothing", func(*testing.T, *Table, *os.File, []Row) {}, n, n},
		{"a byte of one body", func(t *testing.T, tab *Table, file *os.File, all []Row) {
			at, b := tab.base.bodies.start+all[odd].off, []byte{0}
			if _, err := file.ReadAt(b, at); err != nil {
				t.Fatal(err)
			}
			b[0] ^= 0x10
			if _, err := file.WriteAt(b, at); err != nil {
				t.Fatal(err)
			}
		}, n - 1, n - 1},
		{"the end cut off", func(t *testing.T, tab *Table, file *os.File, _ []Row) {
			if err := file.Truncate(tab.base.bodies.start + tab.base.bodies.size - 1); err != nil {
				t.Fatal(err)
			}
		}, 0, 0}, // so few bodies are read through one window
		{"all cut off", func(t *testing.T, _ *Table, file *os.File, _ []Row) {
			if err := file.Truncate(0); err != nil {
				t.Fatal(err)
			}
		}, 0, 0},
		{"more than is read at once", func(t *testing.T, tab *Table, file *os.File, _ []Row) {
			tab.base.bodies.size = mostBodies + 1
			if err := file.Truncate(tab.base.bodies.start + mostBodies + 1); err != nil {
				t.Fatal(err)
			}
		}, 0, n},
		{"rows that point elsewhere", func(_ *testing.T, _ *Table, _ *os.File, all []Row) {
			all[0].off = -1
			all[1].off = math.MaxInt64
			all[2].off = math.MinInt64
			all[3].size = math.MaxInt32
			all[4].size = -1
			all[5].off++
		}, n - 6, n - 6},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := openDir(t)
			if err := d.SaveTable("x", scope, State{}, nil, nil, rows(0, n)); err != nil {
				t.Fatal(err)
			}
			tab, err := d.OpenTable("x", scope)
			if err != nil {
				t.Fatal(err)
			}
			defer tab.Close()
			all, err := tab.All()
			if err != nil {
				t.Fatal(err)
			}
			want := slices.Clone(all)
			for i := range want {
				if want[i].body, err = want[i].raw(); err != nil {
					t.Fatal(err)
				}
			}
			tab.base.bodies.buf = nil // what the window has would hide what is in the file
			file, err := os.OpenFile(filepath.Join(d.path, "x"+rowsEnding), os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			tt.do(t, tab, file, all)

			bodies := tab.Bodies()
			held, read := 0, 0
			for i := range all {
				bodies.Hold(&all[i])
				if all[i].body != "" {
					held++
				}
				switch body, err := all[i].raw(); {
				case err != nil && !errors.Is(err, ErrBad):
					t.Errorf("row %d: %v, want ErrBad", i, err)
				case err == nil && body != want[i].body:
					t.Errorf("row %d has the body %q, want %q", i, body, want[i].body)
				case err == nil:
					read++
				}
			}
			if held != tt.held || read != tt.read {
				t.Errorf("%d bodies held and %d got, want %d and %d", held, read, tt.held, tt.read)
			}
		})
	}
}

func TestGetPagesKeepsMemory(t *testing.T) {
	t.Parallel()
	page := os.Getpagesize()
	all := make([]byte, 64*page)
	for i := range all {
		all[i] = byte(i * 7)
	}
	want := slices.Clone(all)
	for _, piece := range [][]byte{nil, all[:0], all[:1], all[1:page], all[3 : 5*page], all} {
		getPages(piece)
	}
	if !slices.Equal(all, want) {
		t.Error("the memory has changed")
	}
}
