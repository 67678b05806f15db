package fast

import (
	"testing"

	"tutti/internal/attention/overview"
	"tutti/internal/bus/members"
	"tutti/internal/bus/presence"
	"tutti/internal/core/render"
	"tutti/internal/core/termsafe"
)

// TestPeerShape: what is written by hand is what encoding/json makes of the declared struct.
func TestPeerShape(t *testing.T) {
	t.Parallel()
	plain := members.Row{Instance: "claude:api:3f2a9c01b7de", Host: "claude"}
	full := plain
	full.Name, full.Scopes = "a<&>\u009b\u2028", []string{"*", "web"}
	full.Session = &presence.Session{HeartbeatAt: "2026-11-28T07:00:00.000Z", State: "open", WorkStatus: "at it", MirroredAt: "2026-11-28T07:00:01.000Z"}
	live := plain
	live.Session = &presence.Session{HeartbeatAt: "x"}
	for _, r := range []members.Row{plain, full, live} {
		for _, m := range []overview.Mark{{}, {Halted: true, Paused: true}} {
			same(t, peerJSON(&r, m), overview.ViewPeer(&r, m))
		}
	}
}

// same compares what was written by hand with what is made of the struct.
func same(t *testing.T, byHand []byte, view any) {
	t.Helper()
	if got, want := string(termsafe.EscapeJSON(nil, byHand)), string(render.JSON(view)); got != want {
		t.Errorf("by hand\n%s\nthe struct\n%s", got, want)
	}
}
