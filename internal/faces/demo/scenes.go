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
func (p *play) anaJoins(ctx context.Context) (err error) {
	p.ana, err = p.enters(ctx, "claude", "ana")
	return err
}

func (p *play) bobJoins(ctx context.Context) (err error) {
	if p.bob, err = p.enters(ctx, "codex", "bob"); err != nil {
		return err
	}
	n, err := p.ana.told(ctx, "bob joined", func(n *push) bool {
		return n.Topic == "presence.peer_joined" && n.Data.Peer.Instance == p.bob.id
	})
	if err == nil {
		p.say("ana", "is told: %s", n)
	}
	return err
}

// enters starts an agent and lets it say who it is.
func (p *play) enters(ctx context.Context, host, name string) (*agent, error) {
	began := time.Now()
	a, err := p.join(ctx, host, name)
	if err != nil {
		return nil, err
	}
	ready := time.Since(began)
	status, err := a.ask(ctx, "tutti_status", nil)
	if err != nil {
		return nil, err
	}
	if a.id = text(status, "instance"); a.id == "" {
		return nil, a.fault(errors.New("the server does not say who the agent is"))
	}
	if all, _ := status["sessions"].([]any); len(all) > 0 {
		a.at, _ = all[0].(string)
	}
	p.say(name, "joins as %s, over MCP, its server ready after %s", a.id, ready.Round(time.Millisecond))
	return a, nil
}

func (p *play) anaSends(ctx context.Context) error {
	const question = "the schema changed, see db/014.sql"
	sent, err := p.ana.ask(ctx, "tutti_send", map[string]any{"to": p.bob.id, "text": question})
	if err != nil {
		return err
	}
	if err := want("the outcome", text(sent, "outcome"), "delivered"); err != nil {
		return err
	}
	p.question, p.thread = text(sent, "id"), text(sent, "thread")
	p.say("ana", "tutti_send to bob: %q", question)
	p.say("", "%s: %s, thread %s", text(sent, "outcome"), p.question, p.thread)
	path, size, err := p.file(p.question)
	if err != nil {
		return err
	}
	p.say("", "it lies signed in %s (%d bytes)", path, size)
	n, err := p.bob.told(ctx, "mail came", func(n *push) bool { return n.Data.EnvelopeID == p.question })
	if err == nil {
		p.say("bob", "is told: %s", n)
	}
	return err
}

func (p *play) bobReceives(ctx context.Context) error {
	m, err := p.receives(ctx, p.bob, p.question)
	if err == nil {
		err = want("the verification of a first message", text(m, "verification"), "new key")
	}
	return err
}

// receives takes the mail of an agent and expects one message in it.
func (p *play) receives(ctx context.Context, a *agent, id string) (map[string]any, error) {
	got, err := a.ask(ctx, "tutti_receive", nil)
	if err != nil {
		return nil, err
	}
	all, _ := got["messages"].([]any)
	for _, each := range all {
		if m, ok := each.(map[string]any); ok && text(m, "id") == id {
			p.shown(a, "tutti_receive", m)
			return m, nil
		}
	}
	return nil, fmt.Errorf("%s received %d messages, and %s is none of them", a.name, len(all), id)
}

// shown prints a message as its reader got it.
func (p *play) shown(a *agent, how string, m map[string]any) {
	p.say(a.name, "%s: from %s — %s — %q", how, text(m, "from"), text(m, "verification"), text(m, "text"))
}

func (p *play) bobReplies(ctx context.Context) error {
	reply, err := p.bob.ask(ctx, "tutti_reply", map[string]any{"id": p.question, "text": "read it, tests pass"})
	if err != nil {
		return err
	}
	p.say("bob", "tutti_reply: %s, thread %s", text(reply, "outcome"), text(reply, "thread"))
	if err := want("the thread of the reply", text(reply, "thread"), p.thread); err != nil {
		return err
	}
	m, err := p.receives(ctx, p.ana, text(reply, "id"))
	if err != nil {
		return err
	}
	return want("what the reply answers", text(m, "replyTo"), p.question)
}

// anaAsks needs one call of each side: one that sends and brings the answer, one that answers.
func (p *play) anaAsks(ctx context.Context) error {
	type outcome struct {
		answer map[string]any
		err    error
	}
	p.bob.silent()
	before := p.ana.calls["tutti_send"] + p.bob.calls["tutti_reply"]
	asked := make(chan outcome, 1)
	go func() {
		answer, err := p.ana.ask(ctx, "tutti_send", map[string]any{"to": p.bob.id, "text": "may I drop the old table?", "wait": patience.Seconds() - 1})
		asked <- outcome{answer, err}
	}()
	n, err := p.bob.told(ctx, "mail came", func(n *push) bool { return n.Data.EnvelopeID != "" })
	if err == nil {
		_, err = p.bob.ask(ctx, "tutti_reply", map[string]any{"id": n.Data.EnvelopeID, "text": "yes, nothing reads it"})
	}
	got := <-asked
	if err := errors.Join(err, got.err); err != nil {
		return err
	}
	m, ok := got.answer["answer"].(map[string]any)
	if !ok {
		return fmt.Errorf("no answer came with the call: %s", text(got.answer, "waited"))
	}
	p.say("ana", "tutti_send and wait: %q", "may I drop the old table?")
	p.shown(p.ana, "the same call brings the answer", m)
	calls := p.ana.calls["tutti_send"] + p.bob.calls["tutti_reply"] - before
	if calls != 2 {
		return fmt.Errorf("it took %d calls instead of 2", calls)
	}
	p.say("", "%d calls in all: one to send, one to answer", calls)
	return want("the verification of a known key", text(m, "verification"), "verified")
}

func (p *play) kimIsAway(ctx context.Context) (err error) {
	if p.kim, err = p.enters(ctx, "gemini", "kim"); err != nil {
		return err
	}
	id, at := p.kim.id, p.kim.at
	// Of who comes and goes between two looks at the sessions nobody is told anything.
	if _, err := p.ana.told(ctx, "kim came", func(n *push) bool { return n.Topic == "presence.peer_joined" && n.Data.Peer.SessionID == at }); err != nil {
		return err
	}
	if err := p.kim.leave(); err != nil {
		return fmt.Errorf("kim leaves: %w", err)
	}
	if _, err := p.ana.told(ctx, "kim left", func(n *push) bool { return n.Topic == "presence.peer_left" && n.Data.Peer.SessionID == at }); err != nil {
		return err
	}
	p.say("kim", "leaves, and ana is told")
	sent, err := p.ana.ask(ctx, "tutti_send", map[string]any{"to": id, "text": "when you are back: review db/014.sql"})
	if err != nil {
		return err
	}
	p.say("ana", "tutti_send to kim: %s (%s)", text(sent, "outcome"), text(sent, "reason"))
	if err := want("the outcome", text(sent, "outcome"), "deposited"); err != nil {
		return err
	}
	if p.kim, err = p.enters(ctx, "gemini", "kim"); err != nil {
		return err
	}
	if err := want("who kim is when back", p.kim.id, id); err != nil {
		return err
	}
	_, err = p.receives(ctx, p.kim, text(sent, "id"))
	return err
}

func (p *play) phantom(ctx context.Context) error {
	return p.refused(ctx, map[string]any{"to": "codex:zoe", "text": "are you there?"}, "codex:zoe")
}

// refused expects that a message of ana's is not sent, and that a hint says what to do.
func (p *play) refused(ctx context.Context, args map[string]any, whom string) error {
	answer, failed, err := p.ana.call(ctx, "tutti_send", args)
	if err != nil {
		return err
	}
	if !failed || text(answer, "error") == "" || text(answer, "hint") == "" {
		return fmt.Errorf("the message to %s was not refused with a hint: %v", whom, answer)
	}
	p.say("ana", "tutti_send to %s is refused: %s", whom, text(answer, "error"))
	p.say("", "hint: %s", text(answer, "hint"))
	return nil
}

func (p *play) halt(ctx context.Context) error {
	if _, err := p.run(ctx, "halt", "the demo is over", "--no-stop-watcher"); err != nil {
		return err
	}
	path := filepath.Join(p.home, ".config/cross-agent-comms/HALT")
	reason, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	p.say("you", "tutti halt: the switch says %q", firstLine(string(reason)))
	return p.refused(ctx, map[string]any{"to": p.bob.id, "text": "one more thing"}, "bob")
}

func (p *play) resume(ctx context.Context) error {
	if _, err := p.run(ctx, "resume", "--no-start-watcher"); err != nil {
		return err
	}
	p.bob.silent()
	sent, err := p.ana.ask(ctx, "tutti_send", map[string]any{"to": p.bob.id, "text": "one more thing"})
	if err != nil {
		return err
	}
	p.say("you", "tutti resume")
	p.say("ana", "tutti_send to bob: %s", text(sent, "outcome"))
	m, err := p.receives(ctx, p.bob, text(sent, "id"))
	if err != nil {
		return err
	}
	return want("the verification of a known key", text(m, "verification"), "verified")
}

// ask is a call that has to come out well.
func (a *agent) ask(ctx context.Context, tool string, args map[string]any) (map[string]any, error) {
	answer, failed, err := a.call(ctx, tool, args)
	if err == nil && failed {
		err = fmt.Errorf("%s answered: %s", tool, text(answer, "error"))
	}
	return answer, err
}

// String is the push as people are told of it.
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

// want compares what was seen with what should have been.
func want(what, got, wanted string) error {
	if got != wanted {
		return fmt.Errorf("%s is %q, and should be %q", what, got, wanted)
	}
	return nil
}
