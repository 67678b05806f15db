package status

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"

	"tutti/internal/agents/driver"
	"tutti/internal/app"
	"tutti/internal/app/snapshot"
	"tutti/internal/attention/todo"
	"tutti/internal/core/address"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/faces/tui"
	"tutti/internal/platform/terminal"
)

type topOptions struct{ Plain, Once bool }

// runTop shows the live screen of all agents.
func runTop(ctx context.Context, c *kit.Call, opt *topOptions) error {
	t := &topView{c: c}
	o, err := t.options()
	if err != nil {
		return err
	}
	if c.JSON {
		return kit.UsageHint("tutti status --json", "top is a screen: it has no JSON")
	}
	if opt.Once {
		s, err := t.look(ctx)
		if err != nil {
			return err
		}
		for _, line := range tui.Once(o, s, cmp.Or(c.Columns, sketchWide)) {
			c.Line(line)
		}
		return nil
	}
	in, _ := c.In.(*os.File)
	out, _ := c.OutFile.(*os.File)
	switch {
	case opt.Plain:
		return tui.Lines(ctx, o, c.OutFile, cmp.Or(c.Columns, sketchWide))
	case in == nil || out == nil || kit.Columns(in) == 0 || kit.Columns(out) == 0:
		return kit.Refuse("tutti top --once", "top: this is not a terminal")
	case os.Getenv("TERM") == "dumb":
		return kit.Refuse("tutti top --plain", "top: this terminal cannot move its cursor (TERM=dumb)")
	}
	if t.tty, err = terminal.New(); err == nil { // else screens are read by the clock
		defer t.tty.Close()
	}
	return tui.Run(ctx, o, in, out)
}

// A topView looks again and again for the live screen.
type topView struct {
	c    *kit.Call
	lock sync.Mutex                   // guards what follows
	tmux map[string]*snapshot.Session // those of the last look, by the key of the agent
	tty  *terminal.Watcher            // of the screen that was read last; nil: the system does not tell
	at   string                       // that screen; "": it is not known
}

// options are what the screen is given.
func (t *topView) options() (*tui.Options, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, kit.FailIO("", err, "find this program")
	}
	o := &tui.Options{
		Follow: t.follow, Look: t.look, Screen: t.preview, Wrote: t.wrote, Shown: t.c.App.Shown, Program: program, Dir: t.c.App.WorkDir(),
		Log: t.c.Table.Has(kit.Tutti, "log"),
	}
	if o.Keys, err = Keys(t.c.App); err != nil {
		return nil, err
	}
	if _, err := kit.FactsOf(t.c.App).ForUser("act from this screen"); err != nil {
		o.ReadOnly = kit.Clean(err.Error())
	}
	for _, d := range driver.All() {
		if _, err := exec.LookPath(d.Program); err == nil {
			o.CLIs = append(o.CLIs, d.Name)
		}
	}
	return o, nil
}

// Keys reads the table [keys] of the settings.
func Keys(a *app.App) (k tui.Keys, err error) {
	f, err := a.Settings()
	if err == nil {
		err = f.Table("keys", &k)
	}
	if wrong, ok := errors.AsType[*tui.KeyError](k.Check()); err == nil && ok {
		err = f.Wrong("keys", wrong.Setting, "", wrong.Why)
	}
	return k, err
}

// follow looks until the context ends.
func (t *topView) follow(ctx context.Context, show func(*tui.Snapshot, error)) {
	snapshot.Follow(ctx, t.looks(), func(v *snapshot.View, err error) { show(t.shown(v), err) })
}

// look makes a snapshot of this moment.
func (t *topView) look(ctx context.Context) (*tui.Snapshot, error) {
	v, err := snapshot.Take(ctx, t.looks())
	return t.shown(v), err
}

// looks are the options of a look. What it would remark beside it has no place on the screen.
func (t *topView) looks() *snapshot.Options {
	c := *t.c
	c.Out, c.ErrFile, c.App = nil, io.Discard, t.c.App.In(t.c.App.WorkDir()) // an App serves one look at a time
	o := snapshotOptions(&c)
	o.Facts = true
	return o
}

// shown is a view as the screens have it, nil for none.
func (t *topView) shown(v *snapshot.View) *tui.Snapshot {
	if v == nil {
		return nil
	}
	s := &tui.Snapshot{At: v.At}
	if v.Halted.Halted {
		s.Halt = strings.TrimLeft(strings.TrimPrefix(haltedText(&v.Halted, s.At), "Halted"), " ,")
	}
	if len(v.Rows) == 0 {
		s.Known = v.Asleep()
	}
	tmux := map[string]*snapshot.Session{}
	keys := map[address.Instance]string{}
	sessions := map[string]string{}
	for i := range v.Rows {
		r := &v.Rows[i]
		a := tui.Agent{Row: r.Row}
		s.Agents = append(s.Agents, a)
		key := a.Key()
		if r.Instance != "" {
			keys[r.Instance] = key
		}
		if r.Tmux != nil {
			tmux[key] = r.Tmux
			sessions[r.Session] = key
		}
	}
	for _, w := range v.Waits() {
		one := tui.Wait{ID: w.Command + "\x00" + w.Text, Text: w.Text, Agent: keys[w.Of], Command: w.Command, Actions: w.Actions}
		if item := w.Item; item != nil {
			one.ID, one.Text, one.Change, one.Since = item.Kind+"\x00"+item.ID+"\x00"+item.From, v.Topic(item), item.Change, item.At
			if item.Kind == todo.Permission && sessions[item.ID] != "" {
				one.Agent = sessions[item.ID]
			}
		}
		s.Waits = append(s.Waits, one)
	}
	for _, p := range v.Problems {
		s.Notes = append(s.Notes, t.c.App.Shown(p.Bus)+" cannot be read: "+p.Error)
	}
	t.lock.Lock()
	t.tmux = tmux
	t.lock.Unlock()
	return s
}

// screen reads what the terminal of an agent shows.
func (t *topView) screen(ctx context.Context, a tui.Agent) ([]string, error) {
	t.lock.Lock()
	l := t.tmux[a.Key()]
	t.lock.Unlock()
	if l == nil {
		return nil, errors.New("it does not run in tmux")
	}
	return l.Screen(ctx)
}

// preview is screen for wrote: it waits for the next write before it reads.
func (t *topView) preview(ctx context.Context, a tui.Agent) ([]string, error) {
	t.lock.Lock()
	t.at = ""
	if l := t.tmux[a.Key()]; l != nil && t.tty != nil {
		select {
		case <-t.tty.C:
		default:
		}
		if at := l.Terminal(); at != "" && t.tty.Arm(at) == nil {
			t.at = at
		}
	}
	t.lock.Unlock()
	return t.screen(ctx, a)
}

// wrote waits until a program writes to the screen that was read last.
func (t *topView) wrote(ctx context.Context) error {
	t.lock.Lock()
	at := t.at
	t.lock.Unlock()
	if at == "" {
		return errors.ErrUnsupported
	}
	select {
	case <-t.tty.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
