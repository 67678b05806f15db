package survey

import (
	"fmt"
	"os"
	"testing"
	"time"

	"tutti/internal/conversation"
)

// BenchmarkLook is the time of one survey over ten thousand messages, in one mailbox and in fifty, with tables and without. The
// promise is 20 ms and 400 ms.
func BenchmarkLook(b *testing.B) {
	for _, boxes := range []int{1, 50} {
		r := newRig(b)
		for i := range boxes {
			p := r.project(fmt.Sprintf("project-%d", i))
			for j := range 10_000 / boxes {
				kind := conversation.Progress
				if j%10 == 0 {
					kind = conversation.Request
				}
				r.put(p, note{from: "web", conv: fmt.Sprintf("talk-%d", j/10), kind: kind, seq: j%10 + 1, after: time.Duration(j) * time.Second})
			}
		}
		b.Run(fmt.Sprintf("cold-%d", boxes), func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				must(b, os.RemoveAll(r.Cache))
				b.StartTimer()
				r.look()
			}
		})
		time.Sleep(grain) // until everything has settled
		r.look()
		b.Run(fmt.Sprintf("warm-%d", boxes), func(b *testing.B) {
			for range b.N {
				r.look()
			}
		})
	}
}
