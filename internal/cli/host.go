package cli

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/canonjson"
	"tutti/internal/driver"
	"tutti/internal/host"
)

// HostVerbs are the verbs about agent programs. What can edit their settings is too large for the light program, and comes in.
func HostVerbs(edit host.Editor) Heavy {
	return Heavy{
		{Name: "host setup", Run: func(_ context.Context, c *Call) error { return runHostSetup(c, edit) }},
		{Name: "host status", Run: func(ctx context.Context, c *Call) error { return runHostStatus(ctx, c, edit) }},
		{Name: "host plugin", Run: func(_ context.Context, c *Call) error { return runHostPlugin(c, edit) }},
	}
}

// runHostSetup registers the server and the hooks, or takes them out.
func runHostSetup(c *Call, edit host.Editor) error {
	if c.under == H2A {
		return c.setupAsH2A(edit)
	}
	if err := c.setupFlags(); err != nil {
		return err
	}
	q, all, err := c.hostRequest(edit)
	if err != nil {
		return err
	}
	switch {
	case c.on("print"):
		return c.printSetup(q, all)
	case c.isSet("write"):
		return c.setupFile(q, all[0])
	}
	var plans []*host.Plan
	for _, d := range all {
		plan := func() *host.Plan { return q.Plan(d) }
		if c.on("diff") {
			plans = append(plans, plan())
		} else {
			plans = append(plans, q.Do(plan))
		}
	}
	if c.json {
		c.setupJSON(q, plans)
	} else {
		c.showSetup(q, plans)
	}
	return c.setupFault(plans)
}

// setupFlags tells which flags do not go together.
func (c *Call) setupFlags() error {
	var modes []string
	for _, name := range [...]string{"print", "diff", "write"} {
		if c.isSet(name) {
			modes = append(modes, "--"+name)
		}
	}
	switch {
	case len(modes) > 1:
		return usagef("host setup: %s do not go together", strings.Join(modes, " and "))
	case c.on("no-hooks") && c.on("no-server"):
		return usagef("host setup: --no-hooks and --no-server leave nothing to do")
	case c.on("remove") && (c.on("print") || c.isSet("write")):
		return usagef("host setup: --remove and %s do not go together", modes[0])
	case c.isSet("write") && (c.on("no-server") || c.text("scope") == driver.Project.String()):
		return usagef("host setup: --write puts the server into the one file that it names: --no-server and --scope do not go together with it")
	case c.isSet("write") && !c.namesHost():
		return usageHint("--host "+strings.Join(hostNames, "|"), "host setup: --write needs to know for which program")
	}
	return nil
}

// hostRequest is what the command line asks for, and of which programs.
func (c *Call) hostRequest(edit host.Editor) (*host.Request, []*driver.Driver, error) {
	q := &host.Request{
		Edit: edit, Server: !c.on("no-server"), Hooks: !c.on("no-hooks"), Force: c.on("force"), Remove: c.on("remove"), Now: time.Now(),
		Root: absoluteRoot(c.rootFlag()),
	}
	home, err := c.App.Home()
	if err != nil {
		return nil, nil, failIO("", err, "")
	}
	q.Place = driver.Place{Home: home, Env: os.Getenv}
	if q.Place.Dir, err = os.Getwd(); err != nil {
		return nil, nil, failIO("", err, "")
	}
	if c.text("scope") == driver.Project.String() {
		q.Scope = driver.Project
	}
	if q.Command, err = ownCommand(home); err != nil {
		return nil, nil, failIO(installHint, err, "find our own program")
	}
	all, err := c.hostsMeant(q.Place, q.Scope)
	return q, all, err
}

// hostsMeant are the programs of --host: one, or those that are found, and where something is taken away all of them, of those that
// have settings of that scope.
func (c *Call) hostsMeant(p driver.Place, scope driver.Scope) (all []*driver.Driver, err error) {
	if d, ok := driver.Get(c.text("host")); ok {
		return []*driver.Driver{d}, nil
	}
	for _, d := range driver.All() {
		_, serves := d.Servers.File(scope)
		_, hooks := d.Hooks.File(scope)
		if (serves || hooks) && (c.on("remove") || isHere(d, p)) {
			all = append(all, d)
		}
	}
	if len(all) == 0 {
		return nil, refuse("tutti "+c.Verb.Name+" --host claude", "no agent program was found here; name one: %s", strings.Join(hostNames, ", "))
	}
	return all, nil
}

// absoluteRoot is a bus as it can be named anywhere.
func absoluteRoot(root string) string {
	if root == "" || strings.Contains(root, "://") {
		return root
	}
	if abs, err := filepath.Abs(root); err == nil {
		return abs
	}
	return root
}

// ownCommand is our program by the path that is most likely to stay: the one where install puts it, or the one in PATH, if they
// are this very program; else where it lies.
func ownCommand(home string) (string, error) {
	daemon, err := daemonPath()
	if err != nil {
		return "", err
	}
	self := filepath.Join(filepath.Dir(daemon), "tutti")
	paths := []string{filepath.Join(home, ".local/bin/tutti")}
	if path, err := exec.LookPath("tutti"); err == nil && filepath.IsAbs(path) {
		paths = append(paths, path)
	}
	for _, path := range paths {
		if app.SameFile(path, self) {
			return path, nil
		}
	}
	return self, nil
}

// setupFault is what went wrong, of all programs that were asked for.
func (c *Call) setupFault(plans []*host.Plan) error {
	var all []error
	code := exitState
	hint := ""
	for _, p := range plans {
		if p.Err == nil {
			continue
		}
		fault := hostFault(p.Err)
		if exitCode(fault, c.under) == exitIO {
			code = exitIO
		}
		if hint == "" {
			hint = hintOf(fault)
		}
		all = append(all, &titled{p.Driver.Title, fault})
	}
	if len(all) == 0 {
		return nil
	}
	return &fault{code: code, err: errors.Join(all...), hint: hint}
}

// A titled error is of one program.
type titled struct {
	title string
	err   error
}

func (t *titled) Error() string { return t.title + ": " + t.err.Error() }
func (t *titled) Unwrap() error { return t.err }

// hostFault gives an error of package host its exit status: the state of settings, or files that cannot be reached.
func hostFault(err error) error {
	if _, ok := errors.AsType[*host.StateError](err); ok {
		return &fault{code: exitState, err: err, hint: hintOf(err)}
	}
	return failIO(hintOf(err), err, "")
}

// showSetup tells a person what was done, or with --diff what would be.
func (c *Call) showSetup(q *host.Request, plans []*host.Plan) {
	before := len(c.out)
	for _, p := range plans {
		if c.on("diff") {
			c.showDiff(q, p)
		} else {
			c.showPlan(q, p)
		}
	}
	changed := slices.ContainsFunc(plans, (*host.Plan).Changed)
	failed := slices.ContainsFunc(plans, func(p *host.Plan) bool { return p.Err != nil })
	switch {
	case changed && !failed && !q.Remove && !c.on("diff"):
		skills := "tutti install-skills"
		if q.Scope == driver.Project {
			skills += " --scope project"
		}
		c.line("→ " + folded(`"`+skills+`" teaches the models when to use it; "tutti host status" looks whether all is well`, 2, c.columns))
	case changed || failed:
	case c.on("diff"):
		c.remark("nothing would change")
	case q.Remove && len(c.out) == before:
		c.line("nothing of ours is in the settings of any agent program")
	}
}

// callable tells whether a program can be called.
func callable(d *driver.Driver) bool {
	_, err := exec.LookPath(d.Program)
	return err == nil
}

// namesHost tells whether one program was asked for, and not those that are found.
func (c *Call) namesHost() bool { return c.isSet("host") && c.text("host") != everyHost }

func (c *Call) showPlan(q *host.Request, p *host.Plan) {
	var rows [][]string
	for _, ch := range p.Changes {
		if p.Err != nil && !ch.Written() {
			continue
		}
		for i, did := range ch.Did {
			path := c.App.Shown(ch.Path)
			if i > 0 {
				path = ""
			}
			rows = append(rows, []string{"  " + path, did})
		}
		if ch.Backup != "" {
			rows = append(rows, []string{"", "before: " + c.App.Shown(ch.Backup)})
		}
	}
	if p.Err == nil {
		for _, r := range p.Remarks {
			rows = append(rows, []string{"  note", r})
		}
	}
	state := ""
	switch {
	case p.Err != nil && len(rows) == 0:
		state = "nothing was changed, see below"
	case p.Err != nil:
		state = "only in part, see below"
	case q.Remove && !p.Changed():
		if len(p.Remarks) == 0 && !c.namesHost() {
			return // it may not even be installed
		}
		state = "nothing of ours is there"
	case !p.Changed():
		state = "already so"
	case !q.Remove:
		next := "sessions of " + p.Driver.Title + " that run now know it after a restart"
		if !callable(p.Driver) {
			next = p.Driver.Title + " was not found in PATH; it reads this once it is there"
		}
		for _, n := range append(p.Notes(), next) {
			rows = append(rows, []string{"  next", n})
		}
	}
	if state != "" {
		state = ": " + state
	}
	c.line(c.paint(bold, p.Driver.Title) + state)
	c.facts(rows)
}

// showDiff prints what would change, in the form that patch reads.
func (c *Call) showDiff(q *host.Request, p *host.Plan) {
	for _, ch := range p.Changes {
		if p.Err != nil || !ch.Changed() {
			continue
		}
		from, to := Clean(ch.Path), Clean(ch.Path)
		if ch.Before == nil {
			from = os.DevNull
		}
		if ch.After == nil {
			to = os.DevNull
		}
		c.line(c.paint(bold, "--- "+from))
		c.line(c.paint(bold, "+++ "+to))
		for line := range strings.Lines(q.Edit.Diff(ch.Before, ch.After)) {
			c.line(c.diffLine(strings.TrimSuffix(line, "\n")))
		}
	}
	for _, r := range p.Remarks {
		c.remark("%s: %s", p.Driver.Title, Clean(r))
	}
}

// diffLine shows a line of a difference. Tabs and the end of a line stay as they are: patch compares them.
func (c *Call) diffLine(line string) string {
	line, end := strings.CutSuffix(line, "\r")
	parts := strings.Split(line, "\t")
	for i, p := range parts {
		parts[i] = Clean(p)
	}
	if line = strings.Join(parts, "\t"); end {
		line += "\r"
	}
	switch {
	case strings.HasPrefix(line, "+"):
		return c.paint(green, line)
	case strings.HasPrefix(line, "-"):
		return c.paint(red, line)
	}
	return line
}

// setupJSON says the same for programs.
func (c *Call) setupJSON(q *host.Request, plans []*host.Plan) {
	var hosts list
	ok := true
	for _, p := range plans {
		var files list
		for _, ch := range p.Changes {
			var o canonjson.Object
			o.Str("path", ch.Path)
			does := p.Err == nil && ch.Changed() || ch.Written()
			o.Bool("changed", does)
			if does {
				o.Strs("did", ch.Did)
			} else {
				o.Strs("did", nil)
			}
			o.Opt("backup", ch.Backup)
			if c.on("diff") && p.Err == nil {
				o.Str("diff", q.Edit.Diff(ch.Before, ch.After))
			}
			files.obj(&o)
		}
		var o canonjson.Object
		o.Str("host", p.Driver.Name)
		o.Bool("ok", p.Err == nil)
		o.Bool("installed", callable(p.Driver))
		o.Bool("changed", p.Err == nil && p.Changed())
		o.Raw("files", files.bytes())
		o.Strs("remarks", p.Remarks)
		if p.Err != nil {
			ok = false
			o.Str("error", p.Err.Error())
		} else if !q.Remove {
			o.Strs("next", p.Notes())
		}
		hosts.obj(&o)
	}
	var o canonjson.Object
	o.Bool("ok", ok)
	o.Str("scope", q.Scope.String())
	o.Str("command", q.Command)
	o.Raw("hosts", hosts.bytes())
	c.emit(o.Bytes())
}

// printSetup prints what belongs into each file, as it would stand in an empty one.
func (c *Call) printSetup(q *host.Request, all []*driver.Driver) error {
	var rows list
	for _, d := range all {
		snippets, err := q.Snippets(d)
		if err != nil {
			return hostFault(err)
		}
		if p := q.Plan(d); len(snippets) == 0 && c.namesHost() && p.Err != nil {
			return hostFault(p.Err)
		}
		for _, s := range snippets {
			if !c.json {
				c.line("# " + d.Title + ": " + c.App.Shown(s.Path))
				c.out = append(c.out, s.Text...)
				continue
			}
			var o canonjson.Object
			o.Str("host", d.Name)
			o.Str("path", s.Path)
			o.Str("text", string(s.Text))
			rows.obj(&o)
		}
	}
	if c.json {
		c.emit(rows.bytes())
	}
	return nil
}

// setupFile puts the server into one file that the user names.
func (c *Call) setupFile(q *host.Request, d *driver.Driver) error {
	path, err := filepath.Abs(c.text("write"))
	if err != nil {
		return failIO("", err, "")
	}
	p := q.Do(func() *host.Plan { return q.PlanFile(d, path) })
	if c.json {
		c.setupJSON(q, []*host.Plan{p})
	} else {
		c.showPlan(q, p)
	}
	return c.setupFault([]*host.Plan{p})
}
