package setup

import (
	"context"
	"errors"
	"strings"

	"tutti/internal/app/full"
	"tutti/internal/attention/notice"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
)

// A noticeTest is what "notice test" prints with --json.
type noticeTest struct {
	OK       bool         `json:"ok"` // every channel accepted it
	Channels []noticeSent `json:"channels"`
}

// A noticeSent is what one channel answered.
type noticeSent struct {
	Channel  string `json:"channel"`
	Accepted bool   `json:"accepted"`
	Error    string `json:"error,omitempty"`
}

// NoticeVerbs are the verbs on notices.
var NoticeVerbs = []kit.Verb{{
	Name: "notice test", Under: kit.Tutti, Group: kit.GroupSetup, Halt: kit.Acts, Waits: true, Run: runNoticeTest, Result: noticeTest{},
	Short: "send a test notice by every channel",
	Does: `Sends a test notice by each channel of the table [notify] of the settings, and prints what each one answered. Each has
10 s. Quiet hours do not count.`,
	Wont:     "It does not need tutti up, and does not try again.",
	Examples: "$ tutti notice test\n$ tutti notice test --json",
	Exit:     "0 every channel accepted it; 1 wrong usage, or wrong settings; 2 a channel did not accept it, or there is none; 130 interrupted",
	See:      "up, doctor",
}, {
	Name: "notice list", Under: kit.Tutti, Group: kit.GroupSetup, Halt: kit.Reads, Run: runNoticeList, Result: []notice.Message{},
	Short:    "list the last notices, and which channels took them",
	Does:     "Lists the last 50 notices that tutti up made, the newest first, and for each channel whether it accepted the notice.",
	Examples: "$ tutti notice list\n$ tutti notice list --json",
	Exit:     "0 done; 1 wrong usage, or wrong settings; 3 a file could not be read",
	See:      "up, status, log",
}}

func runNoticeTest(ctx context.Context, c *kit.Call) error {
	s := service(c)
	d, _, err := full.Notices(c.App, kit.FactsOf(c.App).Env, full.TerminalOf(s.Out, s.Columns))
	if d == nil {
		return err
	}
	r := noticeTest{OK: len(d.Channels) > 0, Channels: []noticeSent{}}
	for _, one := range d.Channels {
		err := one.Ready()
		if err == nil {
			err = one.Send(ctx, notice.TestMessage())
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		sent := noticeSent{Channel: one.Name(), Accepted: err == nil}
		if err != nil {
			r.OK, sent.Error = false, kit.Clean(err.Error())
		}
		r.Channels = append(r.Channels, sent)
	}
	if c.JSON {
		c.Result(r)
	} else {
		var rows [][]string
		for _, s := range r.Channels {
			answer := "accepted"
			if !s.Accepted {
				answer = "not accepted: " + s.Error
			}
			rows = append(rows, []string{s.Channel, answer})
		}
		c.Facts(rows)
		if len(rows) == 0 {
			c.Nothing("no channel is on in the table [notify] of the settings")
		}
	}
	if !r.OK {
		return &kit.Fault{Code: kit.ExitState}
	}
	return nil
}

func runNoticeList(_ context.Context, c *kit.Call) error {
	d, _, err := full.Notices(c.App, kit.FactsOf(c.App).Env, nil)
	if err != nil {
		return err
	}
	last := d.Last()
	if c.JSON {
		c.Result(render.List(last))
		return nil
	}
	if len(last) == 0 {
		c.Nothing("no notices yet")
		return nil
	}
	var rows [][]string
	for i := range last {
		m := &last[i]
		how := []string{}
		for _, t := range m.Tries {
			word := t.Channel + " " + t.State
			if t.Error != "" {
				word += " (" + t.Error + ")"
			}
			how = append(how, word)
		}
		if len(how) == 0 {
			how = []string{"no channel"}
		}
		rows = append(rows, []string{m.At.Local().Format("2006-01-02 15:04:05"), kit.Clean(m.Title), kit.Clean(strings.Join(how, ", "))})
	}
	c.Rows(rows)
	return nil
}

// checkNotices says by which channels notices are sent, what leaves the machine, and which channel did not accept its last notice.
func checkNotices(c *kit.Call, r *report) {
	d, config, err := full.Notices(c.App, kit.FactsOf(c.App).Env, nil)
	if d == nil {
		return // the settings are named as a fault
	}
	if err != nil {
		r.tell("notices", errors.Join(err).Error()+"; notices begin anew", "tutti notice list")
	}
	var on []string
	for _, one := range d.Channels {
		name := one.Name()
		if d, ok := one.(notice.Desktop); ok && !d.There() {
			name += " (there is no desktop here)"
		}
		on = append(on, name)
		if n, ok := one.(notice.Ntfy); ok && config.Enabled {
			r.tell("notices", "names of agents and what happened to them are sent to "+n.Host()+", no texts", "")
		}
	}
	if !config.Enabled || len(on) == 0 {
		on = []string{"off"}
	}
	r.tell("notices", strings.Join(on, ", "), "")
	for _, t := range d.Refusing() {
		r.tell("notices", t.Channel+" did not accept the last notice ("+t.State+"): "+t.Error, "tutti notice test")
	}
}
