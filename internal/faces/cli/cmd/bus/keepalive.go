package bus

import (
	"context"
	"os"
	"strconv"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/presence"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/monitor"
	"tutti/internal/sessions/observe"
)

var KeepaliveVerbs = []kit.Verb{{
	Name: "keepalive", Under: kit.Tutti | kit.H2A, Group: kit.GroupSessions, Halt: kit.Reads, Waits: true, Bus: true, Opts: kit.WithFlags(runKeepalive),
	Result: keptSession{},
	Short:  "keep agents in tmux present on the bus",
	Flags: []kit.Flag{
		{Name: "interval", Kind: kit.Text, Value: "ms", Default: "30000", Help: "milliseconds between two looks, at least 1000"},
		{Name: "once", Kind: kit.TrueSwitch, Help: "look once and end"},
	},
	Does: `Keeps agents live on the bus as long as their own program runs in their tmux pane, which their session on the bus names. Their own
program is the process of the session, or one of the same kind that was there when the session began. It prints a line for each: agent,
session, pane. It looks every 30 seconds, and when tmux tells of a change, until you interrupt it.

It looks at all your tmux servers that have a socket where tmux keeps them (TMUX_TMPDIR), and at the server it runs in.`,
	Wont: "It does not keep a session just because its pane exists: a pane outlives its program, and its number is reused. Closed sessions and sessions from other machines stay as they are.",
	Examples: `$ tutti keepalive --once
$ h2a keepalive --interval 10000`,
	Exit: "0 --once, and it has looked; 1 wrong usage; 2 there is no bus; 3 a file could not be read or written; 130 interrupted",
	See:  "sessions, session monitor",
}}

type keepaliveOptions struct {
	Interval string
	Once     bool
}

func runKeepalive(ctx context.Context, c *kit.Call, opt *keepaliveOptions) error {
	every := 30 * time.Second
	if text := opt.Interval; text != "" || c.IsSet(&opt.Interval) {
		const least = 1000
		ms, err := strconv.Atoi(text)
		if err != nil || ms < least {
			return kit.Usagef("keepalive: --interval %s: want a whole number of milliseconds, at least %d", kit.Clean(text), least)
		}
		every = time.Duration(ms) * time.Millisecond
	}
	w, err := c.World(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	var failed error
	k := monitor.Keepalive{
		Presence: w.Presence, Servers: func() []tmux.Server { return observe.Servers(os.Getenv) }, Every: every,
		Kept: func(s *presence.Session) {
			sayKept(c, s)
			if err := c.Flush(); err != nil {
				failed = err
			}
		},
		Problem: func(err error) { c.Warn("%s", kit.Clean(err.Error())) },
	}
	if opt.Once {
		if err := k.Pass(ctx); err != nil {
			return err
		}
		return failed
	}
	if c.Under == kit.Tutti { // it may print nothing for hours
		c.Remark("looking every %s, and when tmux says that something has changed; Ctrl-C ends it", every)
	}
	return k.Run(ctx)
}

// A keptSession is a session that is kept live, one a line.
type keptSession struct {
	Instance  string `json:"instance"` // the agent
	SessionID string `json:"sessionId"`
	Pane      string `json:"pane"` // the tmux pane
}

func sayKept(c *kit.Call, s *presence.Session) {
	if c.Under == kit.Tutti && c.JSON {
		c.ResultLine(keptSession{string(s.Instance), string(s.SessionID), s.Launch.Tmux.Pane})
		return
	}
	c.Line(kit.Name(s.Instance) + " " + kit.Clean(string(s.SessionID)) + " " + kit.Clean(s.Launch.Tmux.Pane))
}
