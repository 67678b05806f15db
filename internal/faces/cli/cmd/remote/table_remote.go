package remote

import (
	"encoding/json"

	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
)

// Flags of the endpoints.
var (
	serveHost  = kit.Flag{Name: "host", Kind: kit.Text, Value: "address", Default: "127.0.0.1", Help: "the address to listen at: an IP address, or localhost"}
	serveOpen  = kit.Flag{Name: "exposed", Kind: kit.Switch, Help: "the address may be one that other machines reach; without --tls-cert what is sent there travels in clear text"}
	serveCert  = kit.Flag{Name: "tls-cert", Kind: kit.Text, Value: "file", Offer: kit.Files, Help: "speak https with this certificate and its chain, in PEM form"}
	serveKey   = kit.Flag{Name: "tls-key", Kind: kit.Text, Value: "file", Offer: kit.Files, Help: "its key"}
	serveRate  = kit.Flag{Name: "rate", Kind: kit.Count, Value: "n", Default: "20", Help: "how much one signer may send, a second, in the long run"}
	serveFull  = kit.Flag{Name: "unread", Kind: kit.Count, Value: "n", Default: "1000", Under: kit.Tutti, Help: "how many unacknowledged messages of one signer a mailbox may hold"}
	serveKnown = kit.Flag{Name: "known-as", Kind: kit.Text, Value: "urls", Help: "the URLs of this endpoint, with commas; what was signed for another one is refused"}
	remoteURL  = kit.Flag{Name: "url", Kind: kit.Text, Value: "url", Help: "the endpoint, as its server printed it"}
	remoteCA   = kit.Flag{Name: "ca", Kind: kit.Text, Value: "file", Default: "those of the system", Offer: kit.Files, Help: "the authorities to believe, in PEM form"}
	remoteKey  = kit.Flag{Name: "private-key", Kind: kit.Text, Value: "file", Default: "the one in the keys of the bus", Offer: kit.Files, Help: "the key to sign with"}
	remoteWho  = kit.Flag{Name: "instance", Alias: "as", Kind: kit.Text, Value: "id", Default: "the agent that acts here", Offer: kit.OwnAgents, Help: "agent that signs"}
	exitServe  = "0 it was ended; 1 wrong usage, the address cannot be opened, or a file cannot be read; 2 there is no bus; 3 a file could not be read"
	exitRemote = "0 it was taken; 1 wrong usage, it was not taken, or no answer came; 2 no agent is registered under the name; 3 a file could not be read; 5 halted"
)

func servePort(usual string) kit.Flag {
	return kit.Flag{Name: "port", Kind: kit.Count, Value: "n", Default: usual, Help: "the port; 0 takes a free one"}
}

func servePath(usual string) kit.Flag {
	return kit.Flag{Name: "path", Kind: kit.Text, Value: "path", Default: usual, Help: "the path of the endpoint"}
}

var Verbs = []kit.Verb{
	{
		Name: "remote serve", Under: kit.Tutti | kit.H2A, Group: kit.GroupRemote, Halt: kit.Stays, Waits: true, Bus: true, Opts: kit.WithFlags(runRemoteServe),
		Result: listening{},
		Short:  "take in signed messages from other machines, by HTTP",
		Flags: []kit.Flag{
			servePort("8787"), serveHost, servePath("/h2a/envelopes"), serveOpen, serveCert, serveKey, serveRate, serveFull,
			{Name: "recipients", Kind: kit.Text, Value: "who", Default: "known", Choices: []string{"registered", "known", "any"}, Help: "whose mailboxes are open: agents registered here, also mailboxes that are there, or any address"},
			serveKnown,
		},
		Does: `Prints one line with its address, and runs until it is interrupted. It takes a message if an agent that is registered here has
signed it with an active key, its time is at most five minutes old or one minute ahead, and it was not taken before, even before
a restart. The answer 202 means that the message is in the mailbox, as if it had been sent here, and survives a power cut. 409
means that it was taken before.

One signer may send --rate messages a second in the long run and five seconds' worth at once; what is more is answered 429 and can be sent
again. When --unread messages of a signer wait in a mailbox, further ones are answered 507 mailbox-full until some are acknowledged; a
sender's queue keeps trying. A body has at most 256 KiB. While the halt switch is on everything is answered 503.`,
		Wont: "It makes no tunnel: \"ssh -N -R 8787:127.0.0.1:8787 laptop\" makes it reachable there without opening it to others. It listens at no address that other machines reach unless --exposed says so, asks for no password, and keeps nothing secret without --tls-cert.",
		Examples: `$ tutti remote serve
$ tutti remote serve --port 0 --recipients registered --json
$ tutti remote serve --host 0.0.0.0 --exposed --tls-cert c.pem --tls-key k`,
		Exit: exitServe, See: "remote send, remote peers, send",
	},
	{
		Name: "remote send", Under: kit.Tutti | kit.H2A, Group: kit.GroupRemote, Halt: kit.Acts, Waits: true, Bus: true, MaxArgs: 1, Offer: kit.Files, Opts: kit.WithFlags(runRemoteSend),
		Result: reply{},
		Short:  "send a signed message to an endpoint on another machine",
		Args:   "<text>|<json>|@<file>|-",
		Flags: []kit.Flag{
			remoteURL, remoteWho, remoteKey, remoteCA,
			{Name: "to", Kind: kit.Text, Value: "id", Under: kit.Tutti, Offer: kit.Agents, Help: "whom a text is for; without it a whole envelope is given"},
			{Name: "json", Kind: kit.Text, Value: "json|@file|-", Under: kit.H2A, Help: "the envelope; must be given"},
		},
		Does: `Signs the envelope, or the text with --to, and sends it. Without --url it goes to the endpoint in the registration of its target
(see remote peers). An unsigned envelope is signed for this endpoint only, so that an eavesdropper cannot send it elsewhere.
Prints what the endpoint answered: {status, body}. A copy of each accepted message is kept in the outbox.

"replayed" means that the endpoint had taken it before: what got no answer can be sent again as it is within five minutes.`,
		Wont: "It does not try again by itself, and follows no redirect.",
		Examples: `$ tutti remote send --to codex:web:3f2a9c01b7de 'the schema has changed'
$ tutti remote send @e.json --url http://127.0.0.1:8787/h2a/envelopes`,
		Exit: exitRemote, See: "remote peers, remote serve, send",
	},
	{
		Name: "remote peers", Under: kit.Tutti, Group: kit.GroupRemote, Halt: kit.Reads, Bus: true, Run: runRemotePeers,
		Result:   []peerRow{},
		Short:    "list agents that are reached at a URL",
		Does:     "Lists the agents whose registration names an endpoint of the kind remote, with its URL. With --json: an array of {instance, name, url}.",
		Examples: "$ tutti remote peers",
		Exit:     "0 done; 1 wrong usage; 2 there is no bus; 3 a file could not be read", See: "remote send, register",
	},
	{
		Name: "remote card", Under: kit.Tutti, Group: kit.GroupRemote, Halt: kit.Reads, Bus: true, Opts: kit.WithFlags(runRemoteCard),
		Result: json.RawMessage{},
		Short:  "print what another machine has to know of your agent",
		Flags: []kit.Flag{
			{Name: "url", Kind: kit.Text, Value: "url", Help: "where that machine reaches your remote serve; must be given"},
			{Name: "instance", Alias: "as", Kind: kit.Text, Value: "id", Default: "the agent that acts here", Offer: kit.OwnAgents, Help: "the agent"},
		},
		Does: `Prints one line of JSON for "tutti register -" on the other machine: the id of the agent, its public key and scopes, and the endpoint
at which its mail arrives. The role in it is AGENTS. After that machine has registered it, plain send and reply there reach the agent,
and its messages are taken there.`,
		Wont:     "It changes nothing and sends nothing. Bring the line over by a way that you trust: a line that was changed on the way lets another machine speak as your agent.",
		Examples: "$ tutti remote card --url http://127.0.0.1:8788/h2a/envelopes",
		Exit:     "0 done; 1 wrong usage; 2 there is no bus, or the agent is not registered; 3 a file could not be read", See: "register, remote serve, send",
	},
	{
		Name: "remote mirror", Under: kit.Tutti | kit.H2A, Group: kit.GroupRemote, Halt: kit.Acts, Waits: true, Bus: true, Opts: kit.WithFlags(runMirror),
		Result: reply{},
		Short:  "show an agent of this bus on another one",
		Flags: []kit.Flag{
			remoteURL, remoteWho, remoteKey, remoteCA,
			{Name: "interval-ms", Kind: kit.Count, Value: "ms", Help: "go on, with so long between two pushes: at least 5000; 20000 keeps it shown"},
		},
		Does: `Signs what the bus knows of the agent, its registration, its sessions and its subagents, and sends it to a mirror. The other bus shows
its sessions as indirect ones for 90 seconds. It prints what the mirror answered.

With --interval-ms it goes on until it is interrupted, a line for each push. What fails by chance is tried again, after 5 seconds and then
twice as long each time, up to five minutes. It ends when the mirror has refused the agent three times in a row. While the halt switch is on it is silent.`,
		Wont: "Processes, panes and commands of the agent are not told.",
		Examples: `$ tutti remote mirror --url https://bus.example:8788/h2a/mirror
$ tutti remote mirror --url http://127.0.0.1:8788/h2a/mirror`,
		Exit: exitRemote + "; 130 interrupted", See: "remote mirror-serve, status",
	},
	{
		Name: "remote mirror-serve", Under: kit.Tutti | kit.H2A, Group: kit.GroupRemote, Halt: kit.Stays, Waits: true, Bus: true, Opts: kit.WithFlags(runMirrorServe),
		Result: listening{},
		Short:  "show agents of other buses here",
		Flags: []kit.Flag{
			servePort("8788"), serveHost, servePath("/h2a/mirror"), serveOpen, serveCert, serveKey, serveRate,
			serveKnown,
			{Name: "enrolled-keys-file", Kind: kit.Text, Value: "file", Default: "$H2A_MIRROR_ENROLLED_KEYS", Offer: kit.Files, Help: "a JSON array of public keys that may show their agent"},
		},
		Does: `Prints one line that says where it listens, and goes on until it is interrupted. Who pushes is registered here already, or its key is
enrolled. An entry of the file is {"instance":"HOST:LABEL:ID","key":"PEM"}, which speaks for that agent only, or a bare PEM text, which
speaks for the first agent that it shows.

What is shown gives no right: the role is AGENTS, and capabilities, principal, conductor, processes and panes are left out. "tutti status"
calls such sessions indirect.`,
		Wont: "It shows only agents that signed, changes no session of this bus, and reports no ends: sessions that are no longer pushed expire.",
		Examples: `$ tutti remote mirror-serve --enrolled-keys-file keys.json
$ h2a remote mirror-serve --port 9788 --enrolled-keys-file keys.json`,
		Exit: exitServe, See: "remote mirror, status",
	},
}

var (
	driveWays = []string{"auto", "local-tmux", "headless", "native", "logging"}
	driveTo   = kit.Flag{Name: "to", Kind: kit.Text, Value: "id", Offer: kit.Agents, Help: "the agent that the instruction is for; must be given"}
)

var DriveVerbs = []kit.Verb{
	{
		Name: "drive", Under: kit.Tutti | kit.H2A, Group: kit.GroupRemote, Halt: kit.Acts, Waits: true, Bus: true, MaxArgs: 2, Offer: kit.Agents, Opts: kit.WithFlags(runDrive),
		Result: driven{},
		Short:  "give an agent a signed instruction, where it works",
		Args:   "<agent> <instruction>",
		Flags: []kit.Flag{
			{Name: "from", Kind: kit.Text, Value: "id", Default: "the agent that acts here", Offer: kit.OwnAgents, Help: "agent that gives it"},
			{Name: "to", Kind: kit.Text, Value: "id", Under: kit.H2A, Help: "the agent that it is for; must be given"},
			{Name: "instruction", Kind: kit.Text, Value: "text", Under: kit.H2A, Help: "its task, in one line; required"},
			remoteKey,
			{Name: "driver", Kind: kit.Text, Value: "way", Default: "auto", Choices: driveWays, Help: "how it gets there; auto: local-tmux, or else headless"},
			{Name: "host", Kind: kit.Text, Value: "host", Default: "that of its address", Help: "the agent program that headless runs"},
			{Name: "nonce", Kind: kit.Text, Value: "word", Default: "random", Help: "what makes the line this one"},
			{Name: "at", Kind: kit.Text, Value: "time", Default: "now", Help: "when it was made"},
		},
		Does: `Signs the instruction as one line, [h2a from=… to=… nonce=… at=… sig=…] and then the words, and brings it to the agent. Only these may: the
agent itself, the conductor or principal that its registration names, and a principal or executive who shares a scope with it.
Under tutti the key has to be one that you have bound with "tutti keys trust", on the machine where the agent works as well, and a role counts
only as you accepted it there. Under h2a what the registry says is enough.

local-tmux types the line into the pane that the agent's newest session names, if the agent runs there, is idle, and no one has
begun to type. headless runs its CLI once, in its folder, with the line on its standard input. native is a channel of the CLI;
no CLI confirms delivery, so nothing goes that way. logging only shows the line.`,
		Wont: "No word of the instruction becomes part of a command line. A session that was mirrored from another machine is not driven.",
		Examples: `$ tutti drive codex:web:3f2a9c01b7de 'run the tests'
$ tutti drive codex:web:3f2a9c01b7de 'go on' --driver local-tmux`,
		Exit: "0 it has reached the agent; 1 wrong usage, or the key cannot be read; 2 it may not be given, or nothing leads there; 3 a file could not be read; 5 halted",
		See:  "send, session attach",
	},
	{
		Name: "drive receive", Under: kit.Tutti | kit.H2A, Group: kit.GroupRemote, Halt: kit.Asks, Bus: true, Opts: kit.WithFlags(runDriveReceive),
		Result: render.OneOf{instruction{}, ignoredText{}},
		Short:  "let an instruction through to an agent, or not, for its hooks",
		Flags: []kit.Flag{
			driveTo,
			{Name: "line", Kind: kit.Text, Value: "text", Help: "the text that the agent was shown"},
			{Name: "stdin", Kind: kit.Switch, Help: "read it from standard input: raw, or as a hook's input"},
			{Name: "ignore-non-drive", Kind: kit.Switch, Help: "let through what is not an instruction; a hook then prints nothing"},
			{Name: "now", Kind: kit.Text, Value: "ms", Help: "the time, in milliseconds since 1970; for tests"},
		},
		Does: `Looks for a signed line in the text, and lets it through when its sender has signed it and may give it, it is for exactly this agent, fresh, and
was not let through before: {ok, from, to, instruction}. Else one word on standard error says why not. Under tutti new-key and key-changed say that you
have not bound the key (tutti keys trust); use tutti, not h2a, in hooks and for drive serve.`,
		Examples: `$ tutti drive receive --to codex:web:3f2a9c01b7de --stdin
$ h2a drive receive --to codex:web:3f2a9c01b7de --stdin --ignore-non-drive`,
		Exit: "0 it was let through, or is none and --ignore-non-drive was given; 1 wrong usage; 2 it was not let through; 3 a file could not be read or written",
		See:  "drive, drive serve",
	},
	{
		Name: "drive serve", Under: kit.Tutti | kit.H2A, Group: kit.GroupRemote, Halt: kit.Stays, Waits: true, Bus: true, Opts: kit.WithFlags(runDriveServe),
		Result: listening{},
		Short:  "take instructions for an agent by HTTP",
		Flags: []kit.Flag{
			driveTo,
			{Name: "inject-command", Kind: kit.Text, Value: "command", Help: "what brings an instruction to the agent; must be given"},
			servePort("8788"), serveHost, servePath("/h2a/drive"), serveOpen, serveCert, serveKey, serveRate,
		},
		Does: `Prints one line with its address, and runs until it is interrupted. It passes each line that drive receive would let through to
the command, one after the other, for at most 30 seconds each. A shell runs the command exactly as given; the command gets the
line on its standard input, and H2A_DRIVE_LINE, H2A_DRIVE_FROM, H2A_DRIVE_TO and H2A_DRIVE_INSTRUCTION in its environment. A
line counts as used when the command begins, also if it fails.`,
		Wont: "No word of an instruction becomes part of the command. Quote the variables where the command uses them.",
		Examples: `$ tutti drive serve --to codex:web:3f2a9c01b7de --inject-command ./go.sh
$ h2a drive serve --to codex:web:3f2a9c01b7de --inject-command ./inject.sh`,
		Exit: exitServe, See: "drive, remote serve",
	},
}
