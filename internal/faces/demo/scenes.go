package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// anaJoins and those below are the scenes. An error says what was seen instead of what should have been.
func (p *play) anaJoins(ctx context.Context) { p.ana = p.enters(ctx, "claude", "ana") }

func (p *play) bobJoins(ctx context.Context) {
	p.bob = p.enters(ctx, "codex", "bob")
	n := p.ana.told(ctx, "bob joined", func(n *push) bool {
		return n.Topic == "presence.peer_joined" && n.Data.Peer.Instance == p.bob.id
	})
	p.say("ana", "gets: %s", n)
}

// enters starts an agent and lets it say who it is.
func (p *play) enters(ctx context.Context, host, name string) *agent {
	began := time.Now()
	a := p.join(ctx, host, name)
	ready := time.Since(began)
	status := a.ask(ctx, "tutti_status", nil)
	if a.id = text(status, "instance"); a.id == "" {
		check(a.fault(errors.New("the server does not say who the agent is")))
	}
	if all, _ := status["sessions"].([]any); len(all) > 0 {
		a.at, _ = all[0].(string)
	}
	p.say(name, "joins as %s, over MCP, its server ready after %s", a.id, ready.Round(time.Millisecond))
	return a
}

func (p *play) anaSends(ctx context.Context) {
	const question = "the schema changed, see db/014.sql"
	sent := p.ana.ask(ctx, "tutti_send", map[string]any{"to": p.bob.id, "text": question})
	want("the outcome", text(sent, "outcome"), "delivered")
	p.question, p.thread = text(sent, "id"), text(sent, "thread")
	p.say("ana", "tutti_send to bob: %q", question)
	p.say("", "%s: %s, thread %s", text(sent, "outcome"), p.question, p.thread)
	path, size := p.file(p.question)
	p.say("", "stored and signed in %s (%d bytes)", path, size)
	n := p.bob.told(ctx, "mail came", func(n *push) bool { return n.Data.EnvelopeID == p.question })
	p.say("bob", "gets: %s", n)
}

func (p *play) bobReceives(ctx context.Context) {
	m := p.receives(ctx, p.bob, p.question)
	want("the verification of a first message", text(m, "verification"), "new key")
}

// receives takes the mail of an agent and expects one message in it.
func (p *play) receives(ctx context.Context, a *agent, id string) map[string]any {
	got := a.ask(ctx, "tutti_receive", nil)
	all, _ := got["messages"].([]any)
	for _, each := range all {
		if m, ok := each.(map[string]any); ok && text(m, "id") == id {
			p.shown(a, "tutti_receive", m)
			return m
		}
	}
	check(fmt.Errorf("%s received %d messages, and %s is none of them", a.name, len(all), id))
	return nil
}

// shown prints a message as its reader got it.
func (p *play) shown(a *agent, how string, m map[string]any) {
	p.say(a.name, "%s: from %s — %s — %q", how, text(m, "from"), text(m, "verification"), text(m, "text"))
}

func (p *play) bobReplies(ctx context.Context) {
	reply := p.bob.ask(ctx, "tutti_reply", map[string]any{"id": p.question, "text": "read it, tests pass"})
	p.say("bob", "tutti_reply: %s, thread %s", text(reply, "outcome"), text(reply, "thread"))
	want("the thread of the reply", text(reply, "thread"), p.thread)
	m := p.receives(ctx, p.ana, text(reply, "id"))
	want("what the reply answers", text(m, "replyTo"), p.question)
}

// anaAsks needs one call of each side: one that sends and brings the answer, one that answers.
func (p *play) anaAsks(ctx context.Context) {
	p.bob.silent()
	before := p.ana.calls["tutti_send"] + p.bob.calls["tutti_reply"]
	var got map[string]any
	asked := make(chan error, 1)
	go func() {
		asked <- caught(func() {
			got = p.ana.ask(ctx, "tutti_send", map[string]any{"to": p.bob.id, "text": "may I drop the old table?", "wait": patience.Seconds() - 1})
		})
	}()
	err := caught(func() {
		n := p.bob.told(ctx, "mail came", func(n *push) bool { return n.Data.EnvelopeID != "" })
		p.bob.ask(ctx, "tutti_reply", map[string]any{"id": n.Data.EnvelopeID, "text": "yes, nothing reads it"})
	})
	check(errors.Join(err, <-asked))
	m, ok := got["answer"].(map[string]any)
	if !ok {
		check(fmt.Errorf("no answer came with the call: %s", text(got, "waited")))
	}
	p.say("ana", "tutti_send and wait: %q", "may I drop the old table?")
	p.shown(p.ana, "the same call brings the answer", m)
	calls := p.ana.calls["tutti_send"] + p.bob.calls["tutti_reply"] - before
	if calls != 2 {
		check(fmt.Errorf("it took %d calls instead of 2", calls))
	}
	p.say("", "%d calls in all: one to send, one to answer", calls)
	want("the verification of a known key", text(m, "verification"), "verified")
}

func (p *play) kimIsAway(ctx context.Context) {
	p.kim = p.enters(ctx, "gemini", "kim")
	id, at := p.kim.id, p.kim.at
	told := func(what, topic string) {
		p.ana.told(ctx, what, func(n *push) bool { return n.Topic == topic && n.Data.Peer.SessionID == at })
	}
	// An agent that comes and goes between two polls is not reported.
	told("kim came", "presence.peer_joined")
	if err := p.kim.leave(); err != nil {
		check(fmt.Errorf("kim leaves: %w", err))
	}
	told("kim left", "presence.peer_left")
	p.say("kim", "leaves, and ana is notified")
	sent := p.ana.ask(ctx, "tutti_send", map[string]any{"to": id, "text": "when you are back: review db/014.sql"})
	p.say("ana", "tutti_send to kim: %s (%s)", text(sent, "outcome"), text(sent, "reason"))
	want("the outcome", text(sent, "outcome"), "deposited")
	p.kim = p.enters(ctx, "gemini", "kim")
	want("who kim is when back", p.kim.id, id)
	p.receives(ctx, p.kim, text(sent, "id"))
}

func (p *play) phantom(ctx context.Context) {
	p.refused(ctx, map[string]any{"to": "codex:zoe", "text": "are you there?"}, "codex:zoe")
}

// refused expects that a message of ana's is not sent, and that a hint says what to do.
func (p *play) refused(ctx context.Context, args map[string]any, whom string) {
	answer, failed := p.ana.call(ctx, "tutti_send", args)
	if !failed || text(answer, "error") == "" || text(answer, "hint") == "" {
		check(fmt.Errorf("the message to %s was not refused with a hint: %v", whom, answer))
	}
	p.say("ana", "tutti_send to %s is refused: %s", whom, text(answer, "error"))
	p.say("", "hint: %s", text(answer, "hint"))
}

func (p *play) halt(ctx context.Context) {
	p.run(ctx, "halt", "the demo is over", "--no-stop-watcher")
	reason, err := os.ReadFile(filepath.Join(p.home, ".config/cross-agent-comms/HALT"))
	check(err)
	p.say("you", "tutti halt: the switch says %q", firstLine(string(reason)))
	p.refused(ctx, map[string]any{"to": p.bob.id, "text": "one more thing"}, "bob")
}

func (p *play) resume(ctx context.Context) {
	p.run(ctx, "resume", "--no-start-watcher")
	p.bob.silent()
	sent := p.ana.ask(ctx, "tutti_send", map[string]any{"to": p.bob.id, "text": "one more thing"})
	p.say("you", "tutti resume")
	p.say("ana", "tutti_send to bob: %s", text(sent, "outcome"))
	m := p.receives(ctx, p.bob, text(sent, "id"))
	want("the verification of a known key", text(m, "verification"), "verified")
}

// String is the push as the play prints it.
func (n *push) String() string {
	if n.Data.EnvelopeID != "" {
		return n.Topic + " " + n.Data.EnvelopeID
	}
	return n.Topic + " " + n.Data.Peer.Instance
}

// text is a member of an answer that is a string, "" when there is none.
func text(answer map[string]any, name string) string {
	s, _ := answer[name].(string)
	return s
}

// want ends the play when what was seen is not what should have been.
func want(what, got, wanted string) {
	if got != wanted {
		check(fmt.Errorf("%s is %q, and should be %q", what, got, wanted))
	}
}
