package server

import (
	"context"
	"time"

	"tutti/internal/app/full"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mail"
	"tutti/internal/core/canonjson"
	"tutti/internal/governance/agreement"
	"tutti/internal/governance/escalation"
	"tutti/internal/governance/negotiation"
)

var askTool = tool{
	name: "tutti_ask", effect: acts, run: speaking(ask),
	result: agreement.Asked{},
	does:   "Ask your user a question that only they can answer, and get the answer: with wait in this call, else as mail. Name options where there are some.",
	props: []prop{
		{"question", described(aString, "the question, in a sentence or two"), true},
		{"options", described(someStrings, "the possible answers, at least two; left out, any answer will do"), false},
		waitProp,
	},
}

// ask puts a question to the user of the agent, and with wait brings the answer.
func ask(ctx context.Context, c *call, own *identity.Speaker) (any, error) {
	question, err := c.need("question")
	if err != nil {
		return nil, err
	}
	terms := escalation.Terms{Question: question}
	options, _ := canonjson.Strings(c.raw("options"))
	for _, o := range options {
		terms.Options = append(terms.Options, escalation.Option{ID: o, Text: o})
	}
	a := negotiation.Act{By: own.Instance}
	if a.Key, err = c.Ring.Load(own.Instance); err != nil {
		return nil, err
	}
	m, err := c.deals().Ask(ctx, a, own.Scope, terms, now())
	if err != nil {
		return nil, err
	}
	if _, err := full.TellMatter(ctx, c.deals(), c.office, own, m.Negotiation, m.ID); err != nil {
		c.log("ask: " + withHint(err)) // the question stands in the journal, and status shows it
	}
	full.NoticeMatter(ctx, c.World, c.desktop(), m)
	if wait := c.wait(); wait > 0 {
		m = c.awaitAnswer(ctx, own, m, wait)
	}
	asked := agreement.AskedOf(m, now())
	if m.Answer == nil {
		asked.Next = "the answer comes as mail"
	}
	return asked, nil
}

// awaitAnswer waits for the answer to a question. If none comes, the call still succeeds: the question is asked.
func (c *call) awaitAnswer(ctx context.Context, own *identity.Speaker, m *escalation.Escalation, wait time.Duration) *escalation.Escalation {
	stop := c.progress(ctx, "waiting for your user")
	defer stop()
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	m, err := full.AwaitAnswer(waiting, c.app, c.World, c.deals(), m)
	if err == nil {
		err = full.TakeAnswer(ctx, c.office, mail.Reader{Instance: own.Instance, Session: c.session(c.bus, own)}, m)
	}
	if err != nil && waiting.Err() == nil {
		c.log("ask: " + withHint(err)) // the answer is shown a second time, as mail
	}
	return m
}
