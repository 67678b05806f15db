package mailbox

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"tutti/internal/core/address"
	"tutti/internal/store"
)

// TestAliasCannotBeFullID: an alias is a label. A line that calls the full id of another agent an alias would have its owner
// read, and take, that agent's mail.
func TestAliasCannotBeFullID(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		for _, legacy := range []address.Instance{bob, bob + "~helper"} {
			line := fmt.Sprintf(`{"instance":%q,"legacyInstance":%q,"adoptedKeyring":false,"at":"2020-01-01T00:00:00.000Z"}`, alice, legacy)
			if _, err := w.s.Append(t.Context(), aliasLog, store.AnyEnd, []byte(line)); err != nil {
				t.Fatal(err)
			}
		}
		sources, err := w.m.Sources(t.Context(), alice)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range sources {
			if strings.HasPrefix(s.Owner, bob.Mailbox()) {
				t.Errorf("%s reads the mailbox of %s: %+v", alice, bob, sources)
			}
		}
	})
}

// TestSeenBy: a channel message that was shown to another agent belongs to that agent.
func TestSeenBy(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		mark := func(step Step, by address.Instance) State {
			if err := w.m.Step(t.Context(), alice, Mark{ID: "env:1:aa", Step: step, By: string(by), At: noon}); err != nil {
				t.Fatal(err)
			}
			states, err := w.m.State(t.Context(), alice, []string{"env:1:aa"})
			if err != nil {
				t.Fatal(err)
			}
			return states["env:1:aa"]
		}
		for _, c := range []struct {
			step Step
			by   address.Instance
			want bool
		}{{Offered, alice, false}, {Shown, bob, false}, {Shown, "CLAUDE:Api:AAAAAAAAAAAA", true}, {Taken, bob, true}} {
			if got := mark(c.step, c.by).SeenBy(alice); got != c.want {
				t.Errorf("after %s by %s: %v, want %v", c.step, c.by, got, c.want)
			}
		}
	})
}

// TestDuplicateIsKept: a message whose places in the archive are all taken by something else stays where it is.
func TestDuplicateIsKept(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		raw := []byte(`{"protocol":"sentropic.h2a","version":"0.1","id":"env:1:aa","type":"event","actor":{"instance":"x:y","role":"AGENTS","scope":"s"},"body":{},"createdAt":"2026-01-01T00:00:00.000Z"}`)
		k := store.Key{Kind: store.Inbox, Owner: alice.Mailbox(), Name: address.Segment("env:1:aa")}
		sum := sha256.Sum256(raw)
		at := toArchive(k)
		w.plant(at, []byte(`{"other":1}`))
		twin := at
		twin.Name += "~" + hex.EncodeToString(sum[:8])
		w.plant(twin, []byte(`{"other":2}`))
		w.plant(k, raw)
		if _, err := w.m.Take(t.Context(), alice, "env:1:aa"); err != nil {
			t.Logf("take: %v", err)
		}
		for _, kind := range []store.Kind{store.Inbox, store.Archive} {
			for e, err := range w.s.List(t.Context(), kind, alice.Mailbox()) {
				if err != nil {
					t.Fatal(err)
				}
				if d, err := w.s.Get(t.Context(), e.Key); err == nil && string(d.Data) == string(raw) {
					return
				}
			}
		}
		t.Error("the message is gone")
	})
}
