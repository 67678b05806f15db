package mailbox

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"

	"tutti/internal/core/address"
	"tutti/internal/store"
	"tutti/internal/store/filestore"
)

// between is a store of files that says which line is about to be searched.
type between struct {
	*filestore.Store
	before func(key string)
}

func (b *between) Find(ctx context.Context, log store.Key, p *store.Projection, key string) iter.Seq2[store.Line, error] {
	if log.Kind == store.Trail {
		b.before(key)
	}
	return b.Store.Find(ctx, log, p, key)
}

// FindEach lets what comes in between come when all searches are done.
func (b *between) FindEach(ctx context.Context, log store.Key, p *store.Projection, keys []string, see func(string, store.Line) bool) error {
	err := b.Store.FindEach(ctx, log, p, keys, see)
	if log.Kind == store.Trail {
		b.before(keys[0])
	}
	return err
}

func (w *world) owners(t *testing.T, who address.Instance) []string {
	t.Helper()
	all, err := w.m.Sources(t.Context(), who)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, s := range all {
		name := s.Owner
		if s.Channel {
			name = "channel " + name
		}
		out = append(out, name)
	}
	return out
}

func (w *world) wantOwners(t *testing.T, what string, who address.Instance, want ...string) {
	t.Helper()
	if got := w.owners(t, who); !slices.Equal(got, want) {
		t.Errorf("%s: %s reads %q, want %q", what, who, got, want)
	}
}

func TestSources(t *testing.T) {
	t.Parallel()
	const first, second = address.Instance("claude:p:aaaaaaaaaaaa"), address.Instance("claude:p:bbbbbbbbbbbb")
	const own1, own2 = "claude__p__aaaaaaaaaaaa", "claude__p__bbbbbbbbbbbb"
	everywhere(t, func(t *testing.T, w *world) {
		w.wantOwners(t, "no aliases", first, own1)
		w.wantOwners(t, "another spelling", "Claude:P:AAAAAAAAAAAA", own1, "Claude__P__AAAAAAAAAAAA")
		w.alias(t, second, "claude:P", "2026-06-02T00:00:00.000Z")
		w.alias(t, first, "claude:P", "2026-06-01T00:00:00.000Z")
		w.alias(t, first, "claude:P", "2026-06-03T00:00:00.000Z")
		w.alias(t, second, "claude:old", "2026-06-02T00:00:00.000Z")
		w.alias(t, first, "../x", "2026-06-01T00:00:00.000Z")
		w.wantOwners(t, "the first claim owns", first, own1, "claude__p", "claude__P", "..__x")
		w.wantOwners(t, "the second does not", second, own2, "claude__old")
		for alias, want := range map[address.Instance]bool{"claude:p": true, "Claude:OLD": true, "claude:q": false, first: false} {
			if got, err := w.m.Claimed(t.Context(), alias); err != nil || got != want {
				t.Errorf("%s is claimed: %v %v, want %v", alias, got, err, want)
			}
		}
		const ana = address.Instance("claude:ana:cccccccccccc")
		w.alias(t, ana, "claude:P", "2026-05-01T00:00:00.000Z")
		w.alias(t, ana, "claude:ana", "2026-05-01T00:00:00.000Z")
		w.wantOwners(t, "an agent that is called otherwise", ana, "claude__ana__cccccccccccc", "claude__ana")
		w.wantOwners(t, "the first that is called so", first, own1, "claude__p", "claude__P", "..__x")

		live := map[address.Instance]bool{second: true}
		w.m.Live = func(_ context.Context, who address.Instance) (bool, error) { return live[who], nil }
		w.wantOwners(t, "while the owner is away", second, own2, "claude__old", "channel claude__p", "channel claude__P")
		w.wantOwners(t, "the owner who is away", first, own1, "claude__p", "claude__P", "..__x")
		w.wantOwners(t, "another label", "claude:q:bbbbbbbbbbbb", "claude__q__bbbbbbbbbbbb")
		live[first] = true
		w.wantOwners(t, "when the owner is back", second, own2, "claude__old")
		live[second], live["claude:new:bbbbbbbbbbbb"] = false, true
		w.wantOwners(t, "an unclaimed channel", "claude:new:bbbbbbbbbbbb", "claude__new__bbbbbbbbbbbb", "channel claude__new")
	})
}

// Mail for a label goes to one of those who look into its box, also when its owner comes back.
func TestChannelMail(t *testing.T) {
	t.Parallel()
	const owner, other = address.Instance("claude:p:aaaaaaaaaaaa"), address.Instance("claude:p:bbbbbbbbbbbb")
	everywhere(t, func(t *testing.T, w *world) {
		live := map[address.Instance]bool{other: true}
		w.m.Live = func(_ context.Context, who address.Instance) (bool, error) { return live[who], nil }
		w.alias(t, owner, "claude:P", "2026-06-01T00:00:00.000Z")
		w.put(t, "claude:p", msg("env:1", noon, "to the label"))
		w.put(t, other, msg("env:2", noon, "to the agent"))
		r := Reader{other, "sess:1"}
		all, _ := w.list(t, other, Query{For: &r, Now: noon})
		wantIDs(t, "List", all, "env:1", "env:2")
		if !all[0].Channel || all[1].Channel {
			t.Errorf("Channel: got %v and %v, want it for the first", all[0].Channel, all[1].Channel)
		}
		if got := w.offer(t, other, r, noon, "env:1", "env:2", "env:none"); got != "env:1 env:2" {
			t.Errorf("Offer: got %q", got)
		}
		w.step(t, other, Mark{ID: "env:1", Step: Shown, At: noon, By: string(other), Session: "sess:1"})
		live[owner] = true
		if got := w.offer(t, owner, Reader{owner, "sess:2"}, noon, "env:1"); got != "" {
			t.Errorf("Offer to the owner who is back: got %q, want nothing", got)
		}
		states, err := w.m.State(t.Context(), owner, []string{"env:1"})
		if err != nil || !states["env:1"].Seen() {
			t.Errorf("State for the owner: got %+v, %v; want it seen", states["env:1"], err)
		}
		if _, err := w.m.Take(t.Context(), owner, "env:1"); err != nil {
			t.Errorf("Take by the owner: %v", err)
		}
	})
}

// A message in two folders is shown once, from the first.
func TestFirstFolderWins(t *testing.T) {
	t.Parallel()
	const who = address.Instance("Claude:P:AAAAAAAAAAAA")
	everywhere(t, func(t *testing.T, w *world) {
		for _, id := range []string{"env:2:bb", "env:10:aa"} {
			w.put(t, who, msg(id, noon, "canonical"))
		}
		for _, id := range []string{"env:2:bb", "Env:1"} {
			w.plant(inboxKey("Claude__P__AAAAAAAAAAAA", id), msg(id, noon, "raw"))
		}
		all, _, err := w.m.Read(t.Context(), who)
		if err != nil {
			t.Fatal(err)
		}
		wantIDs(t, "Read", all, "Env:1", "env:10:aa", "env:2:bb")
		list, _ := w.list(t, who, Query{})
		wantIDs(t, "List", list, "Env:1", "env:10:aa", "env:2:bb")
		for _, of := range [][]*Message{all, list} {
			if of[2].Envelope.Text() != "canonical" {
				t.Errorf("env:2:bb is %q, want the one of the first folder", of[2].Envelope.Text())
			}
		}
		if _, err := w.m.Take(t.Context(), who, "env:2:bb"); err != nil {
			t.Fatal(err)
		}
		all, _, _ = w.m.Read(t.Context(), who)
		wantIDs(t, "after Take, which takes the copy, too", all, "Env:1", "env:10:aa")
	})
}

func TestCompareIDs(t *testing.T) {
	t.Parallel()
	// By UTF-16 units U+10000 (D800 DC00) stands before U+E000, by bytes behind it.
	want := []string{"", "A", "a", "a:", "ab", "\u00fc", "\U00010000", "\U00010000a", "\U0010ffff", "\ue000", "\uffff"}
	for i, a := range want {
		for j, b := range want {
			got := compareIDs(a, b)
			if (got < 0) != (i < j) || (got == 0) != (i == j) {
				t.Errorf("compareIDs(%q, %q): got %d, want the sign of %d", a, b, got, i-j)
			}
		}
	}
}

// TestChannelTwice: of two concurrent readers of one channel, one gets a message, even if the other takes it before the first claims it, or
// the owner of the channel takes it in between.
func TestChannelTwice(t *testing.T) {
	t.Parallel()
	const other = address.Instance("claude:api:bbbbbbbbbbbb")
	everywhere(t, func(t *testing.T, w *world) {
		live := map[address.Instance]bool{alice: true, other: true}
		w.m.Live = func(_ context.Context, who address.Instance) (bool, error) { return live[who], nil }
		his := New(w.s)
		his.Live = w.m.Live
		look := func(m *Mailbox, who address.Instance) []string {
			t.Helper()
			r := Reader{who, "s"}
			all, _, err := m.List(t.Context(), who, Query{For: &r, Now: noon, Exact: true, Brief: true})
			if err != nil {
				t.Fatal(err)
			}
			return ids(all)
		}
		claim := func(m *Mailbox, who address.Instance, all []string) []string {
			t.Helper()
			got, err := m.Offer(t.Context(), who, all, Reader{who, "s"}, noon)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		for n, meanwhile := range []func(id string){
			func(id string) {
				if _, err := his.Take(t.Context(), other, id); err != nil {
					t.Fatal(err)
				}
				if err := his.Step(t.Context(), other, Mark{ID: id, Step: Taken, At: noon, By: string(other)}); err != nil {
					t.Fatal(err)
				}
			},
			func(string) { // he takes the channel for his own
				w.alias(t, other, "claude:api", "2026-06-12T10:00:00.000Z")
			},
		} {
			id := fmt.Sprint("env:", n)
			w.plant(inboxKey("claude__api", id), msg(id, noon, "x"))
			w.put(t, alice, msg(fmt.Sprint("env:own", n), noon, "x"))
			mine, all := look(w.m, alice), look(his, other)
			if len(mine) != 2 || !slices.Equal(all, []string{id}) {
				t.Fatalf("looked at: %q and %q", mine, all)
			}
			got := claim(his, other, all)
			meanwhile(id)
			if both := append(got, claim(w.m, alice, mine)...); !slices.Equal(both, []string{id, fmt.Sprint("env:own", n)}) {
				t.Errorf("%d: offered to both: %q", n, both)
			}
		}
	})
}
