package index

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tutti/internal/test/boundtest"
)

var scope = Scope{Build: "b1", Subject: "inbox claude-api", Projection: "list", Version: 3}

func openDir(t testing.TB) *Dir {
	t.Helper()
	d, err := MakeDir(filepath.Join(t.TempDir(), "a", "cache"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func row(i int) Row {
	r := Row{
		Name: fmt.Sprintf("m-%05d", i*7919%100003), Order: int64(i / 3), Stored: int64(i),
		ID: Stat{Dev: 1, Ino: uint64(i), Size: int64(i), Mtime: 1795548980069281365 + int64(i), Ctime: 6},
	}
	if i%50 == 7 {
		r.Flags = Unsettled
	}
	if i%50 == 8 {
		r.Flags = Unfit
	}
	if keys := []string{"id:" + r.Name, "from:claude"}; i%3 > 0 {
		r.Keys = keys[:i%3]
	}
	r.Summary = strings.Repeat(r.Name, i%5)
	return r
}

func rows(from, to int) []Row {
	var all []Row
	for i := from; i < to; i++ {
		all = append(all, row(i))
	}
	return all
}

// show prints everything a row holds.
func show(r Row) string {
	return fmt.Sprintf("%s %v %d %d %d %q %q", r.Name, r.ID, r.Flags, r.Order, r.Stored, r.Keys, r.Summary)
}

func showAll(rows []Row) []string {
	rows = slices.Clone(rows)
	slices.SortFunc(rows, Compare)
	var all []string
	for _, r := range rows {
		all = append(all, show(r))
	}
	return all
}

// readAll reads a whole table the way its users do. loose are the rows that came first.
func readAll(d *Dir, name string, of Scope) (all, loose []string, st State, err error) {
	tab, err := d.OpenTable(name, of)
	if err != nil {
		return nil, nil, State{}, err
	}
	defer tab.Close()
	others := 0
	for r, err := range tab.Rows() {
		switch {
		case err != nil:
			return nil, nil, State{}, err
		case r.Flags == 0:
			others++
		case others == 0:
			loose = append(loose, r.Name)
		}
	}
	rows, err := tab.All()
	if err == nil && (tab.Len() != len(rows) || len(loose)+others != len(rows)) {
		err = fmt.Errorf("Len() = %d, rows = %d", tab.Len(), len(rows))
	}
	return showAll(rows), loose, tab.State(), err
}

func looseOf(rows []Row) (names []string) {
	for _, r := range rows {
		if r.Flags != 0 {
			names = append(names, r.Name)
		}
	}
	slices.Sort(names)
	return names
}

func TestTableKeepsRows(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 100, 3000} {
		d := openDir(t)
		st := State{Folder: Stat{1, 2, 3, 4, 5}, Settled: true, Full: 7}
		if err := d.SaveTable("x", scope, st, nil, nil, rows(0, n)); err != nil {
			t.Fatal(err)
		}
		all, loose, got, err := readAll(d, "x", scope)
		if err != nil || got != st {
			t.Fatalf("%d rows: state %v, %v, want %v", n, got, err, st)
		}
		if want := showAll(rows(0, n)); !slices.Equal(all, want) {
			t.Errorf("%d rows: got %d: %v\nwant %v", n, len(all), all, want)
		}
		slices.Sort(loose)
		if want := looseOf(rows(0, n)); !slices.Equal(loose, want) {
			t.Errorf("%d rows: loose %v, want %v", n, loose, want)
		}
	}
}

// TestUpdates does random changes to a table and compares it with a list after each.
func TestUpdates(t *testing.T) {
	boundtest.OneGoroutine(t)
	t.Parallel()
	for _, n := range []int{10, 1000} {
		d := openDir(t)
		have := map[string]Row{}
		next := n
		rng := rand.New(rand.NewPCG(1, uint64(n)))
		if err := d.SaveTable("x", scope, State{}, nil, nil, rows(0, n)); err != nil {
			t.Fatal(err)
		}
		for _, r := range rows(0, n) {
			have[r.Name] = r
		}
		for step := range 80 {
			tab, err := d.OpenTable("x", scope)
			if err != nil {
				t.Fatal(err)
			}
			var drop, add []Row
			for r, err := range tab.Rows() {
				if err != nil {
					t.Fatal(err)
				}
				if rng.IntN(tab.Len()+1) < 3 {
					drop = append(drop, r)
					delete(have, r.Name)
					if rng.IntN(2) == 0 { // changed, not gone
						c := Row{Name: r.Name, Order: rng.Int64N(1000), ID: Stat{Ino: 9}, Summary: "changed"}
						add, have[r.Name] = append(add, c), c
					}
				}
			}
			for range rng.IntN(5) {
				add, next = append(add, row(next)), next+1
				have[add[len(add)-1].Name] = add[len(add)-1]
			}
			st := State{Full: int64(step)}
			if err := d.SaveTable("x", scope, st, tab, drop, add); err != nil {
				t.Fatal(err)
			}
			tab.Close()
			var want []Row
			for _, r := range have {
				want = append(want, r)
			}
			all, loose, got, err := readAll(d, "x", scope)
			if err != nil || got != st {
				t.Fatalf("step %d: state %v, %v", step, got, err)
			}
			if want := showAll(want); !slices.Equal(all, want) {
				t.Fatalf("step %d: got %d rows, want %d", step, len(all), len(want))
			}
			slices.Sort(loose)
			if want := looseOf(want); !slices.Equal(loose, want) {
				t.Fatalf("step %d: loose %v, want %v", step, loose, want)
			}
		}
	}
}

// TestNewestReadsLittle: the promise about the first n rows, counted in bytes held.
func TestNewestReadsLittle(t *testing.T) {
	t.Parallel()
	d := openDir(t)
	many := rows(0, 10_000)
	for i := range many {
		many[i].Flags = 0
	}
	if err := d.SaveTable("x", scope, State{}, nil, nil, many); err != nil {
		t.Fatal(err)
	}
	tab, err := d.OpenTable("x", scope)
	if err != nil {
		t.Fatal(err)
	}
	defer tab.Close()
	n := 0
	for r, err := range tab.Rows() {
		if err != nil {
			t.Fatal(err)
		}
		if r.Flags != 0 {
			continue
		}
		if n++; n == 20 {
			break
		}
	}
	if len(tab.data) > 2*firstRead {
		t.Errorf("20 of 10,000 rows read %d bytes", len(tab.data))
	}
}

// flipEach calls try for damaged copies of the files of a folder: every byte of small ones with each of some masks,
// random bytes of large ones, and files that were cut or extended.
func flipEach(t *testing.T, path string, try func(what string)) {
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	put := func(b []byte, what string) {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		try(filepath.Base(path) + ": " + what)
	}
	rng := rand.New(rand.NewPCG(7, 7))
	b := bytes.Clone(whole)
	tries := min(len(b), 2500)
	if len(b) > 2500 {
		tries = 200
	}
	for i := range tries {
		at := i
		if len(b) > 2500 {
			at = rng.IntN(len(b))
		}
		for _, mask := range []byte{0x01, 0xff} {
			b[at] ^= mask
			put(b, fmt.Sprintf("byte %d of %d ^ %#x", at, len(b), mask))
			b[at] ^= mask
		}
	}
	for range 50 {
		n := rng.IntN(len(whole))
		put(whole[:n], fmt.Sprintf("cut to %d", n))
	}
	put(append(bytes.Clone(whole), 0), "extended")
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestTableDamage(t *testing.T) {
	boundtest.OneGoroutine(t)
	t.Parallel()
	for _, n := range []int{12, 600} {
		d := openDir(t)
		if err := d.SaveTable("x", scope, State{Full: 1}, nil, nil, rows(0, n)); err != nil {
			t.Fatal(err)
		}
		tab, err := d.OpenTable("x", scope)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.SaveTable("x", scope, State{Full: 2}, tab, nil, rows(n, n+5)); err != nil {
			t.Fatal(err)
		}
		tab.Close()
		now, _, _, err := readAll(d, "x", scope)
		if err != nil {
			t.Fatal(err)
		}
		bad := 0
		try := func(what string) {
			got, _, st, err := readAll(d, "x", scope)
			switch {
			case errors.Is(err, ErrBad):
				bad++
			case err != nil:
				t.Fatalf("%s: %v", what, err)
			default:
				t.Fatalf("%s: state %v, %d rows, not noticed", what, st, len(got))
			}
		}
		flipEach(t, filepath.Join(d.Path(), "x.rows"), try)
		if got, _, _, err := readAll(d, "x", scope); err != nil || !slices.Equal(got, now) || bad == 0 {
			t.Errorf("afterwards: %v, %d rows, %d times bad", err, len(got), bad)
		}
	}
}

// TestTableOfSomethingElse: a table of another scope is not used.
func TestTableOfSomethingElse(t *testing.T) {
	t.Parallel()
	d := openDir(t)
	if err := d.SaveTable("x", scope, State{}, nil, nil, rows(0, 5)); err != nil {
		t.Fatal(err)
	}
	for _, of := range []Scope{
		{"b2", scope.Subject, scope.Projection, 3},
		{"b1", "inbox other", scope.Projection, 3},
		{"b1", scope.Subject, "brief", 3},
		{"b1", scope.Subject, scope.Projection, 4},
	} {
		if _, _, _, err := readAll(d, "x", of); !errors.Is(err, ErrBad) {
			t.Errorf("scope %+v: %v, want ErrBad", of, err)
		}
	}
	d.Discard("x")
	if _, err := d.OpenTable("x", scope); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after Discard: %v, want not exist", err)
	}
}
