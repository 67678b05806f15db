package cli

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
	"tutti/internal/halt"
)

// HookSources are what a hook needs beyond the bus. Without them the process is replaced by a program that has them, where something may be
// there to be said.
type HookSources struct {
	Projects func(c *Call, home string) *hook.Projects // leads to the mail between projects
	Warner   func() *hook.Warner                       // reads the leases on files
	Waits    func(ctx context.Context, c *Call, w *app.World, me address.Instance) ([]todo.Item, error)
}

func runHook(ctx context.Context, c *Call) error { return hookWith(ctx, c, nil) }

// hookWith does what an event of an agent program asks for. It needs no limit of its own: what waits for others gives up by itself,
// its program ends it where it takes too long, and being ended loses nothing. A timer would cost a tenth of it.
func hookWith(ctx context.Context, c *Call, more *HookSources) error {
	signal.Ignore(syscall.SIGPIPE) // a program that has stopped listening is an error to log like others, and no reason to die
	d, ok := driver.Get(c.arg(0))
	if !ok {
		return usagef("unknown host %.100q", c.arg(0))
	}
	e, ok := d.Hooks.Event(c.arg(1))
	if !ok {
		return usagef("unknown event %.100q", c.arg(1))
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
	if c.on("wait") {
		return c.awaitMail(ctx, d, e.Name, state, input)
	}
	return hook.Run(ctx, hook.Options{
		Driver: d, Event: e.Name, Input: input, Env: os.Getenv, State: state, Out: c.outFile, Now: time.Now,
		Process: agentProcess, Build: BuildID(), Denies: c.on("all-tools"), Dialog: c.hookDialog(d, e),
		Open:     func(ctx context.Context, p hook.BusChoice) (*hook.Bus, error) { return c.hookBus(ctx, d.Name, p, more) },
		Projects: c.hookProjects(input, more),
		Warner:   c.hookWarner(input, more),
		Notice:   func(string) { announce(ctx, halt.Lift{How: halt.Unrecorded}) },
		Waits:    c.hookWaits(input, more),
		Tell: func(call *driver.Call, i address.Instance, works bool) {
			// Nearly nobody listens where there is no server, and nothing comes of it then.
			_ = wake.Tell(wake.Caller{
				Place: c.bells(), Host: d.Name, Conversation: call.Conversation, Instance: string(i.Canonical()),
				Event: call.Event.Name, Works: works,
			})
		},
	})
}

// hookProjects leads hooks to the mail between projects. The light program is replaced when some has come.
func (c *Call) hookProjects(input []byte, more *HookSources) *hook.Projects {
	home, err := c.App.Home()
	if err != nil {
		return nil
	}
	if more != nil {
		return more.Projects(c, home)
	}
	return hook.Elsewhere(home, c.withInput(input))
}

// hookWaits has the light program replaced where something may wait for an agent whose conversation begins.
func (c *Call) hookWaits(input []byte, more *HookSources) func(hook.BusChoice) error {
	if more != nil {
		return nil
	}
	return func(p hook.BusChoice) error {
		root := p.Root
		if root == "" {
			r, err := app.New(app.Settings{Root: c.rootFlag(), Dir: p.Dir}).Root()
			if err != nil {
				return nil // it is said where the bus is opened
			}
			root = r.Path
		}
		if !app.MayWait(root, "") {
			return nil
		}
		return c.withInput(input)()
	}
}

// hookWarner reads the leases on files. The light program is replaced where there may be one.
func (c *Call) hookWarner(input []byte, more *HookSources) *hook.Warner {
	if more != nil {
		return more.Warner()
	}
	return hook.WarnElsewhere(c.withInput(input))
}

// withInput replaces the process by the heavy program, which reads again what was read.
func (c *Call) withInput(input []byte) func() error {
	return func() error {
		if err := putBack(input); err != nil {
			return err
		}
		return c.toHeavy()
	}
}

// putBack makes standard input what was read of it, for the program that takes our place.
func putBack(input []byte) error {
	f, err := unnamedFile()
	if err != nil {
		return fmt.Errorf("hand the input on: %w", err)
	}
	defer f.Close()
	if _, err = f.Write(input); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err == nil {
		err = becomeInput(f)
	}
	if err != nil {
		return fmt.Errorf("hand the input on: %w", err)
	}
	return nil
}

// bells is where the servers of this user hear hooks.
func (c *Call) bells() wake.SocketDir {
	home, err := c.App.Home()
	if err != nil {
		home = "" // then there is one place less
	}
	return wake.SocketDir{Home: home, Env: os.Getenv}
}

// awaitMail waits in the background of a conversation for mail, and ends as the program wants to be roused. Meanwhile it
// acknowledges halts: an idle agent has no other hook that could.
func (c *Call) awaitMail(ctx context.Context, d *driver.Driver, event, state string, input []byte) error {
	acknowledged := c.acknowledge(ctx, d, state)
	a, err := wake.Await(ctx, c.bells(), d, event, input)
	acknowledged()
	if err != nil || a.Status == 0 {
		return err
	}
	if _, err := c.errFile.Write(a.Err); err != nil {
		return err
	}
	return &fault{code: a.Status}
}

// hookBus opens the bus for an agent. What the command line or the environment names outranks what is remembered.
func (c *Call) hookBus(ctx context.Context, host string, p hook.BusChoice, more *HookSources) (*hook.Bus, error) {
	named := address.Instance(c.text("instance"))
	if named != "" && named.Host() != host {
		return nil, usagef("--instance: %.100q is no agent of %s", named, host)
	}
	set := app.Settings{Root: c.rootFlag(), Dir: p.Dir, Maker: maker(), Original: c.under == H2A}
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
		w, err = a.Join(ctx, func(line string) { c.logHook(errors.New(line)) })
	}
	if err != nil {
		return nil, err
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
			q, err := a.Request(factsOf(a), app.Agent{
				Host: host, Name: c.text("name"), Instance: named, Scope: c.text("scope"),
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
