package stop

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"tutti/internal/comms/exchange"
	"tutti/internal/comms/fleet"
	"tutti/internal/comms/machines"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/platform/proc"
)

// An order is a halt or a resume of all machines, in its words.
type order struct {
	doing  string // first word of the lines
	did    string // what stands behind the mark of a machine that is as it should be
	absent string // the same where nothing was to be done
	title  string // of the last line, and its two other words
	done   string
	verb   string
	unit   string // what was to become of the watcher
	give   func(ctx context.Context, n fleet.Net, told func(fleet.Result)) []fleet.Result
}

// here is what this machine is called in the list of those that are left.
const here = "this machine"

// haltAll halts the other machines, and returns those that are halted. This one has been halted by then, or local says why not.
func haltAll(ctx context.Context, c *kit.Call, opt *fast.HaltOptions, local error) (hosts []byte, halted fleet.Net, err error) {
	hosts, all, err := toAll(ctx, c, local, false, order{
		doing: "Halting", did: "HALT file written", title: "HALT", done: "halted", verb: "halt", unit: "stopped",
		give: func(ctx context.Context, n fleet.Net, told func(fleet.Result)) []fleet.Result {
			return n.Halt(ctx, fast.HaltReason(c), !opt.NoStopWatcher, told)
		},
	})
	for _, r := range all {
		if r.Err == nil {
			halted.Hosts = append(halted.Hosts, r.Host)
		}
	}
	return hosts, halted, err
}

// killThere ends the agents of other machines, or their commands, as was done here.
func killThere(ctx context.Context, c *kit.Call, opt *fast.HaltOptions, net fleet.Net) (views []fast.RemoteEnd, err error) {
	_ = c.Flush()
	left := 0
	net.Kill(ctx, strings.TrimPrefix(opt.EndFlag(), "--"), func(k fleet.Killed) {
		v := fast.RemoteEnd{Machine: k.Title, OK: k.Err == nil, Ended: k.Ended}
		mark, note := c.Paint(kit.Green, "✓"), strconv.Itoa(k.Ended)+" ended"
		if k.Err != nil {
			left++
			v.Problem = k.Cause()
			mark, note = c.Paint(kit.Red, "✗"), v.Problem
		}
		views = append(views, v)
		if !c.JSON {
			c.Line("Ending on " + kit.Clean(k.Title) + "  " + mark + " (" + kit.Clean(note) + ")")
		}
	})
	if left > 0 {
		err = kit.BadState("", "%s: agents may still run on %s", opt.EndFlag(), kit.Plural(left, "machine"))
	}
	return views, err
}

// resumeAll clears the switch of the other machines. That of this one has been cleared by then, or local says why not; it was not
// set if absent.
func resumeAll(ctx context.Context, c *kit.Call, opt *fast.ResumeOptions, local error, absent bool) (hosts []byte, err error) {
	hosts, _, err = toAll(ctx, c, local, absent, order{
		doing: "Resuming", did: "HALT file removed", absent: "nothing was halted", title: "RESUME", done: "resumed", verb: "resume", unit: "started",
		give: func(ctx context.Context, n fleet.Net, told func(fleet.Result)) []fleet.Result {
			return n.Resume(ctx, !opt.NoStartWatcher, told)
		},
	})
	return hosts, err
}

// Others reads which machines there are beside this one. No settings are read: a halt must not depend on them.
func Others(c *kit.Call) (peers machines.Peers, net fleet.Net, err error) {
	home, err := c.App.Home()
	if err != nil {
		return peers, net, err
	}
	o := exchange.Service{Home: home}
	peers, err = machines.ReadPeers(o.PeersPath())
	peers.Path = o.Shown(peers.Path)
	net.Hosts = fleet.Others(peers, machines.Local{Hostname: proc.Hostname()})
	return peers, net, err
}

// toAll gives the order, prints a line for each machine as soon as it and those before it are done, and returns them for programs. An
// interrupt ends the waiting, and who has not answered by then is among those that are left. The error is exit status 1.
func toAll(ctx context.Context, c *kit.Call, local error, absent bool, o order) (hosts []byte, all []fleet.Result, err error) {
	peers, net, err := Others(c)
	for _, w := range peers.Warnings {
		c.Warn("%s: %s", kit.Clean(peers.Path), kit.Clean(w))
	}
	if err != nil {
		return nil, nil, unreadable(c, peers, err, o)
	}
	if len(net.Hosts) == 0 {
		why := "names no other machine"
		if !peers.Exists {
			why = "does not exist"
		}
		c.Warn("%s %s, so this machine is the only one", kit.Clean(peers.Path), why)
	}
	titles := append(fleet.Titles(net.Hosts), "locally")
	width := 0
	for _, t := range titles {
		width = max(width, len(o.doing)+1+kit.Width(kit.Clean(t)))
	}
	say := func(title, note string, ok bool) {
		mark := c.Paint(kit.Green, "✓")
		if !ok {
			mark = c.Paint(kit.Red, "✗")
		}
		if !c.JSON {
			c.Line(kit.Pad(o.doing+" "+kit.Clean(title), width) + "  " + mark + " (" + kit.Clean(note) + ")")
		}
	}
	all = give(ctx, c, net, o, func(r fleet.Result) { say(r.Title, o.note(r), r.Err == nil) })
	note := o.did
	switch {
	case local != nil:
		note = local.Error()
	case absent:
		note = o.absent
	}
	say("locally", note, local == nil)
	tally := fleet.Count(all, local, here)
	if !c.JSON {
		c.Line(kit.Clean(tally.Line(o.title, o.done, o.verb)))
	}
	hosts = render.JSON(machinesView{tally.Done, tally.All, render.List(tally.Left), render.Each(all, fleet.Result.View)})
	if len(tally.Left) > 0 && local == nil {
		err = &kit.Fault{Code: kit.ExitUsage} // the lines have said it
	}
	return hosts, all, err
}

// give gives the order, and tells what became of it while it goes on. A reader of ours that has gone, or reads no further, must keep
// no machine from being halted.
func give(ctx context.Context, c *kit.Call, net fleet.Net, o order, tell func(fleet.Result)) (all []fleet.Result) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	gone := make(chan os.Signal, 1)
	signal.Notify(gone, syscall.SIGPIPE) // else it would end the process
	defer signal.Stop(gone)
	results := make(chan fleet.Result, len(net.Hosts))
	go func() {
		all = o.give(ctx, net, func(r fleet.Result) { results <- r })
		close(results)
	}()
	_ = c.Flush() // what was done here is seen before anybody else is waited for
	for r := range results {
		tell(r)
		_ = c.Flush()
	}
	return all
}

// note says what has become of a machine, in the words that stand in the brackets.
func (o *order) note(r fleet.Result) string {
	switch note := r.Note(o.unit); {
	case r.Err != nil:
		return r.Cause()
	case r.Absent && note != "":
		return o.absent + "; " + note
	case r.Absent:
		return o.absent
	case note != "":
		return o.did + "; " + note
	}
	return o.did
}

// unreadable says that the other machines are unknown.
func unreadable(c *kit.Call, peers machines.Peers, err error, o order) error {
	var at *machines.FileError
	if errors.As(err, &at) {
		at.Path = peers.Path
	}
	if !c.JSON {
		c.Line("PARTIAL " + o.title + ": the other machines are unknown; each needs manual " + o.verb + ".")
	}
	return &kit.Fault{Code: kit.ExitUsage, Err: err, Next: kit.HintOf(err)}
}

// A machinesView is what became of an order on all machines.
type machinesView struct {
	Done   int                `json:"done"` // how many obeyed
	All    int                `json:"all"`
	Left   []string           `json:"left"`   // the names of those that did not
	Others []fleet.ResultView `json:"others"` // all but this one
}
