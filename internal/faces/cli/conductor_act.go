package cli

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/keyring"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/governance/conductor"
	"tutti/internal/sessions/tracker"
)

func runConductorClaim(ctx context.Context, c *Call) error {
	return c.sit(ctx, (*conductor.Service).Claim)
}

func runConductorRelease(ctx context.Context, c *Call) error {
	return c.sit(ctx, (*conductor.Service).Release)
}

// sit takes or gives up the seat and says who conducts then.
func (c *Call) sit(ctx context.Context, do func(*conductor.Service, context.Context, conductor.Request, time.Time) (*conductor.Resolution, error)) error {
	where, err := c.workspace()
	if err != nil {
		return err
	}
	w, err := c.world(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	s := conductor.Request{Where: where}
	if s.Instance, err = c.inOwnName(ctx, w); err != nil {
		return err
	}
	if s.Key, err = w.Ring.Load(s.Instance); errors.Is(err, keyring.ErrNoKey) {
		s.Key, err = nil, nil
	}
	if err != nil {
		return err
	}
	if s.Key == nil {
		c.warn("the key of %s is not here: what is written is not signed", Clean(string(s.Instance)))
	}
	r, err := do(w.Conductor(), ctx, s, time.Now())
	if err != nil {
		return c.conductorFault(err)
	}
	if !r.Wrote && !c.json {
		c.remark(map[bool]string{true: "%s claims nothing there: there was nothing to give up", false: "%s had claimed already: nothing has changed"}[c.Verb.Halt == Ends], Clean(string(s.Instance)))
	}
	c.showConductor(r, where)
	same := func(i address.Instance) bool { return i.Canonical() == s.Instance.Canonical() }
	if place := slices.IndexFunc(r.Next, same); place >= 0 && !c.json {
		c.remark("%s follows, with %d before it", Clean(string(s.Instance)), place+1)
	}
	return nil
}

func (c *Call) conductorFault(err error) error {
	code := exitState
	if c.under == H2A {
		code = exitUsage // the only one that its users know here
	}
	if none, ok := errors.AsType[*conductor.NotLiveError](err); ok {
		return &fault{code: code, err: none, hint: none.Hint()}
	}
	if bad, ok := errors.AsType[*conductor.KeyError](err); ok {
		return &fault{code: code, err: bad, hint: bad.Hint()}
	}
	if busy, ok := errors.AsType[*conductor.BusyError](err); ok {
		return &fault{code: code, err: busy, hint: busy.Hint()}
	}
	if errors.Is(err, registry.ErrGone) {
		return &fault{code: code, err: err, hint: hintOf(err)}
	}
	return c.registryFault(err)
}

// inOwnName is in whose name something is written that concerns others: who speaks here, or whom --instance names. An agent speaks for
// itself and its subagents alone; a person for those agents whose keys are here.
func (c *Call) inOwnName(ctx context.Context, w *app.World) (address.Instance, error) {
	own, nobody := c.peek(ctx, w)
	i := c.value("instance")
	if i == "" {
		if c.under == H2A {
			return "", c.missing("instance")
		}
		if nobody != nil {
			return "", whose(nobody)
		}
		return own.Instance, nil
	}
	who, err := c.checked(ctx, w, i)
	if err != nil {
		return "", err
	}
	agent := nobody == nil && own.Instance.Canonical().Host() != identity.Human
	switch {
	case agent && !identity.Covers(own.Instance, who):
		return "", refuse("leave --instance out: "+string(own.Instance)+" speaks here", "nothing is done in the name of %s by another agent", Clean(string(who)))
	case !agent && c.under != H2A && !w.Ring.Has(who):
		return "", refuse(`"tutti keys list" shows the agents whose keys are here`, "the key of %s is not here: it is not yours to speak for", Clean(string(who)))
	}
	return who, nil
}

// advice asks who conducts and what is known of the work.
func (c *Call) advice(ctx context.Context, w *app.World) (*conductor.Check, error) {
	idle, err := conductor.Idle(c.value("idle-ms"))
	if err != nil || c.isSet("idle-ms") && c.value("idle-ms") == "" {
		return nil, usageHint("--idle-ms 86400000 is a day", "--idle-ms: a number of milliseconds above 0, not %s", Clean(c.text("idle-ms")))
	}
	where, err := c.workspace()
	if err != nil {
		return nil, err
	}
	r := &conductor.Resolution{Workspace: string(where.Derived)}
	if w != nil {
		if r, err = w.Conductor().Resolve(ctx, where, time.Now()); err != nil {
			return nil, err
		}
	}
	id := where.ID
	if id == "" {
		id = r.Workspace
	}
	act, err := activity(ctx, id, idle)
	if err != nil && (c.verbose || !c.json && r.Conductor == "") { // else it makes no difference
		c.remark("%s", Clean(err.Error()))
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return conductor.Advise(id, r, act), nil
}

// activity is what is known of the work in a workspace, nil where nothing is.
func activity(ctx context.Context, id string, idle float64) (*conductor.Activity, error) {
	raw, err := tracker.Program{}.Activity(ctx, id, conductor.IdleText(idle))
	if err != nil {
		return nil, err
	}
	return conductor.ParseActivity(raw)
}

func runConductorCheck(ctx context.Context, c *Call) error {
	w, err := c.reads()
	if err != nil {
		return err
	}
	if w != nil {
		defer w.Close()
	}
	check, err := c.advice(ctx, w)
	if err != nil {
		return err
	}
	if check.Recommendation == conductor.AdviseLaunch {
		c.remark(`DRY-RUN: nothing was sent; %s`, `"tutti conductor launch --confirm" asks a remote agent to start a conductor`)
	}
	if c.json {
		c.emit(check.JSON())
		return nil
	}
	c.line("advice: " + check.Recommendation + "; " + Clean(check.Reason))
	c.showStalled(&check.Activity)
	return nil
}

func (c *Call) showStalled(a *conductor.Activity) {
	var rows [][]string
	for _, s := range a.Stalled {
		rows = append(rows, []string{s.ID, s.Title, s.Reason, s.Since})
	}
	c.table(rows)
	if a.More > 0 {
		c.line("and " + strconv.Itoa(a.More) + " more")
	}
}

func runConductorLaunch(ctx context.Context, c *Call) error {
	w, err := c.world(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	check, err := c.advice(ctx, w)
	if err != nil {
		return err
	}
	l := conductor.Launch{Check: check, Confirm: c.on("confirm"), Remote: address.Instance(c.value("remote")), Leases: w.Store, Holder: "process " + strconv.Itoa(os.Getpid())}
	if l.Remote != "" {
		if err := address.Check(string(l.Remote)); err != nil {
			return usagef("--remote: %s", Clean(err.Error()))
		}
	}
	if l.Confirm && check.Recommendation == conductor.AdviseLaunch && (c.under != H2A || c.value("instance") != "") {
		if l.From, err = c.inOwnName(ctx, w); err != nil {
			return err
		}
	}
	office, err := w.MailService()
	if err != nil {
		return err
	}
	l.Deliver = func(ctx context.Context, to address.Instance, raw []byte) error {
		_, err := office.Send(ctx, mail.Draft{
			From: &identity.Speaker{Instance: l.From}, To: to, Raw: raw, Exact: true, Deposit: true, Unsigned: true,
		})
		return err
	}
	o, err := w.Conductor().Launch(ctx, l, time.Now())
	switch {
	case errors.Is(err, conductor.ErrNoSender):
		return c.missing("instance")
	case err != nil:
		return c.conductorFault(err)
	}
	if c.json {
		c.emit(o.JSON())
		return nil
	}
	c.sayLaunch(o, check)
	return nil
}

func (c *Call) sayLaunch(o *conductor.Outcome, check *conductor.Check) {
	switch o.Action {
	case conductor.DidNothing:
		c.line("nothing to ask for: " + Clean(check.Reason))
	case conductor.DidCool:
		c.line("a conductor was asked for at " + Clean(o.Last) + ": not again within 30 minutes")
	case conductor.DidPreview:
		c.line("would ask for a conductor: " + Clean(check.Reason))
		c.showStalled(&check.Activity)
		c.line("nothing was sent: --confirm sends it")
	case conductor.DidNotFind:
		c.line("no live remote agent is here to be asked: --remote ID names one")
	case conductor.DidEmit:
		c.line("asked " + Clean(string(o.To)) + " to start a conductor")
	}
}
