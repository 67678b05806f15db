package setup

import (
	"context"
	"errors"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/presence"
	"tutti/internal/core/canonjson"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/halt"
	"tutti/internal/platform/gitexclude"
	"tutti/internal/sessions/agentproc"
	"tutti/internal/store"
	"tutti/internal/store/filestore"
)

// A finding is one thing that doctor looked at.
type finding struct {
	Name    string `json:"name"`
	State   string `json:"state"` // "ok", "warning" or "failed"
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"` // what to type
}

// A warning is a finding in the form that h2a prints.
type warning struct {
	Type     string     `json:"type"`
	Path     string     `json:"path,omitempty"`
	Kind     string     `json:"kind,omitempty"`
	Count    int        `json:"count,omitempty"`
	Examples []string   `json:"examples,omitempty"`
	Buses    []strayBus `json:"buses,omitempty"`
	Message  string     `json:"message"`
}

// An outcome is the result of a check that decides whether the bus is healthy.
type outcome struct {
	OK      bool   `json:"ok"`
	Version string `json:"version,omitempty"`
	Count   *int   `json:"count,omitempty"`
	Message string `json:"message,omitempty"`
}

// A report is what doctor found. The four checks decide whether the bus is healthy; everything else is a warning.
type report struct {
	OK       bool      `json:"ok"`
	Root     string    `json:"root"`
	Warnings []warning `json:"warnings"`
	Checks   struct {
		Root   outcome `json:"rootExists"`
		Schema outcome `json:"schemaSentinel"`
		Live   outcome `json:"liveSessions"`
		Binary outcome `json:"cliBinary"`
	} `json:"checks"`
	RootSource app.Source       `json:"rootSource"`
	Moved      []mailboxFinding `json:"pruned,omitzero"`
	Prune      []mailboxFinding `json:"wouldPrune,omitzero"`
	Findings   []finding        `json:"findings,omitzero"`

	left []agentproc.Agent // processes whose session has ended
}

func (r *report) add(ok bool, name, text, hint string) {
	state := "ok"
	if !ok {
		state, r.OK = "failed", false
	}
	r.Findings = append(r.Findings, finding{name, state, text, hint})
}

// noBus says why the bus was not opened, and what that means for the checks of what is in it.
func (r *report) noBus(err error, rest string) {
	r.Checks.Root.Message, r.Checks.Schema.Message, r.Checks.Live.Message = err.Error(), rest, rest
}

// tell adds what is worth knowing; a hint makes it a warning.
func (r *report) tell(name, text, hint string) {
	state := "ok"
	if hint != "" {
		state = "warning"
	}
	r.Findings = append(r.Findings, finding{name, state, text, hint})
}

// warn adds a warning in both forms.
func (r *report) warn(name, hint string, w warning) {
	r.Warnings = append(r.Warnings, w)
	r.Findings = append(r.Findings, finding{name, "warning", w.Message, hint})
}

type doctorOptions struct {
	Scan                   string
	Prune, Apply, End, Yes bool
}

func runDoctor(ctx context.Context, c *kit.Call, opt *doctorOptions) error {
	if opt.Apply && !opt.Prune {
		return kit.UsageHint("tutti doctor --prune --apply", "--apply goes with --prune")
	}
	root, err := c.App.Root()
	if err != nil {
		return err
	}
	c.SayRoot(root)
	r := newReport(root)
	s, err := examineAll(ctx, c, opt, &r, root)
	if s != nil {
		defer s.Close()
	}
	if err != nil {
		return err
	}
	showReport(c, opt, &r)
	if err := endLeft(ctx, c, opt, &r); err != nil {
		return err
	}
	if !r.OK {
		return &kit.Fault{Code: kit.ExitState}
	}
	return nil
}

func newReport(root *app.Root) report {
	r := report{OK: true, Root: root.Path, Warnings: []warning{}, RootSource: root.Source}
	r.Checks.Live.Count, r.Checks.Binary.OK = new(int), true
	return r
}

// examineAll does every check. The bus that it returns, nil for none, is still open.
func examineAll(ctx context.Context, c *kit.Call, opt *doctorOptions, r *report, root *app.Root) (*filestore.Store, error) {
	if opt.Prune {
		r.Moved, r.Prune = []mailboxFinding{}, []mailboxFinding{}
	}
	s := checkBus(ctx, c, r, root)
	if s != nil {
		if err := checkMailboxes(ctx, c, opt, r, s, root); err != nil {
			return s, err
		}
	}
	if s != nil && c.Under == kit.Tutti {
		checkLookAlikes(ctx, c, r, s, root)
	}
	checkRoots(c, r, root)
	if dir := opt.Scan; dir != "" {
		checkStray(ctx, c, r, dir, root)
	}
	if c.Under == kit.Tutti {
		checkHalt(c, r)
		checkSettings(c, r)
		checkAdded(c, r)
		checkPrograms(ctx, c, r)
		checkHosts(c, r)
		checkDrills(c, r)
		checkSystem(c, r)
		checkUp(c, r, root)
		checkNotices(c, r)
		checkLeft(c, r)
		checkServers(c, r)
	}
	return s, nil
}

// checkBus does the checks that decide, and returns the open bus, nil when there is none that can be read.
func checkBus(ctx context.Context, c *kit.Call, r *report, root *app.Root) *filestore.Store {
	where := c.App.Shown(root.Path) + " (" + root.Source.Why() + ")"
	if app.OnServer(root.Path) {
		checkServer(ctx, c, r, where)
		return nil
	}
	checks := &r.Checks
	s, err := c.App.OpenFolder(app.Reading)
	var schema *filestore.SchemaError
	var none *app.NoBusError
	var unaccepted *app.UnacceptedError
	switch {
	case err == nil:
		checks.Root.OK = true
		r.add(true, "bus", where, "")
	case errors.As(err, &none) && c.Under == kit.Tutti && root.Source == app.FromDefault:
		r.noBus(err, "no bus")
		r.add(true, "bus", "none yet; the first agent that connects makes "+c.App.Shown(root.Path), "")
		return nil
	case errors.As(err, &none):
		r.noBus(err, "no bus")
		r.add(false, "bus", err.Error(), none.Hint())
		return nil
	case errors.As(err, &unaccepted):
		r.noBus(err, "not read")
		r.add(false, "bus", err.Error(), unaccepted.Hint())
		return nil
	case errors.As(err, &schema):
		checks.Root.OK, checks.Schema.Version = true, schema.Found
		checks.Schema.Message, checks.Live.Message = err.Error(), "not read"
		r.add(true, "bus", where, "")
		r.add(false, "schema", err.Error(), schema.Hint())
		return nil
	case c.Under == kit.Tutti && app.Blocked(root.Path):
		r.noBus(err, "not read")
		r.add(false, "bus", c.App.Shown(root.Path)+" is not a folder, so there cannot be a bus", app.UnblockHint(root.Path))
		return nil
	default:
		r.noBus(err, "not read")
		r.add(false, "bus", err.Error(), "")
		return nil
	}
	if c.Under == kit.Tutti && !gitexclude.Ignored(root.Path) {
		r.tell("git", c.App.Shown(root.Path)+" is in a git work tree without a .gitignore: git add would include its private keys",
			"tutti init --root "+app.QuoteArg(root.Path))
	}
	checkSentinel(ctx, c, r, s)
	checkPlaces(c, r, root.Path)
	checkLive(ctx, r, s)
	return s
}

// checkPlaces names what lies where a folder or a log of the bus should, and is not one.
func checkPlaces(c *kit.Call, r *report, root string) {
	for _, u := range filestore.Misplaced(root) {
		r.tell("places", c.App.Shown(u.Where)+" "+u.Why, "move it away; tutti makes folders and logs again when it needs them")
	}
}

// checkServer looks at a bus on a server, which has no files to be checked.
func checkServer(ctx context.Context, c *kit.Call, r *report, where string) {
	checks := &r.Checks
	s, err := c.App.Open(app.Reading)
	if err != nil {
		r.noBus(err, "not read")
		r.add(false, "bus", err.Error(), "")
		return
	}
	defer s.Close()
	checks.Root.OK, checks.Schema.OK = true, true
	r.add(true, "bus", where, "")
	checkLive(ctx, r, s)
}

func checkLive(ctx context.Context, r *report, s store.Docs) {
	live, err := presence.New(s).Fresh(ctx, time.Now())
	check := &r.Checks.Live
	*check.Count = len(live)
	if check.OK = err == nil; err != nil {
		check.Message = err.Error()
		r.add(false, "sessions", err.Error(), "")
	} else {
		r.add(true, "sessions", kit.Plural(len(live), "live connection"), "")
	}
}

func checkSentinel(ctx context.Context, c *kit.Call, r *report, s store.Reader) {
	doc, err := s.Get(ctx, store.Key{Kind: store.Schema})
	if err != nil {
		r.Checks.Schema.Message = "sentinel: " + err.Error()
		r.add(false, "schema", r.Checks.Schema.Message, `"tutti init" writes it`)
		return
	}
	raw, _ := canonjson.Get(doc.Data, "version")
	r.Checks.Schema.Version, _ = canonjson.String(raw)
	r.Checks.Schema.OK = true
	r.add(true, "schema", "version "+r.Checks.Schema.Version, "")
}

// checkRoots reports where the root comes from, and other buses in play.
func checkRoots(c *kit.Call, r *report, root *app.Root) {
	if root.Source == app.FromDefault {
		r.warn("root", "", warning{Type: "rootSource", Message: "the default bus, which all your projects share; \"tutti init .\" makes one for this folder"})
		if c.Under == kit.Tutti {
			r.Findings[len(r.Findings)-1].State = "ok" // a warning only for programs of h2a
		}
	}
	for _, other := range c.App.OtherRoots() {
		hint := "agents that use it are not seen here: --root " + app.QuoteArg(other)
		for _, p := range root.Passed {
			if p.Path == other {
				hint = p.Hint()
			}
		}
		r.warn("root", hint, warning{Type: "splitBrain", Path: other, Message: "another bus is in play: " + other})
	}
	if _, err := c.App.Roots(); err != nil {
		r.tell("root", err.Error(), "chmod 600 ~/.local/state/tutti/roots, after a look at who wrote it")
	}
}

func checkHalt(c *kit.Call, r *report) {
	state := halt.Read()
	if !state.Halted {
		r.tell("halt", "not halted", "")
		return
	}
	text := strings.TrimPrefix(kit.BannerText(state), "⚠ ")
	switch {
	case c.Under == kit.Tutti && state.Repair() != "":
		text = "halted, because the halt switch is a folder"
	case c.Under == kit.Tutti && state.Unreadable:
		text = "halted, because the halt switch " + state.Path + " cannot be read: " + state.Problem
	}
	hint := ""
	if c.UserReads() {
		hint = kit.LiftHint(state)
	}
	r.Findings = append(r.Findings, finding{"halt", "warning", text, hint})
}

// showReport prints the report for people or for programs.
func showReport(c *kit.Call, opt *doctorOptions, r *report) {
	if c.JSON {
		if c.Under != kit.Tutti {
			r.Findings = nil
		}
		c.Result(r)
		return
	}
	marks := map[string]string{"ok": c.Paint(kit.Green, "✓"), "warning": c.Paint(kit.Yellow, "⚠"), "failed": c.Paint(kit.Red, "✗")}
	for _, f := range r.Findings {
		c.Prose(marks[f.State]+" "+kit.Pad(f.Name, 9)+" ", 12, kit.Clean(f.Message))
		for line := range strings.Lines(f.Hint) {
			c.Line("              → " + kit.Folded(kit.Clean(strings.TrimSuffix(line, "\n")), 16, c.Columns))
		}
	}
	showPrune(c, opt, r)
}
