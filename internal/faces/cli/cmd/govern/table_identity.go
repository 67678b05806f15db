package govern

import (
	"encoding/json"

	"tutti/internal/faces/cli/kit"
	"tutti/internal/governance/nhi"
)

// IdentityVerbs are the verbs for non-human identities.
var IdentityVerbs = []kit.Verb{
	{
		Name: "subagent spawn", Under: kit.Tutti, Group: kit.GroupGovern, Halt: kit.Makes, MinArgs: 1, MaxArgs: 1, Bus: true, Opts: kit.WithFlags(runSpawn),
		Result: spawned{},
		Short:  "give an agent a subagent with its own mailbox",
		Args:   "<name>",
		Flags: []kit.Flag{
			{Name: "parent", Kind: kit.Text, Value: "id", Default: "the agent that acts here", Offer: kit.OwnAgents, Help: "agent or subagent that it works for"},
			{Name: "capabilities", Kind: kit.Text, Value: "a,b", Help: "what it may do of what its parent may; without it all of that"},
		},
		Does: `Binds the subagent PARENT~NAME. It has its own mailbox under that address; it acts for its parent, with no more than the
parent's capabilities. An empty --capabilities= gives it none.`,
		Wont:     "It starts no program, and gives the subagent no key: it cannot sign. A name that was revoked is not given out again.",
		Examples: "$ tutti subagent spawn scout --parent claude:api:3f2a9c01b7de",
		Exit:     "0 done; 1 wrong usage; 2 the parent is not registered, does not have the role AGENTS, has fewer capabilities or is gone, or the name is taken; 3 a file could not be written",
	},
	{
		Name: "subagent register", Under: kit.H2A, Group: kit.GroupGovern, Halt: kit.Reads, Bus: true, Opts: kit.WithFlags(runSubagentRegister),
		Result: spawned{},
		Short:  "give an agent a helper with a mailbox of its own",
		Flags: []kit.Flag{
			{Name: "parent", Kind: kit.Text, Value: "id", Help: "agent that it works for"},
			{Name: "name", Kind: kit.Text, Value: "name", Help: "its own name"},
			{Name: "capabilities", Kind: kit.Text, Value: "a,b", Help: "what it may do of what its parent may"},
		},
		Does:     "Binds the subagent PARENT~NAME, as tutti subagent spawn does.",
		Examples: "$ h2a subagent register --parent claude:api:3f2a9c01b7de --name scout",
		Exit:     "0 done; 1 wrong usage; 2 the parent is not registered, does not have the role AGENTS, has fewer capabilities or is gone, or the name is taken; 3 a file could not be written",
	},
	{
		Name: "subagent list", Under: kit.Tutti | kit.H2A, Group: kit.GroupGovern, Halt: kit.Reads, Bus: true, Opts: kit.WithFlags(runSubagents),
		Result:   []json.RawMessage{},
		Short:    "list subagents, including revoked ones",
		Flags:    []kit.Flag{{Name: "parent", Kind: kit.Text, Value: "id", Offer: kit.Agents, Help: "only those below this one"}},
		Does:     "Lists the subagents with their state, and what bounds them.",
		Examples: "$ tutti subagent list --parent claude:api:3f2a9c01b7de",
		Exit:     kit.ExitPlain,
	},
	{
		Name: "subagent route", Under: kit.H2A, Group: kit.GroupGovern, Halt: kit.Acts, Bus: true, Opts: kit.WithFlags(runRoute),
		Result: routed{},
		Short:  "put an envelope into a box of a subagent",
		Flags: []kit.Flag{
			{Name: "to", Kind: kit.Text, Value: "id", Help: "the subagent"},
			{Name: "json", Kind: kit.Text, Value: "json|@file|-", Help: "the envelope"},
			{Name: "mailbox", Kind: kit.Text, Value: "box", Default: "inbox", Choices: []string{"inbox", "outbox"}, Help: "which box"},
		},
		Does:     "Puts an envelope into the inbox or the outbox of a subagent, and records it.",
		Examples: "$ h2a subagent route --to claude:api:3f2a9c01b7de~scout --json @message.json",
		Exit:     "0 done; 1 wrong usage, or no envelope; 2 it is not bound, or was revoked; 3 a file could not be written; 5 halted",
	},
	{
		Name: "subagent inbox", Under: kit.H2A, Group: kit.GroupGovern, Halt: kit.Reads, Bus: true, Opts: kit.WithFlags(runSubagentInbox),
		Result:   []subagentMail{},
		Short:    "list the mail of an agent's subagents",
		Flags:    []kit.Flag{{Name: "parent", Kind: kit.Text, Value: "id", Help: "agent whose subagents to list"}},
		Does:     "Lists the envelopes in the inbox of each subagent, revoked ones as well. Nothing is taken or marked.",
		Examples: "$ h2a subagent inbox --parent claude:api:3f2a9c01b7de",
		Exit:     kit.ExitPlain,
	},
	{
		Name: "subagent audit", Under: kit.Tutti | kit.H2A, Group: kit.GroupGovern, Halt: kit.Reads, MaxArgs: 1, Offer: kit.Agents, Bus: true, Opts: kit.WithFlags(runSubagentAudit),
		Result: []json.RawMessage{},
		Short:  "show the history of a subagent",
		Args:   "[<id>]",
		Flags: []kit.Flag{
			{Name: "id", Kind: kit.Text, Value: "id", Under: kit.H2A, Help: "the subagent"},
			{Name: "parent", Kind: kit.Text, Value: "id", Offer: kit.Agents, Help: "all below this one instead"},
		},
		Does:     "Lists when a subagent was registered, what was routed to it, and when it was revoked.",
		Examples: "$ tutti subagent audit claude:api:3f2a9c01b7de~scout",
		Exit:     kit.ExitPlain,
	},
	{
		Name: "subagent revoke", Under: kit.Tutti | kit.H2A, Group: kit.GroupGovern, Halt: kit.Ends, MaxArgs: 1, Offer: kit.Agents, Bus: true, Opts: kit.WithFlags(runSubagentRevoke),
		Result: revocation{},
		Short:  "revoke a subagent and all below it for good",
		Args:   "[<id>]",
		Flags: []kit.Flag{
			{Name: "id", Kind: kit.Text, Value: "id", Under: kit.H2A, Help: "the subagent"},
			{Name: "reason", Kind: kit.Text, Value: "text", Help: "why, for the record"},
		},
		Does:     "Revokes a subagent and its own subagents: their mailboxes accept no more mail and hand none out. The mail in them stays.",
		Examples: "$ tutti subagent revoke claude:api:3f2a9c01b7de~scout --reason 'job done'",
		Exit:     "0 done; 1 wrong usage; 2 it is not bound, or is gone already; 3 a file could not be written",
	},
	{
		Name: "nhi report", Under: kit.Tutti | kit.H2A, Group: kit.GroupGovern, Halt: kit.Reads, Bus: true, Opts: kit.WithFlags(runNHIReport),
		Result: nhi.Report{},
		Short:  "report problems with identities and keys",
		Flags:  []kit.Flag{longLivedFlag},
		Does: `Judges all agents and subagents by five of the OWASP top ten risks of non-human identities: left behind (1), without
keys (4), unbounded (5), old keys (7), shared keys (9). The others leave no trace on a bus.`,
		Examples: `$ tutti nhi report
$ tutti nhi report --long-lived-days 30 --json`,
		Exit: kit.ExitPlain,
		See:  "doctor",
	},
	{
		Name: "nhi inventory", Under: kit.Tutti | kit.H2A, Group: kit.GroupGovern, Halt: kit.Reads, Bus: true, Opts: kit.WithFlags(runNHIInventory),
		Result:   nhi.Inventory{},
		Short:    "list identities with their keys and subagents",
		Flags:    []kit.Flag{longLivedFlag},
		Does:     "Lists every agent with the fingerprints and ages of its keys, who shares them, its subagents, and whether it was offboarded.",
		Examples: "$ tutti nhi inventory --json",
		Exit:     kit.ExitPlain,
	},
	{
		Name: "nhi attest", Under: kit.Tutti | kit.H2A, Group: kit.GroupGovern, Halt: kit.Makes, Bus: true, Opts: kit.WithFlags(runNHIAttest),
		Result: json.RawMessage{},
		Short:  "sign the report",
		Flags: []kit.Flag{
			{Name: "instance", Alias: "as", Kind: kit.Text, Value: "id", Default: "the agent that acts here", Offer: kit.OwnAgents, Help: "agent that signs"},
			{Name: "private-key", Kind: kit.Text, Value: "file", Default: "the one in the keyring", Offer: kit.Files, Help: "with which key"},
			{Name: "role", Kind: kit.Text, Value: "role", Default: "the first of its registration", Help: "as what"},
			{Name: "scope", Kind: kit.Text, Value: "scope", Default: "the first of its registration", Help: "in which scope"},
			longLivedFlag,
		},
		Does:     "Prints the report as an envelope that the agent has signed. Anybody who has its public key can verify it.",
		Wont:     "It sends nothing.",
		Examples: "$ tutti nhi attest --instance claude:api:3f2a9c01b7de >attestation.json",
		Exit:     "0 done; 1 wrong usage, or no key; 2 role or scope is not known, the key was revoked, or the agent was offboarded; 3 a file could not be read",
	},
	{
		Name: "nhi verify", Under: kit.Tutti, Group: kit.GroupGovern, Halt: kit.Reads, Bus: true, MinArgs: 1, MaxArgs: 1, Offer: kit.Files, Run: runNHIVerify,
		Result: verified{},
		Short:  "verify a signed report", Args: "<file>|-",
		Does:     "Verifies the signature of an attestation that tutti nhi attest has printed, and by whose key it is: one that you have pinned, or a new one.",
		Examples: "$ tutti nhi verify attestation.json",
		Exit:     "0 valid; 1 wrong usage; 2 not valid, with the reason; 3 the file could not be read", See: "nhi attest, keys trust",
	},
	{
		Name: "nhi offboard", Under: kit.Tutti | kit.H2A, Group: kit.GroupGovern, Halt: kit.Ends, MaxArgs: 1, Offer: kit.Agents, Bus: true, Opts: kit.WithFlags(runNHIOffboard),
		Result: offboarded{},
		Short:  "take an agent out of service for good",
		Args:   "[<instance>]",
		Flags: []kit.Flag{
			{Name: "instance", Kind: kit.Text, Value: "id", Under: kit.H2A, Help: "who goes"},
			{Name: "reason", Kind: kit.Text, Value: "text", Help: "why, for the record"},
			{Name: "yes", Kind: kit.Switch, Under: kit.Tutti, Help: "do not ask; needed where there is no terminal"},
		},
		Does: `Revokes the keys and the subagents of an agent, releases what it claims to conduct, ends its grants and closes its
sessions. From then on nothing of it is accepted: it cannot send, sign, receive, register, add keys or be present, mail to it is
refused, and mail in its name goes to quarantine. It may be repeated when it was cut off. What a person has answered stays.`,
		Wont:     "It ends no program, deletes no mail and no key file. It cannot be undone: the agent comes back as a new one, by tutti connect.",
		Examples: "$ tutti nhi offboard claude:api:3f2a9c01b7de --reason 'project is over'",
		Exit:     "0 done; 1 wrong usage, or not confirmed; 2 there is no such agent; 3 a file could not be written",
		See:      "keys revoke",
	},
	{
		Name: "nhi export", Under: kit.Tutti | kit.H2A, Group: kit.GroupGovern, Halt: kit.Reads, MaxArgs: 1, Offer: kit.Agents, Bus: true, Opts: kit.WithFlags(runNHIExport),
		Result: nhi.KeyBundle{},
		Short:  "print an agent's public keys as JSON Web Keys",
		Args:   "[<instance>]",
		Flags: []kit.Flag{
			{Name: "instance", Kind: kit.Text, Value: "id", Under: kit.H2A, Help: "the agent"},
			{Name: "trust-domain", Kind: kit.Text, Value: "domain", Help: "the trust domain of its SPIFFE ids"},
		},
		Does:     "Prints the SPIFFE id of the agent and its active keys as JSON Web Keys.",
		Wont:     "It makes no certificates, and two agents may come to one SPIFFE id: claude:a:b and claude:a.b do.",
		Examples: "$ tutti nhi export claude:api:3f2a9c01b7de --trust-domain corp.example",
		Exit:     kit.ExitPlain,
	},
}

var longLivedFlag = kit.Flag{Name: "long-lived-days", Kind: kit.Text, Value: "n", Default: "90", Help: "from which age on a key is called long-lived"}
