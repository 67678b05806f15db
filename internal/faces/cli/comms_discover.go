package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tutti/internal/comms/fleet"
	"tutti/internal/comms/machines"
)

// runCommsDiscover lists what there is here and on the other machines.
func runCommsDiscover(ctx context.Context, c *Call) error {
	o, _, err := c.office()
	if err != nil {
		return generalFault(err)
	}
	if c.isSet("peer") && c.text("peer") == "" {
		return usagef("--peer: it is empty")
	}
	r, err := fleet.Discover(ctx, o, fleet.Options{Enumerate: c.on("enumerate-remote"), NoCache: c.on("no-cache"), Peer: c.text("peer")})
	var bad *machines.FileError
	if err != nil && !errors.As(err, &bad) {
		return generalFault(err)
	}
	for _, w := range r.Warnings {
		c.warn("%s", Clean(w))
	}
	if c.json {
		c.emit(r.JSON())
	} else {
		c.showLocal(r)
		if err == nil {
			c.showPeers(r, o.Shown(r.PeersPath))
		}
	}
	return generalFault(err)
}

// discoverWidth is how wide lists of names are where there is no terminal.
const discoverWidth = 78

// nameList prints names with commas between them and their number behind them, broken between the names.
func (c *Call) nameList(names []string, more bool) {
	words := make([]string, 0, len(names)+1)
	for i, name := range names {
		if name = Clean(name); i < len(names)-1 {
			name += ","
		}
		words = append(words, name)
	}
	number := "[" + plural(len(names), "project")
	if more {
		number += ", and more"
	}
	words = append(words, number+"]")
	room := c.columns
	if room == 0 {
		room = discoverWidth
	}
	c.line("  " + broken(strings.Join(words, " "), slices.Values(words), 2, max(room-2, 8)))
}

func (c *Call) showLocal(r *fleet.Report) {
	c.line("Local (" + Clean(r.Hostname) + "):")
	names := make([]string, 0, len(r.Local))
	for _, p := range r.Local {
		names = append(names, p.Name)
	}
	c.nameList(names, false)
}

func (c *Call) showPeers(r *fleet.Report, path string) {
	c.line("")
	c.line("Peers (from " + Clean(path) + "):")
	width := 0
	for _, p := range r.Peers {
		width = max(width, Width(Clean(p.Title)))
	}
	for _, p := range r.Peers {
		c.line("  " + pad(Clean(p.Title), width) + "  " + c.reached(p, r.ScannedAt))
	}
	switch {
	case r.NoPeers:
		c.line("  none: there is no such file")
	case len(r.Peers) == 0:
		c.line("  none")
	}
	for _, p := range r.Peers {
		if !c.on("enumerate-remote") || !p.Reachable || p.Err != nil {
			continue
		}
		c.line("")
		c.line(Clean(p.Title) + " (reachable):")
		if p.Listed {
			c.nameList(p.Projects, p.More)
			continue
		}
		c.prose("  ", 2, "there is no folder "+Clean(rootOf(p))+"; projects_root in "+Clean(path)+" says where its projects lie")
	}
}

// rootOf is where the projects of a machine were looked for.
func rootOf(p fleet.Peer) string {
	if root, err := p.Host.Dir(); err == nil && p.Host.Root == "" {
		return "~/" + strings.TrimPrefix(root, "./")
	}
	return p.Host.Root
}

// reached says how a machine is.
func (c *Call) reached(p fleet.Peer, now time.Time) string {
	if !p.Reachable {
		return c.paint(red, "UNREACHABLE") + " (" + Clean(p.Cause()) + ")"
	}
	text := "reachable (last seen " + seenAgo(now.Sub(p.LastSeen)) + ")"
	if p.Halted {
		text += ", " + c.paint(red, "HALT ACTIVE")
	}
	if p.Err != nil {
		text += ", " + Clean(p.Cause())
	}
	return text
}

// seenAgo is ago with the word that scripts look for.
func seenAgo(d time.Duration) string {
	if d = max(d, 0); d < time.Minute {
		return fmt.Sprintf("%d sec ago", d/time.Second)
	}
	return ago(d)
}
