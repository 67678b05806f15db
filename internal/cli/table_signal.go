package cli

// signalVerbs are those by which agents call for help.
var signalVerbs = []Verb{
	{
		Name: "blockage raise", Under: Tutti | H2A, Group: GroupBus, Halt: Acts, Rare: true, Bus: true, MaxArgs: 1,
		Short: "tell the peers that an agent cannot go on", Args: "[<reason>]",
		Flags: []Flag{
			{Name: "instance", Kind: Text, Value: "id", Default: "who types this", Offer: OwnAgents, Help: "who is blocked; under h2a it must be given"},
			{Name: "reason", Kind: Text, Value: "text", Help: "by what; must be given, here or as the argument"},
			{Name: "scope", Kind: Text, Value: "scope", Default: "its first one", Help: "whose followers are told"},
			{Name: "needs", Kind: Text, Value: "text", Help: "what would help"},
			{Name: "on", Kind: Text, Value: "ids", Offer: Agents, Help: "who could help, with commas between: their tutti status shows it"},
		},
		Does:     "Writes down what blocks an agent. Live peers that follow the scope, or are named, are told. An agent has one blockage: a new one takes the place of the old, which is said.",
		Wont:     "It decides nothing and asks nobody in particular to decide: that is tutti escalate. It never expires.",
		Examples: "$ tutti blockage raise 'the schema is missing' --on codex:api",
		Exit:     "0 done; 1 wrong usage; 2 there is no bus; 3 a file could not be written; 5 halted", See: "escalate, status",
	},
	{
		Name: "blockage list", Under: Tutti | H2A, Group: GroupBus, Halt: Reads, Rare: true, Bus: true,
		Short: "who cannot go on, and by what",
		Flags: []Flag{
			{Name: "active", Kind: Switch, Help: "only those that nobody has resolved"},
			{Name: "scope", Kind: Text, Value: "scope", Help: "only those of this scope"},
			{Name: "instance", Kind: Text, Value: "id", Offer: Agents, Help: "only those in the scopes of this agent"},
		},
		Does:     "Lists what agents said, who waits longest first. One whose agent has had no session for a day is called stale.",
		Examples: "$ tutti blockage list --active", Exit: exitBus,
	},
	{
		Name: "blockage resolve", Under: Tutti | H2A, Group: GroupBus, Halt: Ends, Rare: true, Bus: true, MaxArgs: 1, Offer: Agents,
		Short: "say that an agent can go on", Args: "[<agent>]",
		Flags: []Flag{
			{Name: "instance", Kind: Text, Value: "id", Default: "who types this", Offer: Agents, Help: "who was blocked; under h2a it must be given"},
			{Name: "by", Kind: Text, Value: "id", Default: "who types this; under h2a nobody", Offer: OwnAgents, Help: "who has helped"},
		},
		Does:     "Marks the blockage as resolved, which its peers are told. The first who resolves it stays on record.",
		Examples: "$ tutti blockage resolve codex:api:3f2a9c01b7de",
		Exit:     "0 done; 1 wrong usage; 2 there is no bus, or the agent has raised none; 3 a file could not be written",
	},
}
