package full_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tutti/internal/app"
	"tutti/internal/app/full"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/governance/reservation"
	"tutti/internal/halt"
)

// TestNotifyReservationEnded: each agent is notified once. An agent that can never be notified is logged; a failure that may pass is an
// error.
func TestNotifyReservationEnded(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	dir := filepath.Join(home, "web")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	w, err := app.New(app.Settings{Home: home, Dir: dir, Getenv: func(string) string { return "" }, Maker: "test"}).Join(t.Context(), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	office, err := w.MailService()
	if err != nil {
		t.Fatal(err)
	}
	var halted error
	office.Halted = func(string) error { return halted }
	agent := func(host string) *identity.Speaker {
		t.Helper()
		r, err := w.Connect(t.Context(), identity.Request{Host: host, Session: host, Place: identity.Workplace{Path: dir, Machine: "m"}}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return &identity.Speaker{Instance: r.Instance, Role: identity.RoleAgent, Scope: identity.DefaultScope}
	}
	one, two, gone := agent("claude"), agent("codex"), agent("gemini")
	if err := w.Registry.Offboard(t.Context(), registry.Tombstone{Instance: gone.Instance, At: "2026-06-12T10:00:00.000Z"}); err != nil {
		t.Fatal(err)
	}
	msg := func(to *identity.Speaker) int {
		t.Helper()
		all, _, err := w.Mail.List(t.Context(), to.Instance, mailbox.Query{Exact: true})
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	now := time.Now()
	e := reservation.Ending{Why: reservation.Expired, Lease: &reservation.Lease{
		Path: "/w/a.go", Holder: one.Instance, Since: now, Until: now, Warned: []address.Instance{two.Instance, gone.Instance, "codex", "nobody:x:y:z"},
	}}
	var lines []string
	tell := func(from *identity.Speaker) error {
		return full.TellEnded(t.Context(), office, from, e, func(line string) { lines = append(lines, line) })
	}
	halted = halt.State{Halted: true}.Err("send")
	if err := tell(one); !errors.Is(err, halted) || msg(one)+msg(two) != 0 {
		t.Errorf("under halt: %v", err)
	}
	halted = nil
	if err := tell(gone); !errors.Is(err, registry.ErrGone) || msg(one)+msg(two) != 0 {
		t.Errorf("by a retired agent: %v", err)
	}
	lines = nil
	for _, from := range []*identity.Speaker{one, two, one} {
		if err := tell(from); err != nil {
			t.Error(err)
		}
		if msg(one) != 1 || msg(two) != 1 {
			t.Errorf("%d and %d messages, want one for each", msg(one), msg(two))
		}
	}
	if all := strings.Join(lines, "\n"); !strings.Contains(all, string(gone.Instance)) || !strings.Contains(all, "send to codex:") {
		t.Errorf("logged:\n%s", all)
	}
	id := e.Lease.Notices(e.Why)[1].ID
	if _, err := office.Ack(t.Context(), mail.Reader{Instance: two.Instance}, []string{id}); err != nil {
		t.Fatal(err)
	}
	if err := tell(one); err != nil || msg(two) != 0 {
		t.Errorf("told again what was acknowledged: %v, %d", err, msg(two))
	}
}
