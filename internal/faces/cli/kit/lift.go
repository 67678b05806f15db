package kit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/identity"
	"tutti/internal/core/address"
	"tutti/internal/halt"
	"tutti/internal/platform/notify"
)

// ForUser refuses below an agent CLI what only the user does. Every verb that acts for the user asks here first.
func (c *Call) ForUser(action string) (*identity.Caller, error) {
	who, err := FactsOf(c.App).ForUser(action)
	if err == nil {
		return who, nil
	}
	f := &Fault{Code: ExitUsage, Err: err, Next: HintOf(err)}
	if c.Under == Tutti {
		f.Msg = c.Verb.Name
	}
	return nil, f
}

// UserReads tells whether what is printed is read by the user at a terminal, who may be told how to lift a halt.
func (c *Call) UserReads() bool { return c.App != nil && FactsOf(c.App).Attended() }

// BelowAgent tells whether what is printed may be read by an agent.
func (c *Call) BelowAgent() bool {
	if c.App == nil {
		return false
	}
	_, err := FactsOf(c.App).ForUser("")
	return err != nil
}

// LiftOf describes a lift by that caller.
func LiftOf(who *identity.Caller) halt.Lift {
	l := halt.Lift{At: time.Now(), How: halt.WithoutTerminal, Chain: who.Chain}
	if who.Terminal {
		l.How = halt.AtTerminal
	}
	return l
}

// Announce shows a notice that a halt or a pause ended. Where there is no desktop, status and hooks still say it.
func Announce(ctx context.Context, l halt.Lift) {
	_, _ = notify.Desktop{}.Say(ctx, "tutti", l.Text())
}

// A pauseOptions says what to pause.
type pauseOptions struct {
	Agent, Folder string
	Reason        string
}

// A PauseResult is what pause and unpause print for programs.
type PauseResult struct {
	OK     bool         `json:"ok"`
	Paused bool         `json:"paused"`
	Pause  halt.Pause   `json:"pause"`
	All    []halt.Pause `json:"pauses"`
}

func RunPause(ctx context.Context, c *Call) error {
	o, err := c.paused(ctx)
	if err != nil {
		return err
	}
	o.Reason = strings.Join(c.Args[1:], " ")
	if _, err := c.ForUser("pause another agent or a folder"); err != nil {
		if own, e := c.ownAgent(ctx); e != nil || own == "" || o.Folder != "" || own.Canonical() != address.Instance(o.Agent).Canonical() {
			return err
		}
	}
	p, err := halt.SetPause(o.Agent, o.Folder, o.Reason)
	if err != nil {
		return FailIO("", err, "pause %s", Clean(c.Arg(0)))
	}
	return c.sayPause(p, true)
}

// ownAgent is the agent below which the command runs.
func (c *Call) ownAgent(ctx context.Context) (address.Instance, error) {
	w, err := c.World(app.Reading)
	if err != nil {
		return "", err
	}
	defer w.Close()
	return w.Identity.Above(ctx, FactsOf(c.App), time.Now())
}

// EndPause ends the pause that the first argument names, and returns it. Only the user may.
func EndPause(ctx context.Context, c *Call) (p halt.Pause, err error) {
	who, err := c.ForUser("end a pause")
	if err != nil {
		return p, err
	}
	o, err := c.paused(ctx)
	if err != nil {
		return p, err
	}
	p = halt.Pause{Agent: o.Agent, Folder: o.Folder}
	l := LiftOf(who)
	recorded, err := halt.ClearPause(p, l)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return p, BadState(`"tutti status" shows what is paused`, "unpause %s: it is not paused", Clean(c.Arg(0)))
		}
		return p, FailIO("", err, "unpause %s", Clean(c.Arg(0)))
	}
	if l.Pause = p.What(); !recorded {
		c.Warn("the end of the pause was not recorded")
	}
	Announce(ctx, l)
	return p, c.sayPause(p, false)
}

// sayPause prints a pause that began or ended.
func (c *Call) sayPause(p halt.Pause, on bool) error {
	if c.JSON {
		r := PauseResult{OK: true, Paused: on, Pause: p, All: halt.Pauses()}
		if r.All == nil {
			r.All = []halt.Pause{}
		}
		c.Result(r)
		return nil
	}
	if !on {
		c.Line("✓ " + Clean(c.App.Shown(p.What())) + " is no longer paused")
		return nil
	}
	c.Line("✓ " + Clean(c.PauseText(p)))
	c.Prose("- ", 2, "Hooks deny the next tool call there; other agents go on. An agent CLI without hooks of tutti is not reached.")
	return nil
}

func (c *Call) PauseText(p halt.Pause) string {
	text := c.App.Shown(p.What()) + " is paused"
	if !p.Since.IsZero() {
		text += " since " + Clock(p.Since, time.Now())
	}
	if p.Reason != "" {
		text += ": " + p.Reason
	}
	if p.Folder != "" {
		text = "folder " + text
	}
	if p.Problem != "" {
		text += " (" + p.Problem + "; it counts all the same)"
	}
	return text
}

// paused reads which agent or folder the first argument names: what has a slash, or is "." or "..", is a folder; what has a colon
// is an agent; another name is a folder that exists here, else an agent.
func (c *Call) paused(ctx context.Context) (o pauseOptions, err error) {
	name := c.Arg(0)
	folder := name
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(c.App.Workplace().Path, folder)
	}
	real, err := filepath.EvalSymlinks(folder)
	switch {
	case err == nil && (strings.Contains(name, "/") || name == "." || name == ".." || !strings.Contains(name, ":")):
		if st, e := os.Stat(real); e == nil && !st.IsDir() {
			return o, Usagef("%s: is not a folder", Clean(name))
		}
		o.Folder = real
		return o, nil
	case strings.HasPrefix(name, "/") && c.Verb.Name == "unpause": // the folder is gone
		o.Folder = filepath.Clean(name)
		return o, nil
	case strings.Contains(name, "/") || name == "." || name == "..":
		return o, Usagef("%s: there is no such folder", Clean(name))
	}
	if err := address.Check(name); err != nil {
		return o, Usagef("%s: %s", c.Verb.Name, Clean(err.Error()))
	}
	w, err := c.World(app.Reading)
	if err != nil {
		return o, err
	}
	defer w.Close()
	who, err := w.Identity.Named(ctx, name)
	if err != nil {
		return o, fmt.Errorf("%s: %w", c.Verb.Name, err)
	}
	if c.Verb.Name == "pause" && !w.Ring.Has(who) {
		return o, BadState(`"tutti keys list" shows the agents whose keys are here`, "pause: no agent of yours is called %s", Clean(name))
	}
	o.Agent = string(who)
	return o, nil
}

// maxNews is how many lifts status shows: first those without a terminal, which may be an agent's, then the newest.
const maxNews = 5

// SayLifts prints the lifts that the user has not seen: one line for those of one kind, the newest. They stay until the user has seen
// them at a terminal.
func (c *Call) SayLifts(all []halt.Lift, end int64) {
	if len(all) == 0 {
		return
	}
	type kind struct{ pause, how string }
	times := map[kind]int{}
	var shown []halt.Lift
	for _, l := range slices.Backward(all) {
		k := kind{l.Pause, l.How}
		if times[k]++; times[k] == 1 {
			shown = append(shown, l)
		}
	}
	slices.SortStableFunc(shown, func(a, b halt.Lift) int { return cmp.Compare(ownLift(a), ownLift(b)) })
	c.Line("")
	for i := range shown[:min(maxNews, len(shown))] {
		text := shown[i].Short()
		if n := times[kind{shown[i].Pause, shown[i].How}]; n > 1 {
			text += fmt.Sprintf(" (the last of %d times)", n)
		}
		c.Prose("", 0, Clean(text))
	}
	if more := len(shown) - maxNews; more > 0 {
		c.Prose("", 0, fmt.Sprintf("and %d more; ~/.local/state/tutti/lifts has all of them", more))
	}
	if c.UserReads() {
		_ = halt.Seen(end)
	}
}

// ownLift is 1 for a lift in an interactive shell, which is the user's own, and 0 for others.
func ownLift(l halt.Lift) int {
	if l.How == halt.AtTerminal {
		return 1
	}
	return 0
}
