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

// removedPeerJSON is what peer remove prints with --json.
type removedPeerJSON struct {
	Machine string `json:"machine"`
	Removed bool   `json:"removed"`
	Path    string `json:"path"`
}

const peerUsage = "usage: tutti comms peer add NAME USER@HOST[:PORT], or tutti comms peer remove NAME"

// runCommsPeer changes the list of peers. Where messages go is for the user to say.
func runCommsPeer(ctx context.Context, c *kit.Call, opt *commsPeerOptions) error {
	switch act := c.Arg(0); {
	case act != "add" && act != "remove":
		return kit.UsageHint(peerUsage, "comms peer: want add or remove, and a machine")
	case act == "add" && len(c.Args) != 3:
		return kit.UsageHint(peerUsage, "comms peer add: want a name and a host")
	case act == "remove" && len(c.Args) != 2:
		return kit.UsageHint(peerUsage, "comms peer remove: want a name")
	case act == "remove" && (opt.Trust || opt.Yes):
		return kit.UsageHint(peerUsage, "comms peer remove: --trust and --yes go with add")
	}
	if _, err := c.ForUser(c.Arg(0) + " a machine"); err != nil {
		return err
	}
	if c.Arg(0) == "remove" {
		return removePeer(ctx, c)
	}
	return addPeer(ctx, c, opt)
}

// removePeer takes a machine out of the list. Keys stay: they may sign what is in the mailbox.
func removePeer(ctx context.Context, c *kit.Call) error {
	o, _, err := c.CommsService()
	if err != nil {
		return kit.GeneralFault(err)
	}
	r := removedPeerJSON{Machine: c.Arg(1), Removed: true, Path: o.PeersPath()}
	if err := machines.RemovePeer(ctx, r.Path, r.Machine); err != nil {
		return peerFault("comms peer remove", err)
	}
	if c.JSON {
		c.Result(r)
		return nil
	}
	c.Line(kit.Clean(r.Machine + " is no longer in " + c.App.Shown(r.Path)))
	c.Remark("its key stays in your keyring, and signers.toml as it is")
	return nil
}

// peerFault is the error of a list of peers that could not be changed.
func peerFault(what string, err error) error {
	var refused *machines.PeerError
	var broken *machines.FileError
	if errors.As(err, &refused) || errors.As(err, &broken) {
		return kit.Refuse(kit.Clean(kit.HintOf(err)), "%s: %s", what, kit.Clean(err.Error()))
	}
	return kit.FailIO("", err, "%s", what)
}

// addPeer writes another machine into the list and connects to it once.
func addPeer(ctx context.Context, c *kit.Call, opt *commsPeerOptions) error {
	h, err := machines.ParseTarget(c.Arg(2))
	if err != nil {
		return kit.UsageHint(peerUsage, "%s: %s", kit.Clean(c.Arg(2)), kit.Clean(err.Error()))
	}
	h.Name = c.Arg(1)
	o, _, err := c.CommsService()
	if err != nil {
		return kit.GeneralFault(err)
	}
	path := o.PeersPath()
	added, err := machines.AddPeer(ctx, path, h, machines.Local{Hostname: o.Host})
	if err != nil {
		return peerFault("comms peer add", err)
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
		c.Result(r)
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
