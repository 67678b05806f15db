package mailbox

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tutti/internal/store"
)

// copiesNamed fails unless errs names the file of that name, and nothing else.
func copiesNamed(t *testing.T, what string, errs []error, name string) {
	t.Helper()
	unfit, ok := (*store.UnfitError)(nil), len(errs) == 1
	if ok {
		unfit, ok = errors.AsType[*store.UnfitError](errs[0])
	}
	if !ok || unfit.Key.Name != name || !strings.Contains(unfit.Why, "env:1:aa") {
		t.Errorf("%s: faults %v, want one that names %s", what, errs, name)
	}
}

// TestCopyUnderAnotherName: a file with the id of a message never hides that message, whatever the file's name, time or folder.
func TestCopyUnderAnotherName(t *testing.T) {
	for what, c := range map[string]struct {
		owner string
		at    time.Time
		name  string
	}{
		"newer":               {string(alice.Mailbox()), noon.Add(time.Minute), "zzz"},
		"older":               {string(alice.Mailbox()), noon.Add(-time.Minute), "aaa"},
		"in an earlier place": {string(alice.Mailbox()), noon.Add(time.Minute), "env"},
	} {
		t.Run(what, func(t *testing.T) {
			everywhere(t, func(t *testing.T, w *world) {
				who := alice
				home := c.owner
				if what == "in an earlier place" { // the second folder is that of the spelling
					who = "Claude:api:aaaaaaaaaaaa"
					home = "Claude__api__aaaaaaaaaaaa"
				}
				thread := `"threadId":"thr:1"`
				w.plant(inboxKey(home, "env:1:aa"), msg("env:1:aa", noon, "the message", thread))
				for n := range 3 { // so that the newest ones do not hold it
					w.plant(inboxKey(home, "env:2:b"+string(rune('a'+n))), msg("env:2:b"+string(rune('a'+n)), noon.Add(time.Second), "between"))
				}
				w.plant(store.Key{Kind: store.Inbox, Owner: c.owner, Name: c.name}, msg("env:1:aa", c.at, "the copy", thread))

				text := func(what string, m *Message, err error) {
					t.Helper()
					if err != nil || m.Envelope.Text() != "the message" {
						t.Fatalf("%s: %+v, %v", what, m, err)
					}
				}
				for _, newest := range []int{0, 4, 10} {
					all, bad := w.list(t, who, Query{Newest: newest})
					wantIDs(t, "List", all, "env:2:ba", "env:2:bb", "env:2:bc", "env:1:aa")
					if len(all) == 4 {
						text("List", all[3], nil)
					}
					if newest != 4 || what != "older" { // an older one is not among them
						copiesNamed(t, "List", bad, c.name)
					}
				}
				newest, _ := w.list(t, who, Query{Newest: 1})
				wantIDs(t, "List of one", newest, "env:2:ba")
				all, bad, err := w.m.Read(t.Context(), who)
				if err != nil {
					t.Fatal(err)
				}
				wantIDs(t, "Read", all, "env:1:aa", "env:2:ba", "env:2:bb", "env:2:bc")
				text("Read", all[0], nil)
				copiesNamed(t, "Read", bad, c.name)
				all, bad, err = w.m.Thread(t.Context(), who, "thr:1")
				if err != nil {
					t.Fatal(err)
				}
				wantIDs(t, "Thread", all, "env:1:aa")
				text("Thread", all[0], nil)
				copiesNamed(t, "Thread", bad, c.name)
				got, err := w.m.Get(t.Context(), who, "env:1:aa")
				text("Get", got, err)
				got, err = w.m.Take(t.Context(), who, "env:1:aa")
				text("Take", got, err)
				got, err = w.m.Get(t.Context(), who, "env:1:aa")
				text("Get after Take", got, err)
				all, _, err = w.m.Thread(t.Context(), who, "thr:1")
				if err != nil {
					t.Fatal(err)
				}
				wantIDs(t, "Thread after Take", all, "env:1:aa")
				text("Thread after Take", all[0], nil)
				if got, err = w.m.Take(t.Context(), who, "env:1:aa"); !errors.Is(err, ErrNoMessage) {
					t.Errorf("the second Take: %+v, %v", got, err)
				}
			})
		})
	}
}

// TestOnlyUnderAnotherName: programs of other makers may name their files as they like.
func TestOnlyUnderAnotherName(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		w.plant(store.Key{Kind: store.Inbox, Owner: alice.Mailbox(), Name: "one"}, msg("env:1:aa", noon, "a"))
		for _, newest := range []int{0, 1} {
			all, bad := w.list(t, alice, Query{Newest: newest})
			wantIDs(t, "List", all, "env:1:aa")
			if len(bad) != 0 {
				t.Errorf("faults %v, want none", bad)
			}
		}
		if got, err := w.m.Take(t.Context(), alice, "env:1:aa"); err != nil || got.Envelope.Text() != "a" {
			t.Errorf("Take: %+v, %v", got, err)
		}
	})
}
