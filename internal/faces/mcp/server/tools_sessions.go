package server

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"tutti/internal/app/full"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/termsafe"
	"tutti/internal/sessions/observe"
)

// The row of the tool that waits for agents in tmux.
var sessionWaitTool = tool{
	name: "tutti_session_wait", effect: reads, again: true, busless: true, run: sessionWait,
	result: waited{},
	does: "Wait until agents that run in tmux sessions (workers) are idle, wait for their user, or have ended. Answers with the state of each and with reached; " +
		"reached false after the time: call it again.",
	props: []prop{
		{"sessions", described(someStrings, "names, as tutti session list shows them"), true},
		{"any", described(`{"type":"boolean"}`, "one of them is enough; left out, all at the same time"), false},
		{"until", described(`{"type":"array","items":{"type":"string","enum":["idle","working","waiting","limited","ended"]}}`, "left out: idle, waiting, ended"), false},
		waitProp,
	},
}

// A waited is the result of waiting for sessions.
type waited struct {
	Reached  bool              `json:"reached"`
	Sessions []observe.Reached `json:"sessions"`
	Note     string            `json:"note,omitempty"`
}

var errSessionsWaited = errors.New("waited long enough")

func sessionWait(ctx context.Context, c *call) (any, error) {
	if c.raw("sessions") == nil {
		return nil, c.missing("sessions")
	}
	names, ok := canonjson.Strings(c.raw("sessions"))
	if !ok || len(names) == 0 {
		return nil, c.refuse(`"sessions":["api-creator-claude"]`, "'sessions' must be a list of names")
	}
	q := observe.Wait{}
	if raw := c.raw("any"); raw != nil {
		q.Any, _ = canonjson.Bool(raw)
	}
	if raw := c.raw("until"); raw != nil {
		q.Until, ok = canonjson.Strings(raw)
		for i := range q.Until {
			q.Until[i] = observe.StateOf(q.Until[i])
		}
		if bad := slices.IndexFunc(q.Until, func(s string) bool { return !slices.Contains(observe.States, s) }); !ok || bad >= 0 {
			return nil, c.refuse("", "'until' must be a list of %s", strings.Join(observe.States, ", "))
		}
	}
	home, err := c.app.Home()
	if err != nil {
		return nil, err
	}
	env := c.facts.Env
	rows, err := full.SessionRows(ctx, c.app, cmp.Or(env(observe.HomeVariable), c.app.Workplace().Path), env, names)
	if err != nil {
		return nil, c.refuse(`"tutti session list" shows them`, "%s", oneLine(err.Error()))
	}
	stop := c.progress(ctx, "waiting for sessions")
	defer stop()
	waiting, cancel := context.WithTimeoutCause(ctx, max(c.wait(), observe.WaitLeast), errSessionsWaited)
	defer cancel()
	found, err := (&observe.Observer{Home: home, Env: env}).Wait(waiting, q, rows)
	out := waited{Reached: err == nil, Sessions: found}
	switch {
	case errors.Is(err, observe.ErrNever), errors.Is(err, observe.ErrBlind):
		out.Note = oneLine(err.Error())
	case err != nil && !errors.Is(err, errSessionsWaited):
		return nil, err
	}
	for i := range out.Sessions {
		out.Sessions[i].Asks = oneLine(out.Sessions[i].Asks)
	}
	return out, nil
}

func oneLine(text string) string {
	clean, _ := termsafe.SanitiseLine(text)
	return clean
}
