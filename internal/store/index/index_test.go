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
		ID: Stat{Dev: 1, Ino: uint64(i), Size: int64(i), Mtime: 5, Ctime: 6},
	}
	if i%50 == 7 {
		r.Flags = Unsettled
	}
	if i%50 == 8 {
		r.Flags = Unfit
	}
	return NewRow(r, []string{"id:" + r.Name, "from:claude"}[:i%3], []byte(strings.Repeat(r.Name, i%5)))
}

func rows(from, to int) []Row {
	var all []Row
	for i := from; i < to; i++ {
		all = append(all, row(i))
	}
	return all
}

// show prints everything a row holds.
func show(r Row) (string, error) {
	keys, summary, err := r.Body()
	return fmt.Sprintf("%s %v %d %d %d %q %q", r.Name, r.ID, r.Flags, r.Order, r.Stored, keys, summary), err
}

func showAll(t testing.TB, rows []Row) []string {
	t.Helper()
	rows = slices.Clone(rows)
	slices.SortFunc(rows, func(a, b Row) int { return Compare(&a, &b) })
	var all []string
	for _, r := range rows {
		s, err := show(r)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

// readAll reads a whole table the way its users do.
func readAll(d *Dir, name string, of Scope) (all, loose []string, st State, err error) {
	tab, err := d.OpenTable(name, of)
	if err != nil {
		return nil, nil, State{}, err
	}
	defer tab.Close()
	for r, err := range tab.Rows() {
		var s string
		if err == nil {
			s, err = show(r)
		}
		if err != nil {
			return nil, nil, State{}, err
		}
		all = append(all, s)
	}
	rows, err := tab.Loose()
	for _, r := range rows {
		loose = append(loose, r.Name)
	}
	if err == nil && tab.Len() != len(all) {
		err = fmt.Errorf("Len() = %d, rows = %d", tab.Len(), len(all))
	}
	return all, loose, tab.State(), err
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
		st := State{Folder: Stat{1, 2, 3, 4, 5}, Settled: true, Scanned: 6, Full: 7}
		if err := d.SaveTable("x", scope, st, nil, nil, rows(0, n)); err != nil {
			t.Fatal(err)
		}
		all, loose, got, err := readAll(d, "x", scope)
		if err != nil || got != st {
			t.Fatalf("%d rows: state %v, %v, want %v", n, got, err, st)
		}
		if want := showAll(t, rows(0, n)); !slices.Equal(all, want) {
			t.Errorf("%d rows: got %d: %v\nwant %v", n, len(all), all, want)
		}
		slices.Sort(loose)
		if want := looseOf(rows(0, n)); !slices.Equal(loose, want) {
			t.Errorf("%d rows: loose %v, want %v", n, loose, want)
		}
	}
}

// TestUpdates does random changes to a table, large enough for a file of changes, and compares it with a list after each.
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
		continued := 0
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
						c := NewRow(Row{Name: r.Name, Order: rng.Int64N(1000), ID: Stat{Ino: 9}}, nil, []byte("changed"))
						add, have[r.Name] = append(add, c), c
					}
				}
			}
			for range rng.IntN(5) {
				add, next = append(add, row(next)), next+1
				have[add[len(add)-1].Name] = add[len(add)-1]
			}
			st := State{Scanned: int64(step)}
			if err := d.SaveTable("x", scope, st, tab, drop, add); err != nil {
				t.Fatal(err)
			}
			tab.Close()
			if _, err := os.Stat(filepath.Join(d.path, "x.more")); err == nil {
				continued++
			}
			var want []Row
			for _, r := range have {
				want = append(want, r)
			}
			all, loose, got, err := readAll(d, "x", scope)
			if err != nil || got != st {
				t.Fatalf("step %d: state %v, %v", step, got, err)
			}
			if want := showAll(t, want); !slices.Equal(all, want) {
				t.Fatalf("step %d: got %d rows, want %d", step, len(all), len(want))
			}
			slices.Sort(loose)
			if want := looseOf(want); !slices.Equal(loose, want) {
				t.Fatalf("step %d: loose %v, want %v", step, loose, want)
			}
		}
		if (continued > 0) != (n > moreFrom) || continued == 80 {
			t.Errorf("%d rows: %d of 80 updates were continuations", n, continued)
		}
	}
}

// TestNewestReadsLittle: the promise about the first n rows, counted in bytes held.
func TestNewestReadsLittle(t *testing.T) {
	t.Parallel()
	d := openDir(t)
	if err := d.SaveTable("x", scope, State{}, nil, nil, rows(0, 10_000)); err != nil {
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
		if _, _, err := r.Body(); err != nil {
			t.Fatal(err)
		}
		if n++; n == 20 {
			break
		}
	}
	for what, s := range map[string]*section{"entries": &tab.base.entries, "names": &tab.base.names, "bodies": &tab.base.bodies} {
		if s.at+int64(len(s.buf)) > 2*firstWindow {
			t.Errorf("20 of 10,000 rows read %d bytes of %s", s.at+int64(len(s.buf)), what)
		}
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
		if err := d.SaveTable("x", scope, State{Scanned: 1}, nil, nil, rows(0, n)); err != nil {
			t.Fatal(err)
		}
		old, _, _, _ := readAll(d, "x", scope)
		tab, err := d.OpenTable("x", scope)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.SaveTable("x", scope, State{Scanned: 2}, tab, nil, rows(n, n+5)); err != nil {
			t.Fatal(err)
		}
		tab.Close()
		now, _, _, err := readAll(d, "x", scope)
		if err != nil {
			t.Fatal(err)
		}
		bad, older := 0, 0
		try := func(what string) {
			got, _, st, err := readAll(d, "x", scope)
			switch {
			case errors.Is(err, ErrBad):
				bad++
			case err != nil:
				t.Fatalf("%s: %v", what, err)
			case st.Scanned == 1 && slices.Equal(got, old) && strings.HasPrefix(what, "x.more"):
				older++ // without its continuation it is the older table
			default:
				t.Fatalf("%s: state %v, %d rows, not noticed", what, st, len(got))
			}
		}
		flipEach(t, filepath.Join(d.path, "x.rows"), try)
		if n > moreFrom {
			flipEach(t, filepath.Join(d.path, "x.more"), try)
			if older == 0 {
				t.Error("no damage of x.more left the older table")
			}
		}
		if got, _, _, err := readAll(d, "x", scope); err != nil || !slices.Equal(got, now) || bad == 0 {
			t.Errorf("afterwards: %v, %d rows, %d times bad", err, len(got), bad)
		}
	}
}

// TestMismatchedParts: a continuation of an older table is not used, nor is a table of something else.
func TestMismatchedParts(t *testing.T) {
	t.Parallel()
	d := openDir(t)
	save := func(n int, of Scope) {
		if err := d.SaveTable("x", of, State{}, nil, nil, rows(0, n)); err != nil {
			t.Fatal(err)
		}
	}
	save(500, scope)
	tab, err := d.OpenTable("x", scope)
	if err != nil {
		t.Fatal(err)
	}
	defer tab.Close()
	save(400, scope) // another program, meanwhile
	if err := d.SaveTable("x", scope, State{}, tab, nil, rows(500, 503)); err != nil {
		t.Fatal(err)
	}
	if all, _, _, err := readAll(d, "x", scope); err != nil || len(all) != 400 {
		t.Errorf("%d rows, %v; want the 400 of the newer table", len(all), err)
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
	d.Remove("x")
	if _, err := d.OpenTable("x", scope); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after Remove: %v, want not exist", err)
	}
}
