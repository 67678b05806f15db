package status

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/app"
	"tutti/internal/attention/todo"
	"tutti/internal/core/address"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/faces/tui"
	"tutti/internal/sessions/lifecycle"
	"tutti/internal/sessions/observe"
	"tutti/internal/sessions/registry"
)

type topOptions struct{ Plain, Once bool }

// runTop shows the live screen of all agents.
func runTop(ctx context.Context, c *kit.Call, opt *topOptions) error {
	t := &topView{c: c, rows: map[string]*registry.Row{}}
	o, err := t.options()
	if err != nil {
		return err
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
	return tui.Run(ctx, o, in, out)
}

// A topView looks again and again for the live screen.
type topView struct {
	c    *kit.Call
	one  sync.Mutex               // held by a look: what it reads once for the process is not made for two
	lock sync.Mutex               // guards rows
	rows map[string]*registry.Row // of the sessions of the last look, by the key of the agent
}

// options are what the screen is given.
func (t *topView) options() (*tui.Options, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, kit.FailIO("", err, "find this program")
	}
	o := &tui.Options{
		Follow: t.follow, Look: t.look, Screen: t.screen, Shown: t.c.App.Shown, Program: program, Dir: t.c.App.WorkDir(),
		Log: t.c.Table.Has(kit.Tutti, "log"),
	}
	f, err := t.c.App.Settings()
	if err == nil {
		err = f.Table("keys", &o.Keys)
	}
	if wrong, ok := errors.AsType[*tui.KeyError](o.Keys.Check()); err == nil && ok {
		err = f.Wrong("keys", wrong.Setting, "", wrong.Why)
	}
	if err != nil {
		return nil, err
	}
	if _, err := kit.FactsOf(t.c.App).ForUser("act from this screen"); err != nil {
		o.ReadOnly = kit.Clean(err.Error())
	}
	for _, d := range driver.All() {
		o.CLIs = append(o.CLIs, d.Name)
	}
	return o, nil
}

// How long follow waits between two looks: as short as that where something has changed, else longer and longer. News end the wait.
const (
	lookSoon  = time.Second
	lookApart = 100 * time.Millisecond // at least: a message is shown within 200 ms
)

// later is the longest wait. A screen reports no change by itself, so a question of an agent that works is found in two seconds at most.
func later(s *tui.Snapshot) time.Duration {
	pause := 12 * time.Second
	for i := range s.Agents {
		switch a := &s.Agents[i]; {
		case a.Guess && a.Doing == observe.StateWorking:
			return 2 * time.Second
		case a.Guess:
			pause = 4 * time.Second
		}
	}
	return pause
}

// follow looks until the context ends.
func (t *topView) follow(ctx context.Context, show func(*tui.Snapshot, error)) {
	ctx, stop := context.WithCancel(ctx)
	watch := newTopWatch()
	defer watch.close()
	defer stop()                              // the watches of buses end with it
	_ = t.c.Worlds(func(w *app.World) error { // the look itself names what cannot be read
		watch.bus(ctx, w.Root.Path)
		return nil
	})
	if home, err := t.c.App.Home(); err == nil {
		watch.home(home)
	}
	pause := lookSoon
	var last *tui.Snapshot
	for {
		s, err := t.look(ctx)
		if ctx.Err() != nil {
			return
		}
		if show(s, err); err == nil {
			watch.registries(s)
			if last != nil && same(last, s) {
				pause = min(later(s), pause*2)
			} else {
				pause = lookSoon
			}
			last = s
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookApart):
		}
		select {
		case <-ctx.Done():
			return
		case <-watch.news:
		case <-time.After(pause - lookApart):
		}
	}
}

// same tells whether two snapshots differ in nothing but their time.
func same(a, b *tui.Snapshot) bool {
	equal := func(x, y tui.Agent) bool {
		x.AsOf = y.AsOf
		return reflect.DeepEqual(x, y)
	}
	return slices.EqualFunc(a.Agents, b.Agents, equal) && reflect.DeepEqual(a.Waits, b.Waits) && a.Halt == b.Halt
}

// look makes a snapshot. What it would remark beside it has no place on the screen.
func (t *topView) look(ctx context.Context) (*tui.Snapshot, error) {
	t.one.Lock()
	defer t.one.Unlock()
	c := *t.c
	c.Out, c.ErrFile, c.App = nil, io.Discard, t.c.App.In(t.c.App.WorkDir())
	opt := &statusOptions{}
	v, err := lookAtAll(ctx, &c, opt, true)
	if v == nil {
		return nil, err
	}
	s := &tui.Snapshot{At: time.Now()}
	if v.halted.Halted {
		s.Halt = strings.TrimLeft(strings.TrimPrefix(haltedText(&v.halted, s.At), "Halted"), " ,")
	}
	rows := map[string]*registry.Row{}
	keys := map[address.Instance]string{}
	sessions := map[string]string{}
	for i := range v.rows {
		r := &v.rows[i]
		a := tui.Agent{Row: r.Row}
		s.Agents = append(s.Agents, a)
		key := a.Key()
		if r.Instance != "" {
			keys[r.Instance] = key
		}
		if r.session != nil {
			rows[key] = r.session.row
			sessions[r.Session] = key
		}
	}
	for i, w := range waits(&c, opt, v) {
		one := tui.Wait{ID: w.command + "\x00" + w.text, Text: w.text, Agent: keys[w.of], Command: w.command, Actions: w.actions}
		if i < len(v.waiting) {
			item := &v.waiting[i]
			one.ID, one.Text = item.Kind+"\x00"+item.ID+"\x00"+item.From, v.topic(item)
			one.Since = item.At
			if item.Kind == todo.Permission && sessions[item.ID] != "" {
				one.Agent = sessions[item.ID]
			}
		}
		s.Waits = append(s.Waits, one)
	}
	for _, p := range v.problems {
		s.Notes = append(s.Notes, t.c.App.Shown(p.Bus)+" cannot be read: "+p.Error)
	}
	t.lock.Lock()
	t.rows = rows
	t.lock.Unlock()
	return s, nil
}

// topic is waitText without the time, which the screen renews itself.
func (v *statusView) topic(i *todo.Item) string {
	timeless := *i
	timeless.At = time.Time{}
	return v.waitText(&timeless)
}

// screen reads what the terminal of an agent shows.
func (t *topView) screen(ctx context.Context, a tui.Agent) ([]string, error) {
	t.lock.Lock()
	r := t.rows[a.Key()]
	t.lock.Unlock()
	if r == nil {
		return nil, errors.New("it does not run in tmux")
	}
	return lifecycle.Coloured(ctx, r)
}
