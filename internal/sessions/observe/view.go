package observe

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/registry"
)

// A View is one look at several tmux servers, each of which was asked once. It changes nothing anywhere.
type View struct{ servers map[string]*Served }

// Served is what one tmux server answered.
type Served struct {
	Name   string
	Panes  *tmux.Snapshot // nil: see Err
	Err    error          // nil, of kind tmux.ErrAbsent: no server runs, or of another kind: not known
	byName map[string]tmux.Pane
}

// NewView looks at all tmux servers that rows name, and at those of the further names, at the same time: one that does not
// answer blocks the others only until tmux.Limit, or the end of the context.
func NewView(ctx context.Context, rows []registry.Row, more ...string) *View {
	v := &View{servers: map[string]*Served{}}
	names := slices.Clone(more)
	for i := range rows {
		names = append(names, rows[i].ServerName())
	}
	var all sync.WaitGroup
	for _, name := range names {
		if v.servers[name] == nil {
			s := &Served{Name: name}
			v.servers[name] = s
			all.Go(func() { s.look(ctx) })
		}
	}
	all.Wait()
	return v
}

func (s *Served) look(ctx context.Context) {
	server, err := tmux.Named(s.Name)
	if err == nil {
		s.Panes, err = server.Panes(ctx)
	}
	if s.Err = err; err != nil {
		return
	}
	s.byName = make(map[string]tmux.Pane, len(s.Panes.Panes))
	for _, p := range s.Panes.Panes {
		if first, ok := s.byName[p.SessionName]; !ok || OlderPane(p, first) {
			s.byName[p.SessionName] = p
		}
	}
}

// older tells whether a pane was made before another one of its server.
func OlderPane(a, b tmux.Pane) bool {
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

// Observe tells what was found of the session of a row.
func (v *View) Observe(r *registry.Row) Observation {
	s := v.servers[r.ServerName()]
	switch {
	case s == nil:
		return Observation{Err: errUnasked}
	case s.Err != nil:
		return Judge(r, tmux.Pane{}, s.Err)
	}
	pane, ok := s.byName[r.Name]
	if !ok {
		return Observation{State: Absent}
	}
	return Judge(r, pane, nil)
}

var (
	errUnasked = errors.New("its tmux server was not asked")
	errSocket  = errors.New("its tmux server cannot be reached")
)
