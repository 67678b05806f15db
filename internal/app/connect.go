package app

import (
	"context"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/bus/identity"
	"tutti/internal/core/address"
)

// A TrackedError reports a bus that is not made, because git would carry it to and from other people.
type TrackedError struct{ Shown string }

func (e *TrackedError) Error() string {
	return e.Shown + " is tracked by git: anyone who can push to the repository could write your agents' mail and keys"
}

// Hint says what to type.
func (e *TrackedError) Hint() string {
	return "git rm -r --cached " + QuoteArg(e.Shown) + "   # and put .h2a/ into .gitignore"
}

// MakeWorld opens the selected bus, and makes it when there is none; one that it makes is accepted. A bus that git tracks is a
// *TrackedError. What could not be remembered of a bus that works without is the remark.
func (a *App) MakeWorld(ctx context.Context) (w *World, remark, err error) {
	root, err := a.Root()
	if err != nil {
		return nil, nil, err
	}
	was := IsBus(root.Path)
	if !was && TrackedByGit(ctx, root.Path) {
		return nil, nil, &TrackedError{Shown: a.Shown(root.Path)}
	}
	if w, err = a.World(Creating); err != nil {
		return nil, nil, err
	}
	if !was {
		_, remark = a.Accept(root.Path, time.Now())
	}
	return w, remark, nil
}

// Join opens the bus for an agent that connects automatically, as MakeWorld does. tell gets the notices that a user should see
// once.
func (a *App) Join(ctx context.Context, tell func(line string)) (*World, error) {
	root, err := a.Root()
	if err != nil {
		return nil, err
	}
	a.TellPassed(tell)
	if IsBus(root.Path) {
		return a.World(Writing)
	}
	w, remark, err := a.MakeWorld(ctx)
	if remark != nil {
		tell(remark.Error())
	}
	return w, err
}

// TellPassed reports, once in the life of each, the buses on the way to the selected one.
func (a *App) TellPassed(tell func(line string)) {
	for _, p := range a.TellOnce(time.Now()) {
		tell(p.String() + "; " + p.Hint())
	}
}

// An Agent is what is said of an agent that connects; all may be empty.
type Agent struct {
	Instance address.Instance // taken as it is
	Host     string
	Name     string
	Scope    string
}

// Request completes what is said of an agent with what the settings and the process that asks say: the conversation, the
// place, the agent program above.
func (a *App) Request(f *identity.Facts, g Agent) (identity.Request, error) {
	config, err := a.Config()
	if err != nil {
		return identity.Request{}, err
	}
	q := identity.Request{Instance: g.Instance, Host: g.Host, Name: g.Name, Title: config.Name, Place: f.Place()}
	if g.Scope == "" {
		g.Scope = config.Scope
	}
	if g.Scope != "" {
		q.Scopes = []string{g.Scope}
	}
	conversation(&q, f)
	if p, ok := f.AgentProcess(); ok && p.Agent() == g.Host {
		q.Process = p.ID
		if d, ok := driver.Get(g.Host); ok && d.Life.Serves != nil && d.Life.Serves(p.Args) {
			q.Shared, q.Windows = true, func() int { return windows(d, q.Place.Path) }
		}
	}
	q.Reclaims = a.set.Original
	q.Above = f.Wrappers(g.Host)
	return q, nil
}

// conversation adds what the environment says about the conversation, for the hosts that name theirs in it.
func conversation(q *identity.Request, f *identity.Facts) {
	variable, source := "", ""
	switch q.Host {
	case "claude":
		variable, source = "CLAUDE_CODE_SESSION_ID", identity.SourceEnv
	case identity.Remote:
		variable, source = "SESSION_ID", identity.SourceBridge
		q.Workspace = f.Env("SESSION_WORKSPACE_ID")
	default:
		return
	}
	if q.Session = f.Env(variable); q.Session != "" {
		q.Source = source
	}
}

// Connect finds or makes the identity of an agent. Without a name of its own it bears the one that it was renamed to, and one that
// goes on under an id it had, where the settings give none, that of its registration: who was connected as ana stays ana when its
// program starts in that folder.
func (w *World) Connect(ctx context.Context, q identity.Request, now time.Time) (*identity.Result, error) {
	r, err := w.Identity.Connect(ctx, q, now)
	if err != nil {
		return nil, err
	}
	if q.Name != "" {
		return r, nil
	}
	if name := w.App.RememberedName(r.Instance); name != "" {
		r.Name = name
	} else if q.Title == "" && r.Action == identity.Reclaim {
		if reg, err := w.Registry.ByInstance(ctx, r.Instance); err == nil && reg.Name != "" {
			r.Name = reg.Name
		}
	}
	return r, nil
}
