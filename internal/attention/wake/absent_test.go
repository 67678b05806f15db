package wake

import (
	"testing"

	"tutti/internal/core/address"
	"tutti/internal/halt"
)

// Mail that was seen before a halt, and is reported after it, causes no notice.
func TestMailBeforeHalt(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	a := NewAbsent(AbsentOptions{})
	defer a.Leave(t.Context())
	const who = address.Instance("codex:away:0a1b2c3d4e5f")
	for _, epoch := range []uint64{halt.Epoch() + 1, halt.UnknownEpoch} {
		if !a.Mail(who, "claude:me:0a1b2c3d4e5f", "env:1", epoch) || !a.all[who].idle() {
			t.Errorf("after %d halts, seen after %d: it is noted", halt.Epoch(), epoch)
		}
	}
}
