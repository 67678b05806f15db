package tmux

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
)

// A Call is a call of tmux that is on its way: the program runs and has found its server, which is more than half of what a call takes, and
// waits to be told what to do. It does one thing, with New or Kill, or is dropped; it must not be forgotten.
type Call struct {
	s   Server
	one *spawn
	err error // it could not be begun
}

// ToMake begins a call for [Call.New]. A server that is not there is started, and ends again if nothing is made in it; isolated is that
// of [Spec]. The server keeps no folder busy.
func (s Server) ToMake(isolated bool) *Call {
	at := slices.DeleteFunc(s.at(), func(arg string) bool { return arg == "-N" })
	if isolated {
		at = append(at, "-f", os.DevNull)
	}
	return s.begin(append(at, "start-server", ";", "source-file", "-"), serverEnv(), "/")
}

// ToKill begins a call for [Call.Kill].
func (s Server) ToKill() *Call { return s.begin(append(s.at(), "source-file", "-"), environ(), "") }

// begin starts tmux, which reads commands from its standard input.
func (s Server) begin(args, env []string, dir string) *Call {
	c := &Call{s: s}
	program, err := exec.LookPath("tmux")
	if err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			err = ErrMissing
		}
		c.err = err
		return c
	}
	c.one = &spawn{
		path: program, args: append([]string{program}, args...), env: env, dir: dir,
		out: &limited{max: maxOutput}, err: &limited{max: maxErrors, drop: true},
	}
	c.one.ours, c.one.c, c.err = c.one.start(true)
	return c
}

// say tells it what to do, and returns what tmux prints.
func (c *Call) say(ctx context.Context, script string) ([]byte, error) {
	if c.err != nil {
		return nil, c.err
	}
	c.one.in = script
	return c.s.answer(ctx, "source-file", c.one)
}

// New is [Server.New].
func (c *Call) New(ctx context.Context, spec Spec) (Pane, error) { return c.s.newBy(ctx, spec, c) }

// Kill is [Server.Kill].
func (c *Call) Kill(ctx context.Context, pane Pane) error {
	return c.s.kill(pane, func(args []string) ([]byte, error) {
		var line script
		line.add(args...)
		out, err := c.say(ctx, line.String()+"\n")
		if exited(err) { // it found the server when that was about to end
			return c.s.ask(ctx, args...)
		}
		return out, err
	})
}

// Drop ends a call that is not needed. It may be called after the others, and does nothing then.
func (c *Call) Drop() {
	if c.err == nil && c.one.in == "" {
		_, _ = c.say(context.Background(), "\n") // it has nothing to do, and nothing to say
	}
}
