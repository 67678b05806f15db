package snapshot

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tutti/internal/attention/overview"
	"tutti/internal/platform/proc"
)

// TestReport: an agent that was started by hand is shown with what its program writes of itself, and another process is not.
func TestReport(t *testing.T) {
	t.Setenv("CLAUDE_CONFIG_DIR", "")
	own, err := proc.Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	sheet := filepath.Join(home, ".claude", "sessions", fmt.Sprint(own.PID)+".json")
	if err := os.MkdirAll(filepath.Dir(sheet), 0o700); err != nil {
		t.Fatal(err)
	}
	at := time.UnixMilli(1795287859941)
	text := fmt.Sprintf(`{"pid":%d,"procStart":"%d","status":"waiting","waitingFor":"permission prompt","version":"2.1.330","statusUpdatedAt":%d}`, own.PID, own.Start, at.UnixMilli())
	if err := os.WriteFile(sheet, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r := Agent{Row: overview.Row{Instance: "claude:api:3f2a9c01b7de", Doing: "idle"}, Program: own}
	r.report(home)
	if r.Doing != "waiting" || r.Asks != "permission prompt" || r.WaitsFor != "approval" || r.Version != "2.1.330" || !r.Since.Equal(at) {
		t.Errorf("%q, asks %q, since %s", r.Doing, r.Asks, r.Since)
	}
	other := Agent{Row: overview.Row{Instance: "claude:api:3f2a9c01b7de", Doing: "idle"}, Program: own}
	other.Program.Start++
	other.report(home)
	if other.Doing != "idle" || other.Asks != "" {
		t.Errorf("of another process: %q, asks %q", other.Doing, other.Asks)
	}
}
