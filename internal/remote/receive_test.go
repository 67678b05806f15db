package remote

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/store"
)

// TestAnswers: each check in its order, with the status and the word that existing programs know. None of it ends the endpoint.
func TestAnswers(t *testing.T) {
	x := open(t)
	now := time.Now()
	signedBy := func(by address.Instance, key *signature.Private, id string) []byte {
		raw, err := envelope.Sign(canonjson.Delete(letter(t, id, now), "signatures"), by, key)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	good := letter(t, "env-good", now)
	if status, body := x.post(good); status != 202 || body != `{"ok":true,"deliveredTo":"codex:bob:bbbbbbbbbbb2","signer":"claude:alice:aaaaaaaaaaa1"}` {
		t.Fatalf("accepted: got %d %s", status, body)
	}
	for _, c := range []struct {
		what   string
		body   []byte
		status int
		word   string
	}{
		{"no JSON", []byte("{"), 400, "malformed"},
		{"empty", nil, 400, "malformed"},
		{"no envelope", []byte(`{"a":1}`), 400, "malformed"},
		{"two values", append(bytes.Clone(good), good...), 400, "malformed"},
		{"member twice", bytes.Replace(good, []byte(`{`), []byte(`{"id":"other",`), 1), 400, "malformed"},
		{"member of the body twice", bytes.Replace(good, []byte(`"body":{`), []byte(`"body":{"text":"not signed",`), 1), 400, "malformed"},
		{"prototype", bytes.Replace(good, []byte(`{`), []byte(`{"__proto__":{"x":1},`), 1), 400, "malformed"},
		{"no target", letter(t, "env-1", now, func(raw []byte) []byte { return canonjson.Delete(raw, "target") }), 400, "no-target"},
		{"target is a list", letter(t, "env-2", now, set("target", `["x"]`)), 400, "no-target"},
		{"target empty", letter(t, "env-3", now, set("target", `{"instance":""}`)), 400, "no-target"},
		{"target with a way out", letter(t, "env-4", now, set("target", `{"instance":"../../etc:x:y"}`)), 403, "unknown-recipient"},
		{"unknown target", letter(t, "env-5", now, set("target", `{"instance":"codex:ghost:cccccccccccc"}`)), 403, "unknown-recipient"},
		{"unsigned", canonjson.Delete(letter(t, "env-6", now), "signatures"), 400, "no-signature"},
		{"signatures an object", canonjson.Set(letter(t, "env-7", now), "signatures", []byte(`{"by":"x"}`)), 400, "malformed"},
		{"signatures of null", canonjson.Set(letter(t, "env-8", now), "signatures", []byte(`[null]`)), 400, "no-signature"},
		{"signatures of lists", canonjson.Set(letter(t, "env-9", now), "signatures", []byte(`[[],1,"x",{"by":[]}]`)), 400, "no-signature"},
		{"signed by another", signedBy(bob, keys[bob], "env-10"), 400, "no-signature"},
		{"signed with another key", signedBy(alice, keys[eve], "env-11"), 401, "bad-signature"},
		{"value is a number", canonjson.Set(letter(t, "env-12", now), "signatures", fmt.Appendf(nil, `[{"by":%q,"alg":"ed25519","value":7}]`, alice)), 401, "bad-signature"},
		{"no time", letter(t, "env-13", now, set("createdAt", `"yesterday"`)), 400, "invalid-timestamp"},
		{"too far ahead", letter(t, "env-14", now.Add(5*time.Minute)), 422, "future"},
		{"too old", letter(t, "env-15", now.Add(-6*time.Minute)), 422, "expired"},
		{"again", good, 409, "replayed"},
	} {
		x.wants(c.what, c.body, c.status, c.word)
	}
	stranger := canonjson.Set(letter(t, "env-16", now), "actor", fmt.Appendf(nil, `{"instance":%q,"role":"AGENTS","scope":"s"}`, eve))
	stranger, err := envelope.Sign(canonjson.Delete(stranger, "signatures"), eve, keys[eve])
	if err != nil {
		t.Fatal(err)
	}
	x.wants("a stranger", stranger, 401, "no-public-key")
	if n := x.box(bob); n != 1 {
		t.Errorf("the mailbox has %d messages, want the one that was accepted", n)
	}
	x.alive("all of it")
}

// TestChanged: signed members cannot be changed in transit.
func TestChanged(t *testing.T) {
	x := open(t)
	good := letter(t, "env-c", time.Now())
	for name, value := range map[string]string{
		"id": `"env-d"`, "body": `{"kind":"message","text":"rm -rf"}`, "target": fmt.Sprintf(`{"instance":%q}`, alice),
		"createdAt": fmt.Sprintf("%q", envelope.Stamp(time.Now().Add(time.Second))), "extra": "1",
	} {
		x.wants("changed "+name, canonjson.Set(good, name, []byte(value)), 401, "bad-signature")
	}
}

// TestReplayAfterRestart: neither a restart nor that the message was taken, or deleted by a foreign program, makes room for it again.
func TestReplayAfterRestart(t *testing.T) {
	x := open(t)
	good := letter(t, "env-r", time.Now())
	x.wants("first", good, 202, "ok")
	k := store.Key{Kind: store.Inbox, Owner: bob.Mailbox(), Name: "env-r"}
	d, err := x.s.Get(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.s.Delete(t.Context(), k, d.Rev); err != nil { // as older programs pop
		t.Fatal(err)
	}
	x.wants("popped", good, 409, "replayed")
	x.end()
	y := reopen(t, x.root)
	y.wants("restarted", good, 409, "replayed")
	if n := y.box(bob); n != 0 {
		t.Errorf("%d messages, want none", n)
	}
}

// TestCutOff: a sender that was cut off between the delivery and the record learns that the message was accepted, and it is stored once.
func TestCutOff(t *testing.T) {
	x := open(t)
	good := letter(t, "env-k", time.Now())
	x.wants("first", good, 202, "ok")
	x.end()
	notes, err := filepath.Glob(filepath.Join(x.root, "remote-replay", "*.jsonl"))
	if err != nil || len(notes) != 1 {
		t.Fatal("notes:", notes, err)
	}
	if err := os.Remove(notes[0]); err != nil {
		t.Fatal(err)
	}
	x = reopen(t, x.root)
	x.wants("honest retry", good, 202, "ok")
	x.wants("and again", good, 409, "replayed")
	if n := x.box(bob); n != 1 {
		t.Errorf("%d messages, want 1", n)
	}
}

// TestOneWins: of many concurrent copies of one envelope, one is accepted.
func TestOneWins(t *testing.T) {
	x := open(t)
	good := letter(t, "env-w", time.Now())
	var taken, seen atomic.Int64
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			switch status, _ := x.post(good); status {
			case 202:
				taken.Add(1)
			case 409:
				seen.Add(1)
			}
		})
	}
	all.Wait()
	if taken.Load() != 1 || seen.Load() != 15 {
		t.Errorf("taken %d times, replayed %d, want 1 and 15", taken.Load(), seen.Load())
	}
}

// TestGroup: envelopes that are put together are noted each by itself, of whatever age they are.
func TestGroup(t *testing.T) {
	x := open(t)
	now := time.Now()
	var raws [][]byte
	for i, age := range []time.Duration{2 * time.Minute, -30 * time.Second, MaxAge - time.Minute, time.Second} {
		raws = append(raws, letter(t, fmt.Sprint("env-g", i), now.Add(-age)))
	}
	all := x.round(raws...)
	if got := fmt.Sprint(x.answers(all), x.noted(all)); got != "[202 202 202 202] [true true true true]" {
		t.Errorf("got %s", got)
	}
	for i, p := range all {
		if m, err := x.mail.Get(t.Context(), bob, p.e.ID); err != nil || !bytes.Equal(m.Envelope.Raw, p.e.Raw) {
			t.Errorf("message %d: %v, or not what was sent", i, err)
		}
	}
	x.end()
	y := reopen(t, x.root)
	for i, p := range all {
		y.wants(fmt.Sprint("restarted ", i), p.e.Raw, 409, "replayed")
	}
}

// TestResignedEnvelope: an id that was taken is used up for its signer, also in an envelope that was signed once more a moment later.
func TestResignedEnvelope(t *testing.T) {
	x := open(t)
	now := time.Now()
	x.wants("first", letter(t, "env-n", now.Add(-4*time.Minute)), 202, "ok")
	k := store.Key{Kind: store.Inbox, Owner: bob.Mailbox(), Name: "env-n"}
	d, err := x.s.Get(t.Context(), k)
	if err == nil {
		err = x.s.Delete(t.Context(), k, d.Rev)
	}
	if err != nil {
		t.Fatal(err)
	}
	x.wants("sent again", letter(t, "env-n", now), 409, "replayed")
	x.end()
	y := reopen(t, x.root)
	y.wants("anew, after a restart", letter(t, "env-n", now.Add(time.Second)), 409, "replayed")
}

// TestIDsPerSigner: a signer cannot use up another signer's ids.
func TestIDsPerSigner(t *testing.T) {
	x := open(t)
	theirs := canonjson.Set(letter(t, "env-same", time.Now()), "actor", fmt.Appendf(nil, `{"instance":%q,"role":"AGENTS","scope":"s"}`, bob))
	theirs = canonjson.Set(theirs, "target", fmt.Appendf(nil, `{"instance":%q}`, alice))
	theirs, err := envelope.Sign(canonjson.Delete(theirs, "signatures"), bob, keys[bob])
	if err != nil {
		t.Fatal(err)
	}
	x.wants("bob's", theirs, 202, "ok")
	x.wants("alice's", letter(t, "env-same", time.Now()), 202, "ok")
}

// TestRecipients: a mailbox is open when its agent is registered, when it is there, or when the operator says so.
func TestRecipients(t *testing.T) {
	ghost := "codex:ghost:cccccccccccc"
	to := func(id string) []byte {
		return letter(t, id, time.Now(), set("target", fmt.Sprintf(`{"instance":%q}`, ghost)))
	}
	fill := func(x *site) {
		if _, err := x.mail.Put(t.Context(), address.Instance(ghost), to("env-before")); err != nil {
			t.Fatal(err)
		}
	}
	x := open(t)
	x.wants("nothing there", to("env-1"), 403, "unknown-recipient")
	fill(x)
	x.wants("a mailbox is there", to("env-1"), 202, ghost)
	x = open(t, func(r *Receiver) { r.Open = Registered })
	fill(x)
	x.wants("registered only", to("env-1"), 403, "unknown-recipient")
	x = open(t, func(r *Receiver) { r.Open = Anybody })
	x.wants("anybody", to("env-1"), 202, ghost)
}

// TestSubagents: no mailbox is created for an unbound subagent, however many names a signer tries.
func TestSubagents(t *testing.T) {
	to := func(id, name string) []byte {
		return letter(t, id, time.Now(), set("target", fmt.Sprintf(`{"instance":%q}`, string(bob)+"~"+name)))
	}
	for open1, there := range map[Recipients]int{"": 202, Registered: 403} {
		x := open(t, func(r *Receiver) { r.Open = open1 })
		x.wants("not bound", to("env-1", "x1"), 403, "unknown-recipient")
		for owner := range x.s.Owners(t.Context(), store.Inbox) {
			t.Errorf("%q: there is a mailbox %s", open1, owner)
		}
		if err := x.reg.Bind(t.Context(), registry.Binding{ID: string(bob) + "~reviewer", Parent: string(bob), Name: "reviewer"}); err != nil {
			t.Fatal(err)
		}
		x.wants("bound", to("env-2", "reviewer"), 202, "reviewer")
		if _, err := x.mail.Put(t.Context(), bob+"~x1", to("env-before", "x1")); err != nil {
			t.Fatal(err)
		}
		x.wants("a mailbox is there", to("env-1", "x1"), there, "")
	}
	x := open(t, func(r *Receiver) { r.Open = Anybody })
	x.wants("anybody", to("env-1", "x1"), 202, "x1")
}

// TestWrongEndpoint: an envelope that was signed for one endpoint is of no use at another.
func TestWrongEndpoint(t *testing.T) {
	x := open(t, func(r *Receiver) { r.Endpoints = []string{"https://bus.example/h2a/envelopes"} })
	seal := func(id, endpoint string) []byte {
		raw, err := Seal(canonjson.Delete(letter(t, id, time.Now()), "signatures"), alice, keys[alice], endpoint)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	x.wants("for another", seal("env-1", "https://other.example/h2a/envelopes"), 400, "wrong-endpoint")
	x.wants("for us", seal("env-2", "HTTPS://Bus.Example:443/h2a/envelopes"), 202, "ok")
	x.wants("to any recipient", letter(t, "env-3", time.Now()), 202, "ok")
}

// TestShare: a signer over its quota learns when to try again. Others are not affected, and a refused message can be sent again.
func TestShare(t *testing.T) {
	at := time.Now()
	var skew atomic.Int64
	x := open(t, func(r *Receiver) {
		r.Rates = &Rates{PerSecond: 1}
		r.Now = func() time.Time { return at.Add(time.Duration(skew.Load())) }
	})
	for i := range 5 {
		x.wants("within", letter(t, fmt.Sprint("env-", i), at), 202, "ok")
	}
	last := letter(t, "env-last", at)
	x.wants("beyond", last, 429, `{"ok":false,"error":"rate-limited"}`)
	other := canonjson.Set(letter(t, "env-o", at), "actor", fmt.Appendf(nil, `{"instance":%q,"role":"AGENTS","scope":"s"}`, bob))
	other, err := envelope.Sign(canonjson.Delete(other, "signatures"), bob, keys[bob])
	if err != nil {
		t.Fatal(err)
	}
	x.wants("another signer", other, 202, "ok")
	skew.Store(int64(1100 * time.Millisecond))
	x.wants("later", last, 202, "ok")
}

// TestHalted: while the switch is on nothing is taken, nothing is used up, and the endpoint stays.
func TestHalted(t *testing.T) {
	var on atomic.Bool
	x := open(t, func(r *Receiver) {
		r.Office.Halted = func(string) error {
			if on.Load() {
				return haltedError()
			}
			return nil
		}
	})
	good := letter(t, "env-h", time.Now())
	on.Store(true)
	x.wants("halted", good, 503, `{"ok":false,"error":"halted"}`)
	on.Store(false)
	x.wants("cleared", good, 202, "ok")
}

// TestDeep: a deeply nested or long body costs no more than its size.
func TestDeep(t *testing.T) {
	x := open(t)
	deep := strings.Repeat(`{"a":`, 40_000) + "1" + strings.Repeat("}", 40_000)
	for what, body := range map[string]string{
		"deep":        deep,
		"deep list":   strings.Repeat("[", MaxBody),
		"deep body":   string(canonjson.Set(letter(t, "env-deep", time.Now()), "body", []byte(deep[:200_000]))),
		"many":        "[" + strings.Repeat("0,", 120_000) + "0]",
		"long number": `{"a":` + strings.Repeat("9", 200_000) + "}",
		"NUL":         strings.Repeat("\x00", 1000),
	} {
		began := time.Now()
		x.wants(what, []byte(body), http.StatusBadRequest, "malformed")
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s took %s", what, took)
		}
	}
	many := "[" + strings.Repeat(fmt.Sprintf(`{"by":%q,"alg":"ed25519","value":"x"},`, alice), 2000) + "null]"
	x.wants("many signatures", canonjson.Set(letter(t, "env-many", time.Now()), "signatures", []byte(many)), 401, "bad-signature")
	x.alive("deep ones")
}
