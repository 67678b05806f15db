package full

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/governance/conductor"
	"tutti/internal/sessions/tracker"
)

// Conductor returns what answers who conducts here.
func Conductor(w *app.World) *conductor.Service {
	return &conductor.Service{Log: w.Store, Presence: w.Presence, Registry: w.Registry, Machine: presence.Here()}
}

// ErrWorkspace reports what is neither the id of a workspace nor a folder.
var ErrWorkspace = errors.New("is not a workspace")

// Workspace is the named workspace: its id, which begins with ws:, a folder, or with "" the one here.
func Workspace(a *app.App, given string) (conductor.Where, error) {
	if strings.HasPrefix(strings.ToLower(given), "ws:") {
		if err := address.Check(given); err != nil || len(given) == len("ws:") {
			return conductor.Where{}, fmt.Errorf("%.100q %w", given, ErrWorkspace)
		}
		return conductor.Where{ID: given}, nil
	}
	p := a.Workplace()
	if given != "" {
		if !filepath.IsAbs(given) {
			given = filepath.Join(p.Path, given)
		}
		p.Path = filepath.Clean(given)
		if real, err := filepath.EvalSymlinks(p.Path); err == nil { // one that is gone has the path that it had
			p.Path = real
		}
	}
	return Folder(p), nil
}

// Folder is a folder as a workspace.
func Folder(p identity.Workplace) conductor.Where {
	return conductor.Where{
		Path: p.Path, Derived: identity.DeriveWorkspace(p.Machine, p.Path),
		Durable: func(ctx context.Context) string {
			roots, worktree, ok := app.Repository(ctx, p.Path)
			if !ok {
				return ""
			}
			return string(identity.RepositoryWorkspace(roots, worktree))
		},
	}
}

// Advice is whether a conductor should be launched in a workspace: no agent conducts there, and work has been stalled for so many
// milliseconds. Without a bus no agent conducts. Silent says why the work is not known; the advice is given all the same.
func Advice(ctx context.Context, w *app.World, where conductor.Where, idle float64) (check *conductor.Check, silent, err error) {
	r := &conductor.Resolution{Workspace: string(where.Derived)}
	if w != nil {
		if r, err = Conductor(w).Resolve(ctx, where, time.Now()); err != nil {
			return nil, nil, err
		}
	}
	id := cmp.Or(where.ID, r.Workspace)
	var act *conductor.Activity
	raw, silent := tracker.Program{}.Activity(ctx, id, conductor.IdleText(idle))
	if silent == nil {
		act, silent = conductor.ParseActivity(raw)
	}
	return conductor.Advise(id, r, act), silent, ctx.Err()
}

// LaunchMail delivers the request of a launch in the name of its sender.
func LaunchMail(office *mail.Service, l *conductor.Launch) func(ctx context.Context, to address.Instance, raw []byte) error {
	return func(ctx context.Context, to address.Instance, raw []byte) error {
		_, err := office.Send(ctx, mail.Draft{From: &identity.Speaker{Instance: l.From}, To: to, Raw: raw, Exact: true, Deposit: true, Unsigned: true})
		return err
	}
}
