package mail

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mailbox"
	"tutti/internal/core/address"
	"tutti/internal/store/filestore"
	"tutti/internal/test/boundtest"
)

// flood lays n messages of one sender into a mailbox, with a line of each in the trail, as quickly as a folder takes them. The ids
// are idOf 0 to n-1, oldest first.
func (b *bus) flood(from *identity.Speaker, to address.Instance, n int) {
	b.t.Helper()
	root := b.log.(*filestore.Store).Path()
	box, trail := filepath.Join(root, "inbox", to.Mailbox()), filepath.Join(root, "trail")
	for _, dir := range []string{box, trail} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			b.t.Fatal(err)
		}
	}
	begin := b.clock.Add(-time.Duration(n) * time.Millisecond)
	d := envelope.Draft{ID: idOf(0), Actor: actorOf(from), Target: to, Created: begin, Text: "one of many"}
	raw, err := d.Bytes()
	if err != nil {
		b.t.Fatal(err)
	}
	stamp := func(i int) []byte {
		return []byte(begin.Add(time.Duration(i) * time.Millisecond).UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	var steps bytes.Buffer
	for i := range n {
		one := bytes.ReplaceAll(bytes.ReplaceAll(raw, []byte(idOf(0)), []byte(idOf(i))), stamp(0), stamp(i))
		if err := os.WriteFile(filepath.Join(box, address.Segment(idOf(i))+".json"), one, 0o600); err != nil {
			b.t.Fatal(err)
		}
		fmt.Fprintf(&steps, `{"id":%q,"at":%q,"step":"stored","by":%q}`+"\n", idOf(i), stamp(i), from.Instance)
	}
	if err := os.WriteFile(filepath.Join(trail, to.Mailbox()+".jsonl"), steps.Bytes(), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

func idOf(i int) string { return fmt.Sprintf("env:%d:0000", 1780000000000+i) }

// countReads counts the messages that are read for the index.
func (b *bus) countReads() *int {
	made := new(int)
	counting := *b.Mail.Projection
	counting.Make = func(data []byte, stored time.Time) ([]string, int64, []byte, error) {
		*made++
		return envelope.Projection.Make(data, stored)
	}
	b.Mail.Projection = &counting
	return made
}

// TestFlood: the cost of receiving a few messages does not grow with the number that wait. The long version has a million.
func TestFlood(t *testing.T) {
	n := 50_000
	switch {
	case os.Getenv("TUTTI_SOAK") != "":
		n = 1_000_000
	case boundtest.Race:
		n = 5000 // what is counted is the same, and one goroutine reads
	}
	b := newBus(t)
	ana, bob := b.agent("claude", "ana"), b.agent("codex", "bob")
	b.flood(ana, bob.Instance, n)
	time.Sleep(100 * time.Millisecond) // the clock of the file system passes over what was written
	made := b.countReads()
	if _, _, err := b.Mail.Lines(t.Context(), bob.Instance, mailbox.Query{States: true}); err != nil || *made != n {
		t.Fatalf("the first list has read %d messages, %v; want %d", *made, err, n)
	}
	r := Reader{Instance: bob.Instance}
	b.receive(r, 1) // what is found in the trail is kept as well
	*made = 0
	for round := range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		got := b.receive(r, 5)
		took := time.Since(began)
		runtime.ReadMemStats(&after)
		for i := range got.Items {
			if want := idOf(1 + 5*round + i); got.Items[i].ID != want {
				t.Errorf("received %s, want %s", got.Items[i].ID, want)
			}
		}
		if len(got.Items) != 5 || !got.More || got.Left < 1 {
			t.Errorf("got %d, left %d, more %v; want 5 and that there are more", len(got.Items), got.Left, got.More)
		}
		if all := after.TotalAlloc - before.TotalAlloc; all > 8<<20 {
			t.Errorf("to receive 5 of %d took %d bytes of memory in all", n, all)
		}
		t.Logf("%d messages: receive took %s", n, took)
	}
	if *made != 0 {
		t.Errorf("to receive has read %d messages for the index, want none", *made)
	}
}

// TestFloodWithoutIndex: without an index, too, few messages are read.
func TestFloodWithoutIndex(t *testing.T) {
	boundtest.OneGoroutine(t)
	b := newBus(t)
	ana, bob := b.agent("claude", "ana"), b.agent("codex", "bob")
	b.flood(ana, bob.Instance, 21_000)
	made := b.countReads()
	if n, more, _, err := b.Mail.Unread(t.Context(), bob.Instance, 100); err != nil || n < 100 || !more || *made > 1000 {
		t.Errorf("counted %d, more %v, %v, %d messages read; want 100 of many, and few read", n, more, err, *made)
	}
	if got := b.receive(Reader{Instance: bob.Instance}, 5); len(got.Items) != 5 || !got.More || *made > 1000 {
		t.Errorf("got %d, more %v, %d messages read; want 5 of many, and few read", len(got.Items), got.More, *made)
	}
}

// TestSeenOfFlood: a reader that was shown many messages and acknowledged none still gets the next ones, each once, up to the last.
func TestSeenOfFlood(t *testing.T) {
	boundtest.OneGoroutine(t)
	b := newBus(t)
	ana, bob := b.agent("claude", "ana"), b.agent("codex", "bob")
	const n = 5000 // those below this are looked at as a whole
	b.flood(ana, bob.Instance, n)
	if _, _, err := b.Mail.Lines(t.Context(), bob.Instance, mailbox.Query{}); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for limit := 500; seen < n; limit *= 2 {
		got := b.receive(Reader{Instance: bob.Instance}, limit)
		if len(got.Items) == 0 {
			break
		}
		for i := range got.Items {
			if got.Items[i].ID != idOf(seen) {
				t.Fatalf("message %d is %s", seen, got.Items[i].ID)
			}
			seen++
		}
	}
	if seen != n {
		t.Errorf("%d of %d were shown", seen, n)
	}
}
