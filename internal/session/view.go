package session

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"tutti/internal/roster"
	"tutti/internal/tmux"
)

// A View is one look at several tmux servers, each of which was asked once, for everything. It changes nothing anywhere.
type View struct{ servers map[string]*Served }

// Served is what one tmux server answered.
type Served struct {
	Name   string
	Panes  *tmux.Snapshot // nil: see Err
	Err    error          // nil, of kind tmux.ErrAbsent: no server runs, or of another kind: not known
	byName map[string]tmux.Pane

	wants   []tmux.Want       // whose screens are asked for
	screens map[string]string // those that came, by the id of the pane
}

// Observe looks at all tmux servers that rows name, and at those of the further names, at the same time. It takes as long as the
// slowest of them, at most tmux.Limit or as long as the context.
func Observe(ctx context.Context, rows []roster.Row, more ...string) *View {
	return observe(ctx, rows, nil, more)
}

// observe is Observe, with the screens of some rows.
func observe(ctx context.Context, rows []roster.Row, screens func(*roster.Row) bool, more []string) *View {
	v := &View{servers: map[string]*Served{}}
	ask := func(name string) *Served {
		s := v.servers[name]
		if s == nil {
			s = &Served{Name: name}
			v.servers[name] = s
		}
		return s
	}
	for i := range rows {
		s := ask(rows[i].ServerName())
		if screens != nil && screens(&rows[i]) {
			s.wants = append(s.wants, tmux.Want{ID: rows[i].Pane.ID, PID: rows[i].Pane.PID})
		}
	}
	for _, name := range more {
		ask(name)
	}
	var all sync.WaitGroup
	for _, s := range v.servers {
		all.Go(func() { s.look(ctx) })
	}
	all.Wait()
	return v
}

func (s *Served) look(ctx context.Context) {
	server, err := tmux.Named(s.Name)
	if err == nil {
		s.Panes, s.screens, err = server.Survey(ctx, s.wants)
	}
	if err != nil {
		s.Panes, s.Err = nil, err
		return
	}
	s.byName = make(map[string]tmux.Pane, len(s.Panes.Panes))
	for _, p := range s.Panes.Panes {
		if first, ok := s.byName[p.SessionName]; !ok || older(p, first) {
			s.byName[p.SessionName] = p
		}
	}
}

// older tells whether a pane was made before another one of its server.
func older(a, b tmux.Pane) bool {
	n, err := strconv.Atoi(a.ID[1:])
	m, other := strconv.Atoi(b.ID[1:])
	return err == nil && (other != nil || n < m)
}

// All returns what each server answered, by name.
func (v *View) All() []*Served {
	all := slices.Collect(maps.Values(v.servers))
	slices.SortFunc(all, func(a, b *Served) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Absent tells that no server of that name runs, which is known then.
func (s *Served) Absent() bool { return errors.Is(s.Err, tmux.ErrAbsent) }

// Server returns what the tmux server of a name answered, nil when it was not asked.
func (v *View) Server(name string) *Served { return v.servers[name] }

// Sight tells what was found of the session of a row.
func (v *View) Sight(r *roster.Row) Sight {
	s := v.servers[r.ServerName()]
	switch {
	case s == nil:
		return Sight{Err: errUnasked}
	case s.Err != nil:
		return sightOf(r, tmux.Pane{}, s.Err)
	}
	pane, ok := s.byName[r.Name]
	if !ok {
		return Sight{State: Absent}
	}
	return sightOf(r, pane, nil)
}

var (
	errUnasked = errors.New("its tmux server was not asked")
	errSocket  = errors.New("its tmux server cannot be reached")
)
