package exchange

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"tutti/internal/comms/protocol"
	"tutti/internal/test/commstest"
)

// TestAnswerNeedsNoRecursion: a message that is answered with a query has its conversation read, and reading a
// conversation judges the messages in it again. Each message must be judged once, whatever their number.
func TestAnswerNeedsNoRecursion(t *testing.T) {
	t.Parallel()
	foreign := func(text []byte, version string) []byte {
		return []byte(strings.Replace(string(text), "PROTOCOL_VERSION: 5", "PROTOCOL_VERSION: "+version, 1))
	}
	for name, c := range map[string]struct {
		text func(seq int) []byte
		code string
	}{
		"older version": {func(seq int) []byte { return foreign(note{conv: "c", kind: "request", seq: seq}.text(), "4") }, protocol.CodeVersionMismatch},
		"newer version": {func(seq int) []byte { return foreign(note{conv: "c", kind: "request", seq: seq}.text(), "6") }, protocol.CodeVersionMismatch},
		"invalid tool name": {func(seq int) []byte {
			return note{conv: "c", kind: "request", seq: seq, more: "#+REQUIRES_TOOLS: a;b\n"}.text()
		}, protocol.CodeToolMissing},
	} {
		for _, ledger := range []string{"lost", "present"} {
			t.Run(name+", ledger "+ledger, func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				r.keys([]commstest.Who{commstest.Alice})
				p := r.project("notes")
				if ledger == "present" {
					must(t, r.Ledger(p).Add(t.Context(), Entry{Name: "x.org", Conversation: "c", Sequence: 9, Decision: "process"}))
				}
				var last string
				for seq := 1; seq <= 3; seq++ {
					at := start.Add(time.Duration(seq) * time.Second)
					var err error
					last, err = protocol.FormatName(at, "web", "c")
					must(t, err)
					text := strings.Replace(string(c.text(seq)), protocol.FormatTime(start), protocol.FormatTime(at), 1)
					r.lay(p, last, []byte(text), commstest.Alice)
				}
				// Far more than three judgements take; without an end to the recursion it is what ends it.
				ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
				defer stop()
				j, err := r.Receive(ctx, p.MailboxPath()+"/"+last, ReceiveOptions{})
				if err != nil || ctx.Err() != nil || j.Word != protocol.Ask || j.Code != c.code {
					t.Fatalf("%v %v, %v, %v; want a query with %s", j.Word, j.Code, err, ctx.Err(), c.code)
				}
			})
		}
	}
}

// TestJudgeDoesNotRereadConversation: whatever a judgement asks for, it cannot start another reading of the conversation.
func TestJudgeDoesNotRereadConversation(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.project("notes")
	_, err := r.view(context.WithValue(t.Context(), judging{}, true), p, p.Slug(), "c", target{}, false)
	if !errors.Is(err, errNested) {
		t.Errorf("got %v, want %v", err, errNested)
	}
}
