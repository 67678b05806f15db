package conductor

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/store"
)

const (
	// Cooldown is how long after a request for one workspace there is no other.
	Cooldown = 30 * time.Minute
	// launching is how long one launch keeps others from the same: it takes a moment, and a crash must not keep them for long.
	launching = 30 * time.Second
)

// The outcomes of a launch.
const (
	DidNothing   = "none"
	DidCool      = "cooldown"
	DidPreview   = "would-emit"
	DidNotFind   = "no-remote"
	DidEmit      = "emitted"
	topicLaunch  = "conductor-launch-request"
	hostRemote   = "remote"
	noteConfirm  = "nothing was sent: --confirm (confirm: true) sends the request"
	reasonRemote = `no live session of a remote agent (host "remote") is on this bus; --remote ID names one`
)

// ErrNoSender reports a launch that is confirmed and has no sender.
var ErrNoSender = errors.New("it is not known who asks for the launch")

// A BusyError reports a launch for the same workspace that is under way.
type BusyError struct{ Holder string }

func (e *BusyError) Error() string {
	return "a launch for this workspace is under way, by " + e.Holder
}

// Hint says what to do.
func (e *BusyError) Hint() string { return "look again in half a minute: nothing is asked for twice" }

// A Launch asks an agent that can start others to start one that conducts. Nothing is started here.
type Launch struct {
	Check   *Check
	Confirm bool
	From    address.Instance // the requester; "": none
	Remote  address.Instance // who is asked; "": the remote agent that is there
	Holder  string           // who holds the lock meanwhile, for people
	Leases  store.Leases
	// Deliver puts an envelope, which is signed there, into the mailbox of the one who is asked.
	Deliver func(ctx context.Context, to address.Instance, envelope []byte) error

	lease store.Lease
}

// An Outcome is what became of a launch.
type Outcome struct {
	Action  string
	To      address.Instance
	Last    string // time of the request that is too young
	Request []byte
	check   *Check
}

// Launch goes through the gates: the advice, the cool-down, the confirmation, the sender, the one who is asked. The first that is shut
// ends it. From the second on it holds a lock, so that of several at once one asks.
func (d *Service) Launch(ctx context.Context, l Launch, now time.Time) (*Outcome, error) {
	o := &Outcome{Action: DidNothing, check: l.Check}
	if l.Check.Recommendation != AdviseLaunch {
		return o, nil
	}
	if !l.Confirm { // it changes nothing, so it need not wait
		return o, d.gates(ctx, &l, o, now)
	}
	return o, d.alone(ctx, &l, o, now)
}

// alone passes the gates while no other process does so for the same workspace.
func (d *Service) alone(ctx context.Context, l *Launch, o *Outcome, now time.Time) error {
	lease, err := l.Leases.Acquire(ctx, "conductor-launch "+address.Segment(address.Canonical(l.Check.Workspace)), l.Holder, launching)
	if held, ok := errors.AsType[*store.HeldError](err); ok {
		return &BusyError{Holder: held.Holder}
	}
	if err != nil {
		return fmt.Errorf("launch: %w", err)
	}
	l.lease = lease
	err = d.gates(ctx, l, o, now)
	_ = l.Leases.Release(context.WithoutCancel(ctx), l.lease) // else it ends by itself
	return err
}

// still makes sure, before something is sent, that no other process has asked while this process was stopped.
func (l *Launch) still(ctx context.Context) error {
	lease, err := l.Leases.Renew(ctx, l.lease, launching)
	if errors.Is(err, store.ErrLost) {
		return &BusyError{Holder: "an agent that came while this one stood still"}
	}
	if err != nil {
		return fmt.Errorf("launch: %w", err)
	}
	l.lease = lease
	return nil
}

// gates are those behind the first one.
func (d *Service) gates(ctx context.Context, l *Launch, o *Outcome, now time.Time) error {
	last, err := d.lastSpawn(ctx, l.Check.Workspace, now)
	switch {
	case err != nil:
		return err
	case last != "":
		o.Action, o.Last = DidCool, last
		return nil
	}
	o.Request = l.Check.request()
	if !l.Confirm {
		o.Action = DidPreview
		return nil
	}
	if l.From == "" {
		return ErrNoSender
	}
	o.To = l.Remote
	if o.To == "" {
		if o.To, err = d.remote(ctx, now); err != nil {
			return err
		}
	}
	if o.To == "" {
		o.Action = DidNotFind
		return nil
	}
	if err := l.still(ctx); err != nil {
		return err
	}
	if err := l.Deliver(ctx, o.To, l.envelope(o, now)); err != nil {
		return fmt.Errorf("launch: ask %s: %w", o.To, err)
	}
	o.Action = DidEmit
	if err := d.mark(context.WithoutCancel(ctx), l.Check.Workspace, o.To, now); err != nil {
		return fmt.Errorf("%s was asked, and should not be asked again for 30 minutes: %w", o.To, err)
	}
	return nil
}

// request is what is asked for.
func (c *Check) request() []byte {
	var o canonjson.Object
	o.Str("kind", topicLaunch)
	o.Str("workspaceId", c.Workspace)
	o.Strs("hostPref", hosts)
	canonjson.Objects(&o, "stalled", c.Activity.Stalled, writeStalled)
	o.Str("reason", c.Reason)
	return o.Bytes()
}

func (l *Launch) envelope(out *Outcome, now time.Time) []byte {
	var o canonjson.Object
	o.Str("protocol", envelope.Protocol)
	o.Str("version", envelope.Version)
	o.Str("id", "env-conductor-launch-"+strconv.FormatInt(now.UnixMilli(), 36))
	o.Str("type", "event")
	o.Within("actor", func(a *canonjson.Object) {
		a.Str("instance", string(l.From))
		a.Str("role", "CONDUCTOR")
		a.Str("scope", "scope:default")
	})
	o.Within("target", func(t *canonjson.Object) { t.Str("instance", string(out.To)) })
	o.Within("body", func(b *canonjson.Object) {
		b.Str("kind", "message")
		b.Str("topic", topicLaunch)
		b.Str("text", fmt.Sprintf("Please launch a conductor for workspace %s: %s.", l.Check.Workspace, l.Check.Reason))
		b.Raw("request", out.Request)
	})
	o.Str("createdAt", envelope.Stamp(now))
	return o.End()
}

// remote is an agent that can start others and is live here: one in a pane before one that is not.
func (d *Service) remote(ctx context.Context, now time.Time) (address.Instance, error) {
	all, err := d.Presence.Fresh(ctx, now)
	if err != nil {
		return "", err
	}
	return Remote(all), nil
}

// Remote chooses among live sessions; "": none of them is one of a remote agent. What was mirrored from another machine has no mailbox
// that is read there.
func Remote(all []*presence.Session) address.Instance {
	var first address.Instance
	for _, s := range all {
		if s.Host != hostRemote && s.Instance.Canonical().Host() != hostRemote || s.MirroredAt != "" {
			continue
		}
		if s.Launch != nil && s.Launch.Tmux != nil && s.Launch.Tmux.Pane != "" {
			return s.Instance
		}
		if first == "" {
			first = s.Instance
		}
	}
	return first
}

func writeStalled(o *canonjson.Object, s Stalled) {
	o.Opt("id", s.ID)
	o.Opt("title", s.Title)
	o.Opt("reason", s.Reason)
	o.Opt("since", s.Since)
}
