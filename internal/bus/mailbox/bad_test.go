package mailbox

import (
	"errors"
	"testing"
	"time"

	"tutti/internal/store"
)

// TestOfferSkipsInvalidCopies: an invalid file under the name of a message in one folder hides neither the valid copy in another folder nor
// other messages.
func TestOfferSkipsInvalidCopies(t *testing.T) {
	for what, junk := range map[string][]byte{
		"half":      []byte(`{"protocol":"sentropic.h2a","id":"env:1"`),
		"empty":     nil,
		"of others": msg("env:7", noon, "another id under this name"),
	} {
		t.Run(what, func(t *testing.T) {
			everywhere(t, func(t *testing.T, w *world) {
				const label = "claude:desk"
				w.alias(t, alice, label, "2026-06-01T00:00:00.000Z")
				r := Reader{By: alice, Session: "sess:1"}
				for _, id := range []string{"env:1", "env:3"} {
					w.plant(inboxKey(alice.Mailbox(), id), junk)
				}
				w.put(t, label, msg("env:1", noon, "the good copy"))
				w.put(t, alice, msg("env:2", noon, "another one"))
				if got := w.offer(t, alice, r, noon, "env:1", "env:2", "env:3", "env:4"); got != "env:1 env:2" {
					t.Errorf("Offer: got %q, want env:1 and env:2", got)
				}
				if got := w.offer(t, alice, Reader{By: alice, Session: "sess:2"}, noon, "env:1", "env:2", "env:3"); got != "" {
					t.Errorf("Offer to a second session: got %q, want nothing", got)
				}
				states, err := w.m.State(t.Context(), alice, []string{"env:1", "env:3"})
				if err != nil || states["env:1"].Offered.IsZero() || !states["env:3"].Offered.IsZero() {
					t.Errorf("State: %+v, %v; want a claim on env:1 only", states, err)
				}
			})
		})
	}
}

// TestFileChangedAfterListing: a reader whose listed message was replaced gets an error for it, and gets the other messages.
func TestFileChangedAfterListing(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		for _, id := range []string{"env:1", "env:2", "env:3", "env:4"} {
			w.put(t, alice, msg(id, noon, "as it was listed"))
		}
		listed, bad := w.list(t, alice, Query{Brief: true, Exact: true})
		if len(listed) != 4 || len(bad) != 0 {
			t.Fatalf("List: %q, %v", ids(listed), bad)
		}
		w.plant(listed[0].Key, []byte(`{"protocol":"sent`))
		w.plant(listed[1].Key, msg("env:9", noon, "as it was listed"))
		if _, err := w.m.Take(t.Context(), alice, "env:3"); err != nil {
			t.Fatal(err)
		}
		for n, want := range []func(error) bool{
			store.IsUnfit,
			func(err error) bool { return errors.Is(err, ErrNoMessage) },
			func(err error) bool { return errors.Is(err, ErrNoMessage) },
			func(err error) bool { return err == nil },
		} {
			err := w.m.Load(t.Context(), listed[n])
			if !want(err) || err == nil && listed[n].Envelope.Text() != "as it was listed" {
				t.Errorf("Load of %s: %v", listed[n].ID, err)
			}
		}
		all, bad := w.list(t, alice, Query{})
		wantIDs(t, "List", all, "env:4", "env:9")
		if len(bad) != 1 || !store.IsUnfit(bad[0]) {
			t.Errorf("faults %v, want the one that is half", bad)
		}
		if _, err := w.m.Take(t.Context(), alice, "env:1"); !store.IsUnfit(err) {
			t.Errorf("Take of what is half: %v, want an UnfitError", err)
		}
		if _, err := w.s.Get(t.Context(), listed[0].Key); err != nil {
			t.Errorf("what is half was moved: %v", err)
		}
		w.plant(listed[0].Key, msg("env:1", noon.Add(time.Second), "whole again"))
		if got, err := w.m.Take(t.Context(), alice, "env:1"); err != nil || got.Envelope.Text() != "whole again" {
			t.Errorf("Take of what is whole again: %+v, %v", got, err)
		}
		if _, err := w.s.Get(t.Context(), store.Key{Kind: store.Archive, Owner: alice.Mailbox(), Name: listed[0].Key.Name}); err != nil {
			t.Errorf("it is not in the archive: %v", err)
		}
	})
}
