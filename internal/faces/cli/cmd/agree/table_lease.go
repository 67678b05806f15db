package agree

import (
	"tutti/internal/faces/cli/kit"
	"tutti/internal/governance/reservation"
)

var leaseAs = kit.Flag{Name: "instance", Alias: "as", Kind: kit.Text, Value: "id", Default: "the agent that acts here", Offer: kit.OwnAgents, Help: "the agent that acts"}

var LeaseVerbs = []kit.Verb{
	{
		Name: "lease take", Under: kit.Tutti, Group: kit.GroupTogether, Halt: kit.Acts, MinArgs: 1, MaxArgs: -1, Offer: kit.Files, Bus: true, Opts: kit.WithFlags(runLeaseTake),
		Result: []reservation.View{},
		Short:  "reserve files that you are editing",
		Args:   "<path>...",
		Flags: []kit.Flag{
			{Name: "for", Kind: kit.Duration, Value: "time", Default: "30m", Help: "how long, at most 24h; to take it again prolongs it"},
			{Name: "note", Kind: kit.Text, Value: "text", Help: "what you do with them, in one line"},
			leaseAs,
		},
		Does: `Reserves each path; for a folder, everything below it. Other agents see the reservation: before they edit such a file, Claude
Code and Gemini show who holds it and until when, if our hooks are set up. A path is the same however it is reached. If several
agents reserve one path at once, one gets it; the others see who has it, since when and until when, and get mail when it ends.
If you name several paths, you get all of them or none. A reservation ends when its time is up, when the agent's session ends,
and when the agent is retired.`,
		Wont: "It locks nothing. An agent that does not ask, or ignores the warning, can still write.",
		Examples: `$ tutti lease take internal/parser --for 1h --note 'new grammar'
reserved until 15:04:05: /home/ana/web/internal/parser/ and all below`,
		Exit: "0 taken; 1 wrong usage; 2 another agent holds one of them, or there is no bus; 3 a file could not be written; 5 halted",
		See:  "lease list, lease release, hook",
	},
	{
		Name: "lease list", Under: kit.Tutti, Group: kit.GroupTogether, Halt: kit.Reads, MaxArgs: -1, Offer: kit.Files, Bus: true, Run: runLeaseList,
		Result:   []reservation.View{},
		Short:    "list file reservations",
		Args:     "[<path>...]",
		Does:     "Lists the current reservations, or those that concern the paths: on them, above or below.",
		Examples: "$ tutti lease list internal",
		Exit:     kit.ExitPlain,
		See:      "lease take",
	},
	{
		Name: "lease release", Under: kit.Tutti, Group: kit.GroupTogether, Halt: kit.Ends, MaxArgs: -1, Offer: kit.Files, Bus: true, Opts: kit.WithFlags(runLeaseRelease),
		Result:   []string{},
		Short:    "release file reservations",
		Args:     "[<path>...]",
		Flags:    []kit.Flag{{Name: "all", Kind: kit.Switch, Help: "all that are held in that name"}, leaseAs},
		Does:     "Ends reservations. Agents that were warned about them or asked for them get mail.",
		Examples: "$ tutti lease release internal/parser\n$ tutti lease release --all",
		Exit:     "0 done; 1 wrong usage; 2 there is none there, it belongs to another agent, or there is no bus; 3 a file could not be written",
		See:      "lease take",
	},
}
