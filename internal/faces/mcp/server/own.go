package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tutti/internal/bus/identity"
	"tutti/internal/core/address"
)

// A nobodyError reports a connection that belongs to no agent yet.
type nobodyError struct {
	why  error
	lean bool // the tool that opens a session is not listed
}

func (e *nobodyError) Error() string {
	text := "it is not known which agent speaks through this connection"
	if e.why != nil {
		text += ": " + e.why.Error()
	}
	return text
}

func (e *nobodyError) Hint() string {
	if e.lean {
		return `have the server started with mcp-serve --auto-open --host HOST, which connects an agent; "tutti host setup" does so`
	}
	return `call h2a_session_open {"instance":"HOST:NAME:ID"} with the id of your agent, or have the server started with ` +
		`mcp-serve --auto-open --host HOST, which connects one`
}

// foreign refuses to send or take for another agent than own. what was asked for, and hint says what to do instead; "" for an actor
// that is not that of the connection.
func foreign(own address.Instance, what, hint string) error {
	if hint == "" {
		hint = fmt.Sprintf("use %s, or a subagent of it (%s~NAME); leave the member out and it is filled in", own, own)
	}
	return &refusal{fmt.Sprintf("%s; this connection is %s", what, own), hint}
}

// noPerson refuses to make the connection that of a person.
func noPerson(i address.Instance) error {
	if i.Canonical().Host() == identity.Human {
		return &refusal{string(i) + " is a person, and behind this connection is none", "connect as an agent: HOST:NAME:ID"}
	}
	return nil
}

// named is the instance that was said to be that of the connection, "" when none was.
func (v *server) named() address.Instance {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.own != "" {
		return v.own
	}
	return v.opened
}

// speaker returns the agent that speaks through this connection. With peek it makes none.
func (v *server) speaker(ctx context.Context, b *bus, peek bool) (*identity.Speaker, error) {
	if i := v.named(); i != "" {
		return v.as(i), nil
	}
	s, err := b.Identity.Speak(ctx, v.facts, identity.Ask{Peek: true}, time.Now())
	if unknown, ok := errors.AsType[*identity.UnknownError](err); ok && !peek && v.conversation() != "" {
		if s, err = b.Identity.Speak(ctx, v.facts, identity.Ask{}, time.Now()); err != nil {
			return nil, errors.Join(unknown, err)
		}
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, err
	case err != nil:
		return nil, &nobodyError{why: reason(err), lean: v.o.lean}
	case s.Instance.Canonical().Host() == identity.Human:
		return nil, &nobodyError{lean: v.o.lean}
	}
	s.Via = identity.ViaMCP
	return s, nil
}

// reason is why the agent is unknown, without the operation that found out. That a person has no mailbox yet is none.
func reason(err error) error {
	if none, ok := errors.AsType[*identity.NoIdentityError](err); ok {
		return none
	}
	if _, ok := errors.AsType[*identity.UnknownError](err); ok {
		return nil
	}
	return err
}

// conversation is the id of the conversation as hooks named it last, else as the environment does. Only an agent CLI sets that.
func (v *server) conversation() string {
	if talk := v.talking(); talk != "" && v.host() == "claude" {
		return talk
	}
	return v.facts.Env("CLAUDE_CODE_SESSION_ID")
}

// as is a speaker with the instance of this connection.
func (v *server) as(i address.Instance) *identity.Speaker {
	s := &identity.Speaker{Instance: i, Role: identity.RoleAgent, Scope: v.o.scope, Via: identity.ViaMCP}
	if i.Canonical().Host() == "claude" { // another host's agent may have inherited the variable
		s.Session = v.conversation()
	}
	if s.Scope == "" {
		s.Scope = identity.DefaultScope
	}
	return s
}

// actor is the speaker that an envelope names: own, or a subagent of it. "" is own.
func (v *server) actor(ctx context.Context, b *bus, i address.Instance) (*identity.Speaker, error) {
	own, err := v.speaker(ctx, b, false)
	if err != nil {
		return nil, err
	}
	if i == "" || i.Canonical() == own.Instance.Canonical() {
		return own, nil
	}
	if !isOwn(i, own.Instance) {
		return nil, foreign(own.Instance, fmt.Sprintf("nothing is written in the name of %s", i), "")
	}
	sub := *own
	sub.Instance = i
	return &sub, nil
}

// isOwn tells whether an address is that of the connection's instance or of a subagent of it.
func isOwn(i, own address.Instance) bool {
	parent, _, sub := strings.Cut(string(i), "~")
	if !sub {
		parent = string(i)
	}
	return address.Instance(parent).Canonical() == own.Canonical() || strings.HasPrefix(string(i.Canonical()), string(own.Canonical())+"~")
}

// session returns the name that distinguishes this session of the agent from others: its conversation, which hooks know as well,
// else the session that this process holds.
func (v *server) session(b *bus, s *identity.Speaker) string {
	if s.Session != "" {
		return s.Session
	}
	all := b.attend.Sessions()
	for n := len(all) - 1; n >= 0; n-- {
		if all[n].Instance.Canonical() == s.Instance.Canonical() {
			return string(all[n].SessionID)
		}
	}
	return ""
}
