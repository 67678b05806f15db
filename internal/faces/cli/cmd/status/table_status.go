package status

import (
	"tutti/internal/attention/history"
	"tutti/internal/attention/overview"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
)

var Verbs = []kit.Verb{
	statusRow(),
	{
		Name: "top", Under: kit.Tutti, Group: kit.GroupBus, Halt: kit.Reads, Opts: kit.WithFlags(runTop), Bus: true, TextOnly: true,
		Short: "show the same live, with keys to act",
		Flags: []kit.Flag{
			{Name: "plain", Kind: kit.Switch, Help: "print a line for each change; for screen readers and logs"},
			{Name: "once", Kind: kit.Switch, Help: "print one frame as text, and end"},
		},
		Does: `Shows all agents of this machine in a list, the terminal of the selected agent beside it, and below both what waits
for you. It looks again when something may have changed; the heading has the time of the last look.

Press ? for all keys. Enter shows the terminal of the agent; detach to come back. "v" changes the right side between
its screen, its mail and facts. "p" types a prompt, "s" sends a message, "n" starts an agent, "x" stops one and "H"
halts all of them. Tab and the digits 1 to 9 select what waits for you, and list what you can do about it. Each action
runs the verb of the same name.

A screen of 40 columns and 10 lines is enough. Below 80 columns Enter first shows the agent as a page of its own. The
mouse is off until you press "m". The table [keys] of ~/.config/tutti/config.toml gives commands other keys.`,
		Wont: `It types no key into a dialog of an agent CLI. Below an agent CLI it shows everything and does nothing. It does not need
colours: NO_COLOR turns them off.`,
		Examples: `$ tutti top
$ tutti top --once
$ tutti top --plain`,
		Exit: "0 done; 1 wrong usage, wrong settings, or this is not a terminal; 2 the bus is in a wrong state; 3 a file could not be read; 130 interrupted",
		See:  "status, session attach",
	},
	{
		Name: "log", Under: kit.Tutti, Group: kit.GroupBus, Halt: kit.Reads, Waits: true, Bus: true, Opts: kit.WithFlags(runLog),
		Result: render.OneOf{[]history.Event{}, history.Event{}},
		Short:  "show what your agents said to each other and did",
		Flags: []kit.Flag{
			{Name: "follow", Alias: "f", Kind: kit.Switch, Help: "go on, and show each event as it happens (also -f)"},
			{Name: "since-last", Kind: kit.Switch, Help: "only what happened since you last looked"},
			{Name: "since", Kind: kit.Text, Value: "age", Help: "only what is younger than this: 7d, 48h, 10m"},
			{Name: "newest", Kind: kit.Count, Value: "n", Default: "50", Help: "at most so many events, the newest; 0: all"},
			{Name: "long", Kind: kit.Switch, Help: "also ids, whole addresses and where each event was found"},
		},
		Does: `Shows one list of what happened on this machine, the oldest first: messages between your agents on all buses you use, the
latest message of each conversation between projects, sessions that were created, resumed and stopped, and halts. On a
terminal each agent has a colour.

A message whose signature is not verified has the verdict behind it. With --follow new events are printed at once,
with --json each as one line.`,
		Wont: `It marks no mail as read. It shows nothing between agents whose keys are not here, and the first line of each text only:
"tutti thread" shows a conversation whole.`,
		Examples: `$ tutti log
14:02:07  api → tests  do the migrations pass?
14:03:41  tests → api  014 fails on sqlite, passes on postgres
$ tutti log -f
$ tutti log --since-last`,
		Exit: kit.ExitPlain + "; 130 interrupted",
		See:  "status, top, thread, search",
	},
}

// statusRow is the row that both programs have, with all of what it does.
func statusRow() kit.Verb {
	v := fast.StatusRow.Reading(kit.WithFlags(runStatus))
	v.Result = render.OneOf{overview.Snapshot{}, directory{}}
	return v
}
