package full

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"tutti/internal/app"
	"tutti/internal/attention/watchdog"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mail"
	"tutti/internal/core/address"
	"tutti/internal/halt"
	"tutti/internal/store"
)

// asks is a relauncher that writes down whom it asks.
type asks struct{ who []address.Instance }

func (a *asks) Try(_ context.Context, t watchdog.Target) (watchdog.Attempt, error) {
	a.who = append(a.who, t.Instance)
	return watchdog.Attempt{Did: true}, nil
}

// TestDrumbeatOfBus: the watchdog gets the stored state of the bus. An agent without a session that has sent recently is left alone, and
// one that has not is asked. After a halt no agent is asked before its user has resumed it.
func TestDrumbeatOfBus(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	none := func(string) string { return "" }
	a := app.New(app.Settings{Home: home, Dir: home, Getenv: none})
	w, err := a.World(app.Creating)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	now := time.Now()
	var met halt.Entry
	office, err := w.MailService()
	if err != nil {
		t.Fatal(err)
	}
	office.Memory = func() (halt.Entry, error) { return met, nil }
	office.Halted = func(string) error { return nil }
	book := &watchdog.Book{Store: w.Store}
	agent := func(name string) address.Instance {
		t.Helper()
		r, err := w.Identity.Connect(t.Context(), identity.Request{Host: "codex", Name: name, Place: a.Workplace()}, now)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := book.Record(t.Context(), watchdog.Stop{Instance: r.Instance, Status: "paused"}, now.Add(-time.Minute)); err != nil {
			t.Fatal(err)
		}
		return r.Instance
	}
	report := func(i address.Instance) {
		t.Helper()
		raw := fmt.Appendf(nil, `{"protocol":"sentropic.h2a","version":"0.1","id":"env:1","type":"event","actor":{"instance":%q,"role":"AGENTS","scope":"scope:default"},
"target":{"instance":"codex:x:0a1b2c3d4e5f"},"body":{"kind":"message","text":"three of five are done"},"createdAt":"2026-06-12T10:00:00.000Z"}`, i)
		if err := w.Mail.PutOutbox(t.Context(), i, raw); err != nil {
			t.Fatal(err)
		}
	}
	silent, reports := agent("silent"), agent("reports")
	report(reports)
	relauncher := &asks{}
	o := Drumbeat(w, office, none)
	o.Relaunch, o.Now, o.Ended = relauncher, func() time.Time { return now }, nil
	o.Halted = func(string) error { return nil }
	d := watchdog.New(o)
	beat := func(after time.Duration, want ...address.Instance) {
		t.Helper()
		now = now.Add(after)
		relauncher.who = nil
		if err := d.Beat(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(relauncher.who, want) {
			t.Errorf("asked %q, want %q", relauncher.who, want)
		}
	}
	beat(0, silent)
	if _, err := book.Get(t.Context(), reports); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the entry of the one that has reported: %v", err)
	}
	met = halt.Entry{Count: 1, Seen: now}
	beat(time.Hour)
	office.Now = func() time.Time { return now }
	if err := office.Engage(t.Context(), mail.Reader{Instance: silent}); err != nil {
		t.Fatal(err)
	}
	beat(time.Minute, silent)
}
