package full

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"tutti/internal/app"
	"tutti/internal/attention/wake"
	"tutti/internal/attention/watchdog"
	"tutti/internal/bus/envelope"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/members"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/governance/conductor"
	"tutti/internal/governance/escalation"
	"tutti/internal/halt"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/lifecycle"
	"tutti/internal/sessions/observe"
	sessionregistry "tutti/internal/sessions/registry"
	"tutti/internal/store"
)

// Relaunchers are the ways in which agents are asked to go on: not at all, by keys in their pane, by taking up their session again, or the
// first of these that works.
var Relaunchers = []string{"logging", "local-tmux", "headless", "auto"}

// Remote is the way to agents of other machines. It needs a signer, so it is for callers that name one.
const Remote = "remote"

// Drumbeat is what the watchdog of this bus works with, except settings, relauncher and notices. env is the environment.
func Drumbeat(w *app.World, office *mail.Service, env func(string) string) watchdog.Options {
	return watchdog.Options{
		Book: &watchdog.Book{Store: w.Store}, Mail: &watchdog.Intake{Office: office, Registry: w.Registry}, Halted: halt.Check, Engaged: office.Engaged,
		Reach: func(ctx context.Context, i address.Instance, now time.Time) (string, error) {
			found, err := w.Book.Resolve(ctx, string(i), now)
			if err != nil || found.Kind != members.Refuse {
				return "", err
			}
			return found.Reason, nil
		},
		Said:      func(ctx context.Context, i address.Instance) (time.Time, error) { return lastSent(ctx, w, i) },
		Workspace: func(ctx context.Context, i address.Instance) (string, error) { return workspaceOf(ctx, w, i) },
		Conductor: func(ctx context.Context, workspace string, now time.Time) (address.Instance, error) {
			r, err := Conductor(w).Resolve(ctx, conductor.Where{ID: workspace}, now)
			if err != nil {
				return "", err
			}
			return r.ClaimedBy, nil
		},
		Ended: panes(env).Ended,
	}
}

// TellPrincipal returns what puts one message into the mailbox of the principal with whom an agent is registered, once it is
// escalated to a person: by from, and signed. An agent without a principal, or that is asked by it, is in the list of items for
// a person all the same. nil: from has no key here.
func TellPrincipal(w *app.World, office *mail.Service, from *identity.Speaker) func(ctx context.Context, a *escalation.Alert) error {
	if from == nil || from.Instance == "" || !w.Ring.Has(from.Instance) {
		return nil
	}
	return func(ctx context.Context, a *escalation.Alert) error {
		r, err := w.Registry.ByInstance(ctx, a.Instance)
		if errors.Is(err, registry.ErrNotRegistered) {
			return nil
		}
		if err != nil {
			return err
		}
		to := address.Instance(r.Principal)
		if to == "" || to.Canonical() == from.Instance.Canonical() || to.Canonical() == a.Instance.Canonical() {
			return nil
		}
		_, err = office.Send(ctx, mail.Draft{
			From: from, To: to, Exact: true, Deposit: true,
			Text: string(a.Instance) + " has stopped, and asking it to go on did not help (" + a.Detail + "). It waits for you: tutti watchdog escalations",
		})
		if err != nil {
			return fmt.Errorf("tell %s: %w", to, err)
		}
		return nil
	}
}

// SpeakerOf is an agent with its first role and its first scope here, AGENTS and scope:default if it has none.
func SpeakerOf(ctx context.Context, w *app.World, i address.Instance) (*identity.Speaker, error) {
	s := &identity.Speaker{Instance: i, Role: "AGENTS", Scope: "scope:default"}
	roles, scopes, err := w.Registry.Effective(ctx, i)
	if err != nil && !errors.Is(err, registry.ErrNotRegistered) {
		return nil, err
	}
	if len(roles) > 0 {
		s.Role = roles[0]
	}
	if len(scopes) > 0 {
		s.Scope = scopes[0]
	}
	return s, nil
}

// lastSent is when an agent last sent something, by when its copy came to lie there; zero: never.
func lastSent(ctx context.Context, w *app.World, i address.Instance) (last time.Time, err error) {
	owner := address.Segment(string(i.Canonical()))
	for row, err := range store.ViewOf(ctx, w.Store, store.Outbox, owner, &envelope.Projection, store.Query{Newest: 1}) {
		if store.IsUnfit(err) {
			continue
		}
		if err != nil {
			return last, err
		}
		last = row.Stored
	}
	return last, nil
}

// workspaceOf is the id of the workspace that an agent is registered with, "" where it is not, or with none.
func workspaceOf(ctx context.Context, w *app.World, i address.Instance) (string, error) {
	r, err := w.Registry.ByInstance(ctx, i)
	if errors.Is(err, registry.ErrNotRegistered) {
		return "", nil
	}
	if err != nil || r.Workspace == nil {
		return "", err
	}
	return r.Workspace.ID, nil
}

func panes(env func(string) string) watchdog.Panes {
	return watchdog.Panes{
		Servers: func() []tmux.Server { return observe.Servers(env) }, Halted: halt.Check,
		Typing: wake.TypingWindow(env(wake.TypingVariable)),
	}
}

// Relaunching says where the sessions of agents are found that are taken up again.
type Relaunching struct {
	Dir        string   // where the user stands: absolute, without links
	Registries []string // paths
	Open       func(path string) (sessionregistry.Registry, error)
	Env        func(name string) string
	Environ    []string
	Tell       func(line string)

	Elsewhere watchdog.Relauncher // asks on other machines; nil: that is not done
}

// Relauncher makes the one of a kind; nil: "logging", which asks no agent. "remote" is r.Elsewhere.
func Relauncher(w *app.World, kind string, r Relaunching) watchdog.Relauncher {
	keys, sessions := panes(r.Env), watchdog.Sessions{Managers: func(ctx context.Context) ([]watchdog.Managed, error) { return managed(ctx, w, r) }}
	switch kind {
	case "local-tmux":
		return keys
	case "headless":
		return sessions
	case Remote:
		return r.Elsewhere
	case "auto":
		if r.Elsewhere != nil {
			return watchdog.Chain{keys, r.Elsewhere, sessions}
		}
		return watchdog.Chain{keys, sessions}
	}
	return nil
}

// managed are the registries that are there.
func managed(ctx context.Context, w *app.World, r Relaunching) (all []watchdog.Managed, err error) {
	if r.Open == nil {
		return nil, nil
	}
	home, err := w.App.Home()
	if err != nil {
		return nil, err
	}
	for _, path := range r.Registries {
		reg, err := r.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var rows []sessionregistry.Row
		if err == nil {
			rows, _, err = reg.Rows(ctx)
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		m := lifecycle.New(lifecycle.Options{
			Registry: reg, Workspace: r.Dir, Home: home, Env: r.Env, Environ: r.Environ, Server: r.Env(observe.ServerVariable),
			Halted: func() error { return halt.Check("drumbeat") }, Bus: SessionBus(w.App, r.Tell),
			Jobs: SessionJobs(sessionregistry.Workspace(path, r.Dir), r.Dir), Started: Started(w.App), Tell: r.Tell,
		})
		all = append(all, watchdog.Managed{Rows: slices.Clone(rows), Resume: m.Resume})
	}
	return all, nil
}
