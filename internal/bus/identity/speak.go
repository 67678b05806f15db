package identity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/platform/proc"
)

// An Ask is what the caller of a command said about who speaks.
type Ask struct {
	As       string // --as
	Instance string // --instance: whose mailbox is read; for Reader only
	Host     string // the host that was named, "" for none. Only Remote makes SESSION_ID count
	Peek     bool   // make nothing; who has no identity yet is an *UnknownError
}

// A Speaker is who sends, or whose mailbox is read.
type Speaker struct {
	Instance address.Instance
	Role     string // what its messages may claim: RoleAgent, or RolePerson for a person at a terminal
	Scope    string
	Via      string // how it was found out who this is, which its messages say: one of the Via constants
	Session  string // id of the conversation, "" for a person
	How      string // by which rule, for people
	Named    bool   // by a flag or in the environment, so that the name may be wrong
}

// How a speaker was identified. Messages say it in the bytes that are signed.
const (
	ViaTerminal = "terminal"   // a person at a terminal, or an agent that was named there
	ViaHook     = "hook"       // the hooks or the server of an agent CLI have tied the process or the conversation to the agent
	ViaMCP      = "mcp"        // the agent CLI called a tool
	ViaFlag     = "--as"       // below an agent CLI: the agent named itself or its subagent
	Unattended  = "unattended" // a script, cron: no agent CLI runs the command, and no person is at a terminal
)

// A NoIdentityError reports a command below an agent program that nothing ties to an agent of the bus. It is not taken for
// the person's own, who would then have said what an agent says.
type NoIdentityError struct {
	Host string             // of the agent program
	Who  []address.Instance // agents that it could be, the likeliest first
	Box  bool               // it runs in the sandbox of Codex, which hides the processes above
}

func (e *NoIdentityError) Error() string {
	if len(e.Who) > 1 {
		return fmt.Sprintf("cannot tell which of %d agents of this %s is speaking", len(e.Who), e.Host)
	}
	return fmt.Sprintf("this runs below %s and names no agent of the bus", e.Host)
}

// Hint says what to type.
func (e *NoIdentityError) Hint() string {
	if e.Box {
		return "call the tool tutti_receive, tutti_send or tutti_reply, or " + e.flag()
	}
	return e.flag()
}

func (e *NoIdentityError) flag() string {
	if len(e.Who) > 0 {
		return "add --as " + string(e.Who[0])
	}
	return fmt.Sprintf(`add --as INSTANCE; "tutti connect --host %s" gives one`, e.Host)
}

// An UnknownError reports a reader that has no identity and thus no mailbox yet.
type UnknownError struct {
	Who    string
	Person bool // the user, and not an agent
}

func (e *UnknownError) Error() string { return e.Who + " has no mailbox on this bus yet" }

// Hint says how one comes about.
func (e *UnknownError) Hint() string {
	return `the first message you send makes it; to act as an agent of this folder, export TUTTI_INSTANCE=AGENT ("tutti discover --all" lists them)`
}

// Speak tells who sends. The first that holds: --as; TUTTI_INSTANCE, both within what [Keeper.Represent] allows; the conversation that
// the environment names, unless a process above is another agent's, whose agent is connected when it is unknown; a process above that
// a binding or a session names as an agent's; the Codex conversation that the environment names; the person, unless an agent program is above or in the environment, which is a *NoIdentityError.
func (k *Keeper) Speak(ctx context.Context, f *Facts, a Ask, now time.Time) (*Speaker, error) {
	s, err := k.speak(ctx, f, a, now)
	if err != nil {
		return nil, fmt.Errorf("find out who speaks: %w", err)
	}
	return s, nil
}

// Reader returns the agent whose mailbox is read: that of --instance, or the one that would speak.
func (k *Keeper) Reader(ctx context.Context, f *Facts, a Ask, now time.Time) (*Speaker, error) {
	if a.Instance != "" {
		return k.named(ctx, f, a.Instance, "--instance")
	}
	s, err := k.speak(ctx, f, a, now)
	if err != nil {
		return nil, fmt.Errorf("find out whose mailbox is read: %w", err)
	}
	return s, nil
}

func (k *Keeper) speak(ctx context.Context, f *Facts, a Ask, now time.Time) (*Speaker, error) {
	if a.As != "" {
		return k.represented(ctx, f, a.As, "--as", now)
	}
	if i := f.env(EnvInstance); i != "" {
		return k.represented(ctx, f, i, EnvInstance, now)
	}
	if q, variable := conversation(f, a); q.Session != "" {
		if s, err := k.outranked(ctx, f, q, now); s != nil || err != nil {
			return s, err
		}
		q.Place, q.Reclaims = f.place(), f.Reclaims
		return k.inConversation(ctx, f, q, variable, a.Peek, now)
	}
	s, who, err := k.below(ctx, f, now)
	if s != nil || err != nil {
		return s, err
	}
	if s, err := k.inThread(ctx, f, who); s != nil || err != nil {
		return s, err
	}
	host := f.agent()
	switch {
	case len(who) > 1:
		if host == "" {
			host = who[0].Host()
		}
		return nil, &NoIdentityError{Host: host, Who: who}
	case host != "":
		who, err := k.likely(ctx, f, host, now)
		if err != nil {
			return nil, err
		}
		_, seen := f.AgentProcess()
		return nil, &NoIdentityError{Host: host, Who: who, Box: !seen && f.env(envCodex) != ""}
	}
	return k.person(ctx, f, a.Peek, now)
}

// inThread is the agent of the Codex conversation that the environment names, nil for none. In its sandbox, Codex has a process namespace
// of its own, so no process above tells who speaks. who are the agents that a process above could be; none: it says nothing.
func (k *Keeper) inThread(ctx context.Context, f *Facts, who []address.Instance) (*Speaker, error) {
	thread := f.env(envCodex)
	if thread == "" {
		return nil, nil
	}
	b, ok, err := k.bound(ctx, "codex", thread)
	if err != nil || !ok || len(who) > 0 && !slices.Contains(who, b.Instance) {
		return nil, err
	}
	s := &Speaker{Role: RoleAgent, Scope: DefaultScope, Session: thread, How: "the conversation in " + envCodex, Via: f.tied()}
	return s.as(b), nil
}

// represented is named for a caller that acts, and not only looks.
func (k *Keeper) represented(ctx context.Context, f *Facts, name, how string, now time.Time) (*Speaker, error) {
	s, err := k.named(ctx, f, name, how)
	if err != nil {
		return nil, err
	}
	if err := k.Represent(ctx, f, s.Instance, now); err != nil {
		return nil, fmt.Errorf("%s: %w", how, err)
	}
	if s.Via == "" && !f.Reclaims {
		s.Via = f.via()
	}
	return s, nil
}

// named is a speaker that was named outright. Whether this user has the key of a full id is found out when it signs.
func (k *Keeper) named(ctx context.Context, f *Facts, name, how string) (*Speaker, error) {
	if err := address.Check(name); err != nil {
		return nil, fmt.Errorf("%s: %w", how, err)
	}
	if f.Reclaims && !address.HostQualified(name) {
		return nil, fmt.Errorf("%s: %w", how, &NameError{Name: name})
	}
	who, err := k.Named(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", how, err)
	}
	s := &Speaker{Instance: who, Role: RoleAgent, Scope: DefaultScope, How: how, Named: true, Session: f.env(envClaude)}
	if s.Instance.Canonical().Host() == Human {
		s.Role, s.Via = attendance(f, f.agent())
	}
	return s, nil
}

// conversation is what the environment says about the conversation, and in which variable. Its place is not looked for yet.
func conversation(f *Facts, a Ask) (q Request, variable string) {
	if a.Host == Remote {
		return Request{Host: Remote, Session: f.env(envBridge), Source: SourceBridge, Workspace: f.env(envBridgeWS)}, envBridge
	}
	return Request{Host: "claude", Session: f.env(envClaude), Source: SourceEnv}, envClaude
}

// inConversation is the agent of a conversation. A known one costs one look-up in the bindings and one at its key file.
func (k *Keeper) inConversation(ctx context.Context, f *Facts, q Request, variable string, peek bool, now time.Time) (*Speaker, error) {
	s := &Speaker{Role: RoleAgent, Scope: DefaultScope, Session: q.Session, How: "the conversation in " + variable, Via: f.tied()}
	if q.Host == Remote {
		if i := address.Bridged(q.Session); k.Ring.Has(i) {
			s.Instance = i
			return s, nil
		}
	} else {
		b, ok, err := k.bound(ctx, q.Host, q.Session)
		if err != nil {
			return nil, err
		}
		if ok {
			return s.as(b), nil
		}
	}
	if p, ok := f.AgentProcess(); ok && p.Agent() == q.Host {
		q.Process = p.ID
	}
	if peek {
		return k.peek(ctx, s, q, now)
	}
	made, err := k.Connect(ctx, q, now)
	if err != nil {
		return nil, err
	}
	s.Instance = made.Instance
	return s, nil
}

// Bound returns the agent that a conversation is bound to, "" when it is to none whose key is here.
func (k *Keeper) Bound(ctx context.Context, host, session string) (address.Instance, error) {
	b, ok, err := k.bound(ctx, host, session)
	if err != nil || !ok {
		return "", err
	}
	return b.Instance, nil
}

func (k *Keeper) bound(ctx context.Context, host, session string) (Binding, bool, error) {
	found, err := k.find(ctx, sessionKey(host, session))
	if err != nil {
		return Binding{}, false, err
	}
	b, ok := k.ours(found)
	return b, ok, nil
}

// peek is the agent as which an unknown conversation would go on.
func (k *Keeper) peek(ctx context.Context, s *Speaker, q Request, now time.Time) (*Speaker, error) {
	if q.Host != Remote {
		w, err := k.workspaceFor(ctx, q, now)
		if err != nil {
			return nil, err
		}
		c := &claim{k: k, q: q, now: now, result: &Result{Host: q.Host, Workspace: w, Name: q.name(w.Label)}}
		if b, _, err := c.known(ctx); err != nil || b.Instance != "" {
			return s.as(b), err
		}
	}
	return nil, &UnknownError{Who: "this conversation"}
}

// as makes the speaker the instance of a binding.
func (s *Speaker) as(b Binding) *Speaker {
	s.Instance = b.Instance
	if b.Scope != "" {
		s.Scope = b.Scope
	}
	return s
}

// ours returns the newest binding whose key is in the keyring. It is not a proof of possession: if the key was revoked, the
// readers of its signatures notice, and so does the next connect.
func (k *Keeper) ours(all []Binding) (Binding, bool) {
	for _, b := range all {
		if k.Ring.Has(b.Instance) {
			return b, true
		}
	}
	return Binding{}, false
}

// inWorkspace returns the last bindings of a workspace, under any id that its folder ever had, the newest first.
func (k *Keeper) inWorkspace(ctx context.Context, host, workspace string, p Workplace, now time.Time) ([]Binding, error) {
	ids, err := k.workspaces(ctx, workspace, p, now)
	if err != nil {
		return nil, err
	}
	var all []Binding
	for _, id := range ids {
		found, err := k.find(ctx, workspaceKey(host, id))
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	if len(ids) > 1 {
		slices.SortStableFunc(all, func(a, b Binding) int {
			switch {
			case later(a, b):
				return -1
			case later(b, a):
				return 1
			}
			return 0
		})
	}
	return all, nil
}

// likely are the agents of the host that have worked in this folder, newest first: whom to name in a hint.
func (k *Keeper) likely(ctx context.Context, f *Facts, host string, now time.Time) ([]address.Instance, error) {
	p := f.place()
	w, err := k.WorkspaceOf(ctx, host, p, now)
	if err != nil {
		return nil, err
	}
	found, err := k.inWorkspace(ctx, host, w.ID, p, now)
	if err != nil {
		return nil, err
	}
	b, ok := k.ours(found)
	if !ok {
		return nil, nil
	}
	return []address.Instance{b.Instance}, nil
}

// Conversation returns the last conversation at the host that was bound in a program, or in one that was started through it, "" for
// none.
func (k *Keeper) Conversation(ctx context.Context, host string, program proc.ID) (string, error) {
	found, err := k.find(ctx, processKey(program))
	if err != nil {
		return "", fmt.Errorf("find the conversation of process %d: %w", program.PID, err)
	}
	for _, b := range found {
		if address.Canonical(b.Host+":x") == address.Canonical(host+":x") && !strings.Contains(b.Session, ":") { // with one it represents a conversation
			return b.Session, nil
		}
	}
	return "", nil
}

// Covers tells whether an address is that of an agent or of a subagent of it.
func Covers(own, i address.Instance) bool {
	c, o := string(i.Canonical()), string(own.Canonical())
	return c == o || strings.HasPrefix(c, o+"~")
}

// Why returns why no agent or user speaks here, without the operation that found out.
func Why(err error) string {
	var unknown *UnknownError
	var none *NoIdentityError
	switch {
	case errors.As(err, &unknown):
		return unknown.Error()
	case errors.As(err, &none):
		return none.Error()
	}
	return err.Error()
}
