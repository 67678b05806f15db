package server_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tutti/internal/faces/mcp/server"
)

// underHalt says for each tool what becomes of it while the switch is on.
var underHalt = map[string]string{
	"h2a_register_instance": "sets", "h2a_session_open": "sets", "h2a_nhi_attest": "sets",
	"h2a_session_close": "ends", "h2a_nhi_offboard": "ends", "h2a_conductor_release": "ends", "h2a_blockage_resolve": "ends", "tutti_lease_release": "ends",
	"h2a_discover_instances": "reads", "h2a_inbox": "reads", "h2a_discover_sessions": "reads", "h2a_nhi_report": "reads", "h2a_nhi_inventory": "reads",
	"h2a_nhi_export": "reads", "h2a_conductor": "reads", "h2a_conductor_launch_check": "reads", "tutti_peers": "reads", "tutti_read": "reads",
	"tutti_thread": "reads", "tutti_status": "reads", "tutti_negotiation": "reads", "h2a_blockage_list": "reads", "h2a_conflict_posture": "reads",
	"tutti_lease_list": "reads", "tutti_session_wait": "reads", "tutti_search": "reads",
	"tutti_send": "acts", "tutti_receive": "acts", "tutti_reply": "acts", "tutti_ack": "acts", "tutti_negotiate": "acts", "tutti_ask": "acts",
	"h2a_conductor_claim": "acts", "h2a_conductor_launch": "acts", "h2a_blockage_raise": "acts", "h2a_attest_comprehension": "acts",
	"h2a_declare_conflit_interet": "acts", "h2a_escalate": "acts", "tutti_lease_take": "acts", "h2a_open_negotiation": "acts", "h2a_offer": "acts",
	"h2a_counteroffer": "acts", "h2a_sign": "acts", "h2a_stabilize": "acts", "h2a_append_journal": "acts",
}

// TestHaltTools: under halt a tool that acts is refused, one that reads is not, and neither changes a byte of the home
// folder or the bus, but for caches, the sessions that the servers keep up, and the trail of deliveries.
func TestHaltTools(t *testing.T) {
	t.Parallel()
	r, a, b := pair(t)
	me, you := a.me(), b.me()
	a.ok("tutti_send", object{"to": you, "text": "x"})
	look := func() map[string]string {
		all := map[string]string{}
		for _, top := range []string{r.home, r.root} {
			err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
				if err != nil || !d.Type().IsRegular() || strings.Contains(path, "/.cache/") || strings.Contains(path, "/sessions/") || strings.Contains(path, "/trail/") {
					return err
				}
				text, err := os.ReadFile(path)
				all[path] = fmt.Sprintf("%x", sha256.Sum256(text))
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		return all
	}
	r.run("halt", "a test", "--no-stop-watcher")
	before := look()
	args := object{
		"to": you, "text": "x", "id": "env:1", "instance": me, "negotiationId": "nego:1", "subject": "engagement", "with": you, "parties": []string{me, you}, "paths": []string{"x"},
		"question": "which?", "options": []string{"a", "b"}, "action": "read", "reason": "x", "envelopeId": "env:1", "artifact": object{"kind": "CONTRACT"},
	}
	a.write(`{"jsonrpc":"2.0","id":"t","method":"tools/list"}`)
	var all struct {
		Result struct{ Tools []struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(a.line()), &all); err != nil {
		t.Fatal(err)
	}
	for _, tool := range all.Result.Tools {
		name := tool.Name
		want, known := underHalt[name]
		if !known {
			t.Errorf("%s: this test does not know what becomes of it under halt", name)
		}
		if want == "ends" || want == "sets" {
			continue
		}
		got := a.call(name, args)
		if refused := strings.HasPrefix(got.str("error"), "halt active"); refused != (want == "acts") {
			t.Errorf("%s: %v", name, got)
		}
		if now := look(); !maps.Equal(before, now) {
			for _, path := range slices.Sorted(maps.Keys(now)) {
				if before[path] != now[path] {
					t.Errorf("%s changes %s", name, path)
				}
			}
			before = now
		}
	}
	for _, action := range []string{"put", "pop"} {
		if got := a.call("h2a_inbox", object{"action": action, "instance": me, "envelopeId": "env:1", "envelope": object{}}); !strings.HasPrefix(got.str("error"), "halt active") {
			t.Errorf("h2a_inbox %s: %v", action, got)
		}
	}
	if len(all.Result.Tools) != len(server.Tools()) {
		t.Errorf("got %d tools of %d", len(all.Result.Tools), len(server.Tools()))
	}
}
