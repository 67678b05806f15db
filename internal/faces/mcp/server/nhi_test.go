package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestIdentities uses the tools about identities, and what becomes of a connection whose agent is offboarded.
func TestIdentities(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.start("a", []string{"--auto-open", "--host", "claude"}, "H2A_HEARTBEAT_INTERVAL_MS=200")
	b := r.start("b", []string{"--auto-open", "--host", "codex"}, "H2A_HEARTBEAT_INTERVAL_MS=200")
	me, you := a.me(), b.me()
	key, err := os.ReadFile(filepath.Join(r.root, "keys", strings.ReplaceAll(me, ":", "-")+".key.pem"))
	if err != nil {
		t.Fatal(err)
	}

	report, _ := a.ok("h2a_nhi_report", nil)["report"].(map[string]any)
	if all := answer(report).list("findings"); len(all) != 5 || all[0].str("risk") != "NHI1" || answer(report)["summary"] == nil {
		t.Errorf("report %v", report)
	}
	a.refused("longLivedKeyMaxDays", "h2a_nhi_report", object{"longLivedKeyMaxDays": 0})
	a.refused("longLivedKeyMaxDays", "h2a_nhi_report", object{"longLivedKeyMaxDays": 1e300})
	inventory, _ := a.ok("h2a_nhi_inventory", object{"longLivedKeyMaxDays": 30})["inventory"].(map[string]any)
	if all := answer(inventory).list("instances"); len(all) != 2 {
		t.Errorf("inventory %v", inventory)
	}
	attested := a.ok("h2a_nhi_attest", object{"instance": me, "privateKeyPem": ""})
	if e, _ := attested["attestation"].(map[string]any); e == nil || !strings.HasPrefix(answer(e).str("id"), "nhi-attest-sha256:") || attested["warning"] != nil {
		t.Errorf("attestation %v", attested)
	}
	if got := a.ok("h2a_nhi_attest", object{"instance": me, "privateKeyPem": string(key)}); got.str("warning") == "" {
		t.Errorf("with a key that came inline: %v", got)
	}
	a.refused("privateKeyPem is no", "h2a_nhi_attest", object{"instance": me, "privateKeyPem": "x"})
	a.refused("nothing is signed in the name of", "h2a_nhi_attest", object{"instance": you, "privateKeyPem": string(key)})
	bundle, _ := a.ok("h2a_nhi_export", object{"instance": you, "trustDomain": "corp.test"})["bundle"].(map[string]any)
	if keys := answer(bundle).list("keys"); len(keys) != 1 || keys[0].str("kty") != "OKP" {
		t.Errorf("bundle %v", bundle)
	}
	a.refused("trust domain", "h2a_nhi_export", object{"instance": you, "trustDomain": "Corp Test"})
	a.refused("missing 'instance'", "h2a_nhi_offboard", nil)
	a.refused("does not answer to this agent", "h2a_nhi_offboard", object{"instance": you})

	b.ok("tutti_send", object{"to": me, "text": "before"})
	stone, _ := b.ok("h2a_nhi_offboard", object{"instance": you, "reason": "done"})["tombstone"].(map[string]any)
	if answer(stone).str("reason") != "done" || stone["revokedKeys"] != 1.0 || len(stone["closedSessions"].([]any)) != 1 {
		t.Errorf("tombstone %v", stone)
	}
	b.refused("was offboarded", "tutti_send", object{"to": me, "text": "after"})
	b.refused("was offboarded", "tutti_receive", nil)
	b.refused("was offboarded", "h2a_session_open", object{"instance": you})
	b.refused("was offboarded", "h2a_session_open", object{"instance": you + "~scout"})
	b.refused("was offboarded", "h2a_nhi_attest", object{"instance": you, "privateKeyPem": ""})
	b.refused("was offboarded", "h2a_nhi_offboard", object{"instance": me})
	b.refused("was offboarded", "h2a_inbox", object{"action": "put", "instance": me, "envelope": object{"body": object{"kind": "message"}}})
	b.refused("was offboarded", "h2a_register_instance", object{"registration": object{
		"id": you + "~x", "instance": you + "~x", "roles": []string{"AGENTS"}, "scopes": []string{"s"}, "capabilities": []string{}, "endpoints": []string{},
		"publicKeys": []string{}, "acceptedPolicies": []string{}, "createdAt": "2026-01-01T00:00:00.000Z",
	}})
	a.refused("was offboarded", "tutti_send", object{"to": you, "text": "hello"})
	if got := a.ok("tutti_receive", nil).list("messages"); len(got) != 0 {
		t.Errorf("what it sent is given out: %v", got)
	}
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) { // several heartbeats
		files, _ := filepath.Glob(filepath.Join(r.root, "presence", "*.json"))
		if len(files) != 1 {
			t.Fatalf("sessions %q, want that of a alone", files)
		}
	}
	if got := a.ok("tutti_peers", object{"all": true}).list("peers"); len(got) != 0 {
		t.Errorf("peers %v", got)
	}
	if got := a.ok("h2a_discover_instances", nil).list("instances"); len(got) != 1 {
		t.Errorf("instances %v", got)
	}
}
