package cmd

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tutti/internal/test/scriptprog"
)

// A sitting is a terminal at which a person sits, with a bus of two agents.
type sitting struct {
	*testing.T
	home, typed string // typed is "" where nobody is there
	env         []string
}

const sitAna, sitBob = "claude:ana:77aa88bb99cc", "codex:bob:0a1b2c3d4e5f"

func newSitting(t *testing.T) *sitting {
	t.Helper()
	d := &sitting{T: t, home: t.TempDir(), typed: "\n"}
	d.env = []string{"HOME=" + d.home, "PATH=/nowhere", "NO_COLOR=1", scriptprog.TopVariable + "=" + strconv.Itoa(os.Getpid()), "GORACE=" + os.Getenv("GORACE")}
	for _, name := range []string{"CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_ENTRYPOINT", "GEMINI_CLI", "CODEX_THREAD_ID", "CODEX_CI", "TUTTI_INSTANCE", "H2A_ROOT"} {
		d.env = append(d.env, name+"=") // who runs the test may be an agent program
	}
	d.run(0, "init")
	for _, who := range []string{sitAna, sitBob} {
		d.run(0, "register", `{"id":"`+who+`","instance":"`+who+`","roles":["CONDUCTOR"],"scopes":["scope:default"],"capabilities":[],"endpoints":[],`+
			`"publicKeys":[],"acceptedPolicies":[],"createdAt":"2026-01-01T00:00:00.000Z"}`)
	}
	return d
}

func (d *sitting) run(want int, args ...string) string {
	d.Helper()
	shown, got := typedOnTerminal(d.T, 160, d.typed, d.env, args...)
	if got != want {
		d.Fatalf("%q: exit status %d, want %d\n%s", args, got, want, shown)
	}
	return shown
}

func (d *sitting) has(shown string, want ...string) {
	d.Helper()
	for _, w := range want {
		if !strings.Contains(shown, w) {
			d.Errorf("%q is missing in\n%s", w, shown)
		}
	}
}

// me is the person, whose mailbox it makes.
func (d *sitting) me() string {
	d.Helper()
	d.run(0, "send", sitAna, "hello")
	return "human:" + strings.Fields(strings.SplitN(d.run(0, "whoami"), "human:", 2)[1])[0]
}

// pair makes a further pair of keys for somebody, and returns the file of the public one, and that of the one on the bus.
func (d *sitting) pair(who, dir string) (made, old string) {
	d.Helper()
	d.run(0, "keys", "generate", "--instance", who, "--out", filepath.Join(d.home, dir))
	files, err := filepath.Glob(filepath.Join(d.home, dir, "*.pub.pem"))
	if err != nil || len(files) != 1 {
		d.Fatal(files, err)
	}
	return files[0], filepath.Join(d.home, "h2a-workspace", ".h2a", "keys", filepath.Base(files[0]))
}

// ask puts a question before the person.
func (d *sitting) ask(id, question string) string {
	d.Helper()
	return d.run(0, "escalate", "--negotiation", "nego:1", "--instance", sitAna, "--event-id", id, "--channel", "decide", "--question", question, "--options", "keep,drop")
}

func (d *sitting) open() {
	d.Helper()
	d.run(0, "negotiate", "open", "--id", "nego:1", "--subject", "engagement", "--parties", sitAna+","+sitBob, "--instance", sitAna)
}

// TestAnswerAtTerminal: an escalation is listed in status with the command to type, is answered at a terminal, and is then no longer
// listed.
func TestAnswerAtTerminal(t *testing.T) {
	t.Parallel()
	const ana = sitAna
	d := newSitting(t)
	home, run, has := d.home, d.run, d.has
	run(0, "send", ana, "hello") // which makes the identity of this person
	if shown := run(0, "status"); strings.Contains(shown, "wait for you") {
		t.Errorf("something waits already:\n%s", shown)
	}
	d.open()
	has(d.ask("evt-1", "which schema?"),
		"escalated: evt-1, mail to human:")
	has(run(0, "receive"), ana, "A decision is asked for in nego:1: which schema?", "tutti answer evt-1 ANSWER")
	dir := filepath.Join(home, "h2a-workspace", ".h2a", "escalation")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	alert := `{"instance":"gemini:c:000000000001","reason":"relance-exhausted","relanceCount":3,"channel":"alert","to":"PRINCIPAL","at":"2026-01-01T00:00:00.000Z"}`
	if err := os.WriteFile(filepath.Join(dir, "gemini__c__000000000001.json"), []byte(alert), 0o600); err != nil {
		t.Fatal(err)
	}
	has(run(0, "status"), "2 things wait for you", "which schema?", "  tutti escalation show evt-1", "  tutti escalation answer gemini:c:000000000001")
	has(run(0, "status", "--json"), `"kind": "escalation"`, `"command": "tutti escalation show evt-1"`)
	has(run(1, "escalation", "answer", "evt-1", "burn"), "is known here by the key", "none of the options")
	me := d.me()
	made, old := d.pair(me, "new")
	d.typed = ""
	for _, args := range [][]string{
		{"keys", "revoke", "--yes", "--instance", me, "--public-key", old},
		{"keys", "trust", me, "--yes"},
		{"keys", "generate", "--instance", me, "--force"},
		{"nhi", "offboard", me},
	} {
		has(run(1, args...), "this is not a terminal")
	}
	// What scripts of other programs do goes on, and makes nobody believe anything.
	third, _ := d.pair(me, "third")
	has(run(0, "keys", "add", "--instance", me, "--public-key", third), "this is not a terminal: no answer of "+me)
	run(0, "register", `{"id":"human:zoe:000000000009","instance":"human:zoe:000000000009","roles":["PRINCIPAL"],"scopes":["scope:other"],"capabilities":[],"endpoints":[],`+
		`"publicKeys":["none"],"acceptedPolicies":[],"createdAt":"2026-01-01T00:00:00.000Z"}`)
	d.typed = "\n"
	if shown := run(0, "store", "log", "keys"); strings.Contains(shown, "proof") {
		t.Errorf("the person stands behind it:\n%s", shown)
	}
	has(run(0, "escalation", "answer", "evt-1", "keep", "--note", "it is tested"), "answered: keep (it is tested), by human:")
	has(run(2, "escalation", "answer", "evt-1", "drop"), "closed")
	has(run(0, "inbox", "--all", "--instance", ana), "The answer to evt-1 (which schema?): keep")
	has(run(0, "escalation", "answer", "gemini:c:000000000001"), "answered: seen")
	if shown := run(0, "status"); strings.Contains(shown, "wait for you") {
		t.Errorf("it still waits:\n%s", shown)
	}
	has(run(0, "negotiate", "verify", "nego:1"), "valid")
	run(0, "blockage", "raise", "I am stuck", "--instance", ana, "--on", me)
	has(run(0, "status"), "1 thing waits for you", "I am stuck", "  tutti send "+ana)

	// A key that the person adds counts; and one that is revoked takes no answer away that was given under it.
	run(0, "keys", "add", "--instance", me, "--public-key", made)
	has(run(0, "keys", "revoke", "--yes", "--instance", me, "--public-key", old), "revoked")
	has(run(0, "store", "log", "keys"), "proof")
	has(run(0, "escalation", "show", "evt-1"), "answered: keep (it is tested), by human:")
	has(run(0, "escalation", "show", "gemini:c:000000000001"), "answered: seen")
	run(0, "escalate", "--negotiation", "nego:1", "--instance", ana, "--event-id", "evt-2", "--channel", "decide", "--question", "and now?")
	has(run(1, "escalation", "answer", "evt-2", "x"), "this one was revoked", "tutti keys generate --force --instance "+me)
	for _, end := range []string{".key.pem", ".pub.pem"} {
		from := strings.TrimSuffix(made, ".pub.pem") + end
		if err := os.Rename(from, strings.TrimSuffix(old, ".pub.pem")+end); err != nil {
			t.Fatal(err)
		}
	}
	has(run(0, "escalation", "answer", "evt-2", "x"), "answered: x, by human:")
	has(run(0, "escalation", "show", "evt-1"), "answered: keep")
}

// TestTrustEarlierKey: if a person has answered under an earlier key, the hinted commands lead to trust in it, in as many steps as there
// are keys, or by the file of the key.
func TestTrustEarlierKey(t *testing.T) {
	t.Parallel()
	d := newSitting(t)
	me := d.me()
	d.open()
	d.ask("evt-1", "which schema?")
	d.run(0, "escalation", "answer", "evt-1", "keep")
	made, old := d.pair(me, "new")
	d.run(0, "keys", "add", "--instance", me, "--public-key", made)
	other, _ := d.pair(me, "other")
	mine := d.env
	who := func() { // the same bus with the memory of somebody else
		d.env = append(slices.Clone(mine), "HOME="+t.TempDir(), "H2A_ROOT="+filepath.Join(d.home, "h2a-workspace", ".h2a"))
	}
	const doubt, answered = "which you have not confirmed as theirs", "answered: keep"
	who()
	d.has(d.run(0, "escalation", "show", "evt-1"), doubt, "to confirm it: tutti keys", "with --public-key if it shows another key")
	first := d.run(0, "keys", "trust", me, "--yes")
	d.has(d.run(0, "escalation", "show", "evt-1"), doubt)
	d.run(0, "keys", "trust", me, "--yes")
	d.has(d.run(0, "escalation", "show", "evt-1"), answered)
	pinned := strings.Fields(strings.SplitN(first, "registered", 2)[1])[0]
	d.has(d.run(0, "keys", "list"), "  "+pinned+"  "+me) // mail is checked with the later key as before

	who()
	d.has(d.run(2, "keys", "trust", me, "--yes", "--public-key", other), "is not a key of")
	d.run(0, "keys", "trust", me, "--yes", "--public-key", old)
	d.has(d.run(0, "escalation", "show", "evt-1"), answered)

	// Also once it was revoked, by the person who does not know here by which key they are known: its revocation says what was sealed with it,
	// and proves itself to who does.
	who()
	d.run(0, "keys", "revoke", "--yes", "--instance", me, "--public-key", old)
	d.env = mine
	d.has(d.run(0, "escalation", "show", "evt-1"), answered)
	who()
	d.has(d.run(0, "escalation", "show", "evt-1"), doubt)
	d.run(0, "keys", "trust", me, "--yes", "--public-key", old)
	d.has(d.run(0, "escalation", "show", "evt-1"), answered)
}

// TestRevokeLastKey: a user without a key to prove a revocation learns the consequences, and can still revoke.
func TestRevokeLastKey(t *testing.T) {
	t.Parallel()
	d := newSitting(t)
	me := d.me()
	d.open()
	d.ask("evt-1", "which schema?")
	d.run(0, "escalation", "answer", "evt-1", "keep")
	_, old := d.pair(me, "new")
	private := strings.TrimSuffix(old, ".pub.pem") + ".key.pem"
	if err := os.WriteFile(private, []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.has(d.run(0, "keys", "revoke", "--yes", "--instance", me, "--public-key", old), "cannot prove anything", "is forgotten, and nothing that", "revoked")
	d.has(d.run(0, "escalation", "show", "evt-1"), "which you have not confirmed as theirs")
	// A new pair that is not registered is to be added first.
	d.run(0, "keys", "generate", "--force", "--instance", me)
	d.ask("evt-2", "and now?")
	d.has(d.run(1, "escalation", "answer", "evt-2", "keep"), "tutti keys add --instance "+me)
	d.run(0, "keys", "add", "--instance", me, "--public-key", old)
	d.has(d.run(0, "escalation", "answer", "evt-2", "keep"), "answered: keep")
}

// TestOffboardedPerson: a person's answers stay valid when the person is retired, and later ones do not count.
func TestOffboardedPerson(t *testing.T) {
	t.Parallel()
	for _, proved := range []bool{true, false} {
		d := newSitting(t)
		me := d.me()
		d.open()
		d.ask("evt-1", "which schema?")
		d.run(0, "escalation", "answer", "evt-1", "keep")
		made, old := d.pair(me, "new")
		d.run(0, "keys", "add", "--instance", me, "--public-key", made)
		if !proved {
			if err := os.Remove(strings.TrimSuffix(old, ".pub.pem") + ".key.pem"); err != nil {
				t.Fatal(err)
			}
		}
		shown := d.run(0, "nhi", "offboard", me, "--yes")
		if warned := strings.Contains(shown, "goes on to count here"); warned == proved {
			t.Errorf("proved %v: warned %v:\n%s", proved, warned, shown)
		}
		d.has(d.run(0, "escalation", "show", "evt-1"), "answered: keep")
		log := d.run(0, "store", "log", "keys")
		if lines := strings.Count(log, "sealedBefore"); proved != strings.Contains(log[strings.LastIndex(log, "revoked"):], "proof") || lines != 1 {
			t.Errorf("proved %v, and %d lines name what was sealed:\n%s", proved, lines, log)
		}
	}
}
