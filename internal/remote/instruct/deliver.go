package instruct

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/bus/presence"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/lifecycle"
)

// A Way is how an instruction reaches an agent.
type Way string

// The ways. Auto takes the first of them that leads there, in this order: Native, Tmux, Headless.
const (
	Auto     Way = "auto"
	Native   Way = "native"     // a channel of the program; none of those that are known can be told to have worked, so there is none
	Tmux     Way = "local-tmux" // typed where the agent is seen to live and to rest
	Headless Way = "headless"   // a run of its program without a screen
	Logging  Way = "logging"    // nothing is done; the line is shown
)

// Ways are all of them.
var Ways = []Way{Auto, Native, Tmux, Headless, Logging}

// A Deliverer brings lines to agents of this machine.
type Deliverer struct {
	Registry *registry.Registry
	Presence *presence.Presence
	Manager  *lifecycle.Manager
	Servers  func() []tmux.Server
	Halted   func(action string) error
	Env      []string
	Now      func() time.Time
	Look     func(program string) (string, error) // nil: exec.LookPath
}

// ErrNoWay reports an agent that the chosen way does not lead to.
var ErrNoWay = errors.New("nothing leads there")

// Deliver brings a line to its agent and tells which way it went. An error that is ErrNoWay says that nothing was done.
func (d *Deliverer) Deliver(ctx context.Context, l *Line, host string, way Way) (Way, error) {
	if err := d.Halted("drive " + l.To); err != nil {
		return "", err
	}
	if way == Logging {
		return Logging, fmt.Errorf("%w: the line was only to be shown", ErrNoWay)
	}
	s, err := d.newest(ctx, address.Instance(l.To))
	if err != nil {
		return "", err
	}
	switch way {
	case Tmux:
		return Tmux, d.typed(ctx, s, l)
	case Headless:
		return Headless, d.headless(ctx, s, l, host)
	case Auto:
		err := d.typed(ctx, s, l)
		if !errors.Is(err, ErrNoWay) {
			return Tmux, err // it lives in a pane: a second one of it would do the work beside the first
		}
		if e := d.headless(ctx, s, l, host); !errors.Is(e, ErrNoWay) {
			return Headless, e
		}
		return "", err
	}
	return way, fmt.Errorf("%w: no program has a channel of its own that tells whether it has worked; --driver auto goes to the pane of %s, or runs its program", ErrNoWay, l.To)
}

// newest is the fresh session of an agent that was heard from last, nil for none. One of another machine does not count, and if
// there is no other the agent is not driven at all: an instruction is for its own folder, and not for one of this machine.
func (d *Deliverer) newest(ctx context.Context, who address.Instance) (best *presence.Session, err error) {
	all, err := d.Presence.Of(ctx, who, d.Now())
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		if s.MirroredAt == "" && (best == nil || s.HeartbeatAt > best.HeartbeatAt) {
			best = s
		}
	}
	if best != nil {
		return best, nil
	}
	far := len(all) > 0
	if reg, err := d.Registry.Registered(ctx, who); err == nil {
		far = far || reg.Mirrored()
	} else if !errors.Is(err, registry.ErrNotRegistered) {
		return nil, err
	}
	if far {
		return nil, fmt.Errorf("%w: %s works on another machine; tutti send reaches its mailbox", ErrNoWay, who)
	}
	return nil, nil
}

// typed types the line where the agent lives.
func (d *Deliverer) typed(ctx context.Context, s *presence.Session, l *Line) error {
	if s == nil || s.Launch == nil || s.Launch.Tmux == nil || s.Launch.Tmux.Pane == "" {
		return fmt.Errorf("%w: %s has no session here that names a pane", ErrNoWay, l.To)
	}
	err := d.Manager.Nudge(ctx, s, d.Servers(), l.String())
	var e *lifecycle.Error
	if errors.As(err, &e) && e.Kind == lifecycle.NotTheOne {
		return fmt.Errorf("%w: %w", ErrNoWay, err)
	}
	return err
}

// runs are the arguments with which programs do what stands on their standard input.
var runs = map[string][]string{
	"claude": {"-p"}, "codex": {"exec", "-"}, "gemini": {}, "agy": {"-p"},
}

// headless runs the program of the agent once, where it works. A program that is not known is not run: the command that a session names
// would have to go through a shell.
func (d *Deliverer) headless(ctx context.Context, s *presence.Session, l *Line, host string) error {
	if host == "" {
		host = address.Instance(l.To).Host()
	}
	args, known := runs[host]
	kind, ok := driver.Kind(host)
	if !known || !ok {
		return fmt.Errorf("%w: no known command runs a %q without a screen", ErrNoWay, host)
	}
	look := d.Look
	if look == nil {
		look = exec.LookPath
	}
	path, err := look(kind.Program)
	if err != nil {
		return fmt.Errorf("%w: %s is not installed", ErrNoWay, kind.Program)
	}
	dir := ""
	if s != nil && s.Launch != nil {
		dir = s.Launch.Cwd
		if at, err := os.Stat(dir); err != nil || !at.IsDir() {
			return fmt.Errorf("%w: the folder of %s is not there: %s", ErrNoWay, l.To, dir)
		}
	}
	return Run(ctx, Command{Argv: append([]string{path}, args...), Dir: dir, Env: d.Env, In: l.String() + "\n"})
}

// A Command is what is run for an instruction. What the instruction says is never one of its arguments.
type Command struct {
	Argv []string
	Dir  string
	Env  []string
	In   string // on its standard input
}

// maxSaid is how much of what a command says is kept, in bytes.
const maxSaid = 4 << 10

// Run runs a command to its end. What it has started itself ends with it when the context does.
func Run(ctx context.Context, c Command) error {
	p := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	said := &head{}
	p.Dir, p.Env, p.Stdin, p.Stdout, p.Stderr = c.Dir, c.Env, strings.NewReader(c.In), io.Discard, said
	p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.Cancel = func() error { return syscall.Kill(-p.Process.Pid, syscall.SIGKILL) }
	p.WaitDelay = 2 * time.Second // a process that it has left behind may hold its output
	err := p.Run()
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("the command did not end in time: %w", context.Cause(ctx))
	}
	if words := strings.TrimSpace(tmux.Clean(string(said.text))); words != "" {
		first, _, _ := strings.Cut(words, "\n")
		return fmt.Errorf("%w: %s", err, first)
	}
	return err
}

// head keeps the beginning of what is written.
type head struct{ text []byte }

func (h *head) Write(p []byte) (int, error) {
	h.text = append(h.text, p[:min(len(p), maxSaid-len(h.text))]...)
	return len(p), nil
}

// Injector runs a command of the operator's for each instruction: through a shell, as it was written. It gets the line on its standard
// input, and in its environment what stands in it; nothing of that becomes part of the command.
func Injector(command string, env []string) func(ctx context.Context, l *Line) error {
	return func(ctx context.Context, l *Line) error {
		text := l.String() // of what came no byte more than what was verified
		with := append(env[:len(env):len(env)], "H2A_DRIVE_LINE="+text, "H2A_DRIVE_FROM="+l.From, "H2A_DRIVE_TO="+l.To, "H2A_DRIVE_INSTRUCTION="+l.Instruction)
		return Run(ctx, Command{Argv: []string{"/bin/sh", "-c", command}, Env: with, In: text + "\n"})
	}
}
