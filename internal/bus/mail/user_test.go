package mail

import (
	"testing"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/identity"
	"tutti/internal/core/address"
)

// TestUserAnswers: only an answer that the user signed at a terminal, with a key that the user bound, is the user's word. An agent that
// makes itself a person gets no such heading, and neither does the same user's mail without a terminal.
func TestUserAnswers(t *testing.T) {
	b := newBus(t)
	to := b.agent("claude", "api")
	person := func(login string) *identity.Speaker {
		t.Helper()
		s, err := b.keeper.Speak(t.Context(), &identity.Facts{
			Env: func(string) string { return "" }, Login: func() string { return login }, Terminal: func() bool { return true },
			Place: func() identity.Workplace { return identity.Workplace{Path: "/", Machine: "m"} },
		}, identity.Ask{}, b.clock)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	bind := func(i address.Instance) {
		t.Helper()
		key, err := b.Ring.Public(i)
		if err == nil {
			err = b.Pins.Trust(i, key, b.clock)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	user, stranger, met := person("ana"), person("eve"), person("may")
	bind(user.Instance)
	key, err := b.Ring.Public(met.Instance)
	if err == nil {
		err = b.Pins.Pin(met.Instance, key, b.clock) // verified, and not by a person's word
	}
	if err != nil {
		t.Fatal(err)
	}
	unattended := *user
	unattended.Via = identity.Unattended
	agent := b.agent("codex", "bob")
	bind(agent.Instance)
	for _, one := range []struct {
		name string
		from *identity.Speaker
		kind string
		want bool
		says string
	}{
		{"the user", user, envelope.UserAnswer, true, "answer of your user"},
		{"the user, a message", user, "message", false, "message signed with the key of your user at a terminal"},
		{"the user, without a terminal", &unattended, envelope.UserAnswer, false, "text of a person, not known to be your user"},
		{"a person that was never bound", stranger, envelope.UserAnswer, false, "text of a person, not known to be your user"},
		{"a person whose key was only met", met, envelope.UserAnswer, false, "text of a person, not known to be your user"},
		{"an agent", agent, envelope.UserAnswer, false, "text of a peer, not of your user"},
		{"an agent that calls itself a person", &identity.Speaker{Instance: agent.Instance, Role: identity.RolePerson, Scope: identity.DefaultScope, Via: identity.ViaTerminal}, envelope.UserAnswer, false, "text of a peer, not of your user"},
	} {
		b.send(Draft{From: one.from, To: to.Instance, Kind: one.kind, Text: one.name, Deposit: true})
		got := b.receive(Reader{Instance: to.Instance}, 0)
		if len(got.Items) == 1 && one.says != "" && got.Items[0].Source() != one.says {
			t.Errorf("%s: %q, want %q", one.name, got.Items[0].Source(), one.says)
		}
		if len(got.Items) != 1 || got.Items[0].UserAnswers() != one.want {
			t.Errorf("%s: %s, answers: %v", one.name, texts(got), len(got.Items) == 1 && got.Items[0].UserAnswers())
		}
	}

	// A key that is elsewhere now may be another user's: on a shared bus that is a peer.
	b.send(Draft{From: user, To: to.Instance, Kind: envelope.UserAnswer, Text: "before", Deposit: true})
	if _, err := b.Ring.Generate(user.Instance, true); err != nil {
		t.Fatal(err)
	}
	if got := b.receive(Reader{Instance: to.Instance}, 0); len(got.Items) != 1 || got.Items[0].Verdict.Word.String() != "verified" || got.Items[0].UserAnswers() {
		t.Errorf("under a key that is not here: %s", texts(got))
	}
}
