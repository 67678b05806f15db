package agree

import (
	"encoding/json"

	"tutti/internal/faces/cli/kit"
)

var negotiationFlag = kit.Flag{Name: "negotiation", Kind: kit.Text, Value: "id", Offer: kit.Negotiations, Help: "the negotiation; must be given"}

var DeclareVerbs = []kit.Verb{
	{
		Name: "declare-interest", Under: kit.Tutti | kit.H2A, Group: kit.GroupGovern, Halt: kit.Acts, Bus: true, Opts: kit.WithFlags(runDeclareInterest),
		Result: json.RawMessage{},
		Short:  "declare what you have at stake in a negotiation",
		Flags: []kit.Flag{
			negotiationFlag, negoWhoFlag,
			{Name: "interets", Kind: kit.Text, Value: "words", Help: "the interests, with commas between; an empty text takes a declaration back"},
			{Name: "interests", Kind: kit.Text, Value: "words", Under: kit.Tutti, Help: "the same"},
			{Name: "bindings", Kind: kit.Text, Value: "scopes", Help: "the scopes to which they bind, with commas between"},
			{Name: "masque-impact-collectif", Kind: kit.Switch, Help: "they can hide what a decision means for all"},
			eventIDFlag,
			{Name: "at", Kind: kit.Text, Value: "time", Default: "now", Help: "when it was declared"},
		},
		Does:     "Adds a declaration to the journal. The last one of each counts.",
		Examples: "$ tutti declare-interest --negotiation nego:1 --interets 'shares'",
		Exit:     exitAgreeAct, See: "conflict-posture",
	},
	{
		Name: "conflict-posture", Under: kit.Tutti | kit.H2A, Group: kit.GroupGovern, Halt: kit.Reads, Bus: true, Opts: onDecision(runConflictPosture),
		Result: postures{},
		Short:  "list conflicts of interest in a negotiation", Flags: []kit.Flag{negotiationFlag},
		Does:     "Says of each required signer, and of all who have declared an interest or were flagged, how they stand, and by which criteria.",
		Examples: "$ tutti conflict-posture --negotiation nego:pilot-1", Exit: exitAgreeLook, See: "declare-interest, escalate",
	},
	{
		Name: "escalate", Under: kit.Tutti, Group: kit.GroupGovern, Halt: kit.Acts, Bus: true, Opts: kit.WithFlags(runEscalate),
		Result: json.RawMessage{},
		Short:  "escalate a question to the parties' superior",
		Flags: []kit.Flag{
			negotiationFlag, negoWhoFlag,
			{Name: "channel", Kind: kit.Text, Value: "word", Choices: []string{"advise", "decide", "alert"}, Help: "what you ask of them; must be given"},
			{Name: "question", Kind: kit.Text, Value: "text", Help: "what is to be decided"},
			{Name: "options", Kind: kit.Text, Value: "words", Help: "the possible answers, with commas between; each a word, or WORD=what it means"},
			{Name: "for", Kind: kit.Duration, Value: "time", Help: "how long an answer is waited for; then --fallback applies"},
			{Name: "fallback", Kind: kit.Text, Value: "word", Help: "the option that applies if no answer comes in time"},
			{Name: "trigger", Kind: kit.Text, Value: "name", Help: "by which trigger of the enforcement plan it goes up"},
			{Name: "domain", Kind: kit.Text, Value: "name", Help: "of which domain it is"},
			{Name: "payload", Kind: kit.Text, Value: "json|@file|-", Default: "the conflict of --instance, if it has one", Help: "what it is about; the flags are written into it"},
			eventIDFlag, causeFlag, relatedFlag,
		},
		Does: "Adds an escalation to the journal. The enforcement plan agreed for the scope determines who receives it; without one, it goes to a PRINCIPAL. The receiver gets mail. The escalation waits there, and in tutti status, until a person answers it.",
		Wont: "It decides nothing, and recommends nothing: options are shown in an order of their own.",
		Examples: `$ tutti escalate --negotiation nego:pilot-1 --channel decide
$ tutti escalate --negotiation nego:1 --channel alert --question 'Late'`, Exit: exitAgreeAct, See: "escalation list, escalation answer",
	},
	{
		Name: "dossier", Under: kit.Tutti | kit.H2A, Group: kit.GroupGovern, Halt: kit.Asks, Bus: true, Opts: kit.WithFlags(runDossier),
		Result: dossier{},
		Short:  "show a decision and which parties must review it",
		Flags: []kit.Flag{
			negotiationFlag,
			{Name: "presenter", Kind: kit.Text, Value: "id", Help: "who presents it: is there a conflict?"},
			{Name: "advisory-gate", Kind: kit.TrueSwitch, Help: "if there is one, put that before who stands above"},
			eventIDFlag,
		},
		Does:     "Compiles the dossier of a negotiation, and its hash, which is what attest-comprehension attests. The same journal makes the same dossier.",
		Examples: "$ tutti dossier --negotiation nego:pilot-1", Exit: exitAgree + "; 5 halted, with --advisory-gate", See: "confiance, attest-comprehension",
	},
	{
		Name: "confiance", Under: kit.Tutti | kit.H2A, Group: kit.GroupGovern, Halt: kit.Reads, Bus: true, Opts: onDecision(runConfiance),
		Result: confidence{},
		Short:  "show how far a decision can be relied on", Flags: []kit.Flag{negotiationFlag},
		Does: "Says who of the required signers has not attested the present dossier, and which conflicts lie open or do not.", Examples: "$ tutti confiance --negotiation nego:pilot-1", Exit: exitAgreeLook,
	},
	{
		Name: "attest-comprehension", Under: kit.Tutti | kit.H2A, Group: kit.GroupGovern, Halt: kit.Acts, Bus: true, Opts: kit.WithFlags(runAttest),
		Result: json.RawMessage{},
		Short:  "attest that you have understood a dossier",
		Flags: []kit.Flag{
			{Name: "negotiation", Kind: kit.Text, Value: "id", Offer: kit.Negotiations, Help: "the negotiation whose journal records it"},
			negoWhoFlag,
			{Name: "dossier", Kind: kit.Text, Value: "file|hash", Offer: kit.Files, Default: "the present one of the negotiation", Help: "what was understood; under h2a it must be given"},
			negoKeyFlag,
			{Name: "to", Kind: kit.Text, Value: "id", Offer: kit.Agents, Help: "deliver it to them as a message instead"},
			{Name: "role", Kind: kit.Text, Value: "role", Default: "the first of the registration", Help: "the role in which it is said"},
			{Name: "scope", Kind: kit.Text, Value: "scope", Default: "that of the negotiation, else the first of the registration", Help: "the scope in which it is said"},
			{Name: "at", Kind: kit.Text, Value: "time", Default: "now", Help: "when it was understood"},
			eventIDFlag, causeFlag, relatedFlag,
		},
		Does: `Signs that --instance has understood what is decided, which binds to nothing. PRINCIPAL, EXECUTIF and MANDATAIRE may attest; AGENTS with
the capability attester-comprehension. With neither --negotiation nor --to the signed message is only printed.`,
		Examples: "$ tutti attest-comprehension --negotiation nego:pilot-1", Exit: exitAgreeAct, See: "dossier, comprehension list",
	},
	{
		Name: "comprehension list", Under: kit.Tutti | kit.H2A, Group: kit.GroupGovern, Halt: kit.Reads, Bus: true, Opts: onDecision(runComprehensionList),
		Result: []json.RawMessage{},
		Short:  "list the attestations of a negotiation", Flags: []kit.Flag{negotiationFlag},
		Does: "Lists the attestations of a journal, and to people whether they are of the present dossier.", Examples: "$ tutti comprehension list --negotiation nego:pilot-1", Exit: exitAgreeLook,
	},
	{
		Name: "comprehension verify", Under: kit.Tutti | kit.H2A, Group: kit.GroupGovern, Halt: kit.Reads, MaxArgs: 1, Offer: kit.Files, Opts: kit.WithFlags(runComprehensionVerify),
		Result: attested{},
		Short:  "verify one attestation", Args: "[<json>|<file>|-]",
		Flags: []kit.Flag{
			{Name: "json", Kind: kit.Text, Value: "json|@file|-", Under: kit.H2A, Help: "the entry or message; must be given"},
			{Name: "public-key", Kind: kit.Text, Value: "file", Offer: kit.Files, Help: "the key that must have signed, as PEM; must be given"},
		},
		Does: "Tells whether an entry or message holds an attestation that its subject has signed with that key. It needs no bus.", Examples: "$ tutti comprehension verify attested.json --public-key ana.pub.pem",
		Exit: "0 it does; 1 wrong usage, or no JSON; 2 it does not; 3 a file could not be read",
	},
}
