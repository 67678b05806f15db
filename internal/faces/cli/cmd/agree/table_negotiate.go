package agree

import (
	"encoding/json"

	"tutti/internal/app"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/governance/negotiation"
)

const (
	exitAgree = "0 done; 1 wrong usage, or refused by the rules of the negotiation or of the profile; " +
		"2 there is no bus, no such negotiation, it is there or over already, a base is stale, a key was revoked, or the journal is broken; 3 a file could not be read or written"
	exitAgreeAct  = exitAgree + "; 5 halted"
	exitAgreeLook = "0 done; 1 wrong usage; 2 there is no bus, no such negotiation, or its journal is broken; 3 a file could not be read"
)

var (
	negoIDFlag   = kit.Flag{Name: "id", Kind: kit.Text, Value: "id", Under: kit.H2A, Help: "the negotiation; must be given"}
	negoWhoFlag  = kit.Flag{Name: "instance", Alias: "as", Kind: kit.Text, Value: "id", Default: "the agent that acts here", Offer: kit.OwnAgents, Help: "agent that acts; under h2a it must be given"}
	negoKeyFlag  = kit.Flag{Name: "private-key", Kind: kit.Text, Value: "file", Default: "the key that lies here", Offer: kit.Files, Help: "the key to sign with; under h2a it must be given where something is signed"}
	mandateFlag  = kit.Flag{Name: "mandate", Kind: kit.Text, Value: "id", Under: kit.Tutti, Help: "the mandate to act under, if you are not a party"}
	eventIDFlag  = kit.Flag{Name: "event-id", Kind: kit.Text, Value: "id", Default: "a new one", Help: "the id of the entry"}
	causeFlag    = kit.Flag{Name: "causation-id", Kind: kit.Text, Value: "id", Default: "the entry before", Help: "what it follows from"}
	relatedFlag  = kit.Flag{Name: "correlation-id", Kind: kit.Text, Value: "id", Default: "that of the entry before", Help: "what it belongs to"}
	artifactFlag = kit.Flag{Name: "artifact", Kind: kit.Text, Value: "json|@file|-", Under: kit.H2A, Help: "the artifact; must be given"}
	reasonFlag   = kit.Flag{Name: "reason", Kind: kit.Text, Value: "text", Under: kit.Tutti, Help: "why, for the others"}
	baseFlag     = kit.Flag{Name: "base", Kind: kit.Text, Value: "hash", Under: kit.Tutti, Help: "the offer that it answers, or latest; every offer but the first needs it"}
	exampleFlag  = kit.Flag{Name: "example", Kind: kit.Text, Value: "kind", Under: kit.Tutti, Choices: []string{"contract", "policy", "engagement", "amendment", "mandate", "authority", "enforcement-plan"}, Help: "print a sound artifact of that kind instead, to be filled in"}
	forceFlag    = kit.Flag{Name: "force", Kind: kit.Switch, Under: kit.Tutti, Help: "offer it although the artifact is not valid; the entry records that"}
)

var NegotiateVerbs = []kit.Verb{
	{
		Name: "negotiate list", Under: kit.Tutti, Group: kit.GroupGovern, Halt: kit.Reads, Bus: true, Run: runNegotiateList,
		Result: []negotiation.Row{},
		Short:  "list the negotiations of the bus", Does: "One line for each: its state, how many have signed, and what it is about.",
		Examples: "$ tutti negotiate list", Exit: exitAgreeLook,
	},
	{
		Name: "negotiate show", Under: kit.Tutti, Group: kit.GroupGovern, Halt: kit.Reads, MinArgs: 1, MaxArgs: 1, Offer: kit.Negotiations, Bus: true, Opts: onDeal(app.Reading, runNegotiateShow),
		Result: negotiation.View{},
		Short:  "show the state of a negotiation and what is missing",
		Args:   "<id>",
		Does: `Shows parties, state, offers, who has signed what, which entries do not count and why, what is missing, and what to type next.
Everything comes from the journal: it works without state.json.`,
		Examples: "$ tutti negotiate show nego:pilot-1",
		Exit:     exitAgreeLook,
		See:      "negotiate diff, negotiate verify",
	},
	{
		Name: "negotiate open", Under: kit.Tutti | kit.H2A, Group: kit.GroupGovern, Halt: kit.Acts, MaxArgs: 1, Offer: kit.Files, Bus: true, Opts: kit.WithFlags(runNegotiateOpen),
		Result: json.RawMessage{},
		Short:  "begin a negotiation",
		Args:   "[<json>|<file>|-]",
		Flags: []kit.Flag{
			{Name: "json", Kind: kit.Text, Value: "json|@file|-", Under: kit.H2A, Help: "the record; must be given"},
			{Name: "id", Kind: kit.Text, Value: "id", Under: kit.Tutti, Help: "id of the new negotiation, if you give no record"},
			{Name: "scope", Kind: kit.Text, Value: "scope", Default: "scope:default", Under: kit.Tutti, Help: "without a record: in which scope"},
			{Name: "subject", Kind: kit.Text, Value: "word", Under: kit.Tutti, Choices: []string{"contract", "policy", "engagement", "amendment", "drive-consent"}, Help: "subject, if you give no record"},
			{Name: "parties", Kind: kit.Text, Value: "ids", Under: kit.Tutti, Help: "agents that negotiate, separated by commas, if you give no record"},
			{Name: "signers", Kind: kit.Text, Value: "ids", Default: "the parties", Under: kit.Tutti, Help: "agents whose signatures are required, if you give no record"},
			{Name: "quorum", Kind: kit.Count, Value: "n", Default: "all of them", Under: kit.Tutti, Help: "without a record: so many of the signers suffice"},
			{Name: "deadline", Kind: kit.Text, Value: "time", Under: kit.Tutti, Help: "without a record: nothing counts that comes later, as 2026-12-31T12:00:00Z"},
			{Name: "instance", Alias: "as", Kind: kit.Text, Value: "id", Under: kit.Tutti, Default: "the agent that acts here", Offer: kit.OwnAgents, Help: "agent that opens it"},
		},
		Does: `Writes the record of a negotiation: {id, scope, subject, parties, requiredSigners}, and, if wanted, deadline and authority,
which is {kind: AUTHORITY, id, authorityKind: quorum, members, threshold}. Other members are kept. It begins as a draft.`,
		Examples: `$ tutti negotiate open record.json
$ tutti negotiate open --id nego:1 --subject policy --parties claude:api`,
		Exit: exitAgreeAct, See: "negotiate offer, profile show",
	},
	{
		Name: "negotiate offer", Under: kit.Tutti | kit.H2A, Group: kit.GroupGovern, Halt: kit.Acts, MaxArgs: 2, Offer: kit.Negotiations, Bus: true, Opts: kit.WithFlags(runNegotiateOffer),
		Result: json.RawMessage{},
		Short:  "make an offer", Args: "<id> <json>|<file>|-", Flags: []kit.Flag{artifactFlag, baseFlag, forceFlag, exampleFlag, negoIDFlag, negoWhoFlag, negoKeyFlag, mandateFlag, eventIDFlag, causeFlag, relatedFlag},
		Does: `Adds an offer to the journal. Every offer but the first names the offer that it answers (--base, or its baseArtifactHash), so
that no party overwrites an offer that it has not seen; under h2a, which has no word for that, it answers the latest.`,
		Examples: "$ tutti negotiate offer --example engagement >charter.json\n$ tutti negotiate offer nego:pilot-1 charter.json", Exit: exitAgreeAct, See: "negotiate counter, negotiate diff",
	},
	{
		Name: "negotiate counter", Under: kit.Tutti | kit.H2A, Group: kit.GroupGovern, Halt: kit.Acts, MaxArgs: 2, Offer: kit.Negotiations, Bus: true, Opts: kit.WithFlags(runNegotiateOffer),
		Result: json.RawMessage{},
		Short:  "answer an offer with another one", Args: "<id> <json>|<file>|-", Flags: []kit.Flag{artifactFlag, baseFlag, forceFlag, exampleFlag, negoIDFlag, negoWhoFlag, negoKeyFlag, mandateFlag, eventIDFlag, causeFlag, relatedFlag},
		Does: "Adds a counter-offer. What was signed before has to be signed again.", Examples: "$ tutti negotiate counter nego:pilot-1 charter.json --base sha256:…", Exit: exitAgreeAct,
	},
	{
		Name: "negotiate sign", Under: kit.Tutti | kit.H2A, Group: kit.GroupGovern, Halt: kit.Acts, MinArgs: 1, MaxArgs: 2, Offer: kit.Negotiations, Bus: true, Opts: kit.WithFlags(runNegotiateSign),
		Result: json.RawMessage{},
		Short:  "sign the latest offer", Args: "<id> [<hash>|<json>|<file>|-]", Flags: []kit.Flag{artifactFlag, negoIDFlag, negoWhoFlag, negoKeyFlag, mandateFlag, eventIDFlag, causeFlag, relatedFlag},
		Does: `Signs, with the key of --instance that lies here. Name the artifact, or its hash, that you have looked at: if another one was
offered meanwhile, nothing is signed.`,
		Wont: "The key of a person signs only at a terminal. A key in a file (--private-key) is taken with a warning.", Examples: "$ tutti negotiate sign nego:pilot-1", Exit: exitAgreeAct, See: "negotiate stabilize, keys list",
	},
	{
		Name: "negotiate propose", Under: kit.Tutti, Group: kit.GroupGovern, Halt: kit.Acts, Bus: true, Opts: kit.WithFlags(runNegotiatePropose),
		Result: proposed{},
		Short:  "propose a text to other agents, and sign it",
		Flags: []kit.Flag{
			{Name: "with", Kind: kit.Text, Value: "agents", Offer: kit.Agents, Help: "agents that must agree, separated by commas; required"},
			{Name: "text", Kind: kit.Text, Value: "text", Help: "on what; must be given"},
			{Name: "id", Kind: kit.Text, Value: "id", Default: "a new one", Help: "what the negotiation is called"},
			kit.AsFlag,
		},
		Does:     "Opens a negotiation, offers the text and signs it in your name. The other parties get mail, which wakes them, and agree with tutti negotiate accept. The last of them completes the agreement.",
		Examples: "$ tutti negotiate propose --with codex:billing --text 'You own db/'", Exit: exitAgreeAct, See: "negotiate accept, negotiate show",
	},
	{
		Name: "negotiate accept", Under: kit.Tutti, Group: kit.GroupGovern, Halt: kit.Acts, MinArgs: 1, MaxArgs: 2, Offer: kit.Negotiations, Bus: true, Opts: onDeal(app.Writing, runNegotiateAccept),
		Result: json.RawMessage{},
		Short:  "accept the latest offer, and sign it", Args: "<id> [<hash>|<json>|<file>|-]", Flags: []kit.Flag{negoIDFlag, negoWhoFlag, negoKeyFlag, mandateFlag, eventIDFlag, causeFlag, relatedFlag},
		Does: "Like sign, but also records an accept entry. If yours is the last missing signature, it also completes the agreement, as tutti negotiate stabilize does.", Examples: "$ tutti negotiate accept nego:pilot-1", Exit: exitAgreeAct, See: "negotiate propose, negotiate verify",
	},
	{
		Name: "negotiate reject", Under: kit.Tutti, Group: kit.GroupGovern, Halt: kit.Acts, MinArgs: 1, MaxArgs: 1, Offer: kit.Negotiations, Bus: true, Opts: onDeal(app.Writing, runNegotiateClose),
		Result: json.RawMessage{},
		Short:  "reject the latest offer", Args: "<id>", Flags: []kit.Flag{reasonFlag, negoIDFlag, negoWhoFlag, negoKeyFlag, mandateFlag, eventIDFlag, causeFlag, relatedFlag},
		Does: "The negotiation ends with it when no agreement is possible without that party.", Examples: "$ tutti negotiate reject nego:pilot-1 --reason 'no date'", Exit: exitAgreeAct,
	},
	{
		Name: "negotiate withdraw", Under: kit.Tutti, Group: kit.GroupGovern, Halt: kit.Acts, MinArgs: 1, MaxArgs: 1, Offer: kit.Negotiations, Bus: true, Opts: onDeal(app.Writing, runNegotiateClose),
		Result: json.RawMessage{},
		Short:  "take the latest offer back", Args: "<id>", Flags: []kit.Flag{reasonFlag, negoIDFlag, negoWhoFlag, negoKeyFlag, mandateFlag, eventIDFlag, causeFlag, relatedFlag},
		Does: "Ends the negotiation. The party that made the latest offer can do this; before the first offer, any party can.", Examples: "$ tutti negotiate withdraw nego:pilot-1", Exit: exitAgreeAct,
	},
	{
		Name: "negotiate stabilize", Under: kit.Tutti | kit.H2A, Group: kit.GroupGovern, Halt: kit.Acts, Waits: true, MinArgs: 1, MaxArgs: 1, Offer: kit.Negotiations, Bus: true, Opts: onDeal(app.Writing, runNegotiateStabilize),
		Result: negotiation.ResultView{},
		Short:  "record an agreement that all have signed", Args: "<id>", Flags: []kit.Flag{negoIDFlag, {Name: "instance", Alias: "as", Kind: kit.Text, Value: "id", Under: kit.Tutti, Offer: kit.OwnAgents, Default: "the name h2a-cli is recorded", Help: "who does it, and seals it"}, eventIDFlag},
		Does: `Verifies the whole journal, and stores the artifact permanently once every required party has signed it. You can interrupt it at
any time and run it again, and so can another party: nothing is done twice.`,
		Examples: "$ tutti negotiate stabilize nego:pilot-1", Exit: exitAgreeAct, See: "negotiate verify",
	},
	{
		Name: "negotiate status", Under: kit.Tutti | kit.H2A, Group: kit.GroupGovern, Halt: kit.Asks, MinArgs: 1, MaxArgs: 2, Offer: kit.Negotiations, Bus: true, Opts: kit.WithFlags(runNegotiateStatus),
		Result: json.RawMessage{},
		Short:  "tell the state in one word, or end a negotiation", Args: "<id> [<state>]",
		Flags: []kit.Flag{
			{Name: "status", Kind: kit.Text, Value: "state", Under: kit.H2A, Help: "the state; must be given"},
			reasonFlag, negoIDFlag, negoWhoFlag, negoKeyFlag, mandateFlag, eventIDFlag, causeFlag, relatedFlag,
		},
		Does: `With one word it only shows the state. States are draft, proposed, countered, accepted, rejected, withdrawn, expired,
stabilized, abandoned. A party that may end the negotiation can set the states that end it; the others follow from what the
parties do, and naming one is an error unless it is the current state.`,
		Examples: "$ tutti negotiate status nego:pilot-1\n$ tutti negotiate status nego:pilot-1 abandoned", Exit: exitAgreeAct,
	},
	{
		Name: "negotiate diff", Under: kit.Tutti, Group: kit.GroupGovern, Halt: kit.Reads, MinArgs: 1, MaxArgs: 1, Offer: kit.Negotiations, Bus: true, Opts: onDeal(app.Reading, runNegotiateDiff),
		Result: negotiation.ComparisonView{},
		Short:  "show two offers side by side", Args: "<id>",
		Flags: []kit.Flag{
			{Name: "from", Kind: kit.Text, Value: "hash|entry", Default: "the one before", Help: "the first of them"},
			{Name: "to", Kind: kit.Text, Value: "hash|entry", Default: "the latest", Help: "the second"},
		},
		Does: "Compares member by member. Two spellings of one value count as equal.", Examples: "$ tutti negotiate diff nego:pilot-1", Exit: exitAgreeLook,
	},
	{
		Name: "negotiate journal", Under: kit.Tutti | kit.H2A, Group: kit.GroupGovern, Halt: kit.Reads, MinArgs: 1, MaxArgs: 1, Offer: kit.Negotiations, Bus: true, Opts: onDeal(app.Reading, runNegotiateJournal),
		Result: []json.RawMessage{},
		Short:  "print the entries of a negotiation", Args: "<id>", Flags: []kit.Flag{negoIDFlag},
		Does: "Prints all entries after looking at their chain; a journal that is not there has none.", Wont: "Signatures are not looked at: negotiate verify does.", Examples: "$ tutti negotiate journal nego:pilot-1 --json", Exit: exitAgreeLook,
	},
	{
		Name: "negotiate verify", Under: kit.Tutti, Group: kit.GroupGovern, Halt: kit.Reads, Waits: true, MinArgs: 1, MaxArgs: 1, Offer: kit.Negotiations, Bus: true, Opts: onDeal(app.Reading, runNegotiateVerify),
		Result: negotiation.VerdictView{},
		Short:  "verify all of a negotiation, and name the first bad entry", Args: "<id>",
		Does: `Reads all of the journal, verifies every signature, judges every entry, and compares the record and the artifact with what the
journal says. It believes nothing that was written down or remembered. With --json: {ok, first, entries, findings, …}.`,
		Examples: "$ tutti negotiate verify nego:pilot-1",
		Exit:     "0 all of it is valid; 1 wrong usage; 2 something is invalid, or there is no such negotiation; 3 a file could not be read", See: "store check",
	},
	{
		Name: "negotiate dossier", Under: kit.Tutti, Group: kit.GroupGovern, Halt: kit.Reads, MinArgs: 1, MaxArgs: 1, Offer: kit.Negotiations, Bus: true, Run: runNegotiateDossier,
		Result: dossier{},
		Short:  "show what is decided and who must check most carefully", Args: "<id>",
		Does: "The same as dossier without a presenter.", Examples: "$ tutti negotiate dossier nego:pilot-1", Exit: exitAgreeLook, See: "dossier, confiance",
	},
	{
		Name: "negotiate event", Under: kit.Tutti | kit.H2A, Group: kit.GroupGovern, Halt: kit.Acts, MinArgs: 2, MaxArgs: 2, Offer: kit.Negotiations, Bus: true, Opts: onDeal(app.Writing, runNegotiateEvent),
		Result: json.RawMessage{},
		Short:  "add an entry of one's own making", Args: "<id> <json>|<file>|-",
		Flags: []kit.Flag{
			negoIDFlag,
			{Name: "json", Kind: kit.Text, Value: "json|@file|-", Under: kit.H2A, Help: "the entry without its frame; must be given"},
			{Name: "instance", Alias: "as", Kind: kit.Text, Value: "id", Under: kit.Tutti, Offer: kit.OwnAgents, Default: "the actor that it names, else the agent that acts here", Help: "agent that acts"},
			causeFlag, relatedFlag,
		},
		Does: "Adds the entry as it is; what it lacks (id, type, actor, createdAt, negotiationId, causationId) is filled in. It may be added to a journal that has no record.",
		Wont: "It does not move the negotiation: offers, signatures and ends are written by their own verbs. Members of the frame cannot be named.", Examples: `$ tutti negotiate event nego:1 '{"body":{"kind":"note"}}'`, Exit: exitAgreeAct,
	},
}
