package mailbox

import (
	"context"
	"iter"
	"testing"

	"tutti/internal/core/address"
	"tutti/internal/store"
)

// A reading counts how often the log of aliases and messages are read.
type reading struct {
	Store
	aliases, messages int
}

func (r *reading) Read(ctx context.Context, k store.Key, from store.Pos) iter.Seq2[store.Line, error] {
	if k == aliasLog {
		r.aliases++
	}
	return r.Store.Read(ctx, k, from)
}

func (r *reading) Get(ctx context.Context, k store.Key) (store.Doc, error) {
	r.messages++
	return r.Store.Get(ctx, k)
}

// TestReadAliasesOnce: a hook with ten messages reads the log of aliases once, and reads no message to claim it.
func TestReadAliasesOnce(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		const who = address.Instance("claude:api:3f2a9c01b7de")
		s := &reading{Store: w.s}
		m := New(s)
		m.Live = func(context.Context, address.Instance) (bool, error) { return true, nil }
		m.ReadAliasesOnce()
		var ids []string
		for _, id := range []string{"env:1", "env:2", "env:3", "env:4", "env:5", "env:6", "env:7", "env:8", "env:9", "env:10"} {
			w.put(t, who, msg(id, noon, "x"))
			ids = append(ids, id)
		}
		r := Reader{By: who, Session: "one"}
		if _, _, _, err := m.Oldest(t.Context(), who, 64, Query{For: &r, Now: noon}); err != nil {
			t.Fatal(err)
		}
		s.messages = 0
		got, err := m.Offer(t.Context(), who, ids, r, noon)
		if err != nil || len(got) != len(ids) || s.messages != 0 {
			t.Errorf("offered %d of %d, read %d messages, %v; want all, and none read", len(got), len(ids), s.messages, err)
		}
		if err := m.StepAll(t.Context(), who, []Mark{{ID: "env:1", Step: Pushed, At: noon}, {ID: "env:2", Step: Pushed, At: noon}}); err != nil {
			t.Fatal(err)
		}
		if s.aliases != 1 {
			t.Errorf("the log of aliases was read %d times, want once", s.aliases)
		}
	})
}
