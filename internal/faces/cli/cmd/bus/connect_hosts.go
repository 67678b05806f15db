package bus

import (
	"context"
	"os"
	"slices"

	"tutti/internal/agents/driver"
	"tutti/internal/agents/setup"
	"tutti/internal/app"
	"tutti/internal/core/address"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
)

// connectHosts are the agent programs that connect takes, in the words of the older command line.
var connectHosts = []string{"codex", "claude", "gemini", "agy", "opencode", "hermes", "remote"}

// A hostFact says where an agent program keeps its list of servers.
type hostFact struct {
	Name    string
	example string // the path that the older program names
	Reads   string // what the program really reads
	Later   bool   // the older program does not know it yet
}

// HostFacts are the programs that run agents on this machine. The bridge (remote) is none: it is told by environment.
var HostFacts = [...]hostFact{
	{"codex", "~/.config/codex/mcp.json", "codex reads ~/.codex/config.toml: a table [mcp_servers.h2a] with the same command and args", false},
	{"claude", "~/.config/claude/mcp.json", "claude reads the key mcpServers of ~/.claude.json, or of .mcp.json in the project", false},
	{"gemini", "~/.gemini/settings.json", "gemini reads the key mcpServers of ~/.gemini/settings.json, or of .gemini/settings.json in the project", false},
	{"agy", "~/.gemini/config/mcp_config.json", "agy reads the key mcpServers of ~/.gemini/config/mcp_config.json", false},
	{"opencode", "~/.config/opencode/opencode.json", "opencode reads the key mcp of ~/.config/opencode/opencode.json, or of opencode.json in the project", true},
	{"hermes", "~/.hermes/config.yaml", "hermes reads the key mcp_servers of ~/.hermes/config.yaml", true},
}

// protocolName is the name that messages, registrations and tools carry.
const protocolName = "sentropic.h2a"

// A hostRow is one agent CLI.
type hostRow struct {
	PackageName         string `json:"packageName"`
	CorePackageName     string `json:"corePackageName"`
	Host                string `json:"host"`
	Protocol            string `json:"protocol"`
	Wave                int64  `json:"wave"`
	HostScenarioShipped bool   `json:"hostScenarioShipped"`
}

// runHosts lists the agent programs; the members are those of the older program, with our names as packages.
func runHosts(_ context.Context, c *kit.Call) error {
	l := []hostRow{}
	var rows [][]string
	for _, h := range HostFacts {
		if h.Later && c.Under == kit.H2A {
			continue
		}
		l = append(l, hostRow{"tutti", "tutti", h.Name, protocolName, 1, true})
		rows = append(rows, []string{h.Name, h.Reads})
	}
	if c.JSON {
		c.Result(l)
	} else {
		c.Facts(rows)
	}
	return nil
}

// hostSetup is the step of connect that says what to put into the settings of the agent program.
func hostSetup(host string, instance address.Instance, root string) connectStep {
	s := connectStep{Step: "host-setup", OK: true}
	if host == "remote" {
		s.Path = "environment of the remote agent"
		s.Snippet = render.JSON(remoteEnv{host, string(instance), root})
		return s
	}
	for _, h := range HostFacts {
		if h.Name == host {
			s.Path, s.Example = h.Reads, &h.example
		}
	}
	s.Snippet = serverEntry(host, root)
	return s
}

// A remoteEnv is the environment of a remote agent.
type remoteEnv struct {
	Host     string `json:"H2A_HOST"`
	Instance string `json:"H2A_INSTANCE"`
	Root     string `json:"H2A_ROOT"`
}

// FactOf is what is known of a program, nil when it is none.
func FactOf(name string) *hostFact {
	for i := range HostFacts {
		if HostFacts[i].Name == name {
			return &HostFacts[i]
		}
	}
	return nil
}

// WhatReads says where the entry of a program belongs.
func WhatReads(d *driver.Driver) string { return FactOf(d.Name).Reads }

// namedRoot returns the bus that only this command line names, so that the server needs it as a flag; "" for any other.
func namedRoot(root *app.Root) string {
	if root.Source != app.FromFlag && root.Source != app.FromEnv {
		return ""
	}
	return kit.AbsoluteRoot(root.Path)
}

// serves tells whether an agent CLI starts our server, on the bus that is named if one is.
func serves(c *kit.Call, name string, root *app.Root) bool {
	d, ok := driver.Get(name)
	home, err := c.App.Home()
	if !ok || err != nil || len(d.Servers.Files) == 0 {
		return false
	}
	dir, _ := os.Getwd() // without it only the settings of the user count
	q := &setup.Request{Place: driver.Site{Home: home, Dir: dir, Env: os.Getenv}}
	bus := namedRoot(root)
	return slices.ContainsFunc(q.Serving(d), func(r setup.Registered) bool { return bus == "" || slices.Contains(r.Server.Args, bus) })
}

// liveRows say how an agent of that program becomes live, nothing when the program is not known: one command to type, unless the
// program starts our server already.
func liveRows(host string, root *app.Root, served bool) [][]string {
	switch {
	case FactOf(host) == nil:
		return nil
	case served:
		return [][]string{{"  live", "while " + host + " runs; its settings start our server"}}
	}
	prep := "tutti host setup --host " + host
	if bus := namedRoot(root); bus != "" { // where the program starts the server, nothing would name it
		prep += " --root " + app.QuoteArg(bus)
	}
	return [][]string{{"  live", "while " + host + " runs our server, which it does once you have typed:"}, {"", prep}}
}

// serverEntry is the entry of the server of the bus in the settings of an agent program: it connects the agent at each start.
func serverEntry(host, root string) []byte {
	return InServers(driver.Server{Command: "h2a", Args: []string{"mcp-serve", "--root", root, "--auto-open", "--host", host}})
}

// InServers returns the settings that hold only this entry, in the form of the older program.
func InServers(s driver.Server) []byte {
	type entry struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	return render.JSON(map[string]map[string]entry{"mcpServers": {driver.ServerName: {s.Command, render.List(s.Args)}}})
}
