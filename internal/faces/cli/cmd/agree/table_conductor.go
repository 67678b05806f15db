package agree

import (
	"tutti/internal/faces/cli/kit"
	"tutti/internal/governance/conductor"
)

var seatFlag = kit.Flag{Name: "workspace", Kind: kit.Text, Value: "id|folder", Default: "the folder that one stands in", Offer: kit.Folders, Help: "which workspace: an id that begins with ws:, or a folder"}

var stalledFlag = kit.Flag{Name: "idle-ms", Kind: kit.Text, Value: "ms", Default: "86400000", Help: "from which age on work counts as stalled, in milliseconds"}

const (
	exitSeat   = "0 done, also when another agent conducts; 1 wrong usage, or you may not do this (under h2a also what is 2); 2 there is no bus, the agent has no live session there, or its key is not the one that counts; 3 a file could not be written; 5 halted"
	exitLaunch = "0 done, or there was nothing to do; 1 wrong usage, or no requester is named; 2 there is no bus, or another launch is under way; 3 a file could not be written; 5 halted"
	checkDoes  = `Finds out which agent conducts and, if the program "track" is on PATH, which work is open in the workspace (track
workspace-activity --workspace ID --idle-ms N --format json, limited to 10 seconds). The advice is launch if no agent conducts
and work is stalled, otherwise none.`
	checkWont  = "It sends nothing and starts nothing. If track is missing, fails or prints nonsense, it is reported as unavailable; that is not an error."
	launchDoes = `Where the check advises it, asks a remote agent to start a conductor: the live one on host "remote" that is shown in a pane, else the
first one, or the one that --remote names. Without --confirm it shows what would be asked. For one workspace there is one request in
30 minutes, of several at once one.`
	launchWont = "It starts no agent: the agent that you ask decides. The request is signed if the key is on this machine."
)

var launchFlags = []kit.Flag{
	seatFlag, stalledFlag,
	{Name: "confirm", Kind: kit.TrueSwitch, Help: "really send it"},
	{Name: "remote", Kind: kit.Text, Value: "id", Offer: kit.Agents, Help: "the agent to ask; it need not be live"},
	{Name: "instance", Alias: "as", Kind: kit.Text, Value: "id", Default: "the agent that acts here", Offer: kit.OwnAgents, Help: "the agent that acts; under h2a it must be given with --confirm"},
}

var ConductorVerbs = []kit.Verb{
	{
		Name: "conductor", Under: kit.Tutti | kit.H2A, Group: kit.GroupTogether, Halt: kit.Reads, MaxArgs: 1, Offer: kit.Folders, Bus: true, Opts: kit.WithFlags(runConductor),
		Result: conductor.View{},
		Short:  "show which agent conducts a workspace",
		Args:   "[<workspace>]",
		Flags:  []kit.Flag{seatFlag},
		Does: `Shows which agent conducts the workspace, and which agents are live there: ask it before you act there for others. The first
claim whose holder is live conducts; without one, the CONDUCTOR that has been live there longest; otherwise none, which is not
an error. The conductor is determined anew each time: when one dies, the next one conducts.`,
		Wont: "It gives the conductor no rights, and stops no other agent from acting.",
		Examples: `$ tutti conductor
claude:web:3f2a9c01b7de conducts /home/ana/web (ws:5b1c…), since 4 min ago
$ tutti conductor ~/api --json`,
		Exit: kit.ExitPlain,
		See:  "conductor claim, discover, status",
	},
	{
		Name: "conductor claim", Under: kit.Tutti | kit.H2A, Group: kit.GroupTogether, Halt: kit.Acts, MaxArgs: 1, Offer: kit.Folders, Bus: true, Opts: kit.WithFlags(runConductorClaim),
		Result: conductor.View{},
		Short:  "claim the conductor role, or queue for it",
		Args:   "[<workspace>]",
		Flags:  []kit.Flag{seatFlag, {Name: "instance", Alias: "as", Kind: kit.Text, Value: "id", Default: "the agent that acts here", Offer: kit.OwnAgents, Help: "agent that claims; under h2a it must be given"}},
		Does: `Writes a claim, signed where the key is here, behind those that stand, and says who conducts then. It is tied to the live session of
the agent: it ends with that. An agent that was stopped for a while has its place back when it goes on. To claim again changes nothing.`,
		Wont: "It never displaces a conductor and claims only for your own live agents.",
		Examples: `$ tutti conductor claim
$ tutti conductor claim --instance claude:web:3f2a9c01b7de --workspace ~/web`,
		Exit: exitSeat,
		See:  "conductor, conductor release",
	},
	{
		Name: "conductor release", Under: kit.Tutti | kit.H2A, Group: kit.GroupTogether, Halt: kit.Ends, MaxArgs: 1, Offer: kit.Folders, Bus: true, Opts: kit.WithFlags(runConductorRelease),
		Result:   conductor.View{},
		Short:    "release the conductor role",
		Args:     "[<workspace>]",
		Flags:    []kit.Flag{seatFlag, {Name: "instance", Alias: "as", Kind: kit.Text, Value: "id", Default: "the agent that acts here", Offer: kit.OwnAgents, Help: "agent whose claim it is; under h2a it must be given"}},
		Does:     "Withdraws the claim of the agent there, in every spelling of its name, live or not, and prints who conducts then.",
		Examples: "$ tutti conductor release",
		Exit:     exitSeat,
		See:      "conductor claim",
	},
	{
		Name: "conductor check", Under: kit.Tutti, Group: kit.GroupTogether, Halt: kit.Reads, MaxArgs: 1, Offer: kit.Folders, Bus: true, Waits: true, Opts: kit.WithFlags(runConductorCheck),
		Result: conductor.CheckView{},
		Short:  "check whether this workspace needs a conductor",
		Args:   "[<workspace>]",
		Flags:  []kit.Flag{seatFlag, stalledFlag},
		Does:   checkDoes, Wont: checkWont,
		Examples: "$ tutti conductor check --idle-ms 3600000",
		Exit:     kit.ExitPlain,
		See:      "conductor launch",
	},
	{
		Name: "conductor launch", Under: kit.Tutti, Group: kit.GroupTogether, Halt: kit.Acts, MaxArgs: 1, Offer: kit.Folders, Bus: true, Waits: true, Opts: kit.WithFlags(runConductorLaunch),
		Result: conductor.OutcomeView{},
		Short:  "ask a remote agent to start a conductor",
		Args:   "[<workspace>]",
		Flags:  launchFlags,
		Does:   launchDoes, Wont: launchWont,
		Examples: `$ tutti conductor launch
$ tutti conductor launch --confirm --remote remote:bridge:3f2a9c01b7de`,
		Exit: exitLaunch,
		See:  "conductor check",
	},
	{
		Name: "conductor-launch-check", Under: kit.H2A, Group: kit.GroupTogether, Halt: kit.Reads, Bus: true, Waits: true, Opts: kit.WithFlags(runConductorCheck),
		Result: conductor.CheckView{},
		Short:  "check whether this workspace needs a conductor",
		Flags:  []kit.Flag{seatFlag, stalledFlag},
		Does:   checkDoes, Wont: checkWont,
		Examples: "$ h2a conductor-launch-check --idle-ms 3600000",
		Exit:     kit.ExitPlain,
	},
	{
		Name: "conductor-launch", Under: kit.H2A, Group: kit.GroupTogether, Halt: kit.Acts, Bus: true, Waits: true, Opts: kit.WithFlags(runConductorLaunch),
		Result: conductor.OutcomeView{},
		Short:  "ask a remote agent to start a conductor",
		Flags:  launchFlags,
		Does:   launchDoes, Wont: launchWont,
		Examples: "$ h2a conductor-launch --confirm --instance claude:web:3f2a9c01b7de",
		Exit:     exitLaunch,
	},
}
