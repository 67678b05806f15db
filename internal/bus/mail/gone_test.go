package mail

import (
	"errors"
	"strings"
	"testing"

	"tutti/internal/bus/identity"
	"tutti/internal/bus/members"
	"tutti/internal/bus/registry"
	"tutti/internal/bus/trust"
	"tutti/internal/core/address"
	"tutti/internal/governance/nhi"
	"tutti/internal/governance/subagent"
	"tutti/internal/store"
)

// offboard takes an agent out of service as the program does.
func (b *bus) offboard(who address.Instance) *registry.Tombstone {
	b.t.Helper()
	d := nhi.Service{Registry: b.Registry, Presence: b.presence, Log: b.log}
	t, err := d.Offboard(b.t.Context(), nhi.Leave{Instance: who, Reason: "left"}, b.clock)
	if err != nil {
		b.t.Fatal(err)
	}
	return t
}

func isGone(t *testing.T, what string, err error) {
	t.Helper()
	var refused *RefusedError
	if !errors.Is(err, registry.ErrGone) && (!errors.As(err, &refused) || refused.Why != "gone") {
		t.Errorf("%s: %v, want a refusal because the identity is gone", what, err)
	}
}

// TestOffboardedIsRefused tries every door with an identity that was offboarded, by our program and by one that only leaves a
// tombstone.
func TestOffboardedIsRefused(t *testing.T) {
	for _, by := range []string{"ours", "a tombstone alone"} {
		t.Run(by, func(t *testing.T) {
			b := newBus(t)
			ana, eve := b.agent("claude", "ana"), b.agent("codex", "eve")
			early := b.send(Draft{From: eve, To: ana.Instance, Text: "before"})
			waiting := b.send(Draft{From: ana, To: eve.Instance, Text: "for eve"})
			if by == "ours" {
				b.offboard(eve.Instance)
			} else {
				line := `{"instance":"` + strings.ToUpper(string(eve.Instance[:5])) + string(eve.Instance[5:]) + `","revokedKeys":0,"revokedSubagents":[],"at":"x"}`
				if _, err := b.log.Append(t.Context(), store.Key{Kind: store.Offboard}, store.AnyEnd, []byte(line)); err != nil {
					t.Fatal(err)
				}
			}
			ctx := t.Context()
			reader := Reader{Instance: eve.Instance}
			sub := &identity.Speaker{Instance: eve.Instance + "~scout", Role: eve.Role, Scope: eve.Scope}
			_, err := b.Send(ctx, Draft{From: eve, To: ana.Instance, Text: "still here"})
			isGone(t, "send", err)
			_, err = b.Send(ctx, Draft{From: sub, To: ana.Instance, Text: "still here", Unsigned: true})
			isGone(t, "send as a subagent", err)
			receipts, _ := b.SendAll(ctx, []Draft{{From: eve, To: ana.Instance, Text: "1"}, {From: ana, To: eve.Instance, Text: "2"}})
			for _, r := range receipts {
				isGone(t, "a batch", r.Err)
			}
			raw := []byte(`{"actor":{"instance":"` + string(eve.Instance) + `","role":"AGENTS","scope":"s"},"body":{"kind":"message"}}`)
			_, err = b.Send(ctx, Draft{From: ana, To: ana.Instance, Raw: raw})
			isGone(t, "an envelope in its name", err)
			for _, to := range []address.Instance{eve.Instance, eve.Instance + "~scout"} {
				for _, exact := range []bool{false, true} {
					_, err = b.Send(ctx, Draft{From: ana, To: to, Text: "hello", Exact: exact, Deposit: true})
					isGone(t, "send to "+string(to), err)
				}
			}
			_, err = b.Receive(ctx, reader, 0)
			isGone(t, "receive", err)
			_, err = b.Ack(ctx, reader, []string{waiting.ID})
			isGone(t, "acknowledge", err)
			_, err = b.Answer(ctx, reader, ana.Instance, waiting.ID, nil)
			isGone(t, "wait for an answer", err)
			_, err = b.Reply(ctx, reader, waiting.ID, Draft{From: eve, Text: "re"})
			isGone(t, "reply", err)

			key, err := b.Ring.Load(eve.Instance)
			if err != nil {
				t.Fatal(err)
			}
			other := b.agent("codex", "other")
			otherKey, err := b.Ring.Load(other.Instance)
			if err != nil {
				t.Fatal(err)
			}
			isGone(t, "add a key", b.Registry.AddKey(ctx, eve.Instance, otherKey.Public().PEM(), nil, b.clock))
			spelled := registry.Build(registry.Agent{Instance: "CODEX" + eve.Instance[5:], PublicKeys: []string{key.Public().PEM()}, Root: "/r"}, b.clock)
			isGone(t, "register in another spelling", b.Registry.Register(ctx, spelled))
			_, err = b.keeper.Connect(ctx, identity.Request{Instance: eve.Instance}, b.clock)
			isGone(t, "connect by name", err)
			again := b.agent("codex", "eve")
			if again.Instance == eve.Instance {
				t.Errorf("connect gives %s out again", eve.Instance)
			}

			// what a program has written that asks nobody
			foreign := registry.AddedEvent(string(eve.Instance), otherKey.Public(), b.clock)
			if _, err := b.log.Append(ctx, store.Key{Kind: store.Keys}, store.AnyEnd, foreign); err != nil {
				t.Fatal(err)
			}
			if keys, err := b.Registry.Keys(ctx, eve.Instance); err != nil || len(keys.Active)+len(keys.PEM) > 0 {
				t.Errorf("active keys %v, %v", keys, err)
			}
			if _, err := b.Mail.Put(ctx, ana.Instance, []byte(`{"protocol":"sentropic.h2a","version":"0.1","id":"env:late","type":"event","actor":{"instance":"`+
				string(eve.Instance)+`","role":"AGENTS","scope":"s"},"body":{"kind":"message","text":"forged"},"createdAt":"2026-01-01T00:00:00.000Z"}`)); err != nil {
				t.Fatal(err)
			}
			got := b.receive(Reader{Instance: ana.Instance}, 0)
			if len(got.Items) != 0 || len(got.Held) != 2 {
				t.Errorf("ana gets %s, and %d are held; want nothing, and %s and the forged one held", texts(got), len(got.Held), early.ID)
			}
			for _, h := range got.Held {
				if !h.Verdict.Gone || h.Verdict.Word == trust.Verified {
					t.Errorf("held: %+v", h.Verdict)
				}
			}
			rows, err := b.Book.Discover(ctx, members.Filter{Registered: true}, b.clock)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rows {
				if r.Instance == eve.Instance {
					t.Errorf("%s is listed", r.Instance)
				}
			}
		})
	}
}

// TestOffboardedChannel: a retired agent never receives for a channel, whatever its session says.
func TestOffboardedChannel(t *testing.T) {
	b := newBus(t)
	ana, eve := b.agent("claude", "ana"), b.agent("codex", "eve")
	b.live(eve.Instance, "sess:1")
	if stone := b.offboard(eve.Instance); len(stone.Sessions) != 1 || stone.Keys != 1 {
		t.Errorf("tombstone %+v, want one session and one key", stone)
	}
	b.live(eve.Instance, "sess:2") // by a program that asks nobody
	_, err := b.Send(t.Context(), Draft{From: ana, To: "codex:eve", Text: "hello"})
	var refused *RefusedError
	if !errors.As(err, &refused) || refused.Why != "phantom" {
		t.Errorf("send to its channel: %v, want an unknown recipient", err)
	}
}

// TestSubagentMail: mail to a subagent is stored in its own mailbox, and none arrives after the subagent was revoked.
func TestSubagentMail(t *testing.T) {
	b := newBus(t)
	ana, bob := b.agent("claude", "ana"), b.agent("codex", "bob")
	subs := subagent.Agents{Registry: b.Registry}
	made, err := subs.Spawn(t.Context(), subagent.Spawn{Parent: bob.Instance, Name: "Scout"}, b.clock)
	if err != nil {
		t.Fatal(err)
	}
	scout := address.Instance(made.ID)
	b.send(Draft{From: ana, To: scout, Text: "look there"})
	if got := b.receive(Reader{Instance: bob.Instance}, 0); len(got.Items) != 0 {
		t.Errorf("the parent gets %s", texts(got))
	}
	if got := b.receive(Reader{Instance: scout}, 0); texts(got) != "look there (new key)" {
		t.Errorf("the subagent gets %s", texts(got))
	}
	if _, err := subs.Revoke(t.Context(), scout, "done", b.clock); err != nil {
		t.Fatal(err)
	}
	_, err = b.Send(t.Context(), Draft{From: ana, To: scout, Text: "more"})
	isGone(t, "send to a revoked subagent", err)
	_, err = b.Send(t.Context(), Draft{From: ana, To: scout + "~deeper", Text: "more"})
	isGone(t, "send below a revoked subagent", err)
	_, err = b.Receive(t.Context(), Reader{Instance: scout}, 0)
	isGone(t, "receive as a revoked subagent", err)
	b.send(Draft{From: ana, To: bob.Instance, Text: "you stay"})
	b.send(Draft{From: ana, To: bob.Instance + "~scout", Text: "another one: names keep their case"})
}
