package fast

import (
	"tutti/internal/comms/exchange"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
)

var CommsSendRow = kit.Verb{
	Name: "comms send", Under: kit.Tutti | kit.Cross, Group: kit.GroupComms, Halt: kit.Asks, Waits: true, MaxArgs: 2, Opts: kit.WithFlags(runCommsSend), Offer: kit.Destinations, Apart: kit.ExitPanic,
	Result: render.OneOf{exchange.SentView{}, exchange.SendErrorView{}},
	Short:  "deliver a message file to another project",
	Args:   "[<machine>.<project>] [<file>|-]",
	Flags: []kit.Flag{
		{Name: "no-sign", Kind: kit.Switch, Help: "without a signature, for tests: the receiver refuses it"},
		CommsRetries,
		{Name: "key", Kind: kit.Text, Value: "id", Help: "the key of gpg that signs (default: GPG_USER, git, the first of your keys)"},
		{Name: "from", Kind: kit.Text, Value: "name", Help: "the sender (default: CROSS_AGENT_FROM, the project of this folder, the settings, this machine)"},
		{Name: "restamp", Kind: kit.Switch, Help: "write the time of now into the header"},
		{Name: "keep-timestamp", Kind: kit.Switch, Help: "send the time of the header, however old it is"},
		{Name: "no-envelope", Kind: kit.Switch, Help: "send the bytes of the draft, without FROM and TO"},
		{Name: "local-fallback", Kind: kit.Switch, Help: "treat an unknown machine as this one"},
		CommsArtifact,
		{Name: "queue-on-halt", Kind: kit.Switch, Help: "keep a progress message that meets the halt switch, to be sent later by hand"},
		{Name: "resend", Kind: kit.Text, Value: "bundle", Offer: kit.Bundles, Help: "deliver what an earlier send kept, byte for byte"},
		{Name: "resend-all", Kind: kit.Switch, Help: "the same for all that is kept"},
		{Name: "dry-run", Kind: kit.Switch, Help: "say what would be sent and write nothing"},
		CommsJSON,
	},
	Does: `Checks the draft, makes the name of the message from its header, signs it with gpg, and puts both files into the mailbox
of the project, the signature first. On this machine they survive a power cut before it is said that they are there; to another one
they go by rsync over ssh, with tries after 2, 8 and 32 seconds. The name of the message is printed.

The machine is this one (its name, local or localhost) or one of ~/.config/cross-agent-comms/peers.toml. A message that could not be
delivered is kept with its signature, and "tutti comms retry" sends the same bytes later: the receiver sees at most one.

What the protocol advises (the next sequence, an escalate that is due) is said on standard error; the author decides.`,
	Wont: `It takes no unknown machine for this one, overwrites no message, and sends nothing while the halt switch is on, which it looks
at before, between the two files, and each second between two tries.`,
	Examples: `$ tutti comms send local.notes question.org
$ tutti comms send laptop.career answer.org --retries 5
$ cross-agent-send local.notes question.org --dry-run`,
	Exit:      "0 delivered, or already there with the same bytes; " + ExitSend,
	CrossExit: "0 delivered, or already there with the same bytes; " + exitSendCross,
	See:       "comms recv, comms retry, comms compose",
}

var CommsRecvRow = kit.Verb{
	Name: "comms recv", Under: kit.Tutti | kit.Cross, Group: kit.GroupComms, Halt: kit.Asks, Opts: kit.WithFlags(runCommsRecv), MinArgs: 1, MaxArgs: 1, Offer: kit.Files, Apart: kit.ExitPanic, Decides: true,
	Result: exchange.JudgementView{},
	Short:  "judge one message that came: act, ask, drop or refuse",
	Args:   "<file>",
	Flags: []kit.Flag{
		{Name: "no-verify", Kind: kit.Switch, Help: "do not ask gpg, for tests"},
		{Name: "no-dedup", Kind: kit.Switch, Help: "do not look for duplicates, for tests"},
		{Name: "protocol-version", Kind: kit.Text, Value: "v", Default: "5", Help: "the version that is expected"},
		{Name: "strict", Kind: kit.Switch, Help: "refuse also a second of difference between name and header, and a sender that signers.toml does not bind"},
		{Name: "claim", Kind: kit.Text, Value: "session", Help: "reserve the message for this session for 10 minutes; other sessions see it as a duplicate"},
		{Name: "no-ledger", Kind: kit.Switch, Help: "do not write the decision down"},
		CommsJSON,
	},
	Does: `Reads the message and its signature once and decides: process (read the body and act), dedup (it is a copy: do nothing), query
(answer with the one question that is suggested) or reject (tell the user, do not act). The exit status is the decision. The first line
is "decision: ..."; below stand the reason and what the header says. The body is never printed.

Whose key may sign for which sender stands in ~/.config/cross-agent-comms/signers.toml. Without that file every key of your ring may sign for everybody, and
the decision carries the warning signer_unbound.`,
	Wont: "It acts on nothing, moves and deletes nothing, and remembers no refusal: the next look judges afresh.",
	Examples: `$ tutti comms recv inbox/from-agents/20260427T085611Z-from-web-question.org
$ cross-agent-recv 20260427T085611Z-from-web-question.org --json`,
	Exit: "0 process; 1 dedup; 2 query; 3 reject; 5 halted, and nothing was looked at; 64 wrong usage; 70 a fault of this machine or program",
	See:  "comms poll, comms send",
}

// What several verbs of the family have.
var (
	CommsJSON     = kit.Flag{Name: "json", Kind: kit.Switch, Under: kit.Cross, Help: "print JSON"}
	CommsProject  = kit.Flag{Name: "project", Kind: kit.Text, Value: "name", Offer: kit.Projects, Help: "the project, where it is not the one of this folder"}
	CommsArtifact = kit.Flag{Name: "artifact", Kind: kit.Text, Value: "file", Offer: kit.Files, Under: kit.Tutti, Help: "deliver this file beside the message, named in it with its hash"}
	CommsRetries  = kit.Flag{Name: "retries", Kind: kit.Count, Value: "n", Default: "3", Help: "tries after the first, on another machine: 0 to 20"}
)

// The exit status of a send, whose numbers other programs know.
const (
	ExitSend = "1 a signature, a file, settings, a name that is taken, or wrong usage; 2 no such machine or project; " +
		"3 another machine was not reached after all tries; 4 the header of the draft, or a rule of the protocol; 5 halted; 70 a fault of this program; 130 interrupted"
	exitSendCross = "1 a signature, a file, settings, or a name that is taken; 2 no such machine or project; " +
		"3 another machine was not reached after all tries; 4 the header of the draft, or a rule of the protocol; 5 halted; 64 wrong usage; 70 a fault of this program; 130 interrupted"
)
