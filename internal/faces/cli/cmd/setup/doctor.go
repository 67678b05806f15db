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
	name  string
	state string // "ok", "warning" or "failed"
	text  string
	hint  string // what to type
}

// A report is what doctor found. The four checks decide whether the bus is healthy; everything else is a warning.
type report struct {
	findings []finding
	warnings kit.List // for programs, in the form that h2a prints
	failed   bool

	rootOK, schemaOK, liveOK    bool
	rootText, schemaText, liveT string
	version                     string
	live                        int

	prune []mailboxFinding
	moved []mailboxFinding
	left  []agentproc.Agent // processes whose session has ended
}

func (r *report) add(ok bool, name, text, hint string) {
	state := "ok"
	if !ok {
		state, r.failed = "failed", true
	}
	r.findings = append(r.findings, finding{name, state, text, hint})
}

// tell adds what is worth knowing; a hint makes it a warning.
func (r *report) tell(name, text, hint string) {
	state := "ok"
	if hint != "" {
		state = "warning"
	}
	r.findings = append(r.findings, finding{name, state, text, hint})
}

// warn adds a warning in both forms. more holds members of its own.
func (r *report) warn(kind, name, text, hint string, more func(*canonjson.Object)) {
	var o canonjson.Object
	o.Str("type", kind)
	if more != nil {
		more(&o)
	}
	o.Str("message", text)
	r.warnings.Obj(&o)
	r.findings = append(r.findings, finding{name, "warning", text, hint})
}

func runDoctor(ctx context.Context, c *kit.Call) error {
	if c.On("apply") && !c.IsSet("prune") {
		return kit.UsageHint("tutti doctor --prune --apply", "--apply goes with --prune")
	}
	root, err := c.App.Root()
	if err != nil {
		return err
	}
	c.SayRoot(root)
	var r report
	s := checkBus(ctx, c, &r, root)
	if s != nil {
		defer s.Close()
		if err := checkMailboxes(ctx, c, &r, s, root); err != nil {
			return err
		}
	}
	checkRoots(c, &r, root)
	if dir := c.Text("scan"); dir != "" && dir != "true" {
		checkStray(ctx, c, &r, dir, root)
	}
	if c.Under == kit.Tutti {
		checkHalt(c, &r)
		checkSettings(c, &r)
		checkPrograms(ctx, c, &r)
		checkHosts(c, &r)
		checkSystem(c, &r)
		checkUp(c, &r, root)
		checkLeft(c, &r)
		checkServers(c, &r)
	}
	showReport(c, &r, root)
	if err := endLeft(ctx, c, &r); err != nil {
		return err
	}
	if r.failed {
		return &kit.Fault{Code: kit.ExitState}
	}
	return nil
}

// checkBus does the checks that decide, and returns the open bus, nil when there is none that can be read.
func checkBus(ctx context.Context, c *kit.Call, r *report, root *app.Root) *filestore.Store {
	where := c.App.Shown(root.Path) + " (" + root.Source.Why() + ")"
	if app.OnServer(root.Path) {
		checkServer(ctx, c, r, where)
		return nil
	}
	s, err := c.App.OpenFolder(app.Reading)
	var schema *filestore.SchemaError
	var none *app.NoBusError
	switch {
	case err == nil:
		r.rootOK = true
		r.add(true, "bus", where, "")
	case errors.As(err, &none):
		r.rootText, r.schemaText, r.liveT = err.Error(), "no bus", "no bus"
		r.add(false, "bus", err.Error(), none.Hint())
		return nil
	case errors.As(err, &schema):
		r.rootOK, r.version, r.schemaText, r.liveT = true, schema.Found, err.Error(), "not read"
		r.add(true, "bus", where, "")
		r.add(false, "schema", err.Error(), schema.Hint())
		return nil
	default:
		r.rootText, r.schemaText, r.liveT = err.Error(), "not read", "not read"
		r.add(false, "bus", err.Error(), "")
		return nil
	}
	if c.Under == kit.Tutti && !gitexclude.Ignored(root.Path) {
		r.tell("git", c.App.Shown(root.Path)+" lies in a git work tree without a .gitignore: git add would take its private keys along",
			"tutti init --root "+app.QuoteArg(root.Path))
	}
	checkSentinel(ctx, c, r, s)
	checkLive(ctx, r, s)
	return s
}

// checkServer looks at a bus on a server, which has no files to be checked.
func checkServer(ctx context.Context, c *kit.Call, r *report, where string) {
	s, err := c.App.Open(app.Reading)
	if err != nil {
		r.rootText, r.schemaText, r.liveT = err.Error(), "not read", "not read"
		r.add(false, "bus", err.Error(), "")
		return
	}
	defer s.Close()
	r.rootOK, r.schemaOK = true, true
	r.add(true, "bus", where, "")
	checkLive(ctx, r, s)
}

func checkLive(ctx context.Context, r *report, s store.Docs) {
	live, err := presence.New(s).Fresh(ctx, time.Now())
	r.live = len(live)
	if r.liveOK = err == nil; !r.liveOK {
		r.liveT = err.Error()
		r.add(false, "sessions", r.liveT, "")
	} else {
		r.add(true, "sessions", kit.Plural(r.live, "live session"), "")
	}
}

func checkSentinel(ctx context.Context, c *kit.Call, r *report, s store.Reader) {
	doc, err := s.Get(ctx, store.Key{Kind: store.Schema})
	if err != nil {
		r.schemaText = "sentinel: " + err.Error()
		r.add(false, "schema", r.schemaText, `"tutti init" writes it`)
		return
	}
	raw, _ := canonjson.Get(doc.Data, "version")
	r.version, _ = canonjson.String(raw)
	r.schemaOK = true
	r.add(true, "schema", "version "+r.version, "")
}

// checkRoots reports where the root comes from, and other buses in play.
func checkRoots(c *kit.Call, r *report, root *app.Root) {
	if root.Source == app.FromDefault {
		r.warn("rootSource", "root", "the default bus, which all your projects share; \"tutti init .\" makes one for this folder", "", nil)
		if c.Under == kit.Tutti {
			r.findings[len(r.findings)-1].state = "ok" // a warning only for programs of h2a
		}
	}
	for _, other := range c.App.OtherRoots() {
		hint := "agents that use it are not seen here: --root " + app.QuoteArg(other)
		for _, p := range root.Passed {
			if p.Path == other {
				hint = p.Hint()
			}
		}
		r.warn("splitBrain", "root", "another bus is in play: "+other, hint, func(o *canonjson.Object) { o.Str("path", other) })
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
	hint := ""
	if c.UserReads() {
		hint = `"tutti resume" lets the agents go on`
	}
	r.tell("halt", strings.TrimPrefix(kit.BannerText(state), "⚠ "), hint)
}

// showReport prints the report for people or for programs.
func showReport(c *kit.Call, r *report, root *app.Root) {
	if c.JSON {
		c.Emit(reportJSON(c, r, root))
		return
	}
	marks := map[string]string{"ok": c.Paint(kit.Green, "✓"), "warning": c.Paint(kit.Yellow, "⚠"), "failed": c.Paint(kit.Red, "✗")}
	for _, f := range r.findings {
		c.Prose(marks[f.state]+" "+kit.Pad(f.name, 9)+" ", 12, kit.Clean(f.text))
		for line := range strings.Lines(f.hint) {
			c.Line("              → " + kit.Folded(kit.Clean(strings.TrimSuffix(line, "\n")), 16, c.Columns))
		}
	}
	showPrune(c, r)
}

func reportJSON(c *kit.Call, r *report, root *app.Root) []byte {
	check := func(ok bool, message string, more func(*canonjson.Object)) []byte {
		var o canonjson.Object
		o.Bool("ok", ok)
		if more != nil {
			more(&o)
		}
		o.Opt("message", message)
		return o.Bytes()
	}
	var checks canonjson.Object
	checks.Raw("rootExists", check(r.rootOK, r.rootText, nil))
	checks.Raw("schemaSentinel", check(r.schemaOK, r.schemaText, func(o *canonjson.Object) { o.Opt("version", r.version) }))
	checks.Raw("liveSessions", check(r.liveOK, r.liveT, func(o *canonjson.Object) { o.Int("count", int64(r.live)) }))
	checks.Raw("cliBinary", check(true, "", nil))
	var o canonjson.Object
	o.Bool("ok", !r.failed)
	o.Str("root", root.Path)
	o.Raw("warnings", r.warnings.Bytes())
	o.Raw("checks", checks.Bytes())
	o.Str("rootSource", string(root.Source))
	if c.IsSet("prune") {
		o.Raw("pruned", pruneJSON(r.moved))
		o.Raw("wouldPrune", pruneJSON(r.prune))
	}
	if c.Under == kit.Tutti {
		var l kit.List
		for _, f := range r.findings {
			var one canonjson.Object
			one.Str("name", f.name)
			one.Str("state", f.state)
			one.Str("message", f.text)
			one.Opt("hint", f.hint)
			l.Obj(&one)
		}
		o.Raw("findings", l.Bytes())
	}
	return o.Bytes()
}
