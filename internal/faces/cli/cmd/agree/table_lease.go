package agree

import (
	"tutti/internal/faces/cli/kit"
)

var leaseAs = kit.Flag{Name: "instance", Alias: "as", Kind: kit.Text, Value: "id", Default: "who speaks here", Offer: kit.OwnAgents, Help: "in whose name"}

var LeaseVerbs = []kit.Verb{
	{
		Name: "lease take", Under: kit.Tutti, Group: kit.GroupTogether, Halt: kit.Acts, MinArgs: 1, MaxArgs: -1, Offer: kit.Files, Bus: true, Run: runLeaseTake,
		Short: "reserve files that you are editing",
		Args:  "<path>...",
		Flags: []kit.Flag{
			{Name: "for", Kind: kit.Duration, Value: "time", Default: "30m", Help: "how long, at most 24h; to take it again prolongs it"},
			{Name: "note", Kind: kit.Text, Value: "text", Help: "what you do with them, in one line"},
			leaseAs,
		},
		Does: `Takes a lease on each path; on a folder it covers what lies below. Other agents see it: before they edit such a file, Claude Code and
Gemini are told who holds it and until when, if our hooks are set up. A path is the same however it is reached. Of several who take one
path at once one gets it; the others are told who has it, since when and until when, and by mail when it has ended. Of several paths
all are taken, or none. It ends at its time, with the session of the agent, and when it is taken out of service.`,
		Wont: "It locks nothing. Who does not ask, or edits in spite of the warning, writes all the same.",
		Examples: `$ tutti lease take internal/parser --for 1h --note 'new grammar'
leased until 15:04:05: /home/ana/web/internal/parser/ and all below`,
		Exit: "0 taken; 1 wrong usage; 2 somebody else holds one of them, or there is no bus; 3 a file could not be written; 5 halted",
		See:  "lease list, lease release, hook",
	},
	{
		Name: "lease list", Under: kit.Tutti, Group: kit.GroupTogether, Halt: kit.Reads, MaxArgs: -1, Offer: kit.Files, Bus: true, Run: runLeaseList,
		Short:    "list file reservations",
		Args:     "[<path>...]",
		Does:     "Lists the leases that stand, or those that concern the paths: on them, above or below.",
		Examples: "$ tutti lease list internal",
		Exit:     kit.ExitPlain,
		See:      "lease take",
	},
	{
		Name: "lease release", Under: kit.Tutti, Group: kit.GroupTogether, Halt: kit.Ends, MaxArgs: -1, Offer: kit.Files, Bus: true, Run: runLeaseRelease,
		Short:    "release file reservations",
		Args:     "[<path>...]",
		Flags:    []kit.Flag{{Name: "all", Kind: kit.Switch, Help: "all that are held in that name"}, leaseAs},
		Does:     "Ends leases. Those who were warned of them or wanted them are told by mail.",
		Examples: "$ tutti lease release internal/parser\n$ tutti lease release --all",
		Exit:     "0 done; 1 wrong usage; 2 there is none there, it is somebody else's, or there is no bus; 3 a file could not be written",
		See:      "lease take",
	},
}
