package setup

import (
	"context"
	"errors"

	"tutti/internal/app"
	"tutti/internal/app/full"
	"tutti/internal/faces/cli/cmd/session"
	"tutti/internal/faces/cli/cmd/status"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/faces/daemon"
)

var UpVerbs = []kit.Verb{{
	Name: "up", Under: kit.Tutti, Group: kit.GroupBus, Halt: kit.Stays, Waits: true, Bus: true, Opts: kit.WithFlags(runUp),
	Result: daemon.Event{},
	Short:  "stay running and tell you about mail for agents that are not live",
	Flags: []kit.Flag{{
		Name: "registry", Kind: kit.Text, Value: "files", Default: "that of the folder where you are", Offer: kit.Files,
		Help: "the session registries to keep up to date, separated by commas",
	}, {
		Name: "relauncher", Kind: kit.Text, Value: "way", Default: "that of the settings, or logging", Choices: []string{"logging", "local-tmux", "headless", "auto"},
		Help: "how stalled agents are asked to go on",
	}},
	Does: `Runs until you interrupt it, and looks after the bus. If mail for an agent of yours that is not live stays unread for
a minute, you get a desktop notice. For mail to you the notice comes at once. There is one notice for each mailbox
until the mail is read, or until ten minutes have passed and more has come. Without a desktop it prints a line.
"desktop", "climb" (the minute) and "enabled" in the table [wake] of the settings change this.

It also tells you when an agent waits for your approval or decision, is blocked, reaches its limit or ends without a
stop, and when everything is halted. The table [notify] of the settings has the channels and quiet hours.

It carries messages that you and your agents sent to agents on other machines, and tries again until they are taken.

It also keeps agents in tmux live while their agent CLI runs (as "tutti keepalive" does), keeps the session registry
of the folder where you started it up to date (as "tutti session monitor" does), and follows the jobs of that folder:
it ends a job that runs out of time, and prints a line for a job that asks, fails or waits to be accepted. If a
registry already has a monitor, it waits until that ends.

It names stalled agents, and asks none of them to go on, unless you set --relauncher, or
"relauncher" in the table [drumbeat] of the settings: then it does what "tutti drumbeat watch" does. If an escalation
is overdue, it records the default answer, as "tutti escalation settle" does, and prints a line.

With --json each line is an object with "event", "at" and "text". With --quiet it prints only faults, on standard
error. Only one runs for each user and bus; a second one says which process runs.

At a terminal it also serves the page of "tutti web" if "web" in the table [screen] of the settings is true, and prints
the link. Press Enter for another link.

While the halt switch is set it prints that once and is then silent; mail that came before the switch was cleared
causes no notice. If the bus is moved or removed, it says so and waits until it is back.`,
	Wont: `It starts no agent, types nothing and takes no mail, unless a relauncher is set: then it follows requests to ask an
agent to go on. It listens on no port but that of the page, on 127.0.0.1; what it carries to other machines goes to the endpoints that you registered.`,
	Examples: `$ tutti up
$ tutti up --registry ~/api.yaml,~/web.yaml
$ tutti up --relauncher auto
$ tutti up --json
$ tutti up --quiet`,
	Exit: "0 its terminal was closed; 1 wrong usage, or the settings cannot be read; 2 there is no bus, another one runs, or the bus was replaced; 3 a file could not be read or written, or --timeout passed; 130 interrupted",
	See:  "watch, status, send, keepalive, session monitor, drumbeat watch, escalation settle",
}}

func runUp(ctx context.Context, c *kit.Call, opt *full.UpFlags) error {
	s := service(c)
	s.Up = *opt
	s.Open, s.Page = session.OpenRegistry, status.Page(c)
	err := daemon.Serve(ctx, s)
	other, runs := errors.AsType[*app.UpError](err)
	stray, strayed := errors.AsType[*app.StrayError](err)
	switch {
	case runs:
		return kit.BadState(other.Hint(), "%s", other)
	case strayed:
		return kit.BadState("tutti up   # looks after that one, if it is yours", "%s", stray)
	}
	return kit.NoBus(err)
}

// checkUp says whether tutti up looks after the bus. It is optional.
func checkUp(c *kit.Call, r *report, root *app.Root) {
	if !r.Checks.Root.OK {
		return
	}
	r.tell("up", status.UpText(app.RunningUp(c.App, root.Path)), "")
}
