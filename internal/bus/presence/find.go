package presence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/store"
)

// A Look is the state of all sessions in the index at one moment: callers can ask several questions for the price of one.
type Look struct {
	p    *Presence
	rows []store.Row
}

// Look asks the index.
func (p *Presence) Look(ctx context.Context) (*Look, error) {
	l := &Look{p: p}
	for row, err := range store.ViewOf(ctx, p.docs, store.Presence, "", facts, store.Query{}) {
		switch {
		case err == nil:
			l.rows = append(l.rows, row)
		case !store.IsUnfit(err):
			return nil, fmt.Errorf("look for sessions: %w", err)
		}
	}
	return l, nil
}

// A Workspaces is a set of workspaces: those with one of the ids, and those that are one folder. Ids are in canonical form; an
// empty path is not a folder.
type Workspaces struct {
	IDs  []string
	Path string
}

func (w *Workspaces) keys() []string {
	var keys []string
	for _, id := range w.IDs {
		keys = append(keys, byWorkspace+id)
	}
	if w.Path != "" {
		keys = append(keys, byFolder+w.Path)
	}
	return keys
}

// In returns the fresh sessions of a place in the order of their records. It reads those, and no others.
func (l *Look) In(ctx context.Context, w Workspaces, now time.Time) ([]*Session, error) {
	found, err := l.read(ctx, w.keys(), l.p.counts(now))
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b *Session) int { return strings.Compare(a.key.Name, b.key.Name) })
	return found, nil
}

// Workspace tells whether a session has a workspace whose id, in canonical form, is one that match takes.
func (l *Look) Workspace(match func(id string) bool) bool {
	for i := range l.rows {
		for _, k := range l.rows[i].Keys {
			if id, ok := strings.CutPrefix(k, byWorkspace); ok && match(id) {
				return true
			}
		}
	}
	return false
}

// InWorkspace returns the fresh sessions in a workspace, the one with the latest heartbeat first.
func (p *Presence) InWorkspace(ctx context.Context, id address.WorkspaceID, now time.Time) ([]*Session, error) {
	return p.with(ctx, byWorkspace+address.Canonical(string(id)), p.counts(now))
}

// with reads the wanted ones of the sessions that have an index key, the one with the latest heartbeat first.
func (p *Presence) with(ctx context.Context, want string, wanted func(*Session) bool) ([]*Session, error) {
	l, err := p.Look(ctx)
	if err != nil {
		return nil, err
	}
	found, err := l.read(ctx, []string{want}, wanted)
	if err != nil {
		return nil, err
	}
	latestFirst(found)
	return found, nil
}

// read reads the wanted ones of the sessions that have one of the index keys. What the index says is asked of the record again.
func (l *Look) read(ctx context.Context, keys []string, wanted func(*Session) bool) ([]*Session, error) {
	has := func(all []string) bool {
		return slices.ContainsFunc(all, func(k string) bool { return slices.Contains(keys, k) })
	}
	var found []*Session
	for i := range l.rows {
		if !has(l.rows[i].Keys) {
			continue
		}
		s, err := l.p.read(ctx, l.rows[i].Key)
		switch {
		case errors.Is(err, store.ErrNotFound) || store.IsUnfit(err):
			continue
		case err != nil:
			return nil, fmt.Errorf("look for sessions: %w", err)
		}
		if now, _, _, err := facts.Make(s.Raw, time.Time{}); err == nil && has(now) && wanted(s) {
			found = append(found, s)
		}
	}
	return found, nil
}

// moved takes the record of a session away that its agent opens again in another folder, so that the index, which believes a
// record as long as it is there, asks anew. Another program that keeps an index and did not look in between goes on finding it
// in its former folder until the record is gone; no program finds it where it is not, as records are read again.
func (p *Presence) moved(ctx context.Context, old *Session) error {
	if err := p.docs.Delete(ctx, old.key, old.rev); err != nil {
		return err
	}
	_, err := p.Look(ctx)
	return err
}

// elsewhere tells whether two records of one session are of different workspaces.
func elsewhere(a, b *Session) bool {
	x, y := a.Workspace, b.Workspace
	if x == nil || y == nil {
		return x != y
	}
	return address.Canonical(x.ID) != address.Canonical(y.ID) || x.Path != y.Path
}
