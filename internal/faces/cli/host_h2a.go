package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"tutti/internal/agents/driver"
	"tutti/internal/agents/settings"
	"tutti/internal/agents/setup"
	"tutti/internal/core/canonjson"
)

// setupAsH2A answers as the older program does: it prints its entry, or merges that into one file.
func (c *Call) setupAsH2A() error {
	d, ok := driver.Get(c.value("host"))
	if !ok {
		return hintInstead(c.missing("host"), "--host "+strings.Join(hostNames, "|"))
	}
	entry := h2aEntry(d.Name, c.rootFlag(), !c.on("no-wake"))
	if c.on("no-wake") {
		c.warn("--no-wake only leaves --wake out of the entry; nudge = false in the [wake] settings switches typing off")
	}
	file := c.value("write")
	if file == "" {
		c.aside("the server of the bus, for %s", d.Title)
		c.aside("%s", whatReads(d))
		c.aside("to write it: h2a host setup --host %s --write FILE", d.Name)
		return c.printEntry(d, entry)
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return failIO("", err, "")
	}
	q, _, err := c.hostRequest()
	if err != nil {
		return err
	}
	p := q.Do(func() *setup.Plan { return q.PlanOriginal(d, path, entry) })
	if p.Err != nil {
		return hostFault(p.Err)
	}
	c.aside("merged the server of the bus for %s", d.Title)
	c.aside("%s", whatReads(d))
	for _, ch := range p.Changes {
		if ch.Backup != "" {
			c.aside("before: %s", Clean(c.App.Shown(ch.Backup)))
		}
	}
	var o canonjson.Object
	o.Bool("ok", true)
	o.Str("host", d.Name)
	o.Str("path", file)
	o.Bool("merged", true)
	c.emit(o.Bytes())
	return nil
}

// printEntry prints the entry as the older program does; for an agent CLI that it does not know, in the form that this CLI reads.
func (c *Call) printEntry(d *driver.Driver, entry driver.Server) error {
	f, ok := d.Servers.File(driver.User)
	if !factOf(d.Name).later || !ok {
		c.emit(inServers(entry))
		return nil
	}
	text, err := settings.Set(f.Format, nil, append(slices.Clone(d.Servers.Table), driver.ServerName), d.Servers.Entry(entry))
	if err != nil {
		return failIO("", err, "")
	}
	c.out = append(c.out, text...)
	return nil
}

// aside is a line for people beside JSON, as the older program marks it.
func (c *Call) aside(format string, args ...any) {
	if !c.quiet {
		fmt.Fprintf(c.errFile, "# "+format+"\n", args...)
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
