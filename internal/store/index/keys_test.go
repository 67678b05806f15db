package index

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// places gives n lines a key each and every tenth the key "often" beside it.
func places(seed uint64, from, n int) (all []RowRef) {
	for i := from; i < from+n; i++ {
		all = append(all, RowRef{Hash(seed, fmt.Sprint("key ", i)), int64(i) * 100, 90})
		if i%10 == 0 {
			all = append(all, RowRef{Hash(seed, "often"), int64(i) * 100, 90})
		}
	}
	return all
}

func find(k *Keys, key string) (at []int64, err error) {
	for p, err := range k.Find(Hash(k.Seed(), key)) {
		if err != nil {
			return nil, err
		}
		at = append(at, p.At)
	}
	return at, nil
}

func TestKeysFind(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 203, 204, 205, 1000, 30_000} {
		d, seed := openDir(t), NewSeed()
		st := LogState{ID: Stat{1, 2, 3, 4, 5}, Settled: true, Parsed: 77}
		half := places(seed, 0, n/2)
		if err := d.SaveKeys("x", scope, st, seed, nil, half); err != nil {
			t.Fatal(err)
		}
		old, err := d.OpenKeys("x", scope)
		if err != nil {
			t.Fatal(err)
		}
		st.Ends.Last[3] = 9
		if err := d.SaveKeys("x", scope, st, old.Seed(), old, places(seed, n/2, n-n/2)); err != nil {
			t.Fatal(err)
		}
		old.Close()
		k, err := d.OpenKeys("x", scope)
		if err != nil {
			t.Fatal(err)
		}
		if k.State() != st || k.Len() != len(places(seed, 0, n)) {
			t.Errorf("%d lines: state %+v, %d places", n, k.State(), k.Len())
		}
		var often []int64
		for i := range n {
			if i%10 == 0 {
				often = append(often, int64(i)*100)
			}
			if n > 2000 && i%37 != 0 {
				continue
			}
			if at, err := find(k, fmt.Sprint("key ", i)); err != nil || !slices.Equal(at, []int64{int64(i) * 100}) {
				t.Fatalf("%d lines: key %d at %v, %v", n, i, at, err)
			}
		}
		if at, err := find(k, "often"); err != nil || !slices.Equal(at, often) {
			t.Errorf("%d lines: often at %d places, %v, want %d in order", n, len(at), err, len(often))
		}
		if at, err := find(k, "never"); err != nil || at != nil {
			t.Errorf("%d lines: never at %v, %v", n, at, err)
		}
		k.Close()
	}
}

// TestKeysExtremes: hashes at both ends of their range and tables that are all one key do not lead the search astray.
func TestKeysExtremes(t *testing.T) {
	t.Parallel()
	d := openDir(t)
	var add []RowRef
	for i := range 1000 {
		add = append(add, RowRef{0, int64(i), 1}, RowRef{^uint64(0), int64(i), 1}, RowRef{1 << 40, int64(i), 1})
	}
	if err := d.SaveKeys("x", scope, LogState{}, 1, nil, add); err != nil {
		t.Fatal(err)
	}
	k, err := d.OpenKeys("x", scope)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	for h, want := range map[uint64]int{0: 1000, 1: 0, 1 << 40: 1000, 1<<40 + 1: 0, ^uint64(0): 1000, ^uint64(0) - 1: 0} {
		n := 0
		for p, err := range k.Find(h) {
			if err != nil || p.At != int64(n) {
				t.Fatalf("hash %x: %v, %v", h, p, err)
			}
			n++
		}
		if n != want {
			t.Errorf("hash %x: %d places, want %d", h, n, want)
		}
	}
}

func TestKeysDamage(t *testing.T) {
	t.Parallel()
	const n = 500
	d, seed := openDir(t), uint64(5)
	if err := d.SaveKeys("x", scope, LogState{}, seed, nil, places(seed, 0, n)); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 3))
	bad := 0
	flipEach(t, filepath.Join(d.path, "x.keys"), func(what string) {
		k, err := d.OpenKeys("x", scope)
		if errors.Is(err, ErrBad) {
			bad++
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		defer k.Close()
		if strings.Contains(what, "cut") || strings.Contains(what, "extended") {
			t.Fatalf("%s: opened", what)
		}
		i := rng.IntN(n) // a search that does not meet the damage is right, one that does says so
		at, err := find(k, fmt.Sprint("key ", i))
		if !errors.Is(err, ErrBad) && (err != nil || !slices.Equal(at, []int64{int64(i) * 100})) {
			t.Fatalf("%s: key %d at %v, %v", what, i, at, err)
		}
		if at, err := find(k, "often"); !errors.Is(err, ErrBad) && (err != nil || len(at) != n/10) {
			t.Fatalf("%s: often at %d places, %v", what, len(at), err)
		}
		if err := d.SaveKeys("y", scope, LogState{}, seed, k, nil); err == nil {
			t.Fatalf("%s: a damaged table was continued", what)
		}
	})
	if bad == 0 {
		t.Error("no damage was noticed at opening")
	}
}

func TestEnds(t *testing.T) {
	t.Parallel()
	b := make([]byte, 3*endSize)
	for i := range b {
		b[i] = byte(i % 251)
	}
	for _, n := range []int64{0, 1, endSize, endSize + 1, 3 * endSize} {
		e, err := EndsOf(bytes.NewReader(b), n)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			continue
		}
		for _, at := range []int64{0, n - 1} {
			c := bytes.Clone(b)
			c[at] ^= 1
			if other, _ := EndsOf(bytes.NewReader(c), n); other == e {
				t.Errorf("%d bytes: a change at %d is not seen", n, at)
			}
		}
	}
	if _, err := EndsOf(bytes.NewReader(b), int64(len(b))+1); err == nil {
		t.Error("a log that is too short has ends")
	}
}

func BenchmarkKeysFind(b *testing.B) {
	for _, n := range []int{1000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("places=%d", n), func(b *testing.B) {
			d, seed := openDir(b), NewSeed()
			if err := d.SaveKeys("x", scope, LogState{}, seed, nil, places(seed, 0, n)); err != nil {
				b.Fatal(err)
			}
			i := 0
			for b.Loop() {
				k, err := d.OpenKeys("x", scope)
				if err != nil {
					b.Fatal(err)
				}
				if at, err := find(k, fmt.Sprint("key ", i%n)); err != nil || len(at) != 1 {
					b.Fatal(at, err)
				}
				i += 7919
				k.Close()
			}
		})
	}
}

func BenchmarkNewest(b *testing.B) {
	d := openDir(b)
	if err := d.SaveTable("x", scope, State{}, nil, nil, rows(0, 10_000)); err != nil {
		b.Fatal(err)
	}
	b.Run("20 of 10000", func(b *testing.B) {
		for b.Loop() {
			tab, err := d.OpenTable("x", scope)
			if err != nil {
				b.Fatal(err)
			}
			n := 0
			for r, err := range tab.Rows() {
				if err != nil {
					b.Fatal(err)
				}
				r.Body()
				if n++; n == 20 {
					break
				}
			}
			tab.Close()
		}
	})
	b.Run("all of 10000", func(b *testing.B) {
		for b.Loop() {
			if all, _, _, err := readAll(d, "x", scope); err != nil || len(all) != 10_000 {
				b.Fatal(err)
			}
		}
	})
}
