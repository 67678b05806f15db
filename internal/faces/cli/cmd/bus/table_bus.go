package bus

import (
	"encoding/json"

	"tutti/internal/core/render"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
)

var AgentVerbs = []kit.Verb{
	fast.DiscoverRow,
	{
		Name: "connect", Under: kit.Tutti | kit.H2A, Group: kit.GroupBus, Halt: kit.Makes, Opts: kit.WithFlags(runConnect), Bus: true,
		Result: connected{},
		Short:  "give this agent an identity on the bus",
		Flags: []kit.Flag{
			{Name: "host", Kind: kit.Text, Value: "host", Choices: connectHosts, Help: "the agent CLI"},
			{Name: "name", Kind: kit.Text, Value: "name", Default: "that of the settings or of the folder", Help: "the name that others see"},
			{Name: "instance", Alias: "as", Kind: kit.Text, Value: "id", Offer: kit.Agents, Help: "use exactly this id; nothing is registered"},
			{Name: "scope", Kind: kit.Text, Value: "scope", Default: "scope:default", Under: kit.Tutti, Help: "the scope of a new agent"},
			{Name: "role", Kind: kit.Text, Value: "role", Under: kit.Tutti, Choices: []string{"PRINCIPAL", "EXECUTIF", "CONDUCTOR", "AGENTS", "CONTROL", "MANDATAIRE"}, Help: "additional role for a new agent: CONDUCTOR signs contracts, CONTROL policies, EXECUTIF mandates"},
		},
		Does: `Finds the identity that this conversation or this folder had before, or makes one: an id, a key pair and a
registration. If there is no bus, it makes one. tutti remembers the agent CLI that runs this, so that later verbs
below it know which agent acts. If the agent CLI does not start the MCP server of tutti yet, it prints the command that
sets this up; --json prints the entry for its settings. A shell of your own still acts as you, until you set the variable that is printed.`,
		Wont: `It opens no connection and changes no settings: an agent is live while its agent CLI runs tutti mcp-serve. It does not
change the roles of an agent that is already registered. Only a person at a terminal can give a role (--role).`,
		Examples: `$ tutti connect --host claude
$ tutti connect --host codex --name api --json
$ tutti connect --host claude --name lead --role CONDUCTOR`,
		Exit: "0 done; 1 wrong usage, or --role without a person at the terminal; 2 the agent is registered without that role; 3 a file could not be read or written",
		See:  "whoami, discover, send",
	},
	{
		Name: "disconnect", Under: kit.Tutti | kit.H2A, Group: kit.GroupBus, Halt: kit.Ends, Opts: kit.WithFlags(runDisconnect), Bus: true,
		Result: disconnected{},
		Short:  "close the connections of an agent",
		Flags: []kit.Flag{
			{Name: "instance", Alias: "as", Kind: kit.Text, Value: "id", Default: "the agent that acts here", Offer: kit.Agents, Help: "agent whose connections to list"},
			{Name: "session", Kind: kit.Text, Value: "id", Default: "all of them", Help: "only this one"},
		},
		Does: `Closes the connections of an agent, so that it is no longer live. You rarely need it: a connection ends with its
process.`,
		Wont:     "Identity, keys and mail stay. It ends no program.",
		Examples: "$ tutti disconnect",
		Exit:     kit.ExitBus,
		See:      "connect, sessions",
	},
	fast.WhoamiRow,
	{
		Name: "rename", Under: kit.Tutti | kit.H2A, Group: kit.GroupBus, Halt: kit.Makes, MaxArgs: 1, Opts: kit.WithFlags(runRename), Bus: true,
		Result: renamedAgent{},
		Short:  "change the name that others see",
		Args:   "<name>",
		Flags: []kit.Flag{
			{Name: "name", Kind: kit.Text, Value: "name", Under: kit.H2A, Help: "the new name"},
			{Name: "instance", Alias: "as", Kind: kit.Text, Value: "id", Default: "the agent that acts here", Offer: kit.Agents, Help: "agent to rename"},
		},
		Does:     "Writes the name into the live sessions of the agent, and remembers it for the next one.",
		Wont:     "The id stays as it is, and so do mailbox, keys and what others have pinned.",
		Examples: "$ tutti rename 'api, second pair of hands'",
		Exit:     kit.ExitBus,
		See:      "whoami, sessions",
	},
	{
		Name: "role", Under: kit.Tutti, Group: kit.GroupBus, Halt: kit.Acts, MinArgs: 2, MaxArgs: 2, Offer: kit.Agents, Run: runRole, Bus: true,
		Result: roleResult{},
		Short:  "give an agent a role",
		Args:   "<agent> <role>",
		Does: `Gives an existing agent one more role: PRINCIPAL, EXECUTIF, CONDUCTOR, AGENTS, CONTROL or MANDATAIRE. A role says which kinds of
agreement the agent may sign.

The role counts for you: it is remembered in your own state, with the key that the agent has now, and written on the bus as a grant.
Other users give it themselves. A role that an agent wrote into its own registration counts in no agreement before you give it.`,
		Wont:     "It is refused below an agent CLI. The registration of the agent stays as it is.",
		Examples: "$ tutti role claude:web CONDUCTOR",
		Exit:     kit.ExitBus,
		See:      "negotiate open, keys trust",
	},
	{
		Name: "sessions", Under: kit.Tutti | kit.H2A, Group: kit.GroupBus, Halt: kit.Reads, Opts: kit.WithFlags(runSessions), Bus: true,
		Result: []json.RawMessage{},
		Short:  "list the connections of live agents",
		Flags: []kit.Flag{
			{Name: "scope", Kind: kit.Text, Value: "scope", Help: "only those with this scope"},
			{Name: "instance", Alias: "as", Kind: kit.Text, Value: "id", Offer: kit.Agents, Help: "only those of this agent"},
			{Name: "name", Kind: kit.Text, Value: "part", Help: "only those with this in their name, in any case"},
		},
		Does: `Lists the connections whose last heartbeat is at most 90 s old. An agent may have several. discover lists agents
instead, and leaves yours out.`,
		Examples: `$ tutti sessions
$ tutti sessions --name api --json`,
		Exit: kit.ExitPlain,
		See:  "discover, status",
	},
	{
		Name: "hosts", Under: kit.Tutti | kit.H2A, Group: kit.GroupBus, Halt: kit.Indifferent, Run: runHosts,
		Result:   []hostRow{},
		Short:    "list the supported agent CLIs",
		Does:     "Lists the agent CLIs that connect knows, by the names that its flag --host takes.",
		Examples: "$ tutti hosts",
		Exit:     "0 done; 1 wrong usage",
		See:      "connect",
	},
	{
		Name: "register", Under: kit.Tutti | kit.H2A, Group: kit.GroupBus, Halt: kit.Makes, MaxArgs: 1, Offer: kit.Files, Opts: kit.WithFlags(runRegister), Bus: true,
		Result: registeredAgent{},
		Short:  "add a registration that you wrote",
		Args:   "<json>|@<file>|-",
		Flags:  []kit.Flag{{Name: "json", Kind: kit.Text, Value: "json|@file|-", Under: kit.H2A, Help: "the registration"}},
		Does: `Adds one registration to the registry. Its id must be new. Agents need no such thing: connect registers them.
The form of a registration: id, instance, roles, scopes, capabilities, endpoints, publicKeys, acceptedPolicies, createdAt.

The roles and scopes of a registration that you make count for you. Those that an agent makes, and those of an agent with a remote
endpoint, count once you accept them with role or keys trust.`,
		Wont:     "A registration is never changed or taken away again.",
		Examples: "$ tutti register @api.json",
		Exit:     "0 done; 1 wrong usage, or no registration; 2 the id is registered already, or there is no bus; 3 a file could not be written",
		See:      "connect, role, keys add",
	},
}

var KeyVerbs = []kit.Verb{
	{
		Name: "keys generate", Under: kit.Tutti | kit.H2A, Group: kit.GroupBus, Halt: kit.Makes, Opts: kit.WithFlags(runKeysGenerate), Bus: true,
		Result: generatedKey{},
		Short:  "make a key pair",
		Flags: []kit.Flag{
			{Name: "instance", Alias: "as", Kind: kit.Text, Value: "id", Default: "the agent that acts here", Offer: kit.Agents, Help: "the agent"},
			{Name: "out", Kind: kit.Text, Value: "dir", Default: "the folder keys of the bus", Offer: kit.Folders, Help: "where to"},
			{Name: "force", Kind: kit.TrueSwitch, Help: "replace a private key that is there"},
		},
		Does: `Makes an Ed25519 key pair in two files; only you can read the private one. Where there is no bus it makes that
too, for the agent that --instance names, unless --out says where the files go.`,
		Wont: "It does not register the key (keys add does), and replaces no private key without --force.",
		Examples: `$ tutti keys generate --instance claude:api:3f2a9c01b7de
$ tutti keys generate --instance claude:api:3f2a9c01b7de --out ./new`,
		Exit: "0 done; 1 wrong usage; 2 there is a key already, or no agent acts here; 3 a file could not be written",
		See:  "connect",
	},
	{
		Name: "keys add", Under: kit.Tutti | kit.H2A, Group: kit.GroupBus, Halt: kit.Makes, Opts: kit.WithFlags(runKeysAdd), Bus: true,
		Result: changedKeys{},
		Short:  "register another public key of an agent",
		Flags: []kit.Flag{
			{Name: "instance", Alias: "as", Kind: kit.Text, Value: "id", Default: "the agent that acts here", Offer: kit.Agents, Help: "the agent"},
			{Name: "public-key", Kind: kit.Text, Value: "file", Offer: kit.Files, Help: "the public key, as PEM"},
		},
		Does: `Adds a public key to those that verify the agent's signatures. If a private key of the agent is here, the entry
carries a proof made with it. A key of a person that was added without a terminal verifies no answer of that person
until a person trusts it (keys trust).`,
		Examples: "$ tutti keys add --instance claude:api:3f2a9c01b7de --public-key new.pub.pem",
		Exit:     "0 done; 1 wrong usage; 2 it is active already, was revoked, or the agent is not registered; 3 a file could not be read or written",
	},
	{
		Name: "keys list", Under: kit.Tutti | kit.H2A, Group: kit.GroupBus, Halt: kit.Reads, Opts: kit.WithFlags(runKeysList), Bus: true,
		Result: render.OneOf{keyList{}, []string{}},
		Short:  "list the keys of an agent, or yours and pinned ones",
		Flags:  []kit.Flag{{Name: "instance", Alias: "as", Kind: kit.Text, Value: "id", Offer: kit.Agents, Help: "agent whose registered keys to list"}},
		Does:   "Lists the active keys of an agent. Without --instance it lists the private keys of this bus and the keys that you have pinned.",
		Examples: `$ tutti keys list
$ tutti keys list --instance codex:api:3f2a9c01b7de`,
		Exit: kit.ExitPlain,
		See:  "whoami",
	},
	{
		Name: "keys revoke", Under: kit.Tutti | kit.H2A, Group: kit.GroupBus, Halt: kit.Ends, Opts: kit.WithFlags(runKeysRevoke), Bus: true,
		Result: changedKeys{},
		Short:  "revoke a public key for good",
		Flags: []kit.Flag{
			{Name: "instance", Alias: "as", Kind: kit.Text, Value: "id", Default: "the agent that acts here", Offer: kit.Agents, Help: "the agent"},
			{Name: "public-key", Kind: kit.Text, Value: "file", Offer: kit.Files, Help: "the public key, as PEM"},
			{Name: "yes", Kind: kit.Switch, Under: kit.Tutti, Help: "do not ask; needed where there is no terminal"},
		},
		Does: `Revokes a key: what it signs is no longer verified. It can never be made active again. That of a person is revoked by a
person at a terminal, and what was answered under it until then remains answered if a private key of that person lies here to
prove it with. Without one the key is only forgotten here, with what was answered under it: a warning says so.`,
		Examples: "$ tutti keys revoke --instance claude:api:3f2a9c01b7de --public-key old.pem",
		Exit:     "0 done; 1 wrong usage, or not confirmed; 2 the key is not active; 3 a file could not be read or written",
	},
	{
		Name: "keys trust", Under: kit.Tutti, Group: kit.GroupBus, Halt: kit.Makes, MinArgs: 1, MaxArgs: 1, Offer: kit.Agents, Opts: kit.WithFlags(runKeysTrust), Bus: true,
		Result: pinnedKey{},
		Short:  "pin the key that an agent uses now",
		Args:   "<instance>",
		Flags: []kit.Flag{
			{Name: "yes", Kind: kit.Switch, Help: "do not ask"},
			{Name: "forget", Kind: kit.Switch, Help: "remove the pin instead"},
			{Name: "public-key", Kind: kit.Text, Value: "file", Offer: kit.Files, Help: "which of several keys, as PEM"},
		},
		Does: `Shows the fingerprint of the key that you pinned and of the one that is registered now, and asks whether to pin the
new one. Messages signed with it are then verified. A key is pinned by itself when an agent is first heard. That of a person
is pinned by a person at a terminal, and what is answered under it counts from then on. Of several keys it is the one added
last, of a person the last one that is not pinned yet: one after the other. With the key you accept the roles and scopes that are
shown: they count for signed instructions (drive) until the registration changes. An agent cannot do this for you.`,
		Wont: "It cannot tell whose key it is: compare the fingerprint with what the agent's own machine shows (tutti whoami).",
		Examples: `$ tutti keys trust claude:api:3f2a9c01b7de
$ tutti keys trust claude:api:3f2a9c01b7de --yes`,
		Exit: "0 pinned, or pinned already; 1 wrong usage, or not confirmed; 2 there is no key; 3 a file could not be written",
	},
}
