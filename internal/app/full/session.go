package full

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/attention/hook"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/core/termsafe"
	"tutti/internal/halt"
	"tutti/internal/platform/proc"
	"tutti/internal/sessions/job"
	"tutti/internal/sessions/job/mqtt"
	"tutti/internal/sessions/lifecycle"
	"tutti/internal/sessions/registry"
	"tutti/internal/store"
)

// SessionBus returns the bus of agents in tmux: the one that the server of such an agent will use, which depends on the folder
// in which it works. tell gets the notices that a user should see once.
func SessionBus(a *app.App, tell func(line string)) lifecycle.Bus {
	return lifecycle.Bus{
		Began: func(ctx context.Context, b lifecycle.Birth) (string, error) { return began(ctx, a, &b, tell) },
		Ended: func(ctx context.Context, r *registry.Row) error { return ended(ctx, a, r) },
		Kept:  func(ctx context.Context, b lifecycle.Birth) error { return kept(ctx, a, &b) },
		Conversation: func(ctx context.Context, agent, dir string, first proc.ID) (string, error) {
			return heard(ctx, a, agent, dir, first)
		},
		Cleared: func(agent, conversation string) string {
			state, err := a.StateDir()
			if err != nil {
				return ""
			}
			return hook.BegunIn(state, agent, conversation)
		},
	}
}

// SessionJobs tells a job what becomes of its session. It is looked for in the workspace of the registry that has the session, then where
// the user stands and above.
func SessionJobs(workspace, dir string) func(ctx context.Context, id, event, detail string) error {
	return func(ctx context.Context, id, event, detail string) error {
		b, _, err := job.At(workspace)
		over := false
		if err == nil {
			over, err = b.Session(ctx, id, job.Kind(event), detail)
		}
		if errors.Is(err, job.ErrNone) {
			if b, _, err = job.Find(dir); err == nil {
				over, err = b.Session(ctx, id, job.Kind(event), detail)
			}
		}
		switch {
		case over:
			return lifecycle.ErrJobOver
		case err != nil || !job.Kind(event).Terminal():
			return err
		}
		return tellBroker(ctx, b, id)
	}
}

// brokerTime is how long a broker may take to hear that a job has ended: a stop waits for it.
const brokerTime = 3 * time.Second

// tellBroker sends the configured broker, if there is one, the events of a job that it has not received. While everything is
// halted nothing is sent: the next watcher or publisher does it.
func tellBroker(ctx context.Context, b *job.Book, id string) error {
	broker, err := job.BrokerOf(b.Workspace, os.Getenv)
	if errors.Is(err, job.ErrNoBroker) || halt.Check("publish events of job "+id) != nil {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, brokerTime)
	defer stop()
	var net job.Network
	if err == nil {
		net, err = DialBroker(ctx, broker)
	}
	if err == nil {
		_, err = b.Flush(ctx, id, net)
		err = errors.Join(err, net.Close())
	}
	if err != nil {
		return fmt.Errorf("it is in the log, and reaches the broker later: %w", err)
	}
	return nil
}

// DialBroker connects to the broker that job events go to.
var DialBroker = func(ctx context.Context, b job.Broker) (job.Network, error) {
	c, err := mqtt.Dial(ctx, b)
	if err != nil {
		return nil, err // not c: a nil one would be a network
	}
	return c, nil
}

// conversationOf stands for the conversation of a session as long as its program has not chosen one.
func conversationOf(owner string) string { return "tmux:" + owner }

// standInID is the session on the bus that stands in for an agent in tmux.
func standInID(owner string) address.SessionID { return address.SessionID("sess:" + owner) }

// An arrival is an agent on its way to the bus: the bus, open, and what it says of itself there.
type arrival struct {
	w *app.World
	q identity.Request
}

// arriving opens the bus for an agent.
func arriving(ctx context.Context, a *app.App, b *lifecycle.Birth, tell func(string)) (*arrival, error) {
	at := a.In(b.Dir)
	config, err := at.Config()
	if err != nil {
		return nil, err
	}
	w, err := at.Join(ctx, tell)
	if err != nil {
		return nil, err
	}
	q := identity.Request{
		Host: b.Agent, Session: b.Conversation, Source: identity.SourceEnv, Title: config.Name, Place: at.Workplace(),
		Apart: true, Was: address.Instance(b.Instance),
	}
	if q.Session == "" {
		q.Session, q.Source = conversationOf(b.Owner), identity.SourceNone
	}
	if q.Title == "" && !strings.HasSuffix(b.Name, "-creator-"+b.Agent) {
		q.Title, q.Named = b.Name, true // its user gave it one
	}
	if config.Scope != "" {
		q.Scopes = []string{config.Scope}
	}
	return &arrival{w, q}, nil
}

// began connects an agent that was started, and makes it present.
func began(ctx context.Context, a *app.App, b *lifecycle.Birth, tell func(string)) (string, error) {
	r, err := arriving(ctx, a, b, tell)
	if err != nil {
		return "", err
	}
	r.q.Process = b.Process
	c, err := r.w.Connect(ctx, r.q, time.Now())
	if err != nil {
		return "", errors.Join(err, r.w.Close()) // its key may be bound by now
	}
	if c.Notice != "" {
		tell(c.Notice)
	}
	err = standIn(ctx, r.w, b, presence.Start{Instance: c.Instance, Name: c.Name, Workspace: (*presence.Workspace)(c.Workspace), Interests: presence.Interests{Scopes: r.q.Scopes}})
	return string(c.Instance), errors.Join(err, r.w.Close())
}

// standIn makes an agent present that was started, until its own server does. One that was quicker is what counts.
func standIn(ctx context.Context, w *app.World, b *lifecycle.Birth, s presence.Start) error {
	s.SessionID, s.Host, s.PID = standInID(b.Owner), b.Agent, b.Process.PID
	if len(s.Interests.Scopes) == 0 {
		s.Interests.Scopes = []string{identity.DefaultScope}
	}
	s.Launch = &presence.Launch{
		Cwd: b.Dir, Command: quoted(b.Command), ResumeCommand: quoted(b.Resume),
		Tmux: &presence.Tmux{Session: b.Name, Window: b.Pane.Window, Pane: b.Pane.ID},
	}
	s.Extra = identity.AgentMembers(b.Process)
	maps.Copy(s.Extra, presence.OwnerMembers(b.Process, proc.Space()))
	s.Extra[presence.StandIn] = []byte("true")
	if err := w.Registry.Standing(ctx, s.Instance); err != nil {
		return err
	}
	made, err := w.Presence.Open(ctx, s, time.Now())
	if err != nil {
		return err
	}
	served, err := serves(ctx, w, s.Instance, b.Process)
	if err == nil && served {
		err = w.Presence.Close(ctx, made)
	}
	return err
}

// serves tells whether a server that was started below a process says that an agent is there.
func serves(ctx context.Context, w *app.World, i address.Instance, above proc.ID) (bool, error) {
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
		words[i] = termsafe.Word(arg)
	}
	return strings.Join(words, " ")
}

// busOf opens the bus of the agents in a folder. Nil: there is none.
func busOf(a *app.App, dir string, mode app.Mode) (*app.World, error) {
	w, err := a.In(dir).World(mode)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return w, err
}

// ended takes the stand-in of a session away.
func ended(ctx context.Context, a *app.App, r *registry.Row) error {
	if r.Instance == "" || r.OwnerID == "" {
		return nil
	}
	w, err := busOf(a, r.Pane.Cwd, app.Writing)
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
func kept(ctx context.Context, a *app.App, b *lifecycle.Birth) error {
	if b.Instance == "" {
		return nil
	}
	w, err := busOf(a, b.Dir, app.Writing)
	if w == nil || err != nil {
		return err
	}
	_, err = w.Presence.Keep(ctx, standInID(b.Owner), time.Now())
	if errors.Is(err, store.ErrNotFound) {
		err = standsAgain(ctx, w, b)
	}
	return errors.Join(err, w.Close())
}

// standsAgain makes a stand-in for an agent whose server has ended, or has never come.
func standsAgain(ctx context.Context, w *app.World, b *lifecycle.Birth) error {
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
		s.Workspace = (*presence.Workspace)(reg.Workspace)
		s.Interests.Scopes = reg.Scopes
	}
	return standIn(ctx, w, b, s)
}

// heard is the last conversation of the program that a process began.
func heard(ctx context.Context, a *app.App, agent, dir string, first proc.ID) (string, error) {
	w, err := busOf(a, dir, app.Reading)
	if w == nil || err != nil {
		return "", err
	}
	id, err := w.Identity.Conversation(ctx, agent, first)
	return id, errors.Join(err, w.Close())
}
