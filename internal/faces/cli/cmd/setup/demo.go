package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"tutti/internal/faces/cli/kit"
	"tutti/internal/faces/demo"
)

var DemoVerbs = []kit.Verb{{
	Name: "demo", Under: kit.Tutti, Group: kit.GroupSetup, Halt: kit.Reads, Waits: true, Opts: kit.WithFlags(runDemo), TextOnly: true, MaxArgs: 1,
	Short: "watch agents meet, talk and be stopped",
	Args:  "[agreement|stall]",
	Flags: []kit.Flag{{Name: "keep", Kind: kit.Switch, Help: "leave the folder, and say where it is"}},
	Does: `Starts a server for each of two agents, as their CLIs do, and lets them find each other, write, answer in a thread, leave a
message for a third one that is away, and fall silent on halt. Every line is what a server answered, what it pushed, or what is
stored in a file. It takes a second.

With agreement it is another play: one PRINCIPAL and fifteen CONDUCTORS, each behind a server of its own, come to an agreement
that three of the fifteen sign; then one byte of its journal is changed, and tutti negotiate verify names the entry. It takes
some seconds.

With stall two scripted agents stop, each in a pane of a tmux server that is only for this. Both are asked to go on by one fixed sentence that is
typed there; one does, the other one is asked again, and waits on you in the end, in tutti status as well. It takes some seconds, too.`,
	Wont:     "It touches nothing of yours: bus, keys and halt switch lie in a home folder of its own, which is gone afterwards.",
	Examples: "$ tutti demo\n$ tutti demo agreement\n$ tutti demo stall\n$ tutti demo --keep",
	Exit:     "0 all of it was seen; 1 a step, which is named, did not come out; 130 interrupted",
}}

type demoOptions struct {
	Keep bool
}

// runDemo plays with servers of this very program.
func runDemo(ctx context.Context, c *kit.Call, opt *demoOptions) error {
	perform := demo.Run
	switch play := c.Arg(0); play {
	case "":
	case "agreement":
		perform = demo.Agreement
	case "stall":
		perform = demo.Stall
	default:
		return kit.Usagef("demo: no play is called %q; there are agreement and stall", kit.Clean(play))
	}
	// A reader that goes away must not keep us from cleaning up, nor must a second interrupt. What is cleaned up takes a second at most.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE, os.Interrupt, syscall.SIGTERM)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	err = perform(ctx, demo.Options{Server: self, Version: kit.Version, Out: c.OutFile, Color: c.Color, Columns: c.Columns, Keep: opt.Keep})
	switch {
	case errors.Is(err, syscall.EPIPE):
		return nil
	case err == nil:
		fmt.Fprintln(c.ErrFile, demo.Next(os.Args[0]))
	}
	return err
}
