package cli

import (
	"context"
	"errors"
	"strconv"
	"time"

	"tutti/internal/app"
	"tutti/internal/canonjson"
)

var upVerbs = []Verb{{
	Name: "up", Under: Tutti, Group: GroupBus, Halt: Stays, Waits: true, Bus: true,
	Short: "stay running and tell you about mail for absent agents",
	Flags: []Flag{{
		Name: "registry", Kind: Text, Value: "files", Default: "that of the folder where you are", Offer: Files,
		Help: "the registries of agents in tmux that are kept true, with commas between them",
	}, {
		Name: "relauncher", Kind: Text, Value: "way", Default: "that of the settings, or logging", Choices: []string{"logging", "local-tmux", "headless", "auto"},
		Help: "how agents are asked to go on that have stopped",
	}},
	Does: `Goes on in the foreground until it is interrupted, and looks after the bus as long: when mail comes for an agent of yours
that has no session, and nobody has looked after a minute, you are told at your desktop; of mail for yourself you are told at once. That
holds also for what "tutti send" has left there from a terminal. There is one notice for a mailbox until somebody has looked, or
ten minutes are over and more has come, also where a server of the sender would tell as well. Where there is no desktop a
line here says it. The table [wake] of the settings has "desktop", "climb" (the minute) and "enabled".

It also keeps those agents present on the bus whose program runs in its pane of tmux, as "tutti keepalive" does; writes into the registry of
agents in tmux what becomes of them, as "tutti session monitor" does, for the folder where it was started or for those that --registry
names; and follows the jobs of that workspace: one that runs out of time ends with an error, and a line tells of each that asks, fails, or
is to be accepted. A registry that has a monitor already is taken over when that ends.

Of agents that have stopped (drumbeat record) it says whom it would ask to go on, and asks none. With --relauncher, or "relauncher" in the
table [drumbeat] of the settings, it does what "tutti drumbeat watch" does.

Where nobody has decided in time what was put before somebody (tutti escalate), it records in the journal of the negotiation which
fall-back applies, as "tutti escalation settle" does, and a line says so.

It prints what it does first, then a line for each thing that happens. With --json each line is an object with "event", "at" and
"text". With --quiet only what goes wrong is printed, on standard error.

There is one for each user and bus; a second one says who runs. "tutti status" and "tutti doctor" say whether one does.

While the halt switch is on it stays and is silent, and says so once; nobody is told of what came before the switch was cleared. When the
bus is moved or removed, it says so and waits until it is back.`,
	Wont: "It starts no agent, types nothing and takes no mail, unless a relauncher is set: then requests to ask an agent to go on are followed. It asks no network.",
	Examples: `$ tutti up
$ tutti up --registry ~/api.yaml,~/web.yaml
$ tutti up --relauncher auto
$ tutti up --json
$ tutti up --quiet`,
	Exit: "0 its terminal was closed; 1 wrong usage, or the settings cannot be read; 2 there is no bus, another one runs, or the bus was replaced; 3 a file could not be read or written, or --timeout passed; 130 interrupted",
	See:  "watch, status, send, keepalive, session monitor, drumbeat watch, escalation settle",
}}

// Up makes the function of the verb that goes on and on.
func Up(serve func(context.Context, app.Service) error, open Opener) Func {
	return func(ctx context.Context, c *Call) error {
		s := c.service()
		s.Open = open
		err := serve(ctx, s)
		other, runs := errors.AsType[*app.UpError](err)
		stray, strayed := errors.AsType[*app.StrayError](err)
		switch {
		case runs:
			return badState(other.Hint(), "%s", other)
		case strayed:
			return badState("tutti up   # looks after that one, if it is yours", "%s", stray)
		}
		return noBus(err)
	}
}

// upText says who looks after the bus.
func upText(u *app.Up) string {
	if u == nil {
		return `not running; "tutti up" tells you about mail for agents that are not live`
	}
	return "process " + strconv.Itoa(u.ID.PID) + ", started " + ago(max(0, time.Since(u.Since)))
}

// checkUp says whether somebody looks after the bus. Nobody has to.
func (c *Call) checkUp(r *report, root *app.Root) {
	if !r.rootOK {
		return
	}
	r.tell("up", upText(c.App.RunningUp(root.Path)), "")
}

func upJSON(o *canonjson.Object, u *app.Up) {
	if u == nil {
		o.Null("up")
		return
	}
	o.Within("up", func(o *canonjson.Object) {
		o.Int("pid", int64(u.ID.PID))
		o.Str("since", u.Since.UTC().Format(jsonTime))
	})
}
