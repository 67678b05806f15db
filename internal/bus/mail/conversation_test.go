package mail

import (
	"errors"
	"slices"
	"testing"
	"time"

	"tutti/internal/bus/mailbox"
	"tutti/internal/core/address"
)

// An answer that names no thread continues that of the message it answers, also under an id of its own that is sent again.
func TestAnswerContinuesThread(t *testing.T) {
	b := newBus(t)
	ana, bob := b.agent("claude", "ana"), b.agent("codex", "bob")
	asked := b.send(Draft{From: ana, To: bob.Instance, Text: "which?"})
	for n, want := range []Outcome{Deposited, Already} {
		r, err := b.SendOnce(t.Context(), Draft{From: bob, To: ana.Instance, Text: "this", ReplyTo: asked.ID, ID: "env:answer"})
		if err != nil || r.Outcome != want || r.Thread != asked.Thread {
			t.Errorf("send %d: got %s in thread %q, %v; want %s in %q", n, r.Outcome, r.Thread, err, want, asked.Thread)
		}
	}
	all := b.SendAllOnce(t.Context(), []Draft{{From: bob, To: ana.Instance, Text: "or that", ReplyTo: asked.ID}})
	if all[0].Thread != asked.Thread {
		t.Errorf("of many: got thread %q, want %q", all[0].Thread, asked.Thread)
	}
	r, err := b.SendOnce(t.Context(), Draft{From: bob, To: ana.Instance, Text: "what?", ReplyTo: "env:unknown"})
	if err != nil || r.Thread == "" || r.Thread == asked.Thread {
		t.Errorf("to a message that bob does not have: got thread %q, %v; want a new one", r.Thread, err)
	}
}

// The id of a thread or of a message finds the thread. Of both copies of a message, several readers see one.
func TestConversationReaders(t *testing.T) {
	b := newBus(t)
	ana, bob := b.agent("claude", "ana"), b.agent("codex", "bob")
	asked := b.send(Draft{From: ana, To: bob.Instance, Text: "which?"})
	b.clock = b.clock.Add(time.Second)
	if _, err := b.SendOnce(t.Context(), Draft{From: bob, To: ana.Instance, Text: "this", ReplyTo: asked.ID}); err != nil {
		t.Fatal(err)
	}
	all, err := b.OwnAgents(t.Context(), "")
	if err != nil || len(all) != 2 {
		t.Fatalf("own agents: got %v, %v; want both", all, err)
	}
	for _, readers := range [][]address.Instance{{ana.Instance}, {bob.Instance}, all} {
		for _, id := range []string{asked.ID, asked.Thread} {
			v, err := b.Conversation(t.Context(), readers, id)
			if err != nil || len(v.Parts) != 2 || v.Thread != asked.Thread || v.Parts[0].ID != asked.ID {
				t.Errorf("%v, %s: got %d messages of %q, %v; want 2 of %q", readers, id, len(v.Parts), v.Thread, err, asked.Thread)
			}
		}
		if v, err := b.Single(t.Context(), readers, asked.ID); err != nil || len(v.Parts) != 1 {
			t.Errorf("%v: got %d messages of one id, %v; want 1", readers, len(v.Parts), err)
		}
		if _, err := b.Conversation(t.Context(), readers, "env:none"); !errors.Is(err, mailbox.ErrNoMessage) {
			t.Errorf("%v: got %v, want that there is no such message", readers, err)
		}
	}
}

// A message has no answer until its recipient replies to it or writes later in its thread; another agent's message does not count.
func TestUnanswered(t *testing.T) {
	b := newBus(t)
	ana, bob, eve := b.agent("claude", "ana"), b.agent("codex", "bob"), b.agent("gemini", "eve")
	want := func(texts ...string) {
		t.Helper()
		b.clock = b.clock.Add(time.Second)
		all, err := b.Unanswered(t.Context(), ana.Instance)
		var got []string
		for _, q := range all {
			got = append(got, q.Preview)
		}
		if err != nil || !slices.Equal(got, texts) {
			t.Errorf("unanswered: got %q, %v; want %q", got, err, texts)
		}
	}
	want()
	one := b.send(Draft{From: ana, To: bob.Instance, Text: "one?"})
	b.clock = b.clock.Add(time.Second)
	two := b.send(Draft{From: ana, To: bob.Instance, Text: "two?"})
	b.send(Draft{From: ana, To: bob.Instance, Text: "a notice", Kind: "status"})
	want("one?", "two?")
	b.send(Draft{From: eve, To: ana.Instance, Text: "not asked", Thread: one.Thread, ReplyTo: one.ID})
	want("one?", "two?")
	b.send(Draft{From: bob, To: ana.Instance, Text: "yes", ReplyTo: one.ID})
	want("two?")
	b.send(Draft{From: bob, To: ana.Instance, Text: "yes", Thread: two.Thread})
	want()
}
