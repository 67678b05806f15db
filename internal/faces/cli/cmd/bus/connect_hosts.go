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

// connectHosts are the agent CLIs that connect accepts, as the older program names them.
var connectHosts = []string{"codex", "claude", "gemini", "agy", "opencode", "hermes", "remote"}

// A hostFact says where an agent CLI keeps its list of servers.
type hostFact struct {
	Name    string
	example string // the path that the older program names
	Reads   string // the file that it really reads
	Later   bool   // the older program does not know it yet
}

// HostFacts are the agent CLIs of this machine. The bridge (remote) is not one of them: it gets its settings from the environment.
var HostFacts = [...]hostFact{
	{"codex", "~/.config/codex/mcp.json", "codex reads ~/.codex/config.toml: a table [mcp_servers.tutti] with the same command and args", false},
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

// runHosts lists the agent CLIs, with the members of the older program and our names as packages.
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

// hostSetup returns the step of connect that says what to write into the settings of the agent CLI.
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

// FactOf returns what is known of an agent CLI, nil if the name is unknown.
func FactOf(name string) *hostFact {
	for i := range HostFacts {
		if HostFacts[i].Name == name {
			return &HostFacts[i]
		}
	}
	return nil
}

// WhatReads returns the file to which the entry of an agent CLI belongs.
func WhatReads(d *driver.Driver) string { return FactOf(d.Name).Reads }

// namedRoot returns the bus if only --root or the environment names it, so that the server needs it as a flag, and otherwise "".
func namedRoot(root *app.Root) string {
	if root.Source != app.FromFlag && root.Source != app.FromEnv {
		return ""
	}
	return kit.AbsoluteRoot(root.Path)
}

// serves reports whether an agent CLI starts our server, with the named bus if there is one.
func serves(c *kit.Call, name string, root *app.Root) bool {
	d, ok := driver.Get(name)
	home, err := c.App.Home()
	if !ok || err != nil || len(d.Servers.Files) == 0 {
		return false
	}
	dir, _ := os.Getwd() // without it, only the user settings count
	q := &setup.Request{Place: driver.Site{Home: home, Dir: dir, Env: os.Getenv}}
	bus := namedRoot(root)
	return slices.ContainsFunc(q.Serving(d), func(r setup.Registered) bool { return bus == "" || slices.Contains(r.Server.Args, bus) })
}

// liveRows says how an agent of an agent CLI becomes live: by one command, unless the agent CLI starts our server already. It says
// nothing of an unknown one.
func liveRows(host string, root *app.Root, served bool) [][]string {
	switch {
	case FactOf(host) == nil:
		return nil
	case served:
		return [][]string{{"  live", "while " + host + " runs, which starts the MCP server of tutti"}}
	}
	prep := "tutti host setup --host " + host
	if bus := namedRoot(root); bus != "" { // nothing else would name it when the agent CLI starts the server
		prep += " --root " + app.QuoteArg(bus)
	}
	return [][]string{{"  live", "while " + host + " runs the MCP server of tutti; to set that up, type:"}, {"", prep}}
}

// serverEntry returns the settings by which an agent CLI starts our server, which connects the agent at each start.
func serverEntry(host, root string) []byte {
	return InServers(driver.Server{Command: "h2a", Args: []string{"mcp-serve", "--root", root, "--auto-open", "--host", host}})
}

// InServers returns the settings that hold only this entry, in the form of the older program.
func InServers(s driver.Server) []byte {
	type entry struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	return render.JSON(map[string]map[string]entry{"mcpServers": {driver.FormerServerName: {s.Command, render.List(s.Args)}}})
}
