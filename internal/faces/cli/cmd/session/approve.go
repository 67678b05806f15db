package session

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/attention/approval"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
)

// ApproveVerbs answer the dialogs of agent CLIs.
var ApproveVerbs = []kit.Verb{
	{
		Name: "approve", Under: kit.Tutti, Group: kit.GroupTogether, Halt: kit.Acts, MaxArgs: 1, Opts: kit.WithFlags(runApprove),
		Result: render.OneOf{[]approval.Request{}, []approval.Decision{}, decided{}},
		Short:  "let an agent use the tool that it asks you for",
		Args:   "[<id>]",
		Flags: []kit.Flag{
			{Name: "option", Kind: kit.Text, Value: "option", Help: "another answer than yes: one of those that the list shows, such as always"},
			{Name: "full", Kind: kit.Switch, Help: "list all lines that an agent asks to write, not only the first 20"},
			{Name: "decisions", Kind: kit.Switch, Help: "list the last answers that were given this way"},
		},
		Does: `Answers the dialog that an agent CLI shows, from here: the tool runs, or the agent gets the answer to its question.
Without an id it lists what waits. The dialog stays usable meanwhile; the first answer counts. It says "done" when the
agent CLI has gone on.

It works for Claude Code, opencode, and Codex with its background server, whose hooks tutti host setup has installed. For
other agent CLIs, answer at their own dialog: tutti session attach.`,
		Wont:     "It is refused below an agent CLI. It types no keys into a dialog.",
		Examples: "$ tutti approve\n$ tutti approve 3f9c01b7\n$ tutti approve 3f9c01b7 --option always",
		Exit:     "0 done, or listed; 1 wrong usage, or you may not; 2 it does not wait any more, takes a yes only at its dialog, or the agent CLI has not gone on; 3 a file could not be written; 5 halted",
		See:      "deny, status, top, session attach",
	},
	{
		Name: "deny", Under: kit.Tutti, Group: kit.GroupTogether, Halt: kit.Acts, MinArgs: 1, MaxArgs: -1, Run: runDeny,
		Result:   decided{},
		Short:    "refuse the tool that an agent asks you for",
		Args:     "<id> [<reason>]",
		Does:     "Answers the dialog that an agent CLI shows with no. The agent goes on without the tool. The model reads the reason, but that of Codex does not.",
		Wont:     "It is refused below an agent CLI. It does not end the turn of Claude Code; opencode ends it.",
		Examples: "$ tutti deny 3f9c01b7 'use the staging database'",
		Exit:     "0 done; 1 wrong usage, or you may not; 2 it does not wait any more, or the agent CLI has not gone on; 3 a file could not be written; 5 halted",
		See:      "approve",
	},
	detachedVerb,
}

type approveOptions struct {
	Option    string
	Full      bool
	Decisions bool
}

// A decided is what became of an answer.
type decided struct {
	ID     string `json:"id"`
	CLI    string `json:"cli"`
	Tool   string `json:"tool"`
	About  string `json:"about"`
	Option string `json:"option"`
	Done   bool   `json:"done"` // the agent CLI has gone on
}

func runApprove(ctx context.Context, c *kit.Call, opt *approveOptions) error {
	state, err := c.App.StateDir()
	if err != nil {
		return kit.FailIO("", err, "")
	}
	if opt.Decisions {
		return listDecisions(c, state)
	}
	if c.Arg(0) == "" {
		return listApprovals(c, state, opt.Full)
	}
	option := opt.Option
	if option == "" {
		option = approval.Allow
	}
	return decide(ctx, c, state, approval.Answer{Option: option})
}

func runDeny(ctx context.Context, c *kit.Call) error {
	state, err := c.App.StateDir()
	if err != nil {
		return kit.FailIO("", err, "")
	}
	return decide(ctx, c, state, approval.Answer{Option: approval.Deny, Text: strings.Join(c.Args[1:], " ")})
}

// faceVariable says which face runs the verb.
const faceVariable = "TUTTI_FACE"

// How long the hook may take to take an answer, and its agent CLI to go on.
const (
	takeTime = 5 * time.Second
	goesTime = 5 * time.Second
	lookStep = 50 * time.Millisecond
)

// decide gives an answer, and waits until the agent CLI has gone on.
func decide(ctx context.Context, c *kit.Call, state string, a approval.Answer) error {
	who, err := c.ForUser("answer what an agent asks its user")
	if err != nil {
		return err
	}
	id := c.Args[0]
	r, err := approval.Find(state, id)
	if err != nil {
		return kit.BadState("tutti approve lists what waits", "%s: %v", kit.Clean(id), err)
	}
	a.By, a.Face, a.At = "without a terminal", "shell", time.Now().UTC()
	if who.Terminal {
		a.By = "at a terminal"
	}
	switch face := os.Getenv(faceVariable); face {
	case "top":
		a.Face, a.By = face, "by a key"
	case "web":
		a.Face, a.By = face, "by a button"
	}
	switch err := approval.Give(state, id, a); {
	case errors.Is(err, approval.ErrOption) && deniesOnly(r):
		return kit.BadState("look at its dialog: tutti session attach", "%s: %s", r.ID, dialogOnly)
	case errors.Is(err, approval.ErrOption):
		return kit.UsageHint("one of: "+optionsOf(r), "%s: no such answer", kit.Clean(a.Option))
	case errors.Is(err, approval.ErrGone), errors.Is(err, approval.ErrAnswered):
		return kit.BadState("tutti approve lists what waits", "%s: %v", kit.Clean(id), err)
	case err != nil:
		return kit.FailIO("", err, "")
	}
	d := decided{ID: r.ID, CLI: r.CLI, Tool: r.Tool, About: r.About, Option: a.Option}
	d.Done = until(ctx, takeTime, func() bool { return !approval.Open(state, id) }) && approval.Took(state, id) && until(ctx, goesTime, func() bool { return !asking(c, r) })
	if c.JSON {
		c.Result(d)
	} else {
		sayDecided(c, &d, r)
	}
	if !d.Done {
		return kit.BadState("look at its dialog: tutti session attach", "%s has not gone on with this answer to %s: it may have been answered at the dialog", titleOf(r.CLI), kit.Clean(id))
	}
	return nil
}

// until asks again and again until yes, for a time at most.
func until(ctx context.Context, limit time.Duration, yes func() bool) bool {
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	tick := time.NewTicker(lookStep)
	defer tick.Stop()
	for !yes() {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
	return true
}

// asking tells whether an agent CLI says of itself that its dialog is still open. One that says nothing has taken the answer of its hook.
func asking(c *kit.Call, r *approval.Request) bool {
	d, ok := driver.Get(r.CLI)
	home, err := c.App.Home()
	if !ok || err != nil || d.Life.Sheet == nil {
		return false
	}
	s, ok := fast.SheetAt(d, d.Life.Sheet(driver.Site{Home: home, Env: os.Getenv}, r.PID))
	return ok && s.PID == r.PID && s.Doing == driver.Asking
}

func titleOf(cli string) string {
	if d, ok := driver.Get(cli); ok {
		return d.Title
	}
	return kit.Clean(cli)
}

func sayDecided(c *kit.Call, d *decided, r *approval.Request) {
	if !d.Done {
		return
	}
	what := "done: "
	switch n := slices.IndexFunc(r.Options, func(o approval.Option) bool { return o.ID == d.Option }); {
	case d.Option == approval.Deny:
		what += titleOf(d.CLI) + " does not run " + kit.Clean(d.Tool)
	case d.Option == approval.Allow, d.Option == approval.Always:
		what += titleOf(d.CLI) + " runs " + kit.Clean(d.Tool)
	default:
		what += titleOf(d.CLI) + " has the answer \"" + kit.Clean(r.Options[n].Label) + "\""
	}
	c.Prose("", 2, what+": "+kit.Clean(d.About))
}

func optionsOf(r *approval.Request) string {
	var all []string
	for _, o := range r.Options {
		all = append(all, kit.Clean(o.ID)+" ("+kit.Clean(o.Label)+")")
	}
	return strings.Join(all, ", ")
}

// dialogOnly is said of a request that takes nothing but a no from elsewhere.
const dialogOnly = "yes only at its dialog, because not all of it can be shown here"

func deniesOnly(r *approval.Request) bool {
	return !slices.ContainsFunc(r.Options, func(o approval.Option) bool { return o.ID != approval.Deny })
}

// listApprovals prints what waits, each with the commands that answer it.
func listApprovals(c *kit.Call, state string, full bool) error {
	all, err := approval.List(state)
	if err != nil {
		return kit.FailIO("", err, "")
	}
	if c.JSON {
		c.Result(render.List(all))
		return nil
	}
	if len(all) == 0 {
		c.Nothing("no agent waits for an approval that can be given from here")
		return nil
	}
	for i := range all {
		r := &all[i]
		c.Prose("", 2, kit.Clean(r.Title(""))+" ("+kit.Clean(cmp.Or(r.Instance, r.CLI+" in "+c.App.Shown(r.Dir)))+", "+kit.Ago(time.Since(r.At))+")")
		showChange(c, r.Change, full)
		if deniesOnly(r) {
			c.Prose("  ", 2, "tutti deny "+r.ID+"    "+dialogOnly)
		} else {
			c.Line("  tutti approve " + r.ID + "    tutti deny " + r.ID)
		}
		if others := others(r); others != "" {
			c.Prose("  ", 2, "--option: "+others)
		}
	}
	return nil
}

// shownChange is how many lines of a change the list has.
const shownChange = 20

// showChange prints what an agent asks to write.
func showChange(c *kit.Call, text string, full bool) {
	all := approval.ChangeLines(text)
	shown := all
	if len(all) > shownChange && !full {
		shown = all[:shownChange]
	}
	for _, line := range shown {
		switch line.Sign {
		case '-':
			line.Text = c.Paint(kit.Red, line.Text)
		case '+':
			line.Text = c.Paint(kit.Green, line.Text)
		}
		c.Line("    " + line.Text)
	}
	if rest := len(all) - len(shown); rest > 0 {
		c.Line("    … " + kit.Plural(rest, "more line") + ": tutti approve --full")
	}
}

// others are the options beside yes and no.
func others(r *approval.Request) string {
	var all []string
	for _, o := range r.Options {
		if o.ID != approval.Allow && o.ID != approval.Deny {
			all = append(all, kit.Clean(o.ID)+" ("+kit.Clean(o.Label)+")")
		}
	}
	return strings.Join(all, ", ")
}

const shownDecisions = 50

// listDecisions prints who answered what.
func listDecisions(c *kit.Call, state string) error {
	all, err := approval.Decisions(state, shownDecisions)
	if err != nil {
		return kit.FailIO("", err, "")
	}
	if c.JSON {
		c.Result(render.List(all))
		return nil
	}
	var rows [][]string
	for i := range all {
		d := &all[i]
		rows = append(rows, []string{kit.Clock(d.TakenAt, time.Now()), d.Answer.Option, d.Tool, kit.Clean(d.About), d.Answer.Face + ", " + d.Answer.By})
	}
	if len(rows) == 0 {
		c.Nothing("nothing was approved or denied from here")
	}
	c.Rows(rows)
	return nil
}
