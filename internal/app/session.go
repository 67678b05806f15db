package app

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"time"

	"tutti/internal/address"
	"tutti/internal/identity"
	"tutti/internal/presence"
	"tutti/internal/proc"
	"tutti/internal/roster"
	"tutti/internal/session"
	"tutti/internal/store"
)

// SessionBus tells the bus of agents in tmux: the one that the server of such an agent will use, which depends on the folder in
// which it works. tell is told what a user should know once.
func (a *App) SessionBus(tell func(line string)) session.Bus {
	return session.Bus{
		Began:        func(ctx context.Context, b session.Birth) (string, error) { return a.began(ctx, &b, tell) },
		Ended:        a.ended,
		Kept:         func(ctx context.Context, b session.Birth) error { return a.kept(ctx, &b) },
		Conversation: a.heard,
	}
}

// in is the program as it would be in another folder.
func (a *App) in(dir string) *App {
	set := a.set
	set.Dir = dir
	return New(set)
}

// conversationOf stands for the conversation of a session as long as its program has not chosen one.
func conversationOf(owner string) string { return "tmux:" + owner }

// standInID is the session on the bus that stands in for an agent in tmux.
func standInID(owner string) address.SessionID { return address.SessionID("sess:" + owner) }

// began connects an agent that was started, and makes it present.
func (a *App) began(ctx context.Context, b *session.Birth, tell func(string)) (string, error) {
	at := a.in(b.Dir)
	config, err := at.Config()
	if err != nil {
		return "", err
	}
	w, err := at.Join(ctx, tell)
	if err != nil {
		return "", err
	}
	q := identity.Request{
		Host: b.Agent, Session: b.Conversation, Source: identity.SourceEnv, Title: config.Name, Place: at.Place(),
		Apart: true, Was: address.Instance(b.Instance), Process: b.Process,
	}
	if q.Session == "" {
		q.Session, q.Source = conversationOf(b.Owner), identity.SourceNone
	}
	if q.Title == "" && !strings.HasSuffix(b.Name, "-creator-"+b.Agent) {
		q.Title = b.Name // its user gave it one
	}
	if config.Scope != "" {
		q.Scopes = []string{config.Scope}
	}
	r, err := w.Connect(ctx, q, time.Now())
	if err != nil {
		return "", errors.Join(err, w.Close())
	}
	if r.Notice != "" {
		tell(r.Notice)
	}
	err = w.standIn(ctx, b, presence.Start{Instance: r.Instance, Name: r.Name, Workspace: workspaceOf(r), Interests: presence.Interests{Scopes: q.Scopes}})
	return string(r.Instance), errors.Join(err, w.Close())
}

func workspaceOf(r *identity.Result) *presence.Workspace {
	w := r.Workspace
	if w == nil {
		return nil
	}
	return &presence.Workspace{ID: w.ID, Path: w.Path, Host: w.Host, Label: w.Label, Repo: w.Repo}
}

// standIn makes an agent present that was started, until its own server does. One that was quicker is what counts.
func (w *World) standIn(ctx context.Context, b *session.Birth, s presence.Start) error {
	s.SessionID, s.Host, s.PID = standInID(b.Owner), b.Agent, b.Process.PID
	if len(s.Interests.Scopes) == 0 {
		s.Interests.Scopes = []string{identity.DefaultScope}
	}
	s.Launch = &presence.Launch{
		Cwd: b.Dir, Command: quoted(b.Command), ResumeCommand: quoted(b.Resume),
		Tmux: &presence.Tmux{Session: b.Name, Window: b.Pane.Window, Pane: b.Pane.ID},
	}
	s.Extra = identity.AgentMembers(b.Process)
	s.Extra[presence.StandIn] = []byte("true")
	made, err := w.Presence.Open(ctx, s, time.Now())
	if err != nil {
		return err
	}
	served, err := w.serves(ctx, s.Instance, b.Process)
	if err == nil && served {
		err = w.Presence.Close(ctx, made)
	}
	return err
}

// serves tells whether a server that was started below a process says that an agent is there.
func (w *World) serves(ctx context.Context, i address.Instance, above proc.ID) (bool, error) {
	all, err := w.Presence.Of(ctx, i, time.Now())
	if err != nil {
		return false, err
	}
	for _, s := range all {
		if s.StandsIn() || s.MirroredAt != "" || s.PID <= 1 {
			continue
		}
		for id := range proc.Ancestors(s.PID) {
			if id == above {
				return true, nil
			}
		}
	}
	return false, nil
}

func quoted(argv []string) string {
	words := make([]string, len(argv))
	for i, arg := range argv {
		words[i] = QuoteArg(arg)
	}
	return strings.Join(words, " ")
}

// busOf opens the bus of the agents in a folder. Nil: there is none.
func (a *App) busOf(dir string, mode Mode) (*World, error) {
	w, err := a.in(dir).World(mode)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return w, err
}

// ended takes the stand-in of a session away.
func (a *App) ended(ctx context.Context, r *roster.Row) error {
	if r.Instance == "" || r.OwnerID == "" {
		return nil
	}
	w, err := a.busOf(r.Pane.Cwd, Writing)
	if w == nil || err != nil {
		return err
	}
	s, err := w.Presence.Get(ctx, standInID(r.OwnerID))
	switch {
	case errors.Is(err, store.ErrNotFound):
		err = nil
	case err == nil:
		err = w.Presence.Close(ctx, s)
	}
	return errors.Join(err, w.Close())
}

// kept says that an agent is there for which no server of its own says so.
func (a *App) kept(ctx context.Context, b *session.Birth) error {
	if b.Instance == "" {
		return nil
	}
	w, err := a.busOf(b.Dir, Writing)
	if w == nil || err != nil {
		return err
	}
	_, err = w.Presence.Keep(ctx, standInID(b.Owner), time.Now())
	if errors.Is(err, store.ErrNotFound) {
		err = w.standsAgain(ctx, b)
	}
	return errors.Join(err, w.Close())
}

// standsAgain makes a stand-in for an agent whose server has ended, or has never come.
func (w *World) standsAgain(ctx context.Context, b *session.Birth) error {
	i := address.Instance(b.Instance)
	there, err := w.Presence.Of(ctx, i, time.Now())
	if err != nil || len(there) > 0 {
		return err
	}
	s := presence.Start{Instance: i, Name: w.App.RememberedName(i)}
	if reg, err := w.Registry.ByInstance(ctx, i); err == nil {
		if s.Name == "" {
			s.Name = reg.Name
		}
		if o := reg.Workspace; o != nil {
			s.Workspace = &presence.Workspace{ID: o.ID, Path: o.Path, Host: o.Host, Label: o.Label, Repo: o.Repo}
		}
		s.Interests.Scopes = reg.Scopes
	}
	return w.standIn(ctx, b, s)
}

// heard is the last conversation of the program that a process began.
func (a *App) heard(ctx context.Context, agent, dir string, first proc.ID) (string, error) {
	w, err := a.busOf(dir, Reading)
	if w == nil || err != nil {
		return "", err
	}
	id, err := w.Identity.Conversation(ctx, agent, first)
	return id, errors.Join(err, w.Close())
}
