package observe

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"tutti/internal/platform/proc"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/registry"
)

// A View is one look at several tmux servers, each of which was asked once, for everything. It changes nothing anywhere.
type View struct {
	servers map[string]*Served
	brief   bool
	live    map[int]proc.ID // processes that were looked at while tmux worked
}

// Served is what one tmux server answered.
type Served struct {
	Name   string
	Panes  *tmux.Snapshot // nil: see Err
	Err    error          // nil, of kind tmux.ErrAbsent: no server runs, or of another kind: not known
	byName map[string]tmux.Pane

	wants   []tmux.Want       // whose screens are asked for
	screens map[string]string // those that came, by the id of the pane
}

// Glance tells quickly which sessions are there. It takes the word of the row for when its process began.
func Glance(ctx context.Context, rows []registry.Row) *View {
	v := &View{servers: map[string]*Served{}, brief: true}
	v.observe(ctx, rows, nil, nil, nil)
	return v
}

// observe looks at all tmux servers that rows name, and at those of the further names, at the same time, with the screens of some rows and
// what is done meanwhile; both may be nil. It takes as long as the slowest of them, at most tmux.Limit or as long as the context.
func observe(ctx context.Context, rows []registry.Row, screens func(*registry.Row) bool, meanwhile func(*View), more []string) *View {
	v := &View{servers: map[string]*Served{}}
	v.observe(ctx, rows, screens, meanwhile, more)
	return v
}

func (v *View) observe(ctx context.Context, rows []registry.Row, screens func(*registry.Row) bool, meanwhile func(*View), more []string) {
	for i := range rows {
		v.toAsk(rows[i].ServerName())
	}
	for _, name := range more {
		v.toAsk(name)
	}
	var all sync.WaitGroup
	defer all.Wait()
	var wanted chan struct{} // closed when it is known whose screens are; nil: nobody's
	if screens != nil {
		wanted = make(chan struct{})
		all.Go(func() {
			v.want(rows, screens)
			close(wanted)
			meanwhile(v)
		})
	}
	for _, s := range v.servers {
		if len(v.servers) == 1 { // in this thread: another one may have to be made first
			s.look(ctx, v.brief, wanted)
			return
		}
		all.Go(func() { s.look(ctx, v.brief, wanted) })
	}
}

func (v *View) toAsk(name string) {
	if v.servers[name] == nil {
		v.servers[name] = &Served{Name: name}
	}
}

// want finds out whose screens are asked for.
func (v *View) want(rows []registry.Row, screens func(*registry.Row) bool) {
	for i := range rows {
		if r := &rows[i]; screens(r) {
			s := v.servers[r.ServerName()]
			s.wants = append(s.wants, tmux.Want{ID: r.Pane.ID, PID: r.Pane.PID})
		}
	}
}

func (s *Served) look(ctx context.Context, brief bool, wanted <-chan struct{}) {
	server, err := tmux.Named(s.Name)
	var panes []tmux.Pane
	if err == nil {
		panes, err = s.ask(ctx, server, brief, wanted)
	}
	if err != nil {
		s.Panes, s.Err = nil, err
		return
	}
	s.byName = make(map[string]tmux.Pane, len(panes))
	for _, p := range panes {
		if first, ok := s.byName[p.SessionName]; !ok || OlderPane(p, first) {
			s.byName[p.SessionName] = p
		}
	}
}

// ask has tmux list its panes, and begins with that before it is known whose screens are wanted.
func (s *Served) ask(ctx context.Context, server tmux.Server, brief bool, wanted <-chan struct{}) (panes []tmux.Pane, err error) {
	if brief {
		return server.Brief(ctx)
	}
	survey := server.Overview
	if wanted != nil {
		call := server.ToSurvey()
		defer call.Drop()
		<-wanted
		survey = call.Overview
	}
	if s.Panes, s.screens, err = survey(ctx, s.wants); err == nil {
		panes = s.Panes.Panes
	}
	return panes, err
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
	if v.brief {
		return glanceOf(r, pane)
	}
	return sightBy(r, pane, v.process)
}

// process is the process that has a pid, as it was seen while tmux worked: that it has ended, tmux or the next look tells.
func (v *View) process(pid int) (proc.ID, error) {
	if id, ok := v.live[pid]; ok {
		return id, nil
	}
	return proc.Of(pid)
}

// meet looks at the process of a row.
func (v *View) meet(r *registry.Row) {
	if r.Status != registry.Running || r.Pane.PID <= 1 {
		return
	}
	if id, err := proc.Of(r.Pane.PID); err == nil {
		if v.live == nil {
			v.live = map[int]proc.ID{}
		}
		v.live[r.Pane.PID] = id
	}
}

// glanceOf is sightOf without a look at the process: the pane says that it runs, and a pane that has the pid of the row in the same
// boot was not started anew.
func glanceOf(r *registry.Row, pane tmux.Pane) Observation {
	s := Observation{State: Other, Pane: pane}
	switch id := (proc.ID{PID: pane.PID, Start: r.Pane.StartTicks, Boot: proc.BootID()}); {
	case r.OwnerID != pane.Owner:
		s.Foreign = true
	case pane.Dead && !endedThere(r, &pane):
		s.Foreign = true
	case pane.Dead:
		s.State = Dead
	case !isOf(r, id):
		s.Replaced = true
	default:
		s.State, s.Process = Alive, id
	}
	return s
}

var (
	errUnasked = errors.New("its tmux server was not asked")
	errSocket  = errors.New("its tmux server cannot be reached")
)
