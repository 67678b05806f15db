package server

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
)

// host is that of the agent that is served.
func (v *server) host() string {
	switch {
	case v.o.host != "":
		return v.o.host
	case v.o.instance != "":
		return v.o.instance.Host()
	}
	return address.DefaultHost
}

// autoOpen connects the agent that is served and opens its connection. A call proves that there is a conversation, which may get a
// new agent; without one the server of a program that has not named its conversation waits for that, see package identity.
func (v *server) autoOpen(ctx context.Context, called bool) error {
	b, err := v.world(ctx)
	if err != nil {
		return err
	}
	host := v.host()
	q, err := v.app.Request(v.facts, app.Agent{Instance: v.o.instance, Host: host, Name: v.o.name, Scope: v.o.scope})
	if err != nil {
		return err
	}
	if talk := v.talking(); talk != "" && q.Session == "" && v.o.instance == "" {
		q.Session, q.Source = talk, identity.SourceEnv
	}
	q.Serves = !called && q.Session == ""
	r, err := b.World.Connect(ctx, q, time.Now())
	if err != nil {
		return err
	}
	if q.Session != "" {
		v.talks(q.Session)
	}
	return v.openAs(ctx, b, r, host, q.Scopes)
}

// openAs opens the connection of an agent.
func (v *server) openAs(ctx context.Context, b *bus, r *identity.Result, host string, scopes []string) error {
	v.mu.Lock()
	v.own = r.Instance
	v.mu.Unlock()
	if r.Notice != "" {
		v.log(r.Notice)
	}
	start := presence.Start{
		Instance: r.Instance, Host: host, Name: r.Name, Workspace: (*presence.Workspace)(r.Workspace), Launch: v.launch(host),
		Interests: presence.Interests{Scopes: scopes},
	}
	if len(scopes) == 0 {
		start.Interests.Scopes = []string{identity.DefaultScope}
	}
	s, peers, err := v.open(ctx, b, start)
	if err != nil {
		return fmt.Errorf("as %s: %w", r.Instance, err)
	}
	v.log(fmt.Sprintf("opened %s as %s (%s; %d others are live)", s.SessionID, r.Instance, r.Action, len(peers)))
	return nil
}

// open begins a session of this process, with what it knows of itself.
func (v *server) open(ctx context.Context, b *bus, s presence.Start) (*presence.Session, []*presence.Session, error) {
	if s.PID == 0 {
		s.PID = v.pid
	}
	if s.Name == "" {
		s.Name = v.app.RememberedName(s.Instance)
	}
	s.Version = &presence.Version{CLI: v.cli}
	if s.Workspace == nil {
		w, err := b.Identity.WorkspaceOf(ctx, s.Host, v.facts.Place(), time.Now())
		if err != nil {
			return nil, nil, err
		}
		s.Workspace = (*presence.Workspace)(w)
	}
	extra := map[string][]byte{}
	if p, ok := v.facts.AgentProcess(); ok {
		extra = identity.AgentMembers(p.ID)
	}
	if talk := v.talking(); talk != "" {
		extra[identity.AgentConversation] = identity.ConversationMember(talk)
	}
	own, peers, err := b.attend.Open(ctx, s, extra)
	if err == nil {
		peers = v.relieve(ctx, b, own, peers)
		if err := v.forsake(ctx, b, s.Instance); err != nil { // existing programs may take it for the conductor
			v.log(fmt.Sprintf("a claim of %s to conduct stays: %v", s.Instance, err))
		}
	}
	return own, peers, err
}

// relieve removes the placeholder of the agent, which the process that started it in tmux recorded. It returns the
// others that are there.
func (v *server) relieve(ctx context.Context, b *bus, own *presence.Session, peers []*presence.Session) []*presence.Session {
	return slices.DeleteFunc(peers, func(s *presence.Session) bool {
		if !s.StandsIn() || s.Instance.Canonical() != own.Instance.Canonical() || !v.isBelow(s) {
			return false
		}
		if err := b.World.Presence.Close(ctx, s); err != nil {
			v.log(fmt.Sprintf("session %s, which stood in for this one, stays until it expires: %v", s.SessionID, err))
		}
		return true
	})
}

// isBelow tells whether this server runs below the process that a session names as its agent.
func (v *server) isBelow(s *presence.Session) bool {
	if v.facts.Ancestors == nil {
		return false
	}
	return slices.ContainsFunc(v.facts.Ancestors(), func(p identity.Process) bool { return identity.Serves(s.Raw, p.ID) })
}

// launch says in which pane the agent runs. Outside of one nothing is said: the agent could not be started again from it.
func (v *server) launch(host string) *presence.Launch {
	pane := v.facts.Env("TMUX_PANE")
	if v.facts.Env("TMUX") == "" || pane == "" {
		return nil
	}
	return &presence.Launch{
		Cwd: v.facts.Place().Path, Command: strings.Join([]string{"h2a", "mcp-serve", "--host", host}, " "),
		Tmux: &presence.Tmux{Pane: pane},
	}
}
