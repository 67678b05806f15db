package mail

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/trust"
	"tutti/internal/core/address"
	"tutti/internal/core/signature"
	"tutti/internal/store"
)

// second registers one more key for an agent and returns a message that is signed with it.
func (b *bus) second(from *identity.Speaker, to address.Instance, id, text string) []byte {
	b.t.Helper()
	key := signature.Generate()
	if err := b.Registry.AddKey(b.t.Context(), from.Instance, key.Public().PEM(), nil, b.clock); err != nil {
		b.t.Fatal(err)
	}
	d := envelope.Draft{ID: id, Actor: actorOf(from), Target: to, Created: b.clock, Text: text}
	raw, err := d.Bytes()
	if err == nil {
		raw, err = envelope.Sign(raw, from.Instance, key)
	}
	if err == nil {
		_, err = b.Mail.Put(b.t.Context(), to, raw)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return raw
}

// TestTwoKeysAtFirstContact: anyone who can write the registry can add a key to an agent before the first contact. Only one key can be
// pinned first, and a message under the other must not hide the rest.
func TestTwoKeysAtFirstContact(t *testing.T) {
	for name, c := range map[string]struct {
		policy Policy
		shown  string
	}{
		"shown":  {Policy{}, "one (new key), two (key changed), three (new key)"},
		"signed": {Policy{RequireSigned: true}, "one (new key), three (new key)"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBus(t)
			b.Policy = c.policy
			ana, bob := b.agent("claude", "ana"), b.agent("codex", "bob")
			b.send(Draft{From: ana, To: bob.Instance, Text: "one"})
			b.clock = b.clock.Add(time.Second)
			b.second(ana, bob.Instance, "env:2:bb", "two")
			b.clock = b.clock.Add(time.Second)
			b.send(Draft{From: ana, To: bob.Instance, Text: "three"})
			if got := texts(b.receive(Reader{Instance: bob.Instance}, 0)); got != c.shown {
				t.Errorf("received %s, want %s", got, c.shown)
			}
			key, err := b.Ring.Load(ana.Instance)
			if err != nil {
				t.Fatal(err)
			}
			if pins, _ := b.Pins.Get(ana.Instance); len(pins) != 1 || pins[0] != key.Public() {
				t.Errorf("pinned: %v, want the key that was met first", pins)
			}
		})
	}
}

// TestPinnedWhenShown: a key is pinned only when its message was shown to the reader.
func TestPinnedWhenShown(t *testing.T) {
	b := newBus(t)
	ana, bob := b.agent("claude", "ana"), b.agent("codex", "bob")
	b.send(Draft{From: ana, To: bob.Instance, Text: "x"})
	r := Reader{Instance: bob.Instance, Session: "sess:1"}
	cut, err := b.Receive(t.Context(), r, 0)
	if err != nil || texts(cut) != "x (new key)" {
		t.Fatalf("received %s, %v", texts(cut), err)
	}
	if pins, ok := b.Pins.Get(ana.Instance); ok {
		t.Errorf("pinned before it was shown: %v", pins)
	}
	b.clock = b.clock.Add(time.Minute) // the output was cut off: it comes again
	if got := texts(b.receive(r, 0)); got != "x (new key)" {
		t.Errorf("again: %s", got)
	}
	if _, ok := b.Pins.Get(ana.Instance); !ok {
		t.Error("not pinned after it was shown")
	}
}

// TestUnreadablePins: without readable pins a key cannot be called new. Nothing may be claimed for a reader that gets nothing.
func TestUnreadablePins(t *testing.T) {
	b := newBus(t)
	path := filepath.Join(t.TempDir(), "pins")
	b.Pins = trust.OpenPins(path)
	ana, bob := b.agent("claude", "ana"), b.agent("codex", "bob")
	b.send(Draft{From: ana, To: bob.Instance, Text: "first"})
	r := Reader{Instance: bob.Instance}
	b.receive(r, 0)
	b.send(Draft{From: ana, To: bob.Instance, Text: "second"})
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Receive(t.Context(), r, 0); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("with pins that others may write: %+v, %v", got, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := texts(b.receive(r, 0)); got != "second (verified)" {
		t.Errorf("when they were mended: %s", got)
	}
}

// TestGrantDoesNotRegister: grants are for finding an agent, and anybody can write one.
func TestGrantDoesNotRegister(t *testing.T) {
	b := newBus(t)
	ana, bob := b.agent("claude", "ana"), b.agent("codex", "bob")
	line := `{"instance":"` + string(ana.Instance) + `","role":"PRINCIPAL","scope":"scope:default"}`
	if _, err := b.log.Append(t.Context(), store.Key{Kind: store.OrgMembership}, store.AnyEnd, []byte(line)); err != nil {
		t.Fatal(err)
	}
	ana.Role = identity.RolePerson
	b.send(Draft{From: ana, To: bob.Instance, Text: "obey"})
	got := b.receive(Reader{Instance: bob.Instance}, 0)
	if len(got.Items) != 1 || !got.Items[0].Verdict.RoleNotRegistered {
		t.Errorf("an agent with a granted role: %+v", got.Items)
	}
}

// TestBatchIDTaken: another sender takes an id of a batch after the check. The other messages are sent, and reported as sent.
func TestBatchIDTaken(t *testing.T) {
	b := newBus(t)
	ana, bob := b.agent("claude", "ana"), b.agent("codex", "bob")
	asked := 0
	b.Halted = func(string) error {
		if asked++; asked == 2 { // the letters are staged
			d := envelope.Draft{ID: "env:1:aa", Actor: actorOf(bob), Created: b.clock, Text: "other"}
			raw, err := d.Bytes()
			if err == nil {
				_, err = b.Mail.Put(t.Context(), bob.Instance, raw)
			}
			if err != nil {
				t.Error(err)
			}
		}
		return nil
	}
	l := func(id string) Draft {
		return Draft{From: ana, To: bob.Instance, Text: "mine", ID: id, Thread: "thr:1:aa", At: b.clock}
	}
	receipts, err := b.SendAll(t.Context(), []Draft{l("env:1:aa"), l("env:2:aa"), l("env:2:aa"), l("env:3:aa")})
	if err != nil {
		t.Errorf("the store is sound: %v", err)
	}
	for i, want := range []Outcome{Refused, Deposited, Already, Deposited} {
		if receipts[i].Outcome != want || (receipts[i].Err != nil) != (want == Refused) {
			t.Errorf("letter %d: %s, %v; want %s", i, receipts[i].Outcome, receipts[i].Err, want)
		}
	}
	if found, _, err := b.Mail.Read(t.Context(), bob.Instance); err != nil || len(found) != 3 {
		t.Errorf("%d messages lie there, %v", len(found), err)
	}
}

// TestHaltInABatch: messages that were not visible when the switch was set never become visible.
func TestHaltInABatch(t *testing.T) {
	b := newBus(t)
	ana, bob := b.agent("claude", "ana"), b.agent("codex", "bob")
	asked, halted := 0, b.Halted
	b.Halted = func(action string) error {
		asked++
		b.halted = asked > 2
		return halted(action)
	}
	var letters []Draft
	for range 128 {
		letters = append(letters, Draft{From: ana, To: bob.Instance, Text: "x"})
	}
	receipts, err := b.SendAll(t.Context(), letters)
	if err == nil {
		t.Error("no error")
	}
	for i, r := range receipts {
		if r.Outcome != Refused || r.Err == nil {
			t.Errorf("letter %d: %+v", i, r)
		}
	}
	if found, _, _ := b.Mail.Read(t.Context(), bob.Instance); len(found) != 0 {
		t.Errorf("%d letters went out under halt", len(found))
	}
}

// TestHostileIDs: ids that no program of ours writes must neither keep other mail back nor be shown for ever.
func TestHostileIDs(t *testing.T) {
	b := newBus(t)
	ana, bob := b.agent("claude", "ana"), b.agent("codex", "bob")
	folder := filepath.Join(b.keeper.Root, "inbox", address.Segment(string(bob.Instance)))
	good := b.send(Draft{From: ana, To: bob.Instance, Text: "good"})
	for name, id := range map[string]string{"a": strings.Repeat(`\u0001`, 250), "b": strings.Repeat(`\"`, 250), "c": "", "d": strings.Repeat("x", 100_000)} {
		raw := `{"protocol":"sentropic.h2a","version":"0.1","id":"` + id + `","type":"event","actor":{"instance":"x:y","role":"AGENTS","scope":"s"},"body":{},"createdAt":"2026-01-01T00:00:00.000Z"}`
		if err := os.WriteFile(filepath.Join(folder, name+".json"), []byte(raw), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := Reader{Instance: bob.Instance}
	got := b.receive(r, 0)
	if len(got.Items) != 5 || got.Items[4].ID != good.ID {
		t.Errorf("received %d messages, want 5 and the good one last", len(got.Items))
	}
	if again := b.receive(r, 0); len(again.Items) != 0 {
		t.Errorf("shown twice: %s", texts(again))
	}
}

// TestBlockedMailAlreadyQuarantined: another session quarantines the same message first.
func TestBlockedMailAlreadyQuarantined(t *testing.T) {
	b := newBus(t)
	ana, eve, bob := b.agent("claude", "ana"), b.agent("claude", "eve"), b.agent("codex", "bob")
	b.Policy = Policy{Block: []string{string(eve.Instance)}}
	bad := b.send(Draft{From: eve, To: bob.Instance, Text: "bad"})
	b.send(Draft{From: ana, To: bob.Instance, Text: "good"})
	asked := 0
	b.Now = func() time.Time {
		if asked++; asked == 2 {
			if err := b.Mail.Quarantine(t.Context(), bob.Instance, bad.ID, "x", b.clock); err != nil {
				t.Error(err)
			}
		}
		return b.clock
	}
	if got := b.receive(Reader{Instance: bob.Instance}, 0); texts(got) != "good (new key)" || len(got.Held) != 0 {
		t.Errorf("received %s, held %d", texts(got), len(got.Held))
	}
}

// TestAnswerFollowsPolicy: a message that the settings block is also blocked as an answer.
func TestAnswerFollowsPolicy(t *testing.T) {
	b := newBus(t)
	ana, bob := b.agent("claude", "ana"), b.agent("codex", "bob")
	b.Policy = Policy{RequireSigned: true}
	asked := b.send(Draft{From: ana, To: bob.Instance, Text: "?"})
	forged, err := envelope.Draft{
		ID: "env:forged", Actor: envelope.Actor{Instance: bob.Instance + "~scout", Role: "AGENTS", Scope: "s"}, Target: ana.Instance, Created: b.clock,
		Text: "forged", ReplyTo: asked.ID,
	}.Bytes()
	if err == nil {
		_, err = b.Mail.Put(t.Context(), ana.Instance, forged)
	}
	if err != nil {
		t.Fatal(err)
	}
	b.clock = b.clock.Add(time.Second)
	b.send(Draft{From: bob, To: ana.Instance, Text: "true", ReplyTo: asked.ID})
	got, err := b.Answer(t.Context(), Reader{Instance: ana.Instance}, bob.Instance, asked.ID, nil)
	if err != nil || got.Envelope.Text() != "true" {
		t.Errorf("answer %+v, %v", got, err)
	}
	held, _, err := b.Mail.ListQuarantine(t.Context(), ana.Instance)
	if err != nil || len(held) != 1 {
		t.Errorf("%d in quarantine, %v", len(held), err)
	}
}
