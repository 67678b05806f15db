package comms

import (
	"tutti/internal/comms/fleet"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
)

var NetVerbs = []kit.Verb{
	{
		Name: "comms trust", Under: kit.Tutti, Group: kit.GroupComms, Halt: kit.Makes, Waits: true, MinArgs: 1, MaxArgs: 1, Apart: kit.ExitUsage, Offer: kit.Machines,
		Opts:   kit.WithFlags(runCommsTrust),
		Result: trustJSON{},
		Short:  "get the key by which another machine signs, and trust it",
		Args:   "<machine>",
		Flags:  []kit.Flag{{Name: "yes", Kind: kit.Switch, Help: "you have compared the fingerprint: do not ask"}},
		Does: `Asks the machine by ssh for the public key by which it signs, shows its fingerprint, and puts it into your keyring when you say that
it is the right one. From then on messages from that machine are verified. Each machine needs the key of the other: type it on both.`,
		Wont: "It acts on your word alone: an agent is refused. It lets no key sign that signers.toml does not allow.",
		Examples: `$ tutti comms trust laptop
$ tutti comms trust laptop --yes --json`,
		Exit: "0 the key is in your keyring; 1 the machine has no key or was not reached, you said no, or wrong usage",
		See:  "comms send, comms discover",
	},
	{
		Name: "comms peer", Under: kit.Tutti, Group: kit.GroupComms, Halt: kit.Makes, Waits: true, MaxArgs: 3, Opts: kit.WithFlags(runCommsPeer),
		Result: render.OneOf{peerJSON{}, removedPeerJSON{}},
		Short:  "add or remove another machine that you reach by ssh",
		Args:   "add|remove <name> [<user@host[:port]>]",
		Flags: []kit.Flag{
			{Name: "trust", Kind: kit.Switch, Help: "then get the key of the machine, as tutti comms trust does"},
			{Name: "yes", Kind: kit.Switch, Help: "with --trust: you have compared the fingerprint: do not ask"},
		},
		Does: `add writes the machine into ~/.config/cross-agent-comms/peers.toml and connects to it once. NAME is what you call it: its projects are
then NAME.PROJECT. USER may be left out where your ssh knows it; an IPv6 address with a port is written [ADDRESS]:PORT. It prints the
command to type next. The same machine may be added again.

remove takes the machine out of the file. To change a machine, remove it and add it again. Keys stay where they are.`,
		Wont: "It acts on your word alone: an agent is refused. add changes no machine that is in the list, and accepts no host key.",
		Examples: `$ tutti comms peer add laptop eva@laptop.example
$ tutti comms peer add beta eva@192.0.2.7:2222 --trust
$ tutti comms peer remove beta`,
		Exit: "0 it is in the list, whether it answered or not, or was removed; 1 the name is taken or not in the list, with --trust the key was not got, the file cannot be understood, or wrong usage; 3 the file could not be written; 130 interrupted",
		See:  "comms trust, comms discover",
	},
	{
		Name: "comms discover", Under: kit.Tutti | kit.Cross, Group: kit.GroupComms, Halt: kit.Reads, Waits: true, Apart: kit.ExitUsage, Opts: kit.WithFlags(runCommsDiscover),
		Result: fleet.ReportView{},
		Short:  "list projects here, and the machines that answer",
		Flags: []kit.Flag{
			{Name: "enumerate-remote", Kind: kit.Switch, Help: "also the projects of the machines that answer"},
			{Name: "no-cache", Kind: kit.Switch, Help: "ask every machine, also those that answered within the last 5 minutes"},
			{Name: "peer", Kind: kit.Text, Value: "name", Default: "all", Offer: kit.Machines, Help: "this machine alone"},
			fast.CommsJSON,
		},
		Does: `Lists the projects of this machine, and of each machine in ~/.config/cross-agent-comms/peers.toml whether it is reachable by
ssh, with what ssh said if it is not. Eight are asked at once, each for 10 s at most. A project is a folder in a project folder that
holds .ai; a machine keeps its projects in ~/projects, unless projects_root in peers.toml says otherwise.

What answered is believed for 5 minutes; what did not is asked each time.`,
		Wont: `It asks no questions: a machine whose host key is not known, or a key with a pass phrase that no agent holds, is a machine
that is not reachable. Connect once by hand.`,
		Examples: `$ tutti comms discover
$ tutti comms discover --enumerate-remote --peer laptop
$ cross-agent-discover --no-cache --json`,
		Exit:      "0 shown, whether all were reached or not; 1 peers.toml cannot be understood, no such machine, or wrong usage; 130 interrupted",
		CrossExit: "0 shown, whether all were reached or not; 1 peers.toml cannot be understood, or no such machine; 64 wrong usage; 130 interrupted",
		See:       "comms send, halt",
	},
}
