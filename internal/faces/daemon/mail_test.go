package daemon

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tutti/internal/app"
	"tutti/internal/app/full"
	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
)

// A bench is the program at work, and the bus that it looks after.
type bench struct {
	t   *testing.T
	out *page
	w   *app.World
	s   full.Service
}

// begin begins it, with a short climb and no desktop.
func begin(t *testing.T) *bench {
	t.Helper()
	b := prepare(t)
	b.serve()
	return b
}

// prepare makes the bus.
func prepare(t *testing.T) *bench {
	t.Helper()
	s, out := service(t)
	home, err := s.App.Home()
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(home, ".config/tutti/config.toml")
	if err := os.MkdirAll(filepath.Dir(config), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, []byte("[wake]\nclimb = \"1s\"\ndesktop = false\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := s.App.Root()
	if err != nil {
		t.Fatal(err)
	}
	w, err := app.New(app.Settings{Home: home, Root: root.Path, Dir: home, Getenv: func(string) string { return "" }}).World(app.Writing)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return &bench{t, out, w, s}
}

// serve begins the program, and waits until it looks.
func (b *bench) serve() {
	b.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = Serve(ctx, b.s)
	}()
	b.t.Cleanup(func() {
		cancel()
		<-done
	})
	b.out.shows(b.t, " up: mail tells you here (wake.desktop is off in the settings) of your own")
}

// agent makes one whose key is here.
func (b *bench) agent(name string) address.Instance {
	b.t.Helper()
	i := address.NewInstance("codex", name)
	if _, err := b.w.Ring.Generate(i, false); err != nil {
		b.t.Fatal(err)
	}
	return i
}

// carryMail puts a message into a mailbox.
func (b *bench) mail(to address.Instance, id string) {
	b.t.Helper()
	raw := `{"protocol":"sentropic.h2a","version":"0.1","id":"` + id + `","type":"event","actor":{"instance":"codex:x:0a1b2c3d4e5f","role":"AGENTS","scope":"scope:default"},` +
		`"target":{"instance":"` + string(to) + `"},"body":{"kind":"message","text":"secret words"},"createdAt":"2026-06-12T10:00:00.000Z"}`
	if _, err := b.w.Mail.Put(b.t.Context(), to, []byte(raw)); err != nil {
		b.t.Fatal(err)
	}
}

// TestLeftUnread: mail for an agent that is there is its server's to tell of. When the agent leaves without having looked, its
// person is told. Of mail for somebody else's agents nobody is.
// noted waits for the newest mark of a message to be that one: a mark is written after the telling, since it says that it was done.
func (b *bench) noted(t *testing.T, reader address.Instance, id string, want func(mailbox.Mark) bool) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		marks, err := b.w.Mail.Trace(t.Context(), reader, id)
		if err == nil && len(marks) > 0 && want(marks[len(marks)-1]) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("on record of %s: %+v, %v", id, marks, err)
		}
	}
}

func TestLeftUnread(t *testing.T) {
	t.Parallel()
	b := begin(t)
	there, away := b.agent("there"), b.agent("away")
	own, err := b.w.Presence.Open(t.Context(), presence.Start{Instance: there, Host: "codex", PID: os.Getpid()}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	foreign := address.NewInstance("codex", "foreign")
	b.mail(foreign, "env:0")
	b.mail(there, "env:1")
	b.mail(away, "env:2")
	b.mail(away, "env:3")
	b.out.shows(t, " mail: mail waits for "+string(away)+", and it has not been read: ")
	if text := b.out.String(); strings.Contains(text, string(there)) || strings.Contains(text, string(foreign)) {
		t.Errorf("told too much:\n%s", text)
	}
	if err := b.w.Presence.Close(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	b.out.shows(t, " mail: mail waits for "+string(there)+", and it has not been read: 1 message\n")
	text := b.out.String()
	if strings.Contains(text, "secret") || strings.Contains(text, string(foreign)) || strings.Count(text, "mail waits for ") != 2 {
		t.Errorf("told too much:\n%s", text)
	}
	b.noted(t, there, "env:1", func(mark mailbox.Mark) bool { return mark.Result == "line" && mark.Session == "up" })
}
