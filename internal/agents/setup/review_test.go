package setup

import (
	"strings"
	"testing"

	"tutti/internal/agents/driver"
)

// TestReview: Codex runs no hook that its user has not trusted. Which of ours wait is known, trust can be recorded beside what the
// user wrote, and what the user switched off stays off.
func TestReview(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	codex, _ := driver.Get("codex")
	const own = "# mine\nmodel = \"x\"\n\n[hooks.state.\"/else/hooks.json:stop:0:0\"]\ntrusted_hash = \"sha256:aa\"\n"
	d.write(".codex/config.toml", own, 0o600)
	d.ok("codex")
	look := func() []Review {
		t.Helper()
		all, err := d.q.Unreviewed(codex)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	all := look()
	if len(all) < 5 || all[0].State != "new" || !strings.Contains(AwaitingReview(all), "PostToolUse (new)") {
		t.Fatalf("after setup these wait: %s", AwaitingReview(all))
	}
	if err := d.q.Trust(codex, all); err != nil {
		t.Fatal(err)
	}
	if left := look(); len(left) != 0 {
		t.Errorf("after the trust these wait: %s", AwaitingReview(left))
	}
	text := d.read(".codex/config.toml")
	if !strings.Contains(text, "# mine\nmodel = \"x\"\n") || !strings.Contains(text, "trusted_hash = \"sha256:aa\"") {
		t.Errorf("what was the user's is gone:\n%s", text)
	}
	d.write(".codex/config.toml", strings.Replace(text, all[0].hash, all[0].hash+"\"\nenabled = false # \"", 1), 0o600)
	d.write(".codex/config.toml", strings.Replace(d.read(".codex/config.toml"), all[1].hash, "sha256:00", 1), 0o600)
	if left := look(); len(left) != 2 || left[0].State != "switched off" || left[1].State != "changed" {
		t.Errorf("one is switched off and one is changed: %s", AwaitingReview(left))
	}
}

// TestReviewHash has the bytes of which Codex makes the hash: compact JSON with sorted members, a matcher only at events of tools.
func TestReviewHash(t *testing.T) {
	t.Parallel()
	// printf %s '{"event_name":"pre_tool_use","hooks":[{"async":false,"command":"CMD","timeout":600,"type":"command"}],"matcher":"Bash"}' | sha256sum
	const want = "sha256:890ca988bd9a95fd9ee3e43abf4878d4f7a7cd1a47953ca55f5dd6c87a450036"
	if got := codexHash("PreToolUse", []byte(`{"matcher":"Bash"}`), []byte(`{"type":"command","command":"CMD"}`)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if snake("PermissionRequest") != "permission_request" {
		t.Error(snake("PermissionRequest"))
	}
}

// TestEmptyTableIsKept: an empty table that was the user's is there after a removal, to the byte.
func TestEmptyTableIsKept(t *testing.T) {
	t.Parallel()
	for name, c := range map[string][2]string{
		"opencode": {".config/opencode/opencode.jsonc", "{\n  // mine\n  \"mcp\": {},\n  \"theme\": \"x\"\n}\n"},
		"gemini":   {".gemini/settings.json", "{\n  \"hooks\": {},\n  \"mcpServers\": {}\n}\n"},
		"claude":   {".claude.json", "{\"mcpServers\": {}}\n"},
	} {
		d := newDesk(t)
		d.write(c[0], c[1], 0o600)
		d.ok(name)
		if d.read(c[0]) == c[1] {
			t.Fatalf("%s: nothing was written", name)
		}
		d.q.Remove = true
		d.ok(name)
		if got := d.read(c[0]); got != c[1] {
			t.Errorf("%s: after the removal it is\n%s\nand was\n%s", name, got, c[1])
		}
	}
}

// TestTrustDeclined: the entry for Gemini says trust only where that was not declined.
func TestTrustDeclined(t *testing.T) {
	t.Parallel()
	for _, declined := range []bool{false, true} {
		d := newDesk(t)
		d.q.NoTrust = declined
		d.ok("gemini")
		if said := strings.Contains(d.read(".gemini/settings.json"), `"trust"`); said == declined {
			t.Errorf("declined %v: said %v", declined, said)
		}
	}
}
