package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"tutti/internal/faces/cli/kit"
	"tutti/internal/faces/demo"
)

var DemoVerbs = []kit.Verb{{
	Name: "demo", Under: kit.Tutti, Group: kit.GroupSetup, Halt: kit.Reads, Waits: true, Opts: kit.WithFlags(runDemo), TextOnly: true, MaxArgs: 1,
	Short: "watch agents meet, talk and be stopped",
	Args:  "[agreement|stall]",
	Flags: []kit.Flag{{Name: "keep", Kind: kit.Switch, Help: "leave the folder, and say where it is"}},
	Does: `Starts a server for each of two agents, as their CLIs do, and lets them find each other, write, answer in a thread and leave a
message for a third agent that is away. Then you halt them. Every line is an answer of a server, a notification or the content
of a file. It takes a second; at a terminal about 20 seconds, so that you can read along, unless CI is set.

"demo agreement" shows how one PRINCIPAL and fifteen CONDUCTORS, each behind a server of its own, come to an agreement that three
of the fifteen sign. Then one byte of its journal is changed, and tutti negotiate verify names the entry.

"demo stall" shows two scripted agents in a tmux server of their own that stop in the middle of their work. The watchdog asks both
to go on with one fixed sentence. One does; the other is asked again and then waits for you, in tutti status too.`,
	Wont:     "It touches nothing of yours: its bus, keys and halt switch are in a home folder of its own, which it deletes afterwards.",
	Examples: "$ tutti demo\n$ tutti demo agreement\n$ tutti demo stall\n$ tutti demo --keep",
	Exit:     "0 all of it was seen; 1 a step, which is named, did not come out; 130 interrupted",
}}

type demoOptions struct {
	Keep bool
}

// runDemo plays with servers of this very program.
func runDemo(ctx context.Context, c *kit.Call, opt *demoOptions) error {
	perform, shown := demo.Run, c.Arg(0)
	switch shown {
	case "":
	case "agreement":
		perform = demo.Agreement
	case "stall":
		perform = demo.Stall
	default:
		return kit.Usagef("demo: no play is called %q; there are agreement and stall", kit.Clean(shown))
	}
	// A reader that goes away must not keep us from cleaning up, nor must a second interrupt. What is cleaned up takes a second at most.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE, os.Interrupt, syscall.SIGTERM)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	err = perform(ctx, demo.Options{Server: self, Version: kit.Version, Out: c.OutFile, Color: c.Color, Columns: c.Columns, Pace: pace(c.Columns, os.Getenv("CI")), Keep: opt.Keep})
	switch {
	case errors.Is(err, syscall.EPIPE):
		return nil
	case err == nil:
		fmt.Fprintln(c.ErrFile, "\n"+demo.Next(os.Args[0], shown))
	}
	return err
}

// pace is the shortest time between two lines: none in a pipe and none in CI, where no person reads along.
func pace(columns int, ci string) time.Duration {
	if columns == 0 || ci != "" {
		return 0
	}
	return 250 * time.Millisecond
}
