package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"tutti/internal/comms/exchange"
	"tutti/internal/comms/fleet"
	"tutti/internal/comms/machines"
	"tutti/internal/core/canonjson"
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

// haltAll halts the other machines. This one has been halted by then, or local says why not.
func haltAll(ctx context.Context, c *Call, reason string, local error) (hosts []byte, err error) {
	return c.toAll(ctx, local, false, order{
		doing: "Halting", did: "HALT file written", title: "HALT", done: "halted", verb: "halt", unit: "stopped",
		give: func(ctx context.Context, n fleet.Net, told func(fleet.Result)) []fleet.Result {
			return n.Halt(ctx, reason, !c.on("no-stop-watcher"), told)
		},
	})
}

// resumeAll clears the switch of the other machines. That of this one has been cleared by then, or local says why not; it was not
// set if absent.
func resumeAll(ctx context.Context, c *Call, local error, absent bool) (hosts []byte, err error) {
	return c.toAll(ctx, local, absent, order{
		doing: "Resuming", did: "HALT file removed", absent: "nothing was halted", title: "RESUME", done: "resumed", verb: "resume", unit: "started",
		give: func(ctx context.Context, n fleet.Net, told func(fleet.Result)) []fleet.Result {
			return n.Resume(ctx, !c.on("no-start-watcher"), told)
		},
	})
}

// others reads which machines there are beside this one. No settings are read: a halt must not depend on them.
func (c *Call) others() (peers machines.Peers, net fleet.Net, err error) {
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
func (c *Call) toAll(ctx context.Context, local error, absent bool, o order) (hosts []byte, err error) {
	peers, net, err := c.others()
	for _, w := range peers.Warnings {
		c.warn("%s: %s", Clean(peers.Path), Clean(w))
	}
	if err != nil {
		return nil, c.unreadable(peers, err, o)
	}
	if len(net.Hosts) == 0 {
		why := "names no other machine"
		if !peers.Exists {
			why = "does not exist"
		}
		c.warn("%s %s, so this machine is the only one", Clean(peers.Path), why)
	}
	titles := append(fleet.Titles(net.Hosts), "locally")
	width := 0
	for _, t := range titles {
		width = max(width, len(o.doing)+1+Width(Clean(t)))
	}
	say := func(title, note string, ok bool) {
		mark := c.paint(green, "✓")
		if !ok {
			mark = c.paint(red, "✗")
		}
		if !c.json {
			c.line(pad(o.doing+" "+Clean(title), width) + "  " + mark + " (" + Clean(note) + ")")
		}
	}
	all := c.give(ctx, net, o, func(r fleet.Result) { say(r.Title, o.note(r), r.Err == nil) })
	note := o.did
	switch {
	case local != nil:
		note = local.Error()
	case absent:
		note = o.absent
	}
	say("locally", note, local == nil)
	tally := fleet.Count(all, local, here)
	if !c.json {
		c.line(Clean(tally.Line(o.title, o.done, o.verb)))
	}
	hosts = machinesJSON(all, tally)
	if len(tally.Left) > 0 && local == nil {
		err = &fault{code: exitUsage} // the lines have said it
	}
	return hosts, err
}

// give gives the order, and tells what became of it while it goes on. A reader of ours that has gone, or reads no further, must keep
// no machine from being halted.
func (c *Call) give(ctx context.Context, net fleet.Net, o order, tell func(fleet.Result)) (all []fleet.Result) {
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
	_ = c.flush() // what was done here is seen before anybody else is waited for
	for r := range results {
		tell(r)
		_ = c.flush()
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

// unreadable says that nobody knows which other machines there are.
func (c *Call) unreadable(peers machines.Peers, err error, o order) error {
	var at *machines.FileError
	if errors.As(err, &at) {
		at.Path = peers.Path
	}
	if !c.json {
		c.line("PARTIAL " + o.title + ": nobody knows which other machines there are; each needs manual " + o.verb + ".")
	}
	return &fault{code: exitUsage, err: err, hint: hintOf(err)}
}

func machinesJSON(all []fleet.Result, t fleet.Tally) []byte {
	var o canonjson.Object
	o.Int("done", int64(t.Done))
	o.Int("all", int64(t.All))
	o.Strs("left", t.Left)
	list := []byte{'['}
	for _, r := range all {
		list = append(comma(list), r.JSON()...)
	}
	o.Raw("others", append(list, ']'))
	return o.End()
}
