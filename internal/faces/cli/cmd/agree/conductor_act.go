package agree

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"time"

	"tutti/internal/app"
	"tutti/internal/app/full"
	"tutti/internal/bus/keyring"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/governance/conductor"
)

type claimOptions struct {
	seatOptions
	Instance string
}

func runConductorClaim(ctx context.Context, c *kit.Call, opt *claimOptions) error {
	return sit(ctx, c, opt, (*conductor.Service).Claim)
}

func runConductorRelease(ctx context.Context, c *kit.Call, opt *claimOptions) error {
	return sit(ctx, c, opt, (*conductor.Service).Release)
}

// sit claims or releases the conductor role, and shows who conducts then.
func sit(ctx context.Context, c *kit.Call, opt *claimOptions, do func(*conductor.Service, context.Context, conductor.Request, time.Time) (*conductor.Resolution, error)) error {
	where, err := workspace(c, &opt.seatOptions)
	if err != nil {
		return err
	}
	w, err := c.World(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	s := conductor.Request{Where: where, Early: c.Under == kit.H2A}
	if s.Instance, err = inOwnName(ctx, c, w, opt.Instance); err != nil {
		return err
	}
	if s.Key, err = w.Ring.Load(s.Instance); errors.Is(err, keyring.ErrNoKey) {
		s.Key, err = nil, nil
	}
	if err != nil {
		return err
	}
	if s.Key == nil {
		c.Warn("the key of %s is not here: what is written is not signed", kit.Name(s.Instance))
	}
	r, err := do(full.Conductor(w), ctx, s, time.Now())
	if err != nil {
		return conductorFault(c, err)
	}
	if !r.Wrote && !c.JSON {
		c.Remark(map[bool]string{true: "%s claims nothing there: there was nothing to give up", false: "%s had claimed already: nothing has changed"}[c.Verb.Halt == kit.Ends], kit.Name(s.Instance))
	}
	showConductor(c, r, where)
	same := func(i address.Instance) bool { return i.Canonical() == s.Instance.Canonical() }
	if place := slices.IndexFunc(r.Next, same); place >= 0 && !c.JSON {
		c.Remark("%s follows, with %d before it", kit.Name(s.Instance), place+1)
	}
	return nil
}

func conductorFault(c *kit.Call, err error) error {
	code := kit.ExitState
	if c.Under == kit.H2A {
		code = kit.ExitUsage // the only status that its users know here
	}
	if none, ok := errors.AsType[*conductor.NotLiveError](err); ok {
		return &kit.Fault{Code: code, Err: none, Next: none.Hint()}
	}
	if bad, ok := errors.AsType[*conductor.KeyError](err); ok {
		return &kit.Fault{Code: code, Err: bad, Next: bad.Hint()}
	}
	if busy, ok := errors.AsType[*conductor.BusyError](err); ok {
		return &kit.Fault{Code: code, Err: busy, Next: busy.Hint()}
	}
	if errors.Is(err, registry.ErrGone) {
		return &kit.Fault{Code: code, Err: err, Next: kit.HintOf(err)}
	}
	return c.RegistryFault(err)
}

// inOwnName returns the agent that writes something that concerns others: the named one, if its key is here, else the one that speaks here.
func inOwnName(ctx context.Context, c *kit.Call, w *app.World, instance string) (address.Instance, error) {
	who, err := c.Actor(ctx, w, instance)
	if err == nil && c.Under != kit.H2A && instance != "" {
		err = w.Identity.Holds(who)
	}
	return who, kit.Whose(err)
}

type checkOptions struct {
	seatOptions
	IdleMS string
}

// advice checks who conducts and which work is stalled.
func advice(ctx context.Context, c *kit.Call, w *app.World, opt *checkOptions) (*conductor.Check, error) {
	idle, err := conductor.Idle(opt.IdleMS)
	if err != nil || c.IsSet(&opt.IdleMS) && opt.IdleMS == "" {
		return nil, kit.UsageHint("--idle-ms 86400000 is a day", "--idle-ms: a number of milliseconds above 0, not %s", kit.Clean(opt.IdleMS))
	}
	where, err := workspace(c, &opt.seatOptions)
	if err != nil {
		return nil, err
	}
	check, silent, err := full.Advice(ctx, w, where, idle)
	if silent != nil && (c.Verbose || !c.JSON && check.Conductor == "") { // otherwise the advice is the same
		c.Remark("%s", kit.Clean(silent.Error()))
	}
	return check, err
}

func runConductorCheck(ctx context.Context, c *kit.Call, opt *checkOptions) error {
	w, err := c.Reads()
	if err != nil {
		return err
	}
	if w != nil {
		defer w.Close()
	}
	check, err := advice(ctx, c, w, opt)
	if err != nil {
		return err
	}
	if check.Recommendation == conductor.AdviseLaunch {
		c.Remark(`DRY-RUN: nothing was sent; %s`, `"tutti conductor launch --confirm" asks a remote agent to start a conductor`)
	}
	if c.JSON {
		c.Result(check.View())
		return nil
	}
	c.Line("advice: " + check.Recommendation + "; " + kit.Clean(check.Reason))
	showStalled(c, &check.Activity)
	return nil
}

func showStalled(c *kit.Call, a *conductor.Activity) {
	var rows [][]string
	for _, s := range a.Stalled {
		rows = append(rows, []string{s.ID, s.Title, s.Reason, s.Since})
	}
	c.Rows(rows)
	if a.More > 0 {
		c.Line("and " + strconv.Itoa(a.More) + " more")
	}
}

type launchOptions struct {
	checkOptions
	Confirm          bool
	Remote, Instance string
}

func runConductorLaunch(ctx context.Context, c *kit.Call, opt *launchOptions) error {
	w, err := c.World(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	check, err := advice(ctx, c, w, &opt.checkOptions)
	if err != nil {
		return err
	}
	l := conductor.Launch{Check: check, Confirm: opt.Confirm, Remote: address.Instance(opt.Remote), Leases: w.Store, Holder: "process " + strconv.Itoa(os.Getpid())}
	if l.Remote != "" {
		if err := address.Check(string(l.Remote)); err != nil {
			return kit.Usagef("--remote: %s", kit.Clean(err.Error()))
		}
	}
	if l.Confirm && check.Recommendation == conductor.AdviseLaunch && (c.Under != kit.H2A || opt.Instance != "") {
		if l.From, err = inOwnName(ctx, c, w, opt.Instance); err != nil {
			return err
		}
	}
	office, err := w.MailService()
	if err != nil {
		return err
	}
	l.Deliver = full.LaunchMail(office, &l)
	o, err := full.Conductor(w).Launch(ctx, l, time.Now())
	switch {
	case errors.Is(err, conductor.ErrNoSender):
		return c.Missing(&opt.Instance)
	case err != nil:
		return conductorFault(c, err)
	}
	if c.JSON {
		c.Result(o.View())
		return nil
	}
	sayLaunch(c, o, check)
	return nil
}

func sayLaunch(c *kit.Call, o *conductor.Outcome, check *conductor.Check) {
	switch o.Action {
	case conductor.DidNothing:
		c.Line("nothing to ask for: " + kit.Clean(check.Reason))
	case conductor.DidCool:
		c.Line("a conductor was asked for at " + kit.Clean(o.Last) + ": not again within 30 minutes")
	case conductor.DidPreview:
		c.Line("would ask for a conductor: " + kit.Clean(check.Reason))
		showStalled(c, &check.Activity)
		c.Line("nothing was sent: --confirm sends it")
	case conductor.DidNotFind:
		c.Line("no live remote agent is here to be asked: --remote ID names one")
	case conductor.DidEmit:
		c.Line("asked " + kit.Name(o.To) + " to start a conductor")
	}
}
