package filestore

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"tutti/internal/store"
)

// Sizes that people have: a year of a busy team.
const (
	benchMessages = 10_000
	benchLines    = 100_000 // of about 300 bytes
)

func benchRig(b *testing.B) *rig {
	b.Helper()
	r := newRig(b)
	for i := range benchMessages {
		r.put(fmt.Sprintf("msg-%08x-%05d", uint32(i)*2654435761, i), viewMsg(i, fmt.Sprint("k", i), "a subject line of some words, as messages have"))
	}
	r.settle()
	return r
}

func (r *rig) view(b *testing.B, q store.Query, want int) {
	n := 0
	for _, err := range r.s.View(context.Background(), store.Inbox, viewOwner, listing(nil), q) {
		if err != nil {
			b.Fatal(err)
		}
		n++
	}
	if n != want {
		b.Fatalf("%d rows, want %d", n, want)
	}
}

func BenchmarkView10000(b *testing.B) {
	r := benchRig(b)
	newest := store.Query{Newest: 20}
	b.Run("newest20", func(b *testing.B) {
		b.ReportAllocs()
		r.view(b, newest, 20)
		for b.Loop() {
			r.view(b, newest, 20)
		}
	})
	b.Run("exact", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r.view(b, exact, benchMessages)
		}
	})
	b.Run("newest20exact", func(b *testing.B) {
		for b.Loop() {
			r.view(b, store.Query{Newest: 20, Exact: true}, 20)
		}
	})
	b.Run("oneNew", func(b *testing.B) {
		b.ReportAllocs()
		var made []string
		for b.Loop() {
			b.StopTimer()
			name := fmt.Sprint("new", len(made))
			made = append(made, name)
			r.put(name, viewMsg(benchMessages+len(made), "k", "new"))
			b.StartTimer()
			r.view(b, newest, 20)
		}
		for _, name := range made {
			os.Remove(r.path(name))
		}
		r.settle()
	})
	b.Run("indexDeleted", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			os.RemoveAll(r.cache)
			b.StartTimer()
			r.view(b, newest, 20)
		}
	})
	b.Run("noCache", func(b *testing.B) {
		was := r.s
		defer func() { r.s = was }()
		r.s = r.plain
		for b.Loop() {
			r.view(b, newest, 20)
		}
	})
}

func BenchmarkFind100000(b *testing.B) {
	r := newRig(b)
	r.writeLog(manyEntries(0, benchLines, 250))
	r.settle()
	find := func(b *testing.B, s *Store, n int) {
		count := 0
		for _, err := range s.Find(context.Background(), theLog, byKeys(nil), fmt.Sprint("a", n)) {
			if err != nil {
				b.Fatal(err)
			}
			count++
		}
		if count != 1 {
			b.Fatalf("a%d: %d lines, want one", n, count)
		}
	}
	next := benchLines
	b.Run("warm", func(b *testing.B) {
		b.ReportAllocs()
		find(b, r.s, 0)
		for i := 0; b.Loop(); i++ {
			find(b, r.s, i*7919%benchLines)
		}
	})
	b.Run("oneNewLine", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			r.writeLog(manyEntries(next, 1, 250))
			next++
			b.StartTimer()
			find(b, r.s, next-1)
		}
	})
	b.Run("indexDeleted", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			os.RemoveAll(r.cache)
			b.StartTimer()
			find(b, r.s, 5)
		}
	})
	b.Run("noCache", func(b *testing.B) {
		for b.Loop() {
			find(b, r.plain, 5)
		}
	})
	if files, _ := filepath.Glob(filepath.Join(r.cache, "*", "*.keys")); len(files) != 1 {
		b.Errorf("%d tables, want one", len(files))
	}
}
