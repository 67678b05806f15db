package journal

import (
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"tutti/internal/store/memstore"
)

// BenchmarkVerify sets a whole verification against the bare signatures of as many entries, on as many processors.
func BenchmarkVerify(b *testing.B) {
	const n = 5000
	m, s := memstore.New(memstore.Options{}), openFiles(b, b.TempDir())
	long(b, m, n)
	k, _ := KeyOf(nego)
	if err := s.Extend(b.Context(), k, lines(b, m)); err != nil { // as it lies on a disk
		b.Fatal(err)
	}
	j := New(s, nil)
	pub, key, _ := ed25519.GenerateKey(rand.Reader)
	message := payload("a", alice, noon)
	sig := ed25519.Sign(key, message)
	bare, whole := time.Duration(1<<62), time.Duration(1<<62)
	for b.Loop() {
		start := time.Now()
		allCores(n, func(int) {
			if !ed25519.Verify(pub, message, sig) {
				b.Error("does not verify")
			}
		})
		bare = min(bare, time.Since(start))
		start = time.Now()
		if r := verify(b, j); !r.OK() || r.Sealed != n {
			b.Fatalf("%+v", r)
		}
		whole = min(whole, time.Since(start))
	}
	b.ReportMetric(float64(bare.Microseconds())/n, "bare-µs")
	b.ReportMetric(float64(whole.Microseconds())/n, "whole-µs")
	b.ReportMetric(float64(bare)/float64(whole), "×bare")
}

// long plants n sealed entries.
func long(b testing.TB, s *memstore.Store, n int) {
	b.Helper()
	k, _ := KeyOf(nego)
	tip := Tip{}
	for i := range n {
		l, err := frame(tip, payload(fmt.Sprint(i), alice, noon), Seal{alice, keyOf[alice]})
		if err != nil {
			b.Fatal(err)
		}
		e, err := parse(l)
		if err != nil {
			b.Fatal(err)
		}
		tip = e.tip()
		if err := s.PlantLine(k, l); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAppend adds to a journal of so many entries.
func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{0, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := openFiles(b, b.TempDir())
			k, _ := KeyOf(nego)
			tip := Tip{}
			var all [][]byte
			for i := range n {
				l, err := frame(tip, payload(fmt.Sprint(i), alice, noon), Seal{})
				if err != nil {
					b.Fatal(err)
				}
				e, err := parse(l)
				if err != nil {
					b.Fatal(err)
				}
				tip = e.tip()
				all = append(all, l)
			}
			if err := s.Extend(b.Context(), k, all); err != nil {
				b.Fatal(err)
			}
			j := New(s, &InProcess{})
			add(b, j, "first", alice, noon)
			b.ReportAllocs()
			for b.Loop() {
				add(b, j, "x", alice, noon)
			}
		})
	}
}
