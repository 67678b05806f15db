package setup

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"tutti/internal/agents/driver"
	"tutti/internal/agents/settings"
	"tutti/internal/agents/setup"
	"tutti/internal/faces/cli/cmd/bus"
	"tutti/internal/faces/cli/kit"
)

// A mergedEntry is what h2a prints with --write.
type mergedEntry struct {
	OK     bool   `json:"ok"`
	Host   string `json:"host"`
	Path   string `json:"path"`
	Merged bool   `json:"merged"` // true
}

// setupAsH2A answers as the older program does: it prints its entry, or merges that into one file.
func setupAsH2A(c *kit.Call, opt *hostSetupOptions) error {
	d, ok := driver.Get(opt.Host)
	if !ok {
		return kit.HintInstead(c.Missing(&opt.Host), "--host "+strings.Join(kit.HostNames, "|"))
	}
	entry := h2aEntry(d.Name, c.RootFlag(), !opt.NoWake)
	if opt.NoWake {
		c.Warn("--no-wake only leaves --wake out of the entry; nudge = false in the [wake] settings switches typing off")
	}
	file := opt.Write
	if file == "" {
		aside(c, "the server of the bus, for %s", d.Title)
		aside(c, "%s", bus.WhatReads(d))
		aside(c, "to write it: h2a host setup --host %s --write FILE", d.Name)
		return printEntry(c, d, entry)
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return kit.FailIO("", err, "")
	}
	q, _, err := hostRequest(c, opt)
	if err != nil {
		return err
	}
	p := q.Do(func() *setup.Plan { return q.PlanOriginal(d, path, entry) })
	if p.Err != nil {
		return hostFault(p.Err)
	}
	aside(c, "merged the server of the bus for %s", d.Title)
	aside(c, "%s", bus.WhatReads(d))
	for _, ch := range p.Changes {
		if ch.Backup != "" {
			aside(c, "before: %s", kit.Clean(c.App.Shown(ch.Backup)))
		}
	}
	c.Result(mergedEntry{true, d.Name, file, true})
	return nil
}

// printEntry prints the entry as the older program does; for an agent CLI that it does not know, in the form that this CLI reads.
func printEntry(c *kit.Call, d *driver.Driver, entry driver.Server) error {
	f, ok := d.Servers.File(driver.User)
	if !bus.FactOf(d.Name).Later || !ok {
		c.Emit(bus.InServers(entry))
		return nil
	}
	text, err := settings.Set(f.Format, nil, append(slices.Clone(d.Servers.Table), driver.FormerServerName), d.Servers.Entry(entry))
	if err != nil {
		return kit.FailIO("", err, "")
	}
	c.Out = append(c.Out, text...)
	return nil
}

// aside is a line for people beside JSON, as the older program marks it.
func aside(c *kit.Call, format string, args ...any) {
	if !c.Quiet {
		fmt.Fprintf(c.ErrFile, "# "+format+"\n", args...)
	}
}

// h2aEntry is the entry that the older program renders for every host.
func h2aEntry(name, root string, wake bool) driver.Server {
	s := driver.Server{Command: "h2a", Args: []string{"mcp-serve", "--auto-open", "--host", name, "--auto-upgrade"}}
	if wake {
		s.Args = append(s.Args, "--wake", "local-tmux")
	}
	if root != "" {
		s.Args = append(s.Args, "--root", root)
	}
	return s
}
