package setup

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
	"tutti/internal/faces/cli/kit"
)

type hostSetupOptions struct {
	Host, Scope, Write                                                         string
	Print, Diff, NoHooks, NoServer, Remove, TrustHooks, NoTrust, Force, NoWake bool
}

// runHostSetup registers the server and the hooks, or takes them out.
func runHostSetup(_ context.Context, c *kit.Call, opt *hostSetupOptions) error {
	if c.Under == kit.H2A {
		return setupAsH2A(c, opt)
	}
	if err := setupFlags(c, opt); err != nil {
		return err
	}
	if opt.Remove && !opt.Diff {
		if _, err := c.ForUser("take tutti out of the settings of agent CLIs"); err != nil {
			return err
		}
	}
	if opt.TrustHooks {
		if _, err := c.ForUser("record that you trust hooks"); err != nil {
			return err
		}
	}
	q, all, err := hostRequest(c, opt)
	if err != nil {
		return err
	}
	switch {
	case opt.Print:
		return printSetup(c, opt, q, all)
	case c.IsSet(&opt.Write):
		return setupOneFile(c, opt, q, all[0])
	}
	var plans []*setup.Plan
	for _, d := range all {
		plan := func() *setup.Plan { return q.Plan(d) }
		if opt.Diff {
			plans = append(plans, plan())
		} else {
			plans = append(plans, q.Do(plan))
		}
	}
	if c.JSON {
		setupJSON(c, opt, q, plans, reviewHooks(c, opt, true, q, all, plans))
		return setupFault(c, plans)
	}
	showSetup(c, opt, q, plans)
	if q.Remove && !opt.Diff {
		showLeft(c, q, plans)
	}
	showReviews(c, reviewHooks(c, opt, true, q, all, plans))
	return setupFault(c, plans)
}

// setupFlags tells which flags do not go together.
func setupFlags(c *kit.Call, opt *hostSetupOptions) error {
	var modes []string
	for _, flag := range [...]any{&opt.Print, &opt.Diff, &opt.Write} {
		if c.IsSet(flag) {
			modes = append(modes, "--"+c.FlagName(flag))
		}
	}
	switch {
	case len(modes) > 1:
		return kit.Usagef("host setup: %s do not go together", strings.Join(modes, " and "))
	case opt.NoHooks && opt.NoServer:
		return kit.Usagef("host setup: --no-hooks and --no-server leave nothing to do")
	case opt.TrustHooks && (opt.Remove || len(modes) > 0 || opt.NoHooks || opt.Scope == driver.Project.String()):
		return kit.Usagef("host setup: --trust-hooks is for hooks that are installed, in the settings of the user")
	case opt.Remove && (opt.Print || c.IsSet(&opt.Write)):
		return kit.Usagef("host setup: --remove and %s do not go together", modes[0])
	case c.IsSet(&opt.Write) && (opt.NoServer || opt.Scope == driver.Project.String()):
		return kit.Usagef("host setup: --write puts the server into the one file that it names: --no-server and --scope do not go together with it")
	case c.IsSet(&opt.Write) && !namesHost(c, opt):
		return kit.UsageHint("--host "+strings.Join(kit.HostNames, "|"), "host setup: --write needs to know for which program")
	}
	return nil
}

// hostRequest is what the command line asks for, and of which programs.
func hostRequest(c *kit.Call, opt *hostSetupOptions) (*setup.Request, []*driver.Driver, error) {
	q := &setup.Request{
		Server: !opt.NoServer, Hooks: !opt.NoHooks, Force: opt.Force, Remove: opt.Remove, NoTrust: opt.NoTrust, Distrust: opt.NoTrust, Now: time.Now(),
		Root: kit.AbsoluteRoot(c.RootFlag()),
	}
	if _, err := c.ForUser("have tools called without asking"); err != nil {
		q.NoTrust = true // an agent gives itself no rights
	}
	home, err := c.App.Home()
	if err != nil {
		return nil, nil, kit.FailIO("", err, "")
	}
	q.Place = driver.Site{Home: home, Env: os.Getenv}
	if q.Place.Dir, err = os.Getwd(); err != nil {
		return nil, nil, kit.FailIO("", err, "")
	}
	if opt.Scope == driver.Project.String() {
		q.Scope = driver.Project
	}
	if q.Command, err = ownCommand(home); err != nil {
		return nil, nil, kit.FailIO(kit.InstallHint, err, "find our own program")
	}
	all, err := hostsMeant(c, opt, q.Place, q.Scope)
	return q, all, err
}

// hostsMeant are the programs of --host: one, or those that are found, and where something is taken away all of them, of those that
// have settings of that scope.
func hostsMeant(c *kit.Call, opt *hostSetupOptions, p driver.Site, scope driver.Scope) (all []*driver.Driver, err error) {
	if d, ok := driver.Get(opt.Host); ok {
		return []*driver.Driver{d}, nil
	}
	for _, d := range driver.All() {
		_, serves := d.Servers.File(scope)
		_, hooks := d.Hooks.File(scope)
		if (serves || hooks) && (opt.Remove || isHere(d, p)) {
			all = append(all, d)
		}
	}
	if len(all) == 0 {
		return nil, kit.Refuse("tutti "+c.Verb.Name+" --host claude", "no agent CLI is on the PATH; name one to set it up before you install it: %s", strings.Join(kit.HostNames, ", "))
	}
	return all, nil
}

// ownCommand is our program by the path that is most likely to stay: the one where install puts it, or the one in PATH, if they
// are this very program or a copy of it; else where it lies.
func ownCommand(home string) (string, error) {
	daemon, err := kit.FullPath()
	if err != nil {
		return "", err
	}
	self := filepath.Join(filepath.Dir(daemon), "tutti")
	paths := []string{filepath.Join(home, ".local/bin/tutti")}
	if path, err := exec.LookPath("tutti"); err == nil && filepath.IsAbs(path) {
		paths = append(paths, path)
	}
	for _, path := range paths {
		if sameProgram(path, self) {
			return path, nil
		}
	}
	return self, nil
}

// setupFault is what went wrong, of all programs that were asked for.
func setupFault(c *kit.Call, plans []*setup.Plan) error {
	var all []error
	code := kit.ExitState
	hint := ""
	for _, p := range plans {
		if p.Err == nil {
			continue
		}
		fault := hostFault(p.Err)
		if kit.ExitCode(fault, c.Under) == kit.ExitIO {
			code = kit.ExitIO
		}
		if hint == "" {
			hint = kit.HintOf(fault)
		}
		all = append(all, &titled{p.Driver.Title, fault})
	}
	if len(all) == 0 {
		return nil
	}
	return &kit.Fault{Code: code, Err: errors.Join(all...), Next: hint}
}

// A titled error is of one program.
type titled struct {
	title string
	err   error
}

func (t *titled) Error() string { return t.title + ": " + t.err.Error() }
func (t *titled) Unwrap() error { return t.err }

// hostFault gives an error of package setup its exit status: the state of settings, or files that cannot be reached.
func hostFault(err error) error {
	if _, ok := errors.AsType[*setup.StateError](err); ok {
		return &kit.Fault{Code: kit.ExitState, Err: err, Next: kit.HintOf(err)}
	}
	return kit.FailIO(kit.HintOf(err), err, "")
}
