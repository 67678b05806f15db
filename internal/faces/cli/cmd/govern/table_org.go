package govern

import (
	"encoding/json"

	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/governance/org"
	"tutti/internal/governance/sysml"
)

const (
	exitOrg    = "0 done; 1 wrong usage, or the text is not a manifest; 3 a file could not be read"
	exitOrgBus = "0 done; 1 wrong usage, or the text is not a manifest; 2 there is no bus; 3 a file could not be read or written"
)

var manifestFlag = kit.Flag{Name: "file", Kind: kit.Text, Value: "file", Default: "org.h2a.yaml", Offer: kit.Files, Help: "the manifest; - is standard input"}

var OrgVerbs = []kit.Verb{
	{
		Name: "org validate", Under: kit.Tutti | kit.H2A, Group: kit.GroupGovern, Halt: kit.Reads, MaxArgs: 1, Offer: kit.Files, Opts: kit.WithFlags(runOrgValidate),
		Result: orgVerdict{},
		Short:  "check the manifest of an organisation",
		Args:   "[<file>]",
		Flags:  []kit.Flag{manifestFlag},
		Does: `Reads a manifest, JSON or a small part of YAML, and names what is wrong: each line or place that cannot be read, or else what
keeps it from being an organisation: no-principal, duplicate-instance, instance-empty, instance-no-scope, instance-bad-role,
edge-unknown-instance. With --json: {ok, errors}.`,
		Examples: `$ tutti org validate
$ tutti org validate team.yaml --json`,
		Exit: "0 it is one; 1 it is none, or wrong usage; 3 the file could not be read",
		See:  "org show, org diff, org render",
	},
	{
		Name: "org show", Under: kit.Tutti | kit.H2A, Group: kit.GroupGovern, Halt: kit.Reads, MaxArgs: 1, Offer: kit.Files, Opts: kit.WithFlags(runOrgShow),
		Result:   render.OneOf{shown{}, orgVerdict{}},
		Short:    "print the manifest of an organisation as it is read",
		Args:     "[<file>]",
		Flags:    []kit.Flag{manifestFlag},
		Does:     "Prints scope, members and edges, and what is wrong with them. With --json: {scope, version, instances, commEdges, validation}.",
		Examples: "$ tutti org show",
		Exit:     exitOrg,
	},
	{
		Name: "org diff", Under: kit.Tutti | kit.H2A, Group: kit.GroupGovern, Halt: kit.Reads, MaxArgs: 1, Offer: kit.Files, Bus: true, Opts: kit.WithFlags(runOrgDiff),
		Result: render.OneOf{org.DiffView{}, orgVerdict{}},
		Short:  "compare a manifest with the registered agents",
		Args:   "[<file>]",
		Flags:  []kit.Flag{manifestFlag},
		Does: `Compares the roles and scopes that a manifest declares with those of the bus: of the registration, and granted. It names who is
missing, who is registered and not declared, who lacks the role or a scope. With --json: {scope, matched, missing, undeclared,
roleMismatch, scopeGaps, inSync}.`,
		Examples: "$ tutti org diff",
		Exit:     exitOrgBus + " (differences are not an error)",
		See:      "org provision, discover",
	},
	{
		Name: "org provision", Under: kit.Tutti | kit.H2A, Group: kit.GroupGovern, Halt: kit.Acts, Waits: true, MaxArgs: 1, Offer: kit.Files, Bus: true, Opts: kit.WithFlags(runOrgProvision),
		Result: render.OneOf{org.ProvisioningView{}, orgVerdict{}},
		Short:  "grant the members of a manifest what they lack",
		Args:   "[<file>]",
		Flags: []kit.Flag{
			manifestFlag,
			{Name: "by", Kind: kit.Text, Value: "id", Default: "the agent that acts here", Offer: kit.OwnAgents, Help: "the agent that grants; under h2a none without it"},
			{Name: "ratified", Kind: kit.Text, Value: "file|json|-", Offer: kit.Files, Help: "the envelope by which a PRINCIPAL of the manifest has ratified it"},
		},
		Does: `Grants each registered member the role and the scopes that the manifest gives it and it lacks. Who is not registered yet is pending:
run it again later. It may be broken off anywhere, run again, and run by several at a time: nothing is granted twice.

With --ratified nothing is granted unless that envelope ratifies this very manifest, is from one whom it declares PRINCIPAL, and bears
a signature that holds. Without it there is a warning.`,
		Wont: "It takes nothing back (org withdraw does), and registers no agent. Grants widen where an agent is found; only its registration decides whether it may sign an agreement.",
		Examples: `$ tutti org provision --ratified ratified.json
$ tutti org provision team.yaml --by human:ana`,
		Exit: "0 done; 1 wrong usage, or the manifest is refused; 2 there is no bus, or it is not ratified; 3 a file could not be read or written; 5 halted",
		See:  "org diff, coach ratify",
	},
	{
		Name: "org withdraw", Under: kit.Tutti, Group: kit.GroupGovern, Halt: kit.Ends, Bus: true, Opts: kit.WithFlags(runOrgWithdraw),
		Result: withdrawn{},
		Short:  "take back what was granted to an agent",
		Flags: []kit.Flag{
			{Name: "instance", Alias: "as", Kind: kit.Text, Value: "id", Offer: kit.Agents, Help: "agent whose grants to show"},
			{Name: "role", Kind: kit.Text, Value: "role", Help: "only those of this role"},
			{Name: "scope", Kind: kit.Text, Value: "scope", Help: "only those of this scope"},
			{Name: "by", Kind: kit.Text, Value: "id", Default: "the agent that acts here", Offer: kit.OwnAgents, Help: "agent that withdraws the grants"},
		},
		Does:     "Takes back the grants of an agent: all of them, or those of a role, of a scope, or of both. With --json: {ok, instance, withdrawn}.",
		Wont:     "It changes no registration, and programs of others that know of grants alone go on with them.",
		Examples: "$ tutti org withdraw --instance claude:lead:3f2a9c01b7de --role CONDUCTOR",
		Exit:     kit.ExitBus,
		See:      "org provision",
	},
	{
		Name: "org render", Under: kit.Tutti, Group: kit.GroupGovern, Halt: kit.Reads, MaxArgs: 1, Offer: kit.Files, TextOnly: true, Opts: kit.WithFlags(runOrgRender),
		Short: "draw an organisation",
		Args:  "[<file>]",
		Flags: []kit.Flag{
			manifestFlag,
			{Name: "format", Kind: kit.Text, Value: "format", Default: "tree", Choices: []string{"tree", "mermaid", "dot", "svg"}, Help: "lines for a terminal, source for mermaid or graphviz, or a picture"},
		},
		Does: `Draws the members by role, with their scopes and with arrows from each sender to its recipients. This program lays out the picture
itself. It draws a manifest also if validate finds faults in the organisation.`,
		Examples: `$ tutti org render
$ tutti org render --format svg >org.svg`,
		Exit: exitOrg,
		See:  "org show",
	},
	{
		Name: "coach propose", Under: kit.Tutti | kit.H2A, Group: kit.GroupGovern, Halt: kit.Asks, Bus: true, Opts: kit.WithFlags(runCoachPropose),
		Result: render.OneOf{json.RawMessage{}, orgVerdict{}},
		Short:  "write the envelope that proposes a manifest",
		Flags: []kit.Flag{
			manifestFlag, coachAsFlag,
			{Name: "role", Kind: kit.Text, Value: "role", Default: "CONDUCTOR", Help: "the role that proposes"},
			coachScopeFlag, coachDeliverFlag,
		},
		Does: `Prints an envelope that holds the manifest as a proposal. It is signed if the proposer's key is on this machine; under h2a it is
not. With --deliver it is also put into the mailbox of each member, and the results go to standard error.`,
		Examples: `$ tutti coach propose --file team.yaml --deliver
$ tutti coach propose --as claude:lead:3f2a9c01b7de >proposal.json`,
		Exit: "0 done; 1 wrong usage, the manifest is refused, or a member could not be reached; 2 there is no bus; 3 a file could not be read; 5 halted",
		See:  "coach ratify, org validate",
	},
	{
		Name: "coach ratify", Under: kit.Tutti | kit.H2A, Group: kit.GroupGovern, Halt: kit.Acts, Bus: true, Opts: kit.WithFlags(runCoachRatify),
		Result: render.OneOf{json.RawMessage{}, orgVerdict{}},
		Short:  "write and sign the envelope that ratifies a manifest",
		Flags: []kit.Flag{
			manifestFlag, coachAsFlag,
			{Name: "private-key", Kind: kit.Text, Value: "file", Offer: kit.Files, Default: "the key that lies here", Help: "the key to sign with; under h2a it must be given"},
			{Name: "role", Kind: kit.Text, Value: "role", Default: "PRINCIPAL", Help: "the role that ratifies"},
			coachScopeFlag, coachDeliverFlag,
		},
		Does: `Prints a signed envelope that says that the manifest is ratified. Only a member that the manifest declares as PRINCIPAL can do
this, with a key that is active for it on the bus; if it is not registered there is a warning, because its key cannot be
checked.`,
		Wont:     "It grants nothing: org provision does. The key of a person that lies here signs only at a terminal.",
		Examples: "$ tutti coach ratify --as human:ana >ratified.json",
		Exit:     "0 done; 1 wrong usage, the manifest or the key is refused, or a member could not be reached; 2 there is no bus; 3 a file could not be read; 5 halted",
		See:      "org provision, keys add",
	},
}

var (
	coachAsFlag      = kit.Flag{Name: "as", Alias: "instance", Kind: kit.Text, Value: "id", Default: "the agent that acts here", Offer: kit.OwnAgents, Help: "agent that sends it; under h2a it must be given"}
	coachScopeFlag   = kit.Flag{Name: "scope", Kind: kit.Text, Value: "scope", Default: "that of the manifest", Help: "the scope in which it is said"}
	coachDeliverFlag = kit.Flag{Name: "deliver", Kind: kit.Switch, Help: "also put it into the mailbox of each member"}
)

var SysMLVerbs = []kit.Verb{{
	Name: "sysml verify", Under: kit.Tutti | kit.H2A, Group: kit.GroupGovern, Halt: kit.Reads, Waits: true, MaxArgs: 1, Offer: kit.Files, Opts: kit.WithFlags(runSysMLVerify),
	Result: sysml.View{},
	Short:  "check what an envelope says about a SysML v2 model",
	Args:   "<json>|@<file>|-",
	Flags: []kit.Flag{
		kit.EnvelopeFlag,
		{Name: "public-key", Kind: kit.Text, Value: "file", Offer: kit.Files, Help: "the key that must have signed, as PEM; must be given"},
		{Name: "by", Kind: kit.Text, Value: "id", Help: "only signatures by this one"},
		{Name: "content-integrity", Kind: kit.Switch, Help: "also get the element and compare its hash"},
		{Name: "api-base", Kind: kit.Text, Value: "url", Default: "the one in the envelope", Help: "the repository to ask, with https; http for one on this machine"},
		{Name: "auth", Kind: kit.Text, Value: "token|@file|-", Help: "a bearer token for the repository; needs --api-base"},
	},
	Does: `Looks for the reference to a model in an envelope (body.subject.sysmlRef), checks it, and checks that a signature of the key covers it.
With --content-integrity the element is fetched and must have the hash that was signed: by https, within 10 seconds, at most 5 MiB,
and no redirect to another place is followed. With --json: {ok, ref, signatureVerified, contentVerified, reason}.`,
	Wont: "It does not ask whose key it is or how old the envelope is, and without --content-integrity not whether the model exists. " +
		"A token never goes to an address that the envelope names. Give it by @file: others can see the words of a command.",
	Examples: `$ tutti sysml verify @envelope.json --public-key owner.pub.pem
$ tutti sysml verify - --public-key owner.pub.pem --content-integrity`,
	Exit: "0 it holds; 1 wrong usage, no JSON, or the key could not be read; 2 it does not hold; 3 a file could not be read",
	See:  "plumbing verify, keys list",
}}
