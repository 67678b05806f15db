package fast

import (
	"strings"
	"testing"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/follow"
	"tutti/internal/bus/trust"
	"tutti/internal/faces/cli/kit"
)

// A narrow terminal shows of a message who wrote it, what the signature is worth, and the beginning of the text.
func TestEventOnTerminal(t *testing.T) {
	t.Parallel()
	raw := `{"protocol":"sentropic.h2a","version":"0.1","id":"env:1","type":"event","actor":{"instance":"codex:bob:a09411bf1690","role":"AGENTS","scope":"s"},` +
		`"createdAt":"2026-03-01T12:00:00.000Z","body":{"text":"` + strings.Repeat("long ", 30) + `"}}`
	m, err := envelope.Parse([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	for columns, lines := range map[int]int{0: 1, 60: 2, 120: 2, 400: 1} {
		c := &kit.Call{Input: &kit.Input{Under: kit.Tutti}, Columns: columns}
		sayEvent(c, &follow.Event{Kind: follow.Mail, At: time.Now(), Message: m, Verdict: &trust.Verdict{Word: trust.Verified}}, false)
		got := string(c.Out)
		if strings.Count(got, "\n") != lines || !strings.Contains(got, "codex:bob:a09411bf1690 (") || !strings.Contains(got, "long long") {
			t.Errorf("%d columns: got %q, want %d lines", columns, got, lines)
		}
		if cut := strings.Contains(got, "…"); cut != (lines == 2 && columns < 150) {
			t.Errorf("%d columns: cut: %v in %q", columns, cut, got)
		}
	}
}
