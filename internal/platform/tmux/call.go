package tmux

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// A Call is a call of tmux that does two things: it looks for a session at once, and is then told to make or to end it. In between its
// program waits, and costs nothing; to start one and have it find its server takes more than half of what a call takes. It is given to New
// or Kill once, or dropped; it must not be forgotten.
type Call struct {
	s      Server
	name   string // of the session that it looks for; "": it does not
	want   Want
	mark   string // what it prints behind what it has found
	show   string // what it prints before the screen
	text   string // what it prints behind each text of a survey
	once   bool   // it is told nothing any more
	one    *spawn
	looked bool  // it has printed the mark
	err    error // why it cannot be told anything any more
}

var errOver = errors.New("the call is over")

// ToMake begins a call for [Call.Find], then [Call.New]. A server that is not there is started, and ends again if nothing is made in it;
// isolated is that of [Spec].
func (s Server) ToMake(name string, isolated bool) *Call {
	c := &Call{s: s, name: name, mark: rand.Text()}
	c.start(s.making(isolated), serverEnv(), "/", append([]string{"start-server", ";"}, findCommand(name)...))
	return c
}

// toMake is ToMake without a look.
func (s Server) toMake(isolated bool) *Call {
	c := &Call{s: s}
	c.start(s.making(isolated), serverEnv(), "/", []string{"start-server"})
	return c
}

// making are the first arguments of a call that may start a server. The server keeps no folder busy.
func (s Server) making(isolated bool) []string {
	at := slices.DeleteFunc(s.at(), func(arg string) bool { return arg == "-N" })
	if isolated {
		at = append(at, "-f", os.DevNull)
	}
	return at
}

// ToKill begins a call for [Call.FindShown], with what that one takes, then [Call.Kill].
func (s Server) ToKill(name string, want Want, shown Capture) *Call {
	c := &Call{s: s, name: name, want: want, mark: rand.Text(), show: rand.Text()}
	look := findCommand(name)
	if isID(want.ID, '%') && want.PID > 1 {
		look = append(look, showCommand(want, shown, c.show)...)
	}
	c.start(s.at(), environ(), "", look)
	return c
}

// quickly asks for what changes nothing, and does not wait for the program to end that has printed it. ok is false when there is no answer.
func (s Server) quickly(ctx context.Context, args ...string) (out []byte, ok bool) {
	c := &Call{s: s, mark: rand.Text(), once: true}
	c.start(s.at(), environ(), "", args)
	if c.heard(ctx) != nil {
		return nil, false
	}
	go c.leave()
	return c.found(), true
}

// start starts tmux, which reads commands from its standard input once it has done the first ones.
func (c *Call) start(at, env []string, dir string, first []string) {
	program, err := exec.LookPath("tmux")
	if err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			err = ErrMissing
		}
		c.err = err
		return
	}
	args := append(append([]string{program}, at...), first...)
	if c.mark != "" {
		args = append(args, ";", "display-message", "-p", c.mark)
	}
	if !c.once {
		args = append(args, ";", "source-file", "-")
	}
	c.one = &spawn{
		path: program, args: args, env: env, dir: dir,
		out: &limited{max: maxOutput}, err: &limited{max: maxErrors, drop: true},
	}
	c.one.ours, c.one.c, c.err = c.one.start(!c.once)
}

// heard waits until it has looked. An error: it is over, for one of the first commands failed.
func (c *Call) heard(ctx context.Context) error {
	if c.err != nil || c.mark == "" || c.looked {
		return c.err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, Limit, errSlow)
	defer cancel()
	stop := context.AfterFunc(ctx, c.one.c.kill)
	marked, err := c.one.pump(ctx, c.one.ours, c.one.c.pid, []byte(c.mark+"\n"), true)
	if stop(); marked {
		c.looked = true
		return nil
	}
	if err != nil {
		c.one.c.kill()
	}
	if _, err = c.s.answer(ctx, "list-panes", c.one); err == nil {
		err = errOver
	}
	c.err = err
	return err
}

// found is what it has printed before the mark.
func (c *Call) found() []byte {
	before, _, _ := bytes.Cut(c.one.out.buf.Bytes(), []byte(c.mark+"\n"))
	return before
}

// Find is [Server.Find], as of the moment in which the call was begun.
func (c *Call) Find(ctx context.Context) (Pane, error) {
	if c.heard(ctx) == nil {
		if snap, err := c.s.read(c.found()); err == nil {
			if p, err := snap.first(c.name); err == nil && !p.unreaped() {
				return p, nil
			} else if err != nil {
				return Pane{}, fmt.Errorf("find session %q: %w", c.name, err)
			}
		}
	}
	return c.s.Find(ctx, c.name)
}

// FindShown is [Server.FindShown], as of the moment in which the call was begun.
func (c *Call) FindShown(ctx context.Context, shown Capture) (Pane, string, error) {
	if c.heard(ctx) == nil {
		return c.s.shown(ctx, c.name, c.want, c.show, string(c.found()))
	}
	return c.s.FindShown(ctx, c.name, c.want, shown)
}

// say tells it what to do, and returns what tmux prints.
func (c *Call) say(ctx context.Context, text string) ([]byte, error) {
	if c.err != nil {
		return nil, c.err
	}
	if ctx.Err() != nil { // it must not be faster than the end of the context
		c.Drop()
		return nil, &CommandError{Command: "source-file", Server: c.s.String(), Err: context.Cause(ctx)}
	}
	c.err = errOver
	var end script
	mark := rand.Text() // behind what it says; its own end is not waited for
	end.add("display-message", "-p", mark)
	c.one.in = strings.TrimSuffix(text, "\n") + " ; " + end.String() + "\n"
	out, err := c.said(ctx, []byte(mark+"\n"))
	if c.mark != "" {
		_, out, _ = bytes.Cut(out, []byte(c.mark+"\n"))
	}
	return out, err
}

// said returns what it prints before a mark, or all of it, if the mark does not come.
func (c *Call) said(ctx context.Context, mark []byte) ([]byte, error) {
	bounded, cancel := context.WithTimeoutCause(ctx, Limit, errSlow)
	defer cancel()
	stop := context.AfterFunc(bounded, c.one.c.kill)
	marked, err := c.one.pump(bounded, c.one.ours, c.one.c.pid, mark, false)
	stop()
	if marked {
		out, _, _ := bytes.Cut(c.one.out.buf.Bytes(), mark)
		go c.leave()
		return out, nil
	}
	if err != nil {
		c.one.c.kill()
	}
	return c.s.answer(ctx, "source-file", c.one)
}

// leave lets a program end that has done what it was there for.
func (c *Call) leave() {
	for i := range c.one.ours {
		c.one.ours.close(i)
	}
	late := time.AfterFunc(Limit, c.one.c.kill)
	defer late.Stop()
	_ = c.one.c.wait() // it has said all
}

// New is [Server.New].
func (c *Call) New(ctx context.Context, spec Spec) (Pane, error) { return c.s.newBy(ctx, spec, c) }

// Kill is [Server.Kill].
func (c *Call) Kill(ctx context.Context, pane Pane) error {
	if c.heard(ctx) != nil {
		return c.s.Kill(ctx, pane)
	}
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

// Drop ends a call that is not needed. It may be called at any time, and of nil.
func (c *Call) Drop() {
	if c != nil && c.err == nil {
		c.err = errOver
		c.leave() // it finds nothing to do
	}
}
