package presence_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"tutti/internal/bus/presence"
	"tutti/internal/store/filestore"
)

// BenchmarkPresence asks for one agent, and writes its heartbeat, alone and among 200 sessions.
func BenchmarkPresence(b *testing.B) {
	for _, n := range []int{1, 200} {
		s, err := filestore.Open(filepath.Join(b.TempDir(), "root"), filestore.Options{Create: true, CacheDir: b.TempDir()})
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		p := presence.New(s)
		var last *presence.Session
		for i := range n {
			if last, err = p.Open(b.Context(), start(fmt.Sprint("sess:", i), fmt.Sprintf("claude:api:%012d", i)), now); err != nil {
				b.Fatal(err)
			}
		}
		beat := func(b *testing.B) {
			if last, err = p.Beat(b.Context(), last, now); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(fmt.Sprintf("sessions=%d/beat", n), func(b *testing.B) {
			for b.Loop() {
				beat(b)
			}
		})
		b.Run(fmt.Sprintf("sessions=%d/of", n), func(b *testing.B) {
			for b.Loop() {
				if list, err := p.Of(b.Context(), last.Instance, now); err != nil || len(list) != 1 {
					b.Fatal(len(list), err)
				}
			}
		})
		b.Run(fmt.Sprintf("sessions=%d/fresh", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := p.Fresh(b.Context(), now); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
