package filestore

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tutti/internal/store"
)

// message is as large as mail between agents usually is.
var message = make([]byte, 1200)

func init() {
	for i := range message {
		message[i] = 'a' + byte(i%26)
	}
}

// bareFile is what a program does that cares for nothing: open, write, close, and with sync what makes it durable.
func bareFile(b *testing.B, dir *os.File, name string, sync bool) {
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := unix.Write(fd, message); err != nil {
		b.Fatal(err)
	}
	if sync {
		if err := unix.Fsync(fd); err != nil {
			b.Fatal(err)
		}
	}
	unix.Close(fd)
	if sync {
		if err := unix.Fsync(int(dir.Fd())); err != nil {
			b.Fatal(err)
		}
	}
}

// ratio runs two ways to do n things in turns, so that both meet the same weather, and reports the median time of each and
// the rate of ours as a share of the bare one.
func ratio(b *testing.B, n int, bare, ours func(round int)) {
	var times [2][]time.Duration
	round := 0
	for b.Loop() {
		for i := range 2 {
			way := (round + i) % 2
			began := time.Now()
			if way == 0 {
				bare(round)
			} else {
				ours(round)
			}
			times[way] = append(times[way], time.Since(began)/time.Duration(n))
			unix.Sync() // what one has left unsynced is not the other's to pay for
		}
		round++
	}
	for i := range times {
		slices.Sort(times[i])
	}
	mid := [2]time.Duration{times[0][len(times[0])/2], times[1][len(times[1])/2]}
	b.ReportMetric(float64(mid[0].Nanoseconds())/1000, "bare-µs/doc")
	b.ReportMetric(float64(mid[1].Nanoseconds())/1000, "ours-µs/doc")
	b.ReportMetric(float64(mid[0])/float64(mid[1]), "of-bare-rate")
	b.ReportMetric(0, "ns/op")
}

func benchStore(b *testing.B) (*Store, *os.File) {
	s := open(b, b.TempDir(), Options{Create: true})
	dir := filepath.Join(s.path, "inbox", "owner")
	if err := os.Mkdir(dir, 0o700); err != nil {
		b.Fatal(err)
	}
	f, err := os.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	return s, f
}

// BenchmarkCreateDurable compares Create in a mailbox with a bare loop of create, write, sync, close and sync of the folder,
// both into the same folder, 50 messages at a turn.
func BenchmarkCreateDurable(b *testing.B) {
	s, dir := benchStore(b)
	const n = 50
	ratio(b, n, func(round int) {
		for i := range n {
			bareFile(b, dir, fmt.Sprintf("bare-%d-%d.json", round, i), true)
		}
	}, func(round int) {
		for i := range n {
			k := store.Key{Kind: store.Inbox, Owner: "owner", Name: fmt.Sprintf("ours-%d-%d", round, i)}
			if _, err := s.Create(context.Background(), k, message); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkBatch compares a durable batch of 1000 messages with a bare loop that makes 1000 files and syncs none.
func BenchmarkBatch(b *testing.B) {
	s, dir := benchStore(b)
	const n = 1000
	ratio(b, n, func(round int) {
		for i := range n {
			bareFile(b, dir, fmt.Sprintf("bare-%d-%d.json", round, i), false)
		}
	}, func(round int) {
		err := s.Batch(context.Background(), func(w store.Writer) error {
			for i := range n {
				k := store.Key{Kind: store.Inbox, Owner: "owner", Name: fmt.Sprintf("ours-%d-%d", round, i)}
				if _, err := w.Create(context.Background(), k, message); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	})
}

// BenchmarkOpen is what every command pays before it does anything.
func BenchmarkOpen(b *testing.B) {
	path := open(b, b.TempDir(), Options{Create: true}).path
	for b.Loop() {
		s, err := Open(path, Options{})
		if err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
}

// BenchmarkReadLog reads a registry of 100,000 lines.
func BenchmarkReadLog(b *testing.B) {
	s := open(b, b.TempDir(), Options{Create: true})
	var all []byte
	for i := range 100_000 {
		all = fmt.Appendf(all, `{"instance":"claude:api:%012x","host":"box1","label":"api","workspace":"ws:box1:%012x","registeredAt":"2026-03-01T10:04:00.000Z","status":"active"}`+"\n", i, i*7)
	}
	write(b, filepath.Join(s.path, "registry/instances.jsonl"), all)
	b.SetBytes(int64(len(all)))
	for b.Loop() {
		n := 0
		for _, err := range s.Read(context.Background(), store.Key{Kind: store.Instances}, "") {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != 100_000 {
			b.Fatalf("%d lines", n)
		}
	}
}

// BenchmarkAppend adds lines to a mailbox's trail, which is not synced, and to the registry, which is.
func BenchmarkAppend(b *testing.B) {
	for _, k := range []store.Key{{Kind: store.Trail, Name: "box"}, {Kind: store.Instances}} {
		b.Run(k.Kind.String(), func(b *testing.B) {
			s := open(b, b.TempDir(), Options{Create: true})
			line := []byte(`{"id":"m1","at":"2026-03-01T10:04:00.000Z","step":"stored","by":"claude:api"}`)
			for b.Loop() {
				if _, err := s.Append(context.Background(), k, store.AnyEnd, line); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
