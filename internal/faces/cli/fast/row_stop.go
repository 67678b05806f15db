package fast

import (
	"tutti/internal/faces/cli/kit"
)

var HaltRow = kit.Verb{
	Name: "halt", Under: kit.Tutti | kit.H2A | kit.Cross, Group: kit.GroupStop, Halt: kit.Ends, Lax: true, MaxArgs: -1, Anyway: true, Opts: kit.WithFlags(runHalt),
	Result: HaltView{},
	Short:  "stop all your agents, now",
	Args:   "[<reason>]",
	Flags: []kit.Flag{
		{Name: "tailnet", Kind: kit.Switch, Help: "also halt your other machines, listed in ~/.config/cross-agent-comms/peers.toml, over ssh"},
		{Name: "no-stop-watcher", Kind: kit.Switch, Help: "do not stop the user unit cross-agent-watch"},
		{Name: "kill", Kind: kit.Switch, Under: kit.Tutti, Help: "also end your sessions, the agent CLIs on this machine and the tools that they run"},
		{Name: "tools", Kind: kit.Switch, Under: kit.Tutti, Help: "also end the commands that agents are running; the agents stay"},
		{Name: "yes", Kind: kit.Switch, Under: kit.Tutti, Help: "with --kill and --tools: do not ask"},
		{Name: "drill", Kind: kit.Switch, Under: kit.Tutti, Help: "halt nothing: prove on throw-away agents that a halt stops each installed agent CLI"},
	},
	Does: `Sets the halt switch. Hooks then deny every tool call and prompt of your agents, and tutti sends, starts and types
nothing until you clear the switch. A tool that already runs is not ended. Agents are shown the reason. If the switch
is already set, a new reason replaces the old one; without a reason the old one stays.

Then it waits up to one second and prints a line for each agent CLI that runs on this machine, including those that
tutti never met. An agent counts as stopped when it acknowledged the halt, when its hooks deny its next tool call, or
when its turn was interrupted. --json has the same report.

--kill then ends every session of your session registries, these agent CLIs, and the tools that they run: SIGTERM, and
SIGKILL after four seconds. It types nothing. It asks first at a terminal; elsewhere it needs --yes. An agent may halt,
but may not use --kill. Agents under another home folder or in a container are left alone. Conversations are kept:
tutti resume --restart starts the sessions again.

--tools ends only the commands that agents are running, so that an agent in a long command stands still, too. The
agent CLIs and their MCP servers stay. It asks and refuses as --kill does.

--tailnet then halts your other machines, all at the same time, with 10 s for each. It prints a line for each machine.
If one was not halted, the last line begins with PARTIAL HALT and names it. With --kill or --tools, the tutti of each
halted machine then ends the agents or commands there.

--drill, alone, halts nothing. It runs each installed agent CLI in a throw-away home folder against a scripted model,
with your hooks of tutti, sets the switch of that folder, and counts the tool calls that still come. It needs no
account, no network and no tokens, and takes some seconds for each CLI. tutti doctor shows how old the last drill is.

A wrong flag does not prevent the halt: it halts first and complains afterwards. It reads no settings and no bus.`,
	Wont: "Without --kill and --tools it ends no process. It deletes no message and cuts off no transfer.",
	Examples: `$ tutti halt 'runaway loop'
$ tutti halt --kill
$ tutti halt --tools
$ tutti halt --tailnet 'disk check'
$ tutti halt --drill
$ touch ~/.config/cross-agent-comms/HALT    # has the same effect`,
	Exit: "0 halted; 1 wrong usage, another machine was not halted, or --kill or --tools was refused (this machine is halted all the same); 2 an agent still runs after --kill or a command after --tools, or --drill found an agent CLI that a halt does not stop; 3 the switch could not be set, or the agents to kill could not be found",
	CrossExit: "0 halted; 1 not every machine (this one is halted all the same), or the switch could not be set; " +
		"64 a wrong argument (this machine is halted all the same)",
	See: "resume",
}

var ResumeRow = kit.Verb{
	Name: "resume", Under: kit.Tutti | kit.H2A | kit.Cross, Group: kit.GroupStop, Halt: kit.Ends, Anyway: true, Opts: kit.WithFlags(runResume),
	Result: HaltView{},
	Short:  "lift the halt",
	Flags: []kit.Flag{
		{Name: "tailnet", Kind: kit.Switch, Help: "also clear it on your other machines, over ssh"},
		{Name: "no-start-watcher", Kind: kit.Switch, Help: "do not start the user unit cross-agent-watch"},
		{
			Name: "session", Kind: kit.Text, Value: "agent", Under: kit.Tutti, Offer: kit.OwnAgents,
			Help: "also let this agent continue, and wake it if it is idle",
		},
		{Name: "wake", Kind: kit.Switch, Under: kit.Tutti, Help: "also let all agents continue that the halt stopped, and wake those that are idle"},
		{Name: "restart", Kind: kit.Switch, Under: kit.Tutti, Help: "also start again the sessions that halt --kill ended, with their conversations"},
	},
	Does: `Lifts the halt and starts the user unit cross-agent-watch if it is installed. Sending and receiving work
again. It shows what the halt has left: messages that were kept, conversations that are open, and how many agents wait
for you.

No agent continues by itself. To let one continue, type a prompt in its session, or use --session AGENT. --wake lets
all of them continue. Both also wake an agent that is idle. --wake first prints for each agent how many tokens its
model reads again. Both flags also work later, when nothing is halted. --session also takes the name of a session. If
the session of the agent has ended, nothing is lifted.

--restart starts again the sessions that halt --kill ended, each in its folder and with its own conversation. An agent
that you had started by hand cannot be put back into its terminal: for each one it prints the line to type.

--tailnet also clears the switch on your other machines. If one is still halted, the last line begins with PARTIAL
RESUME.`,
	Wont: `It is refused below an agent CLI: only you can lift a halt. Type it in a terminal outside the agent. It does not end a
pause: tutti unpause does.`,
	Examples: `$ tutti resume
$ tutti resume --wake
$ tutti resume --restart
$ tutti resume --session claude:api
$ rm ~/.config/cross-agent-comms/HALT    # the same, but not recorded`,
	Exit:      "0 cleared, or nothing was halted; 1 still halted, here or on another machine, wrong usage, or the session of that agent has ended; 2 a session could not be started again",
	CrossExit: "0 cleared, or nothing was halted; 1 still halted, here or on another machine; 64 wrong usage",
	See:       "halt",
}

var PauseRow = kit.Verb{
	Name: "pause", Under: kit.Tutti, Group: kit.GroupStop, Halt: kit.Ends, MinArgs: 1, MaxArgs: -1, Offer: kit.OwnAgents, Run: orFull(kit.RunPause),
	Result: kit.PauseResult{},
	Short:  "deny the tools of one agent or folder",
	Args:   "<agent>|<folder> [<reason>]",
	Does: `Hooks deny the tool calls and prompts of one agent, or of all agents that work in a folder. Other agents continue. A
folder covers everything below its real path, and the git worktrees of the repositories there. A name with a slash is
a folder; a name with a colon is an agent. The name of a session is its agent. An agent may pause only itself.

Pausing again with a reason replaces the reason. A pause survives a restart. A pause that cannot be read still counts.`,
	Wont: `It does not reach an agent CLI without hooks of tutti, does not end a tool that already runs, and does not prevent the
agent from sending with tutti send.`,
	Examples: `$ tutti pause claude:api 'over budget'
$ tutti pause ~/src/shop`,
	Exit: "0 paused; 1 wrong usage, or refused below an agent CLI; 2 no such agent; 3 a file could not be written",
	See:  "unpause, halt, status",
}

var UnpauseRow = kit.Verb{
	Name: "unpause", Under: kit.Tutti, Group: kit.GroupStop, Halt: kit.Ends, MinArgs: 1, MaxArgs: 1, Offer: kit.OwnAgents, Run: orFull(runUnpause),
	Result:   kit.PauseResult{},
	Short:    "end the pause of an agent or folder",
	Args:     "<agent>|<folder>",
	Does:     "Ends a pause. tutti records and announces it, as it does when a halt is lifted. It wakes no agent: it says how many of\nthose that were paused have unread mail. Mail that comes later wakes them as usual.",
	Wont:     "It is refused below an agent CLI: only you can end a pause. It does not lift a halt: tutti resume does.",
	Examples: "$ tutti unpause ~/src/shop",
	Exit:     "0 done; 1 wrong usage, or refused below an agent CLI; 2 it is not paused; 3 a file could not be written",
	See:      "pause, resume",
}
