package setup

import (
	"tutti/internal/faces/cli/kit"
)

var MCPVerbs = []kit.Verb{
	{
		Name: "mcp-serve", Under: kit.Tutti | kit.H2A, Group: kit.GroupSetup, Halt: kit.Stays, Waits: true, TextOnly: true, Bus: true, Opts: kit.WithFlags(runMCPServe),
		Short: "serve an agent CLI over MCP",
		Flags: []kit.Flag{
			{Name: "auto-open", Kind: kit.Switch, Help: "connect the agent and make it live at start; without it no agent is live until the model opens a session"},
			{Name: "host", Kind: kit.Text, Value: "host", Default: "agent", Help: "the agent CLI that is served; does not make the agent live without --auto-open"},
			{Name: "instance", Alias: "as", Kind: kit.Text, Value: "id", Help: "the agent that speaks through this server, as it is"},
			{Name: "name", Kind: kit.Text, Value: "name", Help: "how the agent is shown to others, once --auto-open makes it live"},
			{Name: "scope", Kind: kit.Text, Value: "scope", Default: "scope:default", Help: "what the session of --auto-open is interested in"},
			{Name: "tools", Kind: kit.Text, Value: "set", Default: "all", Choices: []string{"all", "lean"}, Help: "which tools are listed: lean lists those that a model needs daily; a call of any other is still answered"},
			{Name: "wake", Kind: kit.Text, Value: "kind", Help: "accepted for older settings; nudge in the [wake] settings decides whether an idle agent is woken by typing"},
			{Name: "auto-upgrade", Kind: kit.Switch, Help: "accepted for older settings; nothing is installed"},
			{Name: "no-restart", Kind: kit.Switch, Help: "accepted for older settings"},
			{Name: "upgrade-check", Kind: kit.Switch, Help: "accepted for older settings; nothing is asked of the network"},
		},
		Does: `Serves one agent program: it sends, receives and answers messages, finds other agents and opens sessions with
the tools of this server, as the agent that the connection belongs to. That is the one of --instance; else the one that
--auto-open found or made; else the one of the session that was opened last; else who would speak on a command line here, if
that is an agent. In the name of anybody else nothing is written.

Agent programs start it by themselves, from an entry that "tutti host setup" puts into their settings. It ends with its
input, or at an interrupt, and closes the sessions that it holds.

While the halt switch is on it stays: tools that send or take answer that halt is active, and nothing is pushed.`,
		Wont: "It asks no network, installs nothing, and never speaks as a person: behind it sits a model.",
		Examples: `$ tutti mcp-serve --auto-open --host claude
$ tutti mcp-serve --auto-open --host codex --tools lean
$ h2a mcp-serve --root ~/h2a-workspace/.h2a`,
		Exit: "0 the input has ended, or it was interrupted; 1 wrong usage, or the input or output failed",
	},
	{
		Name: "mcp-tools", Under: kit.Tutti | kit.H2A, Group: kit.GroupSetup, Halt: kit.Indifferent, Run: runMCPTools,
		Result:   []string{},
		Short:    "list the tools that mcp-serve offers",
		Does:     "Lists the tools of the MCP server in the order in which it offers them.",
		Examples: "$ tutti mcp-tools",
		Exit:     kit.ExitPlain,
	},
}
