package live

import (
	"testing"
	"time"
)

// TestGraceLastsAHeartbeat: the tick after a gap is soon followed by a regular one. Peers need one heartbeat to be present again, and no
// peer is reported absent until then.
func TestGraceLastsAHeartbeat(t *testing.T) {
	t.Parallel()
	const every = 20 * time.Second
	var c clock
	now := time.Unix(1_800_000_000, 0)
	for _, step := range []struct {
		after      time.Duration
		gap, grace bool
	}{
		{0, false, false},
		{every, false, false},
		{10 * every, true, true},
		{time.Millisecond, false, true},
		{every - 2*time.Millisecond, false, true},
		{every, false, false},
		{-2 * every, true, true},
		{every, false, false}, // the clock was set
	} {
		now = now.Add(step.after)
		gap, _ := c.tick(now, every)
		if grace := c.grace(now); gap != step.gap || grace != step.grace {
			t.Errorf("after %v: got gap %v, grace %v, want %v, %v", step.after, gap, grace, step.gap, step.grace)
		}
	}
}
