package daemon

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tutti/internal/attention/wake"
	"tutti/internal/bus/mailbox"
	"tutti/internal/core/address"
	"tutti/internal/halt"
)

// hold takes the mailbox of a reader, as the server of a sender does that is about to tell of it.
func (b *bench) hold(who address.Instance, ttl time.Duration) (release func()) {
	b.t.Helper()
	l, err := b.w.Store.Acquire(b.t.Context(), "desktop-"+who.Mailbox(), "mcp-serve", ttl)
	if err != nil {
		b.t.Fatal(err)
	}
	return func() {
		b.t.Helper()
		if err := b.w.Store.Release(b.t.Context(), l); err != nil {
			b.t.Fatal(err)
		}
	}
}

// TestBesideServer: the server of a sender watches the same mailbox. The daemon sends the notices that the server did not send, because it
// has no desktop or was ended, and no others.
func TestBesideServer(t *testing.T) {
	t.Parallel()
	b := begin(t)
	ended, done, other := b.agent("ended"), b.agent("done"), b.agent("other")
	b.hold(ended, 3*time.Second) // it is killed with the lease in its hand
	b.mail(ended, "env:1")

	release := b.hold(done, time.Hour)
	b.mail(done, "env:2")
	mark := mailbox.Mark{ID: "env:2", Step: mailbox.Pushed, By: string(done), Session: "mcp", Result: wake.Desktop, At: time.Now()}
	if err := b.w.Mail.Step(t.Context(), done, mark); err != nil {
		t.Fatal(err)
	}
	release()

	b.out.shows(t, " mail: mail waits for "+string(ended)+", and it has not been read: 1 message\n")
	b.mail(other, "env:3")
	b.out.shows(t, " mail: mail waits for "+string(other)+", and it has not been read: 1 message\n")
	if text := b.out.String(); strings.Contains(text, "mail waits for "+string(done)) {
		t.Errorf("told twice:\n%s", text)
	}
}

// TestTwoWithoutDesktop: where neither has a desktop, the one that can print a line does, once.
func TestTwoWithoutDesktop(t *testing.T) {
	t.Parallel()
	b := begin(t)
	var asked atomic.Int32
	times := wake.Usual()
	times.Climb = time.Second
	server := wake.NewAbsent(wake.AbsentOptions{
		Mail: b.w.Mail, Book: b.w.Book, Registry: b.w.Registry, Ring: b.w.Ring, Leases: b.w.Store, Holder: "mcp-serve", Times: times,
		Say: func(context.Context, address.Instance, string) (bool, error) {
			asked.Add(1)
			return false, nil
		},
		Note: func(_, _ address.Instance, m mailbox.Mark) { t.Errorf("on record: %+v", m) },
		Log:  func(line string) { t.Error(line) },
	})
	defer server.Leave(t.Context())
	var all []address.Instance
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		who := b.agent(name)
		all = append(all, who)
		b.mail(who, "env:"+name)
		server.Mail(who, "codex:x:0a1b2c3d4e5f", "env:"+name, halt.Epoch())
	}
	for _, who := range all {
		b.out.shows(t, " mail: mail waits for "+string(who)+", and it has not been read: 1 message\n")
	}
	if n := strings.Count(b.out.String(), "mail waits for "); n != 5 {
		t.Errorf("%d were reported; want 5:\n%s", n, b.out)
	}
	if asked.Load() == 0 {
		t.Error("the server was never about to tell")
	}
}
