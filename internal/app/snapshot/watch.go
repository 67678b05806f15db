package snapshot

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/app"
	"tutti/internal/attention/approval"
	"tutti/internal/bus/inventory"
	"tutti/internal/comms/protocol"
	"tutti/internal/halt"
	"tutti/internal/platform/fswatch"
	"tutti/internal/platform/proc"
	"tutti/internal/platform/terminal"
	"tutti/internal/sessions/job"
	"tutti/internal/sessions/registry"
	"tutti/internal/store"
)

// A watch tells that something has probably changed: a bus, a session registry, the inventory of both, what Claude Code writes of
// itself, what an agent asks its user, the halt switch, a pause, a mailbox of a project, or the end of an agent CLI. Writes to screens have a signal of their own,
// because programs at work write all the time.
type watch struct {
	news  chan struct{} // one signal stands for many
	subs  map[string]*fswatch.Sub
	buses map[string]bool
	ends  map[proc.ID]func()
	tty   *terminal.Watcher // nil: the system does not tell
	ttys  map[string]bool   // the screens that matter
	relay sync.WaitGroup
}

func newWatch(ctx context.Context, a *app.App) *watch {
	w := &watch{news: make(chan struct{}, 1), subs: map[string]*fswatch.Sub{}, buses: map[string]bool{}, ends: map[proc.ID]func(){}, ttys: map[string]bool{}}
	w.tty, _ = terminal.New() // without it, screens are looked at by the clock
	w.folder(filepath.Dir(halt.Path()), filepath.Base(halt.Path()))
	if state, err := a.StateDir(); err == nil {
		w.folder(filepath.Join(state, "pauses"))
		w.folder(inventory.Folder(state))
		w.folder(approval.Folder(state)) // Claude Code says that it waits before its hook has asked
	}
	if home, err := a.Home(); err == nil {
		for _, d := range driver.All() {
			if d.Life.Sheet != nil {
				w.folder(filepath.Dir(d.Life.Sheet(driver.Site{Home: home, Env: os.Getenv}, 1)))
			}
		}
	}
	if dir := folderHere(); dir != "" {
		place, _ := registry.PathOf(dir, "", os.Getenv)
		w.registry(place)
		if b, _, err := job.At(registry.Workspace(place, dir)); err == nil {
			w.folder(b.Dir())
		}
	}
	_ = a.In(a.WorkDir()).Worlds(func(on *app.World) error { // the look itself names what cannot be read
		w.bus(ctx, on.Root.Path)
		return nil
	})
	return w
}

// folder watches a folder, and with names only these entries of it.
func (w *watch) folder(dir string, names ...string) {
	if w.subs[dir] != nil {
		return
	}
	o := fswatch.Options{Names: fswatch.Visible}
	if len(names) > 0 {
		o.Names = func(entry string) bool {
			for _, name := range names {
				if entry == name {
					return true
				}
			}
			return false
		}
	}
	s := fswatch.Watch(dir, o)
	w.subs[dir] = s
	w.relay.Go(func() {
		for range s.C {
			w.tell()
		}
	})
}

// registry watches a session registry.
func (w *watch) registry(path string) { w.folder(filepath.Dir(path), filepath.Base(path)) }

// reports is what changes on a bus when agents write, read, ask, agree, are blocked, come or go.
var reports = []store.Scope{
	{Kind: store.Inbox},
	{Kind: store.Archive},
	{Kind: store.Journal},
	{Kind: store.Escalation},
	{Kind: store.Blockage},
	{Kind: store.FileLease},
	{Kind: store.Negotiation},
	{Kind: store.Outgoing},
	{Kind: store.Quarantine},
	{Kind: store.Presence},
}

// bus watches a bus until ctx ends, and reports whether it is watched from now on only. The watch opens the bus anew: it outlives the
// look that found it.
func (w *watch) bus(ctx context.Context, root string) (begun bool) {
	if w.buses[root] {
		return false
	}
	on, err := app.New(app.Settings{Root: root}).World(app.Reading)
	if err != nil {
		return false // the look itself names it
	}
	changes, err := on.Store.Watch(ctx, reports)
	if err != nil {
		on.Close()
		return false
	}
	w.buses[root] = true
	w.relay.Go(func() {
		defer on.Close()
		live := map[store.Key]bool{}
		for change := range changes {
			if !change.Rescan && change.Key.Kind == store.Presence && !w.cameOrWent(ctx, on, live, change.Key) {
				continue
			}
			w.tell()
		}
	})
	return true
}

// cameOrWent tells whether a connection was made or ended. Most changes of one are heartbeats.
func (w *watch) cameOrWent(ctx context.Context, on *app.World, live map[store.Key]bool, k store.Key) bool {
	_, err := on.Store.Get(ctx, k)
	there := err == nil
	if there == live[k] {
		return false
	}
	if live[k] = there; !there {
		delete(live, k)
	}
	return true
}

func (w *watch) tell() {
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// follow watches what a view has shown to be there. It reports false where screens have to be looked at by the clock.
func (w *watch) follow(ctx context.Context, v *View) (told bool) {
	for i := range v.Buses {
		if w.bus(ctx, v.Buses[i].path) {
			w.tell() // what happened on it since the look
		}
	}
	for i := range v.Sessions {
		w.registry(v.Sessions[i].Registry)
	}
	if v.Letters != nil {
		for _, p := range v.Letters.Projects {
			w.folder(filepath.Join(p.Path, protocol.MailboxFolder))
		}
	}
	running, before := map[proc.ID]bool{}, w.ttys
	w.ttys, told = map[string]bool{}, true
	for i := range v.Rows {
		r := &v.Rows[i]
		if r.Program.PID > 0 {
			running[r.Program] = true
			w.end(r.Program)
		}
		if r.Tmux == nil || !r.Tmux.shows() {
			continue
		}
		path := r.Tmux.Terminal()
		if w.tty == nil || path == "" {
			told = false
			continue
		}
		if w.ttys[path] = true; !before[path] {
			told = told && w.tty.Arm(path) == nil
			w.tell() // what was written since the look
		}
	}
	for id, stop := range w.ends {
		if !running[id] {
			stop()
			delete(w.ends, id)
		}
	}
	return told
}

// end watches for the end of an agent CLI.
func (w *watch) end(id proc.ID) {
	if w.ends[id] != nil {
		return
	}
	ended, stop, err := proc.End(id)
	if err != nil {
		return // it has ended, or the slow look finds out
	}
	over := make(chan struct{})
	w.ends[id] = sync.OnceFunc(func() {
		stop()
		close(over)
	})
	w.relay.Go(func() {
		select {
		case <-ended:
			w.tell()
		case <-over:
		}
	})
}

// arm waits for the next write to each of the screens that matter. It is called before they are read.
func (w *watch) arm() {
	if w.tty == nil {
		return
	}
	select {
	case <-w.tty.C:
	default:
	}
	for path := range w.ttys {
		_ = w.tty.Arm(path) // one that is gone writes no more
	}
}

// wait waits for news, but at least for pause after since, and at most for rest. What is written to screens counts after the time
// written only. It reports false when ctx has ended.
func (w *watch) wait(ctx context.Context, since time.Time, pause, written, rest time.Duration) bool {
	end := time.After(rest)
	var screens <-chan struct{}
	if w.tty != nil {
		screens = w.tty.C
	}
	select {
	case <-ctx.Done():
		return false
	case <-w.news:
	case <-screens:
		select {
		case <-ctx.Done():
			return false
		case <-w.news:
		case <-time.After(time.Until(since.Add(written))):
		}
	case <-end:
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(time.Until(since.Add(pause))):
		return true
	}
}

func (w *watch) close() {
	for _, s := range w.subs {
		s.Close()
	}
	for _, stop := range w.ends {
		stop()
	}
	if w.tty != nil {
		w.tty.Close()
	}
	w.relay.Wait()
}
