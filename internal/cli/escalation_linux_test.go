package cli

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestAnswerAtTerminal: what waits for a person stands in status with what to type, is answered at a terminal, and waits no more.
func TestAnswerAtTerminal(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	env := []string{"HOME=" + home, "PATH=/nowhere", "NO_COLOR=1", topVariable + "=" + strconv.Itoa(os.Getpid())}
	for _, name := range []string{"CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_ENTRYPOINT", "GEMINI_CLI", "CODEX_THREAD_ID", "CODEX_CI", "TUTTI_INSTANCE", "H2A_ROOT"} {
		env = append(env, name+"=") // who runs the test may be an agent program
	}
	typed := "\n" // "": nobody is there
	run := func(want int, args ...string) string {
		t.Helper()
		shown, got := typedOnTerminal(t, 160, typed, env, args...)
		if got != want {
			t.Fatalf("%q: exit status %d, want %d\n%s", args, got, want, shown)
		}
		return shown
	}
	has := func(shown string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !strings.Contains(shown, w) {
				t.Errorf("%q is missing in\n%s", w, shown)
			}
		}
	}
	const ana, bob = "claude:ana:77aa88bb99cc", "codex:bob:0a1b2c3d4e5f"
	run(0, "init")
	for _, who := range []string{ana, bob} {
		run(0, "register", `{"id":"`+who+`","instance":"`+who+`","roles":["CONDUCTOR"],"scopes":["scope:default"],"capabilities":[],"endpoints":[],`+
			`"publicKeys":[],"acceptedPolicies":[],"createdAt":"2026-01-01T00:00:00.000Z"}`)
	}
	run(0, "send", ana, "hello") // which makes the identity of this person
	if shown := run(0, "status"); strings.Contains(shown, "wait on you") {
		t.Errorf("something waits already:\n%s", shown)
	}
	run(0, "negotiate", "open", "--id", "nego:1", "--subject", "engagement", "--parties", ana+","+bob, "--instance", ana)
	has(run(0, "escalate", "--negotiation", "nego:1", "--instance", ana, "--event-id", "evt-1", "--channel", "decide", "--question", "which schema?", "--options", "keep,drop"),
		"escalated: evt-1, mail to human:")
	has(run(0, "receive"), ana, "A decision is asked for in nego:1: which schema?", "tutti escalation answer evt-1 ANSWER")
	dir := filepath.Join(home, "h2a-workspace", ".h2a", "escalation")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	alert := `{"instance":"gemini:c:000000000001","reason":"relance-exhausted","relanceCount":3,"channel":"alert","to":"PRINCIPAL","at":"2026-01-01T00:00:00.000Z"}`
	if err := os.WriteFile(filepath.Join(dir, "gemini__c__000000000001.json"), []byte(alert), 0o600); err != nil {
		t.Fatal(err)
	}
	has(run(0, "status"), "2 things wait on you", "which schema?", "→ tutti escalation show evt-1", "→ tutti escalation answer gemini:c:000000000001")
	has(run(0, "status", "--json"), `"kind": "escalation"`, `"command": "tutti escalation show evt-1"`)
	has(run(1, "escalation", "answer", "evt-1", "burn"), "is known here by the key", "none of the options")
	me := "human:" + strings.Fields(strings.SplitN(run(0, "whoami"), "human:", 2)[1])[0]
	run(0, "keys", "generate", "--instance", me, "--out", home+"/new")
	made, err := filepath.Glob(home + "/new/*.pub.pem")
	if err != nil || len(made) != 1 {
		t.Fatal(made, err)
	}
	old := filepath.Join(home, "h2a-workspace", ".h2a", "keys", filepath.Base(made[0]))
	typed = ""
	for _, args := range [][]string{
		{"keys", "add", "--instance", me, "--public-key", made[0]},
		{"keys", "revoke", "--instance", me, "--public-key", old},
		{"keys", "trust", me, "--yes"},
		{"keys", "generate", "--instance", me, "--force"},
		{"nhi", "offboard", me},
	} {
		has(run(1, args...), "nobody is at this terminal")
	}
	typed = "\n"
	has(run(0, "escalation", "answer", "evt-1", "keep", "--note", "it is tested"), "answered: keep (it is tested), by human:")
	has(run(2, "escalation", "answer", "evt-1", "drop"), "closed")
	has(run(0, "inbox", "--all", "--instance", ana), "The answer to evt-1 (which schema?): keep")
	has(run(0, "escalation", "answer", "gemini:c:000000000001"), "answered: seen")
	if shown := run(0, "status"); strings.Contains(shown, "wait on you") {
		t.Errorf("it still waits:\n%s", shown)
	}
	has(run(0, "negotiate", "verify", "nego:1"), "holds")
	run(0, "blockage", "raise", "I am stuck", "--instance", ana, "--on", me)
	has(run(0, "status"), "1 thing waits on you", "I am stuck", "→ tutti send "+ana)

	// A key that the person adds counts; and one that is revoked takes no answer away that was given under it.
	run(0, "keys", "add", "--instance", me, "--public-key", made[0])
	has(run(0, "keys", "revoke", "--instance", me, "--public-key", old), "revoked")
	has(run(0, "escalation", "show", "evt-1"), "answered: keep (it is tested), by human:")
	has(run(0, "escalation", "show", "gemini:c:000000000001"), "answered: seen")
	run(0, "escalate", "--negotiation", "nego:1", "--instance", ana, "--event-id", "evt-2", "--channel", "decide", "--question", "and now?")
	has(run(1, "escalation", "answer", "evt-2", "x"), "this one was revoked", "tutti keys trust "+me)
	for _, end := range []string{".key.pem", ".pub.pem"} {
		from := strings.TrimSuffix(made[0], ".pub.pem") + end
		if err := os.Rename(from, strings.TrimSuffix(old, ".pub.pem")+end); err != nil {
			t.Fatal(err)
		}
	}
	has(run(0, "escalation", "answer", "evt-2", "x"), "answered: x, by human:")
	has(run(0, "escalation", "show", "evt-1"), "answered: keep")
}
