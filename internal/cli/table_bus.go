package cli

var busVerbs = []Verb{
	{
		Name: "status", Under: Tutti | H2A, Group: GroupBus, Halt: Reads, Run: runStatus, Bus: true,
		Short: "one screen: the switch, the bus, you, who is there, your mail",
		Flags: []Flag{
			{Name: "scope", Kind: Text, Value: "scope", Under: H2A, Help: "only sessions of this scope"},
			{Name: "instance", Alias: "as", Kind: Text, Value: "id", Offer: Agents, Help: "whose mail is counted; under h2a: only sessions of this agent"},
			{Name: "name", Kind: Text, Value: "part", Under: H2A, Help: "only sessions with this in their name"},
		},
		Does: `Shows whether work is halted, which bus is meant, who you are on it, which agents have a live session, and how
much mail waits for you. Agents in tmux that belong to this folder stand in a row each: name, address on the bus, what tmux has,
conversation and job. Below stands the mail between projects: what waits for the project of this folder, and in all mailboxes
together. tutti alone shows the same where there is a bus.`,
		Wont: "An agent that is not listed may be at work all the same: live means only that it can be told of mail now.",
		Examples: `$ tutti status
$ tutti status --instance codex:api:3f2a9c01b7de`,
		Exit: exitPlain,
		See:  "inbox, discover, doctor, session status, comms status",
	},
	{
		Name: "discover", Under: Tutti | H2A, Group: GroupBus, Halt: Reads, Run: runDiscover, Bus: true,
		Short: "list the agents that are live",
		Flags: []Flag{
			{Name: "all", Kind: Switch, Under: Tutti, Help: "the registered ones that are not live, too"},
			{Name: "scope", Kind: Text, Value: "scope", Help: "only agents of this scope"},
			{Name: "name", Kind: Text, Value: "part", Under: Tutti, Help: "only agents with this in their name, in any case"},
			{Name: "role", Kind: Text, Value: "role", Help: "only agents registered with this role"},
		},
		Does: `Lists the agents that have a live session: id, host, name, scopes, age of the last sign of life, session. Yours
is left out. Under h2a it lists the registrations, live or not.`,
		Wont: "An agent that is not live may be at work: nothing should be done a second time for that reason alone.",
		Examples: `$ tutti discover
$ tutti discover --all --name api`,
		Exit: exitBus,
		See:  "send, sessions, status",
	},
	{
		Name: "connect", Under: Tutti | H2A, Group: GroupBus, Halt: Reads, Needs: connectSays, Run: runConnect, Bus: true,
		Short: "get an identity on the bus for this agent",
		Flags: []Flag{
			{Name: "host", Kind: Text, Value: "host", Choices: connectHosts, Help: "which agent program this is"},
			{Name: "name", Kind: Text, Value: "name", Default: "that of the settings or of the folder", Help: "how others see it"},
			{Name: "instance", Kind: Text, Value: "id", Offer: Agents, Help: "take this id as it is; nothing is registered"},
			{Name: "scope", Kind: Text, Value: "scope", Default: "scope:default", Under: Tutti, Help: "what a new agent works on"},
			{Name: "role", Kind: Text, Value: "role", Under: Tutti, Choices: []string{"PRINCIPAL", "EXECUTIF", "CONDUCTOR", "AGENTS", "CONTROL", "MANDATAIRE"}, Help: "as what a new agent is registered, beside AGENTS: who signs a contract is a CONDUCTOR, a policy a CONTROL, a mandate an EXECUTIF"},
		},
		Does: `Finds the identity that this conversation or this folder had before, or makes one: an id, a key pair, a
registration. Makes the bus when there is none. The agent program that runs this is remembered, so that later verbs below
it know who speaks. It says what to type so that the agent program runs our server; with --json it prints the entry
for its settings. A shell of your own goes on as you, until it has the variable that is shown.`,
		Wont: `It opens no session, and writes into no settings: agents are live while their agent program runs tutti mcp-serve.
It changes no registration: one that is there keeps its roles. Only a person at a terminal gives a role (--role).`,
		Examples: `$ tutti connect --host claude
$ tutti connect --host codex --name api --json
$ tutti connect --host claude --name lead --role CONDUCTOR`,
		Exit: "0 done; 1 wrong usage, or --role without a person at the terminal; 2 the agent is registered without that role; 3 a file could not be read or written",
		See:  "whoami, discover, send",
	},
	{
		Name: "disconnect", Under: Tutti | H2A, Group: GroupBus, Halt: Ends, Rare: true, Run: runDisconnect, Bus: true,
		Short: "close the sessions of an agent",
		Flags: []Flag{
			{Name: "instance", Kind: Text, Value: "id", Default: "who speaks here", Offer: Agents, Help: "whose sessions"},
			{Name: "session", Kind: Text, Value: "id", Default: "all of them", Help: "only this one"},
		},
		Does:     "Closes the live sessions of an agent: it is no longer listed as live. Seldom needed, as a session ends with its program.",
		Wont:     "Identity, keys and mail stay. It ends no program.",
		Examples: "$ tutti disconnect",
		Exit:     exitBus,
		See:      "connect, sessions",
	},
	{
		Name: "whoami", Under: Tutti | H2A, Group: GroupBus, Halt: Reads, Rare: true, Run: runWhoami, Bus: true,
		Short: "show who speaks here, and why",
		Flags: []Flag{{Name: "as", Kind: Text, Value: "id", Offer: OwnAgents, Help: "as if this were given to a verb that sends"}},
		Does: `Shows the instance that a message from here would come from, how that was decided, the bus, the live sessions
and the fingerprint of the key. It makes nothing: an identity that does not exist yet is named as such.`,
		Examples: `$ tutti whoami
$ tutti whoami --as codex:api`,
		Exit: "0 somebody speaks; 1 wrong usage, or nobody can be told; 3 a file could not be read",
		See:  "connect, keys list",
	},
	{
		Name: "rename", Under: Tutti | H2A, Group: GroupBus, Halt: Reads, MaxArgs: 1, Rare: true, Run: runRename, Bus: true,
		Short: "change the name that others see",
		Args:  "<name>",
		Flags: []Flag{
			{Name: "name", Kind: Text, Value: "name", Under: H2A, Help: "the new name"},
			{Name: "instance", Kind: Text, Value: "id", Default: "who speaks here", Offer: Agents, Help: "whose name"},
		},
		Does:     "Writes the name into the live sessions of the agent, and remembers it for the next one.",
		Wont:     "The id stays as it is, and so do mailbox, keys and what others have pinned.",
		Examples: "$ tutti rename 'api, second pair of hands'",
		Exit:     exitBus,
		See:      "whoami, sessions",
	},
	{
		Name: "sessions", Under: Tutti | H2A, Group: GroupBus, Halt: Reads, Rare: true, Run: runSessions, Bus: true,
		Short: "list the live sessions",
		Flags: []Flag{
			{Name: "scope", Kind: Text, Value: "scope", Help: "only those with this scope"},
			{Name: "instance", Kind: Text, Value: "id", Offer: Agents, Help: "only those of this agent"},
			{Name: "name", Kind: Text, Value: "part", Help: "only those with this in their name, in any case"},
		},
		Does: `Lists the sessions whose last sign of life is at most 90 seconds old. An agent may have several; discover lists
agents, and leaves yours out.`,
		Examples: `$ tutti sessions
$ tutti sessions --name api --json`,
		Exit: exitPlain,
		See:  "discover, status",
	},
	{
		Name: "hosts", Under: Tutti | H2A, Group: GroupBus, Halt: Indifferent, Rare: true, Run: runHosts,
		Short:    "list the agent programs that are supported",
		Does:     "Lists the agent programs that connect knows, as its flag --host takes them.",
		Examples: "$ tutti hosts",
		Exit:     "0 done; 1 wrong usage",
		See:      "connect",
	},
	{
		Name: "register", Under: Tutti | H2A, Group: GroupBus, Halt: Reads, MaxArgs: 1, Offer: Files, Rare: true, Run: runRegister, Bus: true,
		Short: "add a registration, written by hand",
		Args:  "<json>|@<file>|-",
		Flags: []Flag{{Name: "json", Kind: Text, Value: "json|@file|-", Under: H2A, Help: "the registration"}},
		Does: `Adds one registration to the registry. Its id must be new. Agents need no such thing: connect registers them.
The form of a registration: id, instance, roles, scopes, capabilities, endpoints, publicKeys, acceptedPolicies, createdAt.`,
		Wont:     "A registration is never changed or taken away again.",
		Examples: "$ tutti register @api.json",
		Exit:     "0 done; 1 wrong usage, or no registration; 2 the id is registered already, or there is no bus; 3 a file could not be written",
		See:      "connect, keys add",
	},
}

var keyVerbs = []Verb{
	{
		Name: "keys generate", Under: Tutti | H2A, Group: GroupBus, Halt: Reads, Run: runKeysGenerate, Bus: true,
		Short: "make a key pair",
		Flags: []Flag{
			{Name: "instance", Kind: Text, Value: "id", Default: "who speaks here", Offer: Agents, Help: "whose"},
			{Name: "out", Kind: Text, Value: "dir", Default: "the folder keys of the bus", Offer: Folders, Help: "where to"},
			{Name: "force", Kind: TrueSwitch, Help: "replace a private key that is there"},
		},
		Does: `Makes an Ed25519 key pair in two files; only you can read the private one. Where there is no bus it makes that
too, for the agent that --instance names, unless --out says where the files go.`,
		Wont: "It does not register the key (keys add does), and replaces no private key without --force.",
		Examples: `$ tutti keys generate --instance claude:api:3f2a9c01b7de
$ tutti keys generate --instance claude:api:3f2a9c01b7de --out ./new`,
		Exit: "0 done; 1 wrong usage; 2 there is a key already, or nobody speaks here; 3 a file could not be written",
		See:  "connect",
	},
	{
		Name: "keys add", Under: Tutti | H2A, Group: GroupBus, Halt: Reads, Run: runKeysAdd, Bus: true,
		Short: "add a public key to an agent's registered ones",
		Flags: []Flag{
			{Name: "instance", Kind: Text, Value: "id", Default: "who speaks here", Offer: Agents, Help: "whose"},
			{Name: "public-key", Kind: Text, Value: "file", Offer: Files, Help: "the public key, as PEM"},
		},
		Does: `Adds a public key to those that the agent's signatures are checked with. When a private key of the agent is at
hand, the line carries a proof made with it. No answer of a person counts under a key that was added where nobody is at a
terminal, until a person says so (keys trust).`,
		Examples: "$ tutti keys add --instance claude:api:3f2a9c01b7de --public-key new.pub.pem",
		Exit:     "0 done; 1 wrong usage; 2 it is active already, was revoked, or the agent is not registered; 3 a file could not be read or written",
	},
	{
		Name: "keys list", Under: Tutti | H2A, Group: GroupBus, Halt: Reads, Run: runKeysList, Bus: true,
		Short: "list an agent's keys; without one, your own and those you pinned",
		Flags: []Flag{{Name: "instance", Kind: Text, Value: "id", Offer: Agents, Help: "whose registered keys"}},
		Does:  "Lists the active keys of an agent. Without --instance it lists the private keys of this bus and the keys that you have pinned.",
		Examples: `$ tutti keys list
$ tutti keys list --instance codex:api:3f2a9c01b7de`,
		Exit: exitPlain,
		See:  "whoami",
	},
	{
		Name: "keys revoke", Under: Tutti | H2A, Group: GroupBus, Halt: Ends, Run: runKeysRevoke, Bus: true,
		Short: "take a public key out of use, for good",
		Flags: []Flag{
			{Name: "instance", Kind: Text, Value: "id", Default: "who speaks here", Offer: Agents, Help: "whose"},
			{Name: "public-key", Kind: Text, Value: "file", Offer: Files, Help: "the public key, as PEM"},
			{Name: "yes", Kind: Switch, Under: Tutti, Help: "do not ask; needed where there is no terminal"},
		},
		Does: `Revokes a key: what it signs is no longer verified. It can never be made active again. That of a person is revoked by a
person at a terminal, and what was answered under it until then remains answered if a private key of that person lies here to
prove it with. Without one the key is only forgotten here, with what was answered under it: a warning says so.`,
		Examples: "$ tutti keys revoke --instance claude:api:3f2a9c01b7de --public-key old.pem",
		Exit:     "0 done; 1 wrong usage, or not confirmed; 2 the key is not active; 3 a file could not be read or written",
	},
	{
		Name: "keys trust", Under: Tutti, Group: GroupBus, Halt: Reads, MinArgs: 1, MaxArgs: 1, Offer: Agents, Run: runKeysTrust, Bus: true,
		Short: "pin the key that an agent has now",
		Args:  "<instance>",
		Flags: []Flag{
			{Name: "yes", Kind: Switch, Help: "do not ask"},
			{Name: "forget", Kind: Switch, Help: "remove the pin instead"},
			{Name: "public-key", Kind: Text, Value: "file", Offer: Files, Help: "which of several keys, as PEM"},
		},
		Does: `Shows the fingerprint of the key that you pinned and of the one that is registered now, and asks whether to pin the
new one. Messages signed with it are then verified. A key is pinned by itself when an agent is first heard. That of a person
is pinned by a person at a terminal, and what is answered under it counts from then on. Of several keys it is the one added
last, of a person the last one that is not pinned yet: one after the other.`,
		Wont: "It cannot tell whose key it is: compare the fingerprint with what the agent's own machine shows (tutti whoami).",
		Examples: `$ tutti keys trust claude:api:3f2a9c01b7de
$ tutti keys trust claude:api:3f2a9c01b7de --yes`,
		Exit: "0 pinned, or pinned already; 1 wrong usage, or not confirmed; 2 there is no key; 3 a file could not be written",
	},
}
