package full

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"tutti/internal/app"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/governance/conductor"
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
