package server_test

import (
	"strings"
	"testing"
)

// TestBlockages: one's own is raised, anybody's is resolved, and neither in the name of another.
func TestBlockages(t *testing.T) {
	t.Parallel()
	_, a, b := pair(t)
	me, you := a.me(), b.me()
	a.refused("missing 'reason'", "h2a_blockage_raise", object{"instance": me})
	a.refused("nothing is written in the name of", "h2a_blockage_raise", object{"instance": you, "reason": "x"})
	got := within(a.ok("h2a_blockage_raise", object{"instance": me, "reason": "no schema", "needs": "v2"}), "blockage")
	if got.str("scope") != "scope:default" || got.str("needs") != "v2" || got.str("resolvedAt") != "" {
		t.Errorf("raised %v, want it in the first scope of its agent", got)
	}
	if again := a.ok("h2a_blockage_raise", object{"instance": me, "reason": "no disk", "scope": "scope:y"}); !strings.Contains(again.str("warning"), "no schema") {
		t.Errorf("raised over another one: %v, want a warning that names it", again)
	}
	if list := b.ok("h2a_blockage_list", object{"active": true, "scope": "scope:y"}).list("blockages"); len(list) != 1 || list[0].str("reason") != "no disk" {
		t.Errorf("listed %v", list)
	}
	b.refused("nothing is written in the name of", "h2a_blockage_resolve", object{"instance": me, "by": "human:ana:0123456789ab"})
	if got := within(b.ok("h2a_blockage_resolve", object{"instance": me}), "blockage"); got.str("resolvedBy") != you {
		t.Errorf("resolved %v, want it by %s", got, you)
	}
	if got := within(a.ok("h2a_blockage_resolve", object{"instance": me}), "blockage"); got.str("resolvedBy") != you {
		t.Errorf("resolved twice %v, want the first one kept", got)
	}
	b.refused("not found", "h2a_blockage_resolve", object{"instance": "codex:nobody:0123456789ab"})
	if list := b.ok("h2a_blockage_list", object{"active": true}).list("blockages"); len(list) != 0 {
		t.Errorf("still active: %v", list)
	}
}
