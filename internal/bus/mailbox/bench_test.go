package mailbox

import (
	"fmt"
	"testing"
	"time"
)

// The sizes that count: a mailbox of 10,000 messages with a trail of three lines each.
func BenchmarkMailbox(b *testing.B) {
	s, _ := files(b)
	m := New(s)
	const size = 10_000
	now := time.Now()
	err := m.Batch(b.Context(), func(box *Mailbox) error {
		for n := range size {
			if _, err := box.Put(b.Context(), alice, msg(fmt.Sprintf("env:%d", n), now.Add(time.Duration(n-size)*time.Second), "hello")); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	for n := range size {
		for _, step := range []Step{Stored, Offered, Shown} {
			if n == size-1 && step != Stored {
				break
			}
			if err := m.Step(b.Context(), alice, Mark{ID: fmt.Sprintf("env:%d", n), Step: step, At: now.Add(-time.Hour), By: string(alice), Session: "sess:0123456789abcdef"}); err != nil {
				b.Fatal(err)
			}
		}
	}
	time.Sleep(100 * time.Millisecond) // longer than the grain of the clock, so that the index counts as settled
	r := Reader{alice, "sess:2"}
	for _, c := range []struct {
		name string
		q    Query
		want int
	}{
		{"newest20", Query{Newest: 20}, 20},
		{"newest20brief", Query{Newest: 20, Brief: true}, 20},
		{"newest20states", Query{Newest: 20, States: true}, 20},
		{"oneunread", Query{Unread: true, Exact: true}, 1},
		{"allbrief", Query{Brief: true}, size},
		{"all", Query{}, size},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				got, _, err := New(s).List(b.Context(), alice, c.q)
				if err != nil || len(got) != c.want {
					b.Fatalf("got %d, %v; want %d", len(got), err, c.want)
				}
			}
		})
	}
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			if got, _, err := m.Read(b.Context(), alice); err != nil || len(got) != size {
				b.Fatal(len(got), err)
			}
		}
	})
	b.Run("offer", func(b *testing.B) {
		for b.Loop() {
			if _, err := New(s).Offer(b.Context(), alice, []string{fmt.Sprintf("env:%d", size-1)}, r, now); err != nil {
				b.Fatal(err)
			}
		}
	})
}
