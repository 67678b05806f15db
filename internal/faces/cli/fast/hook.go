package fast

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/app"
	"tutti/internal/attention/hook"
	"tutti/internal/attention/todo"
	"tutti/internal/attention/wake"
	"tutti/internal/bus/identity"
	"tutti/internal/core/address"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/halt"
)

// HookSources are what a hook needs beyond the bus. Without them the process is replaced by a program that has them, where something may be
// there to be said.
type HookSources struct {
	Projects func(c *kit.Call, home string) *hook.Projects // leads to the mail between projects
	Warner   func() *hook.Warner                           // reads the leases on files
	Waits    func(ctx context.Context, c *kit.Call, w *app.World, me address.Instance) ([]todo.Item, error)
}

// HookOptions are the flags of hook.
type HookOptions struct {
	Wait, AllTools        bool
	Name, Instance, Scope string
}

func runHook(ctx context.Context, c *kit.Call, opt *HookOptions) error {
	return HookWith(ctx, c, opt, nil)
}

// HookWith does what an event of an agent program asks for. It needs no limit of its own: what waits for others gives up by itself,
// its program ends it where it takes too long, and being ended loses nothing. A timer would cost a tenth of it.
func HookWith(ctx context.Context, c *kit.Call, opt *HookOptions, more *HookSources) error {
	signal.Ignore(syscall.SIGPIPE) // a program that has stopped listening is an error to log like others, and no reason to die
	d, ok := driver.Get(c.Arg(0))
	if !ok {
		return kit.Usagef("unknown host %.100q", c.Arg(0))
	}
	e, ok := d.Hooks.Event(c.Arg(1))
	if !ok {
		return kit.Usagef("unknown event %.100q", c.Arg(1))
	}
	// Whether the agent must stand still depends on nothing that can fail here: an error is returned after the switch was asked.
	state, err := c.App.StateDir()
	in, ok := c.In.(*os.File)
	var input []byte
	if !ok {
		err = errors.Join(err, hook.ErrNoInput)
	} else if in, e := hook.ReadInput(in, hook.InputTime); e != nil {
		err = errors.Join(err, e)
	} else {
		input = in
	}
	if err != nil && !halt.Read().Halted {
		return err
	}
	if opt.Wait {
		return awaitMail(ctx, c, d, e.Name, state, input)
	}
	return hook.Run(ctx, hook.Options{
		Driver: d, Event: e.Name, Input: input, Env: os.Getenv, State: state, Out: c.OutFile, Now: time.Now,
		Process: agentProcess, Build: kit.BuildID(), Denies: opt.AllTools, Dialog: hookDialog(c, d, e), Detach: detach,
		Open: func(ctx context.Context, p hook.BusChoice) (*hook.Bus, error) {
			return hookBus(ctx, c, opt, d.Name, p, more)
		},
		Projects: hookProjects(c, input, more),
		Warner:   hookWarner(c, input, more),
		Notice:   func(string) { kit.Announce(ctx, halt.Lift{How: halt.Unrecorded}) },
		Waits:    hookWaits(c, input, more),
		Tell: func(call *driver.Call, i address.Instance, works bool) {
			// Without a server there is usually no listener, and this has no effect.
			_ = wake.Tell(wake.Caller{
				Place: bells(c), Host: d.Name, Conversation: call.Conversation, Instance: string(i.Canonical()),
				Event: call.Event.Name, Works: works,
			})
		},
	})
}

// hookProjects leads hooks to the mail between projects. This program is replaced when some has come.
func hookProjects(c *kit.Call, input []byte, more *HookSources) *hook.Projects {
	home, err := c.App.Home()
	if err != nil {
		return nil
	}
	if more != nil {
		return more.Projects(c, home)
	}
	return hook.Elsewhere(home, withInput(c, input))
}

// hookWaits has this program replaced where something may wait for an agent whose conversation begins.
func hookWaits(c *kit.Call, input []byte, more *HookSources) func(hook.BusChoice) error {
	if more != nil {
		return nil
	}
	return func(p hook.BusChoice) error {
		root := p.Root
		if root == "" {
			r, err := app.New(app.Settings{Root: c.RootFlag(), Dir: p.Dir}).Root()
			if err != nil {
				return nil // it is said where the bus is opened
			}
			root = r.Path
		}
		if !app.MayWait(root, "") {
			return nil
		}
		return withInput(c, input)()
	}
}

// hookWarner reads the leases on files. This program is replaced where there may be one.
func hookWarner(c *kit.Call, input []byte, more *HookSources) *hook.Warner {
	if more != nil {
		return more.Warner()
	}
	return hook.WarnElsewhere(withInput(c, input))
}

// withInput replaces the process by the full program, which reads again what was read.
func withInput(c *kit.Call, input []byte) func() error {
	return func() error {
		if err := putBack(input); err != nil {
			return err
		}
		return toFull(c)
	}
}

// putBack makes standard input what was read of it, for the program that takes our place.
func putBack(input []byte) error {
	f, err := kit.UnnamedFile()
	if err != nil {
		return fmt.Errorf("hand the input on: %w", err)
	}
	defer f.Close()
	if _, err = f.Write(input); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err == nil {
		err = kit.BecomeInput(f)
	}
	if err != nil {
		return fmt.Errorf("hand the input on: %w", err)
	}
	return nil
}

// bells is where the servers of this user hear hooks.
func bells(c *kit.Call) wake.SocketDir {
	home, err := c.App.Home()
	if err != nil {
		home = "" // then there is one place less
	}
	return wake.SocketDir{Home: home, Env: os.Getenv}
}

// awaitMail waits in the background of a conversation for mail, and ends as the program wants to be roused. Meanwhile it
// acknowledges halts: an idle agent has no other hook that could.
func awaitMail(ctx context.Context, c *kit.Call, d *driver.Driver, event, state string, input []byte) error {
	acknowledged := acknowledge(ctx, c, d, state)
	a, err := wake.Await(ctx, bells(c), d, event, input)
	acknowledged()
	if err != nil || a.Status == 0 {
		return err
	}
	if _, err := c.ErrFile.Write(a.Err); err != nil {
		return err
	}
	return &kit.Fault{Code: a.Status}
}

// hookBus opens the bus for an agent. What the command line or the environment names outranks what is remembered.
func hookBus(ctx context.Context, c *kit.Call, opt *HookOptions, host string, p hook.BusChoice, more *HookSources) (*hook.Bus, error) {
	named := address.Instance(opt.Instance)
	if named != "" && named.Host() != host {
		return nil, kit.Usagef("--instance: %.100q is not an agent of %s", named, host)
	}
	set := app.Settings{Root: c.RootFlag(), Dir: p.Dir, Maker: kit.Maker(), Original: c.Under == kit.H2A}
	remembered := p.Root != "" && set.Root == "" && os.Getenv("H2A_ROOT") == ""
	if remembered {
		set.Root = p.Root
	}
	if i, err := os.Stat(p.Dir); err != nil || !i.IsDir() {
		set.Dir = "" // it went away, or is none; the hook runs somewhere
	}
	a := app.New(set)
	var w *app.World
	var err error
	if remembered {
		w, err = a.World(app.Writing)
	} else {
		w, err = a.Join(ctx, func(line string) { c.LogHook(errors.New(line)) })
	}
	var unaccepted *app.UnacceptedError
	if errors.As(err, &unaccepted) {
		return nil, &hook.RefusedError{Text: unaccepted.Error() + "; " + unaccepted.Hint()}
	}
	if err != nil {
		return nil, err
	}
	if named != "" {
		var other *identity.NotOwnError
		if err := w.Identity.ServeAs(ctx, kit.FactsOf(a), named, time.Now()); errors.As(err, &other) {
			return nil, errors.Join(&hook.RefusedError{Text: other.Error()}, w.Close())
		} else if err != nil {
			return nil, errors.Join(err, w.Close())
		}
	}
	office, err := w.MailService()
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	root, err := filepath.Abs(w.Root.Path)
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	var waits func(context.Context, address.Instance) ([]todo.Item, error)
	if more != nil {
		waits = func(ctx context.Context, i address.Instance) ([]todo.Item, error) { return more.Waits(ctx, c, w, i) }
	}
	return &hook.Bus{
		Root: root, Office: office, Close: w.Close, Leases: w.Leases(), Waits: waits,
		Bound: func(ctx context.Context, conversation string) (address.Instance, error) {
			if named != "" {
				return named, nil
			}
			return w.Identity.Bound(ctx, host, conversation)
		},
		Connect: func(ctx context.Context, conversation string) (address.Instance, string, error) {
			q, err := a.Request(kit.FactsOf(a), app.Agent{
				Host: host, Name: opt.Name, Instance: named, Scope: opt.Scope,
			})
			if err != nil {
				return "", "", err
			}
			q.Session, q.Source = conversation, identity.SourceEnv
			r, err := w.Connect(ctx, q, time.Now())
			if err != nil {
				return "", "", err
			}
			return r.Instance, r.Notice, nil
		},
	}, nil
}
