package cli

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/agents/setup"
	"tutti/internal/app"
)

// runHostSetup registers the server and the hooks, or takes them out.
func runHostSetup(_ context.Context, c *Call) error {
	if c.under == H2A {
		return c.setupAsH2A()
	}
	if err := c.setupFlags(); err != nil {
		return err
	}
	if c.on("trust-hooks") {
		if _, err := c.forUser("record that you trust hooks"); err != nil {
			return err
		}
	}
	q, all, err := c.hostRequest()
	if err != nil {
		return err
	}
	switch {
	case c.on("print"):
		return c.printSetup(q, all)
	case c.isSet("write"):
		return c.setupFile(q, all[0])
	}
	var plans []*setup.Plan
	for _, d := range all {
		plan := func() *setup.Plan { return q.Plan(d) }
		if c.on("diff") {
			plans = append(plans, plan())
		} else {
			plans = append(plans, q.Do(plan))
		}
	}
	if c.json {
		c.setupJSON(q, plans, c.reviewHooks(q, all, plans))
		return c.setupFault(plans)
	}
	c.showSetup(q, plans)
	if q.Remove && !c.on("diff") {
		c.showLeft(q, plans)
	}
	c.showReviews(c.reviewHooks(q, all, plans))
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
	case c.on("trust-hooks") && (c.on("remove") || len(modes) > 0 || c.on("no-hooks") || c.text("scope") == driver.Project.String()):
		return usagef("host setup: --trust-hooks is for hooks that are installed, in the settings of the user")
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
func (c *Call) hostRequest() (*setup.Request, []*driver.Driver, error) {
	q := &setup.Request{
		Server: !c.on("no-server"), Hooks: !c.on("no-hooks"), Force: c.on("force"), Remove: c.on("remove"), NoTrust: c.on("no-trust"), Now: time.Now(),
		Root: absoluteRoot(c.rootFlag()),
	}
	home, err := c.App.Home()
	if err != nil {
		return nil, nil, failIO("", err, "")
	}
	q.Place = driver.Site{Home: home, Env: os.Getenv}
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
func (c *Call) hostsMeant(p driver.Site, scope driver.Scope) (all []*driver.Driver, err error) {
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
func (c *Call) setupFault(plans []*setup.Plan) error {
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
	if _, ok := errors.AsType[*setup.StateError](err); ok {
		return &fault{code: exitState, err: err, hint: hintOf(err)}
	}
	return failIO(hintOf(err), err, "")
}
