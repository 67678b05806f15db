package filestore

import (
	"context"
	"fmt"
	"os"
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
