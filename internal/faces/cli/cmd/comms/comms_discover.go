package comms

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tutti/internal/comms/fleet"
	"tutti/internal/comms/machines"
	"tutti/internal/faces/cli/kit"
)

type commsDiscoverOptions struct {
	Peer                     string
	EnumerateRemote, NoCache bool
}

// runCommsDiscover lists what there is here and on the other machines.
func runCommsDiscover(ctx context.Context, c *kit.Call, opt *commsDiscoverOptions) error {
	o, _, err := c.CommsService()
	if err != nil {
		return kit.GeneralFault(err)
	}
	if c.IsSet(&opt.Peer) && opt.Peer == "" {
		return kit.Usagef("--peer: it is empty")
	}
	r, err := fleet.Discover(ctx, o, fleet.Options{Enumerate: opt.EnumerateRemote, NoCache: opt.NoCache, Peer: opt.Peer})
	var bad *machines.FileError
	if err != nil && !errors.As(err, &bad) {
		return kit.GeneralFault(err)
	}
	for _, w := range r.Warnings {
		c.Warn("%s", kit.Clean(w))
	}
	if c.JSON {
		c.Result(r.View())
	} else {
		showLocal(c, r)
		if err == nil {
			showPeers(c, opt, r, o.Shown(r.PeersPath))
		}
	}
	return kit.GeneralFault(err)
}

// discoverWidth is how wide lists of names are where there is no terminal.
const discoverWidth = 78

// nameList prints names with commas between them and their number behind them, broken between the names.
func nameList(c *kit.Call, names []string, more bool) {
	words := make([]string, 0, len(names)+1)
	for i, name := range names {
		if name = kit.Clean(name); i < len(names)-1 {
			name += ","
		}
		words = append(words, name)
	}
	number := "[" + kit.Plural(len(names), "project")
	if more {
		number += ", and more"
	}
	words = append(words, number+"]")
	room := c.Columns
	if room == 0 {
		room = discoverWidth
	}
	c.Line("  " + kit.Broken(strings.Join(words, " "), slices.Values(words), 2, max(room-2, 8)))
}

func showLocal(c *kit.Call, r *fleet.Report) {
	c.Line("Local (" + kit.Clean(r.Hostname) + "):")
	names := make([]string, 0, len(r.Local))
	for _, p := range r.Local {
		names = append(names, p.Name)
	}
	nameList(c, names, false)
}

func showPeers(c *kit.Call, opt *commsDiscoverOptions, r *fleet.Report, path string) {
	c.Line("")
	c.Line("Peers (from " + kit.Clean(path) + "):")
	width := 0
	for _, p := range r.Peers {
		width = max(width, kit.Width(kit.Clean(titleOf(c, p))))
	}
	for _, p := range r.Peers {
		c.Line("  " + kit.Pad(kit.Clean(titleOf(c, p)), width) + "  " + reached(c, p, r.ScannedAt))
	}
	switch {
	case r.NoPeers:
		c.Line("  none: there is no such file")
	case len(r.Peers) == 0:
		c.Line("  none")
	}
	for _, p := range r.Peers {
		if !opt.EnumerateRemote || !p.Reachable || p.Err != nil {
			continue
		}
		c.Line("")
		title := kit.Clean(p.Title) + " (reachable):"
		if c.Under == kit.Tutti {
			title = "Projects on " + kit.Clean(p.Addressed()) + ":"
		}
		c.Line(title)
		if p.Listed {
			nameList(c, p.Projects, p.More)
			continue
		}
		c.Prose("  ", 2, "there is no folder "+kit.Clean(rootOf(p))+"; projects_root in "+kit.Clean(path)+" says where its projects lie")
	}
}

// titleOf is what a machine is called in the list: by its host where scripts read it, else by the name that addresses have.
func titleOf(c *kit.Call, p fleet.Peer) string {
	if c.Under == kit.Cross {
		return p.Title
	}
	return p.Addressed()
}

// rootOf is where the projects of a machine were looked for.
func rootOf(p fleet.Peer) string {
	if root, err := p.Host.Dir(); err == nil && p.Host.Root == "" {
		return "~/" + strings.TrimPrefix(root, "./")
	}
	return p.Host.Root
}

// reached says how a machine is.
func reached(c *kit.Call, p fleet.Peer, now time.Time) string {
	if !p.Reachable {
		return c.Paint(kit.Red, "UNREACHABLE") + " (" + kit.Clean(p.Cause()) + ")"
	}
	text := "reachable (last seen " + seenAgo(now.Sub(p.LastSeen)) + ")"
	if p.Halted {
		text += ", " + c.Paint(kit.Red, "HALT ACTIVE")
	}
	if p.Err != nil {
		text += ", " + kit.Clean(p.Cause())
	}
	return text
}

// seenAgo is ago with the word that scripts look for.
func seenAgo(d time.Duration) string {
	if d = max(d, 0); d < time.Minute {
		return fmt.Sprintf("%d sec ago", d/time.Second)
	}
	return kit.Ago(d)
}
