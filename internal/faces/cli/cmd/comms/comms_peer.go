package comms

import (
	"context"
	"errors"

	"tutti/internal/comms/fleet"
	"tutti/internal/comms/machines"
	"tutti/internal/faces/cli/kit"
)

// peerJSON is what peer add prints with --json.
type peerJSON struct {
	Machine   string `json:"machine"`
	Host      string `json:"host"`
	User      string `json:"ssh_user,omitempty"`
	Port      int    `json:"port,omitempty"`
	Added     bool   `json:"added"` // false: it was there
	Path      string `json:"path"`
	Reachable bool   `json:"reachable"`
	Error     string `json:"error,omitempty"`
	Next      string `json:"next,omitempty"`

	Trust *trustJSON `json:"trust,omitempty"` // with --trust
}

type commsPeerOptions struct {
	Trust, Yes bool
}

// runCommsPeer writes another machine into the list of peers and connects to it once. Where messages go is for the user to say.
func runCommsPeer(ctx context.Context, c *kit.Call, opt *commsPeerOptions) error {
	const usage = "usage: tutti comms peer add NAME USER@HOST[:PORT]"
	switch {
	case len(c.Args) == 0 || c.Arg(0) != "add":
		return kit.UsageHint(usage, "comms peer: want add, and a machine")
	case len(c.Args) != 3:
		return kit.UsageHint(usage, "comms peer add: want a name and a host")
	}
	if _, err := c.ForUser("add a machine"); err != nil {
		return err
	}
	h, err := machines.ParseTarget(c.Arg(2))
	if err != nil {
		return kit.UsageHint(usage, "%s: %s", kit.Clean(c.Arg(2)), kit.Clean(err.Error()))
	}
	h.Name = c.Arg(1)
	o, _, err := c.CommsService()
	if err != nil {
		return kit.GeneralFault(err)
	}
	path := o.PeersPath()
	added, err := machines.AddPeer(path, h, machines.Local{Hostname: o.Host})
	var refused *machines.PeerError
	var broken *machines.FileError
	switch {
	case errors.As(err, &refused) || errors.As(err, &broken):
		return kit.Refuse(kit.Clean(kit.HintOf(err)), "comms peer add: %s", kit.Clean(err.Error()))
	case err != nil:
		return kit.FailIO("", err, "comms peer add")
	}
	r := peerJSON{Machine: h.Name, Host: h.Host, User: h.User, Port: h.Port, Added: added, Path: path, Next: "tutti comms trust " + h.Name}
	seen, err := fleet.Discover(ctx, o, fleet.Options{NoCache: true, Peer: h.Name})
	switch {
	case err != nil:
		r.Error = err.Error()
	case !seen.Peers[0].Reachable:
		r.Error = seen.Peers[0].Cause()
		if hint := kit.HintOf(seen.Peers[0].Err); hint != "" {
			r.Next = hint
		} else {
			r.Next = "connect once by hand: " + h.Typed()
		}
	default:
		r.Reachable = true
	}
	trust := opt.Trust
	if trust && r.Reachable {
		r.Next = ""
	}
	if !c.JSON {
		showPeer(c, &r)
	}
	switch {
	case trust && !r.Reachable:
		err = &kit.Fault{Code: kit.ExitUsage} // all is said
	case trust:
		var key trustJSON
		key, err = trustMachine(ctx, c, opt.Yes, o, h.Name)
		r.Trust = &key
	default:
		err = nil
	}
	if c.JSON {
		c.Emit(kit.Marshal(r))
	}
	return err
}

// showPeer says whether the machine is in the list and answers, and what to type next.
func showPeer(c *kit.Call, r *peerJSON) {
	where := c.App.Shown(r.Path)
	if r.Added {
		c.Line(kit.Clean(r.Machine + " is in " + where))
	} else {
		c.Line(kit.Clean(r.Machine + " was in " + where + " already"))
	}
	if r.Reachable {
		c.Line(c.Paint(kit.Green, "✓") + " it answers")
	} else {
		c.Prose(c.Paint(kit.Yellow, "⚠")+" ", 2, "it does not answer: "+kit.Clean(r.Error))
	}
	if r.Next != "" {
		c.Line("next: " + kit.Clean(r.Next))
	}
}
