package cli

import (
	"context"
	"os"
	"strconv"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/presence"
	"tutti/internal/core/canonjson"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/lifecycle"
)

var keepaliveVerbs = []Verb{{
	Name: "keepalive", Under: Tutti | H2A, Group: GroupSessions, Halt: Reads, Waits: true, Rare: true, Bus: true, Run: runKeepalive,
	Short: "keep agents in tmux present on the bus",
	Flags: []Flag{
		{Name: "interval", Kind: Text, Value: "ms", Default: "30000", Help: "milliseconds between two looks, at least 1000"},
		{Name: "once", Kind: TrueSwitch, Help: "look once and end"},
	},
	Does: `Says of those agents that they are there whose pane of tmux, as their session on the bus names it, still runs their own program:
the process of the session, or a program of its kind that was there when the session began. It prints a line for each: agent, session,
pane. It looks every 30 seconds, and when tmux says that something has changed, until it is interrupted.

The panes are those of all tmux servers of yours that run where tmux keeps its sockets (TMUX_TMPDIR), and of the one around.`,
	Wont: "It keeps nobody because a pane is there: a pane outlives its program, and its number comes again. Sessions that were closed, or come from another machine, stay as they are.",
	Examples: `$ tutti keepalive --once
$ h2a keepalive --interval 10000`,
	Exit: "0 --once, and it has looked; 1 wrong usage; 2 there is no bus; 3 a file could not be read or written; 130 interrupted",
	See:  "sessions, session monitor",
}}

func runKeepalive(ctx context.Context, c *Call) error {
	every := 30 * time.Second
	if text := c.value("interval"); text != "" || c.isSet("interval") {
		const least = 1000
		ms, err := strconv.Atoi(text)
		if err != nil || ms < least {
			return usagef("keepalive: --interval %s: want a whole number of milliseconds, at least %d", Clean(text), least)
		}
		every = time.Duration(ms) * time.Millisecond
	}
	w, err := c.world(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	var failed error
	k := lifecycle.Keepalive{
		Presence: w.Presence, Servers: func() []tmux.Server { return lifecycle.Servers(os.Getenv) }, Every: every,
		Kept: func(s *presence.Session) {
			c.sayKept(s)
			if err := c.flush(); err != nil {
				failed = err
			}
		},
		Problem: func(err error) { c.warn("%s", Clean(err.Error())) },
	}
	if c.on("once") {
		if err := k.Pass(ctx); err != nil {
			return err
		}
		return failed
	}
	if c.under == Tutti { // it may have nothing to say for hours
		c.remark("looking every %s, and when tmux says that something has changed; Ctrl-C ends it", every)
	}
	return k.Run(ctx)
}

func (c *Call) sayKept(s *presence.Session) {
	if c.under == Tutti && c.json {
		var o canonjson.Object
		o.Str("instance", string(s.Instance))
		o.Str("sessionId", string(s.SessionID))
		o.Str("pane", s.Launch.Tmux.Pane)
		c.out = append(append(c.out, o.Bytes()...), '\n')
		return
	}
	c.line(Clean(string(s.Instance)) + " " + Clean(string(s.SessionID)) + " " + Clean(s.Launch.Tmux.Pane))
}
