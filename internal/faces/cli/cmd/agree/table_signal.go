package agree

import (
	"encoding/json"

	"tutti/internal/app"
	"tutti/internal/faces/cli/cmd/bus"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/governance/agreement"
	"tutti/internal/governance/escalation"
)

// SignalVerbs are the verbs by which agents ask for help.
var SignalVerbs = []kit.Verb{
	{
		Name: "ask", Under: kit.Tutti, Group: kit.GroupTogether, Halt: kit.Acts, Bus: true, Waits: true, MinArgs: 1, MaxArgs: 1, Opts: onMatters(app.Writing, runAsk),
		Result: agreement.Asked{},
		Short:  "ask your user a question and wait for the answer", Args: "<question>",
		Flags: []kit.Flag{
			{Name: "options", Kind: kit.Text, Value: "words", Help: "the possible answers, with commas between; each a word, or WORD=what it means"},
			{Name: "for", Kind: kit.Duration, Value: "time", Help: "how long the question stands; then --default applies"},
			{Name: "default", Kind: kit.Text, Value: "word", Help: "the answer that applies if no answer comes in time"},
			{Name: "wait", Kind: kit.Duration, Value: "time", Default: "until it is answered", Help: "how long to wait here; the question stays open"},
			{Name: "no-wait", Kind: kit.TrueSwitch, Help: "print the id of the question and go on; the answer comes as mail"},
			kit.AsFlag,
		},
		Does: "Asks the user a question on behalf of an agent: it shows in tutti status, as a desktop notice, and as mail if the user has a mailbox. Prints the answer and nothing else. The user answers with tutti answer.",
		Wont: "It takes no answer from an agent.",
		Examples: `$ tutti ask 'Which database?' --options postgres,sqlite
$ tutti ask 'Deploy now?' --options yes,no --for 1h --default no`,
		Exit: "0 answered, or its default applies; 1 wrong usage; 2 there is no bus, or --wait is over; 3 a file could not be written; 5 halted; 130 interrupted: the question stays", See: "answer, escalation list",
	},
	{
		Name: "answer", Under: kit.Tutti, Group: kit.GroupTogether, Halt: kit.Acts, Bus: true, MinArgs: 1, MaxArgs: 2, Offer: kit.Matters, Opts: onMatters(app.Writing, runAnswer),
		Result: answered{},
		Short:  "answer a question that an agent asked you", Args: "[<id>] <answer>",
		Flags: []kit.Flag{
			{Name: "note", Kind: kit.Text, Value: "text", Help: "what else there is to say"},
			{Name: "instance", Alias: "as", Kind: kit.Text, Value: "id", Default: "you", Offer: kit.OwnAgents, Help: "which person answers"},
			ofNegotiation,
		},
		Does:     "Answers the question that is open, or the one with this id. Where there are options the answer is one of them. The answer is signed with your key, and the agent that asked gets it at once. It needs a terminal outside of any agent program.",
		Wont:     "It takes no answer from an agent, also not in the name of a person.",
		Examples: "$ tutti answer postgres\n$ tutti answer evt-escalation-mb1k2x-9f3c yes --note 'after the backup'",
		Exit:     "0 done; 1 wrong usage, you may not, or several questions are open; 2 no question is open, or it is closed; 3 a file could not be written; 5 halted", See: "ask, escalation list",
	},
	{
		Name: "blockage raise", Under: kit.Tutti | kit.H2A, Group: kit.GroupTogether, Halt: kit.Acts, Bus: true, MaxArgs: 1, Opts: kit.WithFlags(bus.RunBlockageRaise),
		Result: json.RawMessage{},
		Short:  "report a blocker to the peers", Args: "[<reason>]",
		Flags: []kit.Flag{
			{Name: "instance", Alias: "as", Kind: kit.Text, Value: "id", Default: "who types this", Offer: kit.OwnAgents, Help: "agent that is blocked; under h2a it must be given"},
			{Name: "reason", Kind: kit.Text, Value: "text", Help: "by what; must be given, here or as the argument"},
			{Name: "scope", Kind: kit.Text, Value: "scope", Default: "its first one", Help: "the scope whose followers get mail"},
			{Name: "needs", Kind: kit.Text, Value: "text", Help: "what would help"},
			{Name: "on", Kind: kit.Text, Value: "ids", Offer: kit.Agents, Help: "agents that could help, separated by commas; their tutti status shows it"},
		},
		Does:     "Writes down what blocks an agent. Live peers that follow the scope get an event; agents named by --on get mail, which wakes them. An agent has one blockage: a new one replaces the old one, and the output says so.",
		Wont:     "It decides nothing and asks no one in particular to decide: that is tutti escalate. It never expires.",
		Examples: "$ tutti blockage raise 'the schema is missing' --on codex:api",
		Exit:     "0 done; 1 wrong usage; 2 there is no bus; 3 a file could not be written; 5 halted", See: "escalate, status",
	},
	{
		Name: "blockage list", Under: kit.Tutti | kit.H2A, Group: kit.GroupTogether, Halt: kit.Reads, Bus: true, Opts: kit.WithFlags(bus.RunBlockageList),
		Result: []json.RawMessage{},
		Short:  "list agents that report a blocker",
		Flags: []kit.Flag{
			{Name: "active", Kind: kit.Switch, Help: "only unresolved ones"},
			{Name: "scope", Kind: kit.Text, Value: "scope", Help: "only those of this scope"},
			{Name: "instance", Alias: "as", Kind: kit.Text, Value: "id", Offer: kit.Agents, Help: "only those in the scopes of this agent"},
		},
		Does:     "Lists the blockers that agents reported, the oldest first. One whose agent had no connection for a day is called stale.",
		Examples: "$ tutti blockage list --active", Exit: kit.ExitBus,
	},
	{
		Name: "blockage resolve", Under: kit.Tutti | kit.H2A, Group: kit.GroupTogether, Halt: kit.Ends, Bus: true, MaxArgs: 1, Offer: kit.Agents, Opts: kit.WithFlags(bus.RunBlockageResolve),
		Result: json.RawMessage{},
		Short:  "report that a blocker is gone", Args: "[<agent>]",
		Flags: []kit.Flag{
			{Name: "instance", Alias: "as", Kind: kit.Text, Value: "id", Default: "who types this", Offer: kit.Agents, Help: "agent that was blocked; under h2a it must be given"},
			{Name: "by", Kind: kit.Text, Value: "id", Default: "you; under h2a none", Offer: kit.OwnAgents, Help: "agent that helped"},
		},
		Does:     "Marks the blocker as resolved and notifies its peers. The first agent that resolves it stays on record.",
		Examples: "$ tutti blockage resolve codex:api:3f2a9c01b7de",
		Exit:     "0 done; 1 wrong usage; 2 there is no bus, or the agent has raised none; 3 a file could not be written",
	},
	{
		Name: "escalation list", Under: kit.Tutti, Group: kit.GroupGovern, Halt: kit.Reads, Bus: true, Opts: onMatters(app.Reading, runEscalations),
		Result: []escalation.View{},
		Short:  "list escalations that wait for a decision",
		Flags: []kit.Flag{
			{Name: "all", Kind: kit.Switch, Help: "also what was answered, or has passed its end"},
			{Name: "negotiation", Kind: kit.Text, Value: "id", Offer: kit.Negotiations, Help: "only that of this negotiation"},
		},
		Does:     "Lists the escalations of negotiations, and the agents that stopped and do not go on, the oldest first.",
		Examples: "$ tutti escalation list", Exit: kit.ExitBus, See: "escalate, status",
	},
	{
		Name: "escalation show", Under: kit.Tutti, Group: kit.GroupGovern, Halt: kit.Reads, Bus: true, MinArgs: 1, MaxArgs: 1, Offer: kit.Matters, Opts: onMatters(app.Reading, runEscalationShow),
		Result: escalation.View{},
		Short:  "show one escalation and its options", Args: "<id>", Flags: []kit.Flag{ofNegotiation},
		Does:     "Shows the question, the options in random order, what applies without an answer, and the answer if there is one.",
		Examples: "$ tutti escalation show evt-escalate-mb1k2x-9f3c", Exit: kit.ExitBus,
	},
	{
		Name: "escalation answer", Under: kit.Tutti, Group: kit.GroupGovern, Halt: kit.Acts, Bus: true, MinArgs: 1, MaxArgs: 2, Offer: kit.Matters, Opts: onMatters(app.Writing, runEscalationAnswer),
		Result: answered{},
		Short:  "answer an escalation that is addressed to you", Args: "<id> [<answer>]",
		Flags: []kit.Flag{
			{Name: "note", Kind: kit.Text, Value: "text", Help: "what else there is to say"},
			{Name: "instance", Alias: "as", Kind: kit.Text, Value: "id", Default: "you", Offer: kit.OwnAgents, Help: "which person answers"},
			ofNegotiation,
		},
		Does: `Writes the answer into the journal of the negotiation, signed with your key; for an agent that stopped, it records that you have
seen it. It needs a terminal. If the question has options, the answer must be one of them. The first answer counts, and none
counts after the end. The agent that asked gets mail.`,
		Wont:     "It takes no answer from an agent, also not in the name of a person, and does nothing of what it says.",
		Examples: "$ tutti escalation answer evt-escalate-mb1k2x-9f3c keep",
		Exit:     "0 done; 1 wrong usage, or you may not; 2 there is no such matter, or it is closed; 3 a file could not be written; 5 halted",
	},
	{
		Name: "escalation settle", Under: kit.Tutti, Group: kit.GroupGovern, Halt: kit.Acts, Bus: true, Opts: onMatters(app.Writing, runEscalationSettle),
		Result: settled{},
		Short:  "record the default answer of an overdue escalation",
		Flags: []kit.Flag{
			{Name: "instance", Alias: "as", Kind: kit.Text, Value: "id", Default: "who types this", Offer: kit.OwnAgents, Help: "who writes it down"},
		},
		Does:     "Adds to the journal, of each matter whose end has passed, which fall-back applies since. That it applies does not depend on it.",
		Examples: "$ tutti escalation settle", Exit: "0 done; 1 wrong usage; 2 there is no bus; 3 a file could not be written; 5 halted",
	},
}

var ofNegotiation = kit.Flag{Name: "negotiation", Kind: kit.Text, Value: "id", Offer: kit.Negotiations, Help: "of which, where the id is that of several matters"}
