package observe

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/platform/proc"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/registry"
)

// An Observer tells what has become of sessions. It changes nothing, takes no lock, and of the registry it needs the rows alone.
type Observer struct {
	Home string                   // of the user, absolute
	Env  func(name string) string // the environment; nil: an empty one
	Now  func() time.Time         // nil: the system's clock
	// Workspace is the folder that the registry belongs to, absolute, without links. A session there that looks like ours and
	// has no row is reported; "" looks for none.
	Workspace string
	// Servers are names of tmux servers that are asked although no row names them.
	Servers []string
	// Job tells the state of a job, "" when it is not known; nil: there are no jobs.
	Job func(id string) string
}

// A Report is what an [Observer] found.
type Report struct {
	At       time.Time
	View     *View
	Sessions []Found // of the rows, in their order, then those that have none
	// Background are the servers that were started in these sessions and serve all screens of their program. They outlive them.
	Background []Background
}

// A Background is a process that serves all sessions of one kind of program.
type Background struct {
	Agent   string // kind of program
	Process proc.ID
}

// Found is what was found of one session.
type Found struct {
	Row *registry.Row // nil: it is not registered
	// Name and Server say where it was looked for. Now is what tmux calls it meanwhile, "" for the same.
	Name, Server, Now string
	Kind              string // of program, "" when it is not known
	Observation
	// Drift are letters, see [Drifts]; "" when the row and the world agree.
	Drift string
	Doing Doing
	// Conversation is the id that the program itself tells, "" when it does not.
	Conversation string
	// OnDisk tells whether the conversation of the row can be taken up again; Unsaid where that cannot be seen.
	OnDisk registry.Flag
	Job    string // state of the row's job, "" when it is not known
	// Skips are the arguments that let the program do things without asking.
	Skips []string
	// Remarks are what else a user should know, in words.
	Remarks []string
	// UnderWay: a process is about to do what the row's intent says. CutOff: it was begun, and no process is at it any more.
	UnderWay, CutOff bool
}

// A looker is one look.
type looker struct {
	*Observer
	ctx    context.Context
	now    time.Time
	view   *View
	owners map[string]tmux.Pane // the sessions that have one, by owner
	all    func() []proc.Process
}

// Status looks at the sessions of rows: at all tmux servers that they name, each asked once, at what the programs write of
// themselves, and at the screens of those that write nothing. ctx limits how long it takes; what did not answer by then is unknown.
func (o *Observer) Status(ctx context.Context, rows []registry.Row) *Report {
	l, rep := o.look(ctx, rows)
	for i := range rows {
		l.read(&rep.Sessions[i], &rows[i])
	}
	rep.Sessions = append(rep.Sessions, l.strays(rows)...)
	l.screens(rep.Sessions)
	rep.Background = l.background(rep.Sessions)
	rep.judge()
	return rep
}

// Quick is Status without screens, jobs, and what is stored on disk.
func (o *Observer) Quick(ctx context.Context, rows []registry.Row) *Report {
	l, rep := o.look(ctx, rows)
	rep.Sessions = append(rep.Sessions, l.strays(rows)...)
	rep.judge()
	return rep
}

// look looks at the sessions of rows, but not at their screens.
func (o *Observer) look(ctx context.Context, rows []registry.Row) (*looker, *Report) {
	l := &looker{Observer: o, ctx: ctx, owners: map[string]tmux.Pane{}, view: NewView(ctx, rows, o.Servers...), now: time.Now()}
	l.all = sync.OnceValue(func() []proc.Process {
		all, _ := proc.List() // without it, less is known
		return all
	})
	if o.Now != nil {
		l.now = o.Now()
	}
	for _, s := range l.view.servers {
		for _, p := range s.byName {
			if p.Owner != "" {
				l.owners[s.Name+" "+p.Owner] = p
			}
		}
	}
	rep := &Report{At: l.now, View: l.view, Sessions: make([]Found, len(rows))}
	for i := range rows {
		l.row(&rep.Sessions[i], &rows[i])
	}
	return l, rep
}

func (rep *Report) judge() {
	for i := range rep.Sessions {
		rep.Sessions[i].judge()
	}
}

// read finds out what a row says of a session, and what is stored on disk.
func (l *looker) read(f *Found, r *registry.Row) {
	f.Skips = skips(f.Kind, r.StartArgv)
	if r.Job != "" && l.Job != nil {
		f.Job = l.Job(r.Job)
	}
	f.OnDisk = OnDisk(r, l.Home, l.Env)
}

// row looks at one session, but not at its screen.
func (l *looker) row(f *Found, r *registry.Row) {
	f.Row, f.Name, f.Server, f.Kind, f.Observation = r, r.Name, r.ServerName(), r.Kind(), l.view.Observe(r)
	l.renamed(f)
	l.lost(f)
	l.intent(f)
	if f.State == Alive {
		l.sheet(f)
	}
}

// renamed finds a session that has another name in tmux than in its row, by its owner.
func (l *looker) renamed(f *Found) {
	if f.Row.OwnerID == "" || f.State != Absent && (f.State != Other || !f.Foreign) {
		return
	}
	if pane, ok := l.owners[f.Server+" "+f.Row.OwnerID]; ok {
		f.Now = pane.SessionName
		f.Observation = Judge(f.Row, pane, nil)
		f.remark("tmux calls it " + pane.SessionName + " now")
	}
}

// lost tells of a program that runs although tmux does not know its session. Where its tmux server lives on, and just cannot be
// reached, nothing is known of the session; where it was orphaned, its session is gone.
func (l *looker) lost(f *Found) {
	if f.State != Absent {
		return
	}
	id, sure := RememberedProcess(f.Row)
	if !id.Alive() {
		return
	}
	above, err := proc.Parent(id.PID)
	if err == nil && IsTmuxServer(above) && l.view.servers[f.Server].Err != nil {
		f.Observation = Observation{Err: errSocket}
		if sure {
			f.Process = id
		}
		f.remark("its tmux server, process " + pid(above) + ", " + Unreachable + "; kill -USR1 " + pid(above) + " makes it again")
		return
	}
	if !sure {
		return // another process has its number
	}
	f.Process = id
	f.remark("process " + pid(id.PID) + " runs on without it")
}

// intent tells what was begun.
func (l *looker) intent(f *Found) {
	in := f.Row.Intent
	if in == nil {
		return
	}
	if f.UnderWay = l.atIt(in); f.UnderWay {
		f.remark(in.Verb + " is under way in process " + pid(in.PID))
		return
	}
	f.CutOff = true
	f.remark(in.Verb + " was cut off")
}

// atIt tells whether who wrote an intent still runs.
func (l *looker) atIt(in *registry.Intent) bool {
	return proc.ID{PID: in.PID, Start: in.Start, Boot: in.Boot}.Alive()
}

func (f *Found) remark(text string) { f.Remarks = append(f.Remarks, text) }

// background finds the servers that programs of these sessions keep: those that carry the mark of one of them, or run below it.
// The same program may serve other sessions and other users of this machine, which is nothing that this report is about.
func (l *looker) background(sessions []Found) (found []Background) {
	kinds, owners, firsts := map[string]*driver.Driver{}, map[string]bool{}, map[proc.ID]bool{}
	for i := range sessions {
		f := &sessions[i]
		if d, ok := driver.Kind(f.Kind); ok && d.Life.Serves != nil {
			kinds[d.Name] = d
		}
		if f.Row != nil && f.Row.OwnerID != "" {
			owners[f.Row.OwnerID] = true
		}
		if f.Process.PID > 1 {
			firsts[f.Process] = true
		}
	}
	for _, d := range kinds {
		for _, p := range l.all() {
			if !slices.Contains(d.Life.Comms, p.Comm) {
				continue
			}
			if argv, err := proc.Cmdline(p.PID); err == nil && d.Life.Serves(argv) && belongs(p, owners, firsts) {
				found = append(found, Background{d.Name, p.ID})
			}
		}
	}
	return found
}

// belongs tells whether a process was started in one of the sessions.
func belongs(p proc.Process, owners map[string]bool, firsts map[proc.ID]bool) bool {
	if owner, ok, err := proc.Getenv(p.PID, Variable); err == nil && ok && owners[owner] {
		return true
	}
	for id := range proc.Ancestors(p.PID) {
		if firsts[id] {
			return true
		}
	}
	return false
}

// skips are the arguments of a command that let its program do things without asking.
func skips(kind string, argv []string) []string {
	d, ok := driver.Kind(kind)
	if !ok || len(argv) == 0 {
		return nil
	}
	return d.Life.Skipping(argv[1:])
}

// Doings tells which sessions are there and, row by row, what an agent does. The zero value means that it is not known. Where a program
// asks its user, [Doing.Asks] is never "".
func (o *Observer) Doings(ctx context.Context, rows []registry.Row) (*View, []Doing) {
	only := *o
	only.Workspace = ""
	l, rep := only.look(ctx, rows)
	l.screens(rep.Sessions)
	all := make([]Doing, len(rows))
	for i := range rows {
		f := &rep.Sessions[i]
		if rep.View.Observe(&rows[i]).State != Alive {
			continue
		}
		if all[i] = f.Doing; f.Doing.Word == Asking {
			all[i].Asks = cmp.Or(f.Doing.Asks, "something")
		}
	}
	return rep.View, all
}
