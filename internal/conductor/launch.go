package conductor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"tutti/internal/address"
	"tutti/internal/canonjson"
	"tutti/internal/envelope"
	"tutti/internal/presence"
	"tutti/internal/store"
)

const (
	// DefaultIdle is how long work may lie before the program that tracks it calls it stalled, in milliseconds: a day.
	DefaultIdle = 86_400_000
	// Cooldown is how long after a request for one workspace there is no other.
	Cooldown = 30 * time.Minute
	// launching is how long one launch keeps others from the same: it takes a moment, and a crash must not keep them for long.
	launching = 30 * time.Second
)

// The advices of a check.
const (
	AdviseNone   = "none"
	AdviseLaunch = "launch"
)

// hosts are the programs that are suggested, the first one first.
var hosts = []string{"claude", "codex", "agy"}

// ErrIdle reports a threshold that is no number above zero.
var ErrIdle = errors.New("is no number of milliseconds above 0")

// Idle reads a threshold in milliseconds as it is written; "" is the usual one. Existing programs take every spelling of a number.
func Idle(text string) (float64, error) {
	if text = strings.TrimSpace(text); text == "" {
		return DefaultIdle, nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n > 0) || math.IsInf(n, 0) {
		return 0, fmt.Errorf("%.40q: %w", text, ErrIdle)
	}
	return n, nil
}

// IdleText writes a threshold as the program that tracks work is given it.
func IdleText(ms float64) string { return strconv.FormatFloat(ms, 'f', -1, 64) }

// What is kept of an answer: it comes from another program, and goes before models and into mail.
const (
	maxStalled = 50
	maxField   = 200 // bytes
)

// An Activity is what is known of the work in a workspace.
type Activity struct {
	Pending int64
	Stalled []Stalled
	More    int    // stalled items beyond those that are kept
	Latest  string // time of the latest event, "" where it is not told
}

// A Stalled is work that nobody goes on with. All members may be empty.
type Stalled struct{ ID, Title, Reason, Since string }

// ParseActivity reads the answer of the program that tracks work. What is no such answer is an error, also JSON of another form.
func ParseActivity(raw []byte) (*Activity, error) {
	var v [3][]byte
	if !canonjson.Valid(raw) || !canonjson.Pick(raw, []string{"pending", "stalled", "latestEventAt"}, v[:]) {
		return nil, errors.New("the answer is no JSON object")
	}
	n, ok := canonjson.Float(v[0])
	if !ok || n < 0 || n > math.MaxInt32 || n != math.Trunc(n) {
		return nil, errors.New(`the answer has no number "pending"`)
	}
	if canonjson.Kind(v[1]) != canonjson.TypeArray {
		return nil, errors.New(`the answer has no list "stalled"`)
	}
	a := &Activity{Pending: int64(n), Latest: field(v[2])}
	for item := range canonjson.Elements(v[1]) {
		var f [4][]byte
		if !canonjson.Pick(item, []string{"id", "title", "reason", "since"}, f[:]) {
			return nil, errors.New(`the answer has something in "stalled" that is no object`)
		}
		if len(a.Stalled) == maxStalled {
			a.More++
			continue
		}
		a.Stalled = append(a.Stalled, Stalled{field(f[0]), field(f[1]), field(f[2]), field(f[3])})
	}
	return a, nil
}

// field is a text of the answer: one line, without what steers a terminal, and not too long.
func field(raw []byte) string {
	s, _ := canonjson.String(raw)
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return ' '
		}
		return r
	}, s)
	if len(s) > maxField {
		s = strings.ToValidUTF8(s[:maxField], "") + "…"
	}
	return s
}

// A Check is the advice whether somebody should be launched to conduct. It is advice: nothing comes of it by itself.
type Check struct {
	Workspace      string // as it was asked for
	Available      bool   // the program that tracks work has answered
	Conductor      address.Instance
	Activity       Activity
	Recommendation string
	Reason         string
}

// Advise makes the advice. act is nil where nothing is known of the work.
func Advise(workspace string, r *Resolution, act *Activity) *Check {
	c := &Check{Workspace: workspace, Available: act != nil, Conductor: r.Conductor, Recommendation: AdviseNone}
	if act != nil {
		c.Activity = *act
	}
	stalled := len(c.Activity.Stalled) + c.Activity.More
	switch {
	case c.Conductor != "":
		c.Reason = fmt.Sprintf("%s conducts this workspace", c.Conductor)
	case act == nil:
		c.Reason = `nobody conducts, and nothing is known of the work: the program "track" is missing, or gave no answer`
	case stalled == 0:
		c.Reason = "nobody conducts, and nothing is stalled"
	default:
		c.Recommendation = AdviseLaunch
		c.Reason = fmt.Sprintf("nobody conducts, and %d stalled item%s wait%s", stalled, plural(stalled, "s", ""), plural(stalled, "", "s"))
	}
	return c
}

func plural(n int, many, one string) string {
	if n == 1 {
		return one
	}
	return many
}

// JSON writes the advice as existing programs do.
func (c *Check) JSON() []byte {
	var o canonjson.Object
	c.fill(&o)
	return o.Bytes()
}

func (c *Check) fill(o *canonjson.Object) {
	o.Str("workspaceId", c.Workspace)
	o.Bool("trackAvailable", c.Available)
	orNull(o, "conductor", c.Conductor)
	o.Bool("conductorLive", c.Conductor != "")
	o.Int("pending", c.Activity.Pending)
	o.Raw("stalled", c.Activity.list())
	if c.Activity.More > 0 {
		o.Int("moreStalled", int64(c.Activity.More))
	}
	o.Opt("latestEventAt", c.Activity.Latest)
	o.Str("recommendation", c.Recommendation)
	o.Str("reason", c.Reason)
	if c.Recommendation == AdviseLaunch {
		o.Strs("suggestedHosts", hosts)
	}
}

func (a *Activity) list() []byte {
	all := []byte{'['}
	for n, s := range a.Stalled {
		if n > 0 {
			all = append(all, ',')
		}
		var o canonjson.Object
		o.Opt("id", s.ID)
		o.Opt("title", s.Title)
		o.Opt("reason", s.Reason)
		o.Opt("since", s.Since)
		all = append(all, o.Bytes()...)
	}
	return append(all, ']')
}

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

// ErrNoSender reports a launch that is confirmed and in nobody's name.
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
	From    address.Instance // who asks; "": nobody
	Remote  address.Instance // who is asked; "": the remote agent that is there
	Holder  string           // who holds the lock meanwhile, for people
	Leases  store.Leases
	// Deliver puts an envelope, which is signed there, into the mailbox of the one who is asked.
	Deliver func(ctx context.Context, to address.Instance, envelope []byte) error
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
func (d *Desk) Launch(ctx context.Context, l Launch, now time.Time) (*Outcome, error) {
	o := &Outcome{Action: DidNothing, check: l.Check}
	if l.Check.Recommendation != AdviseLaunch {
		return o, nil
	}
	if !l.Confirm { // it changes nothing, so it need not wait
		return o, d.gates(ctx, &l, o, now)
	}
	lease, err := l.Leases.Acquire(ctx, "conductor-launch "+address.Segment(address.Canonical(l.Check.Workspace)), l.Holder, launching)
	if held, ok := errors.AsType[*store.HeldError](err); ok {
		return nil, &BusyError{Holder: held.Holder}
	}
	if err != nil {
		return nil, fmt.Errorf("launch: %w", err)
	}
	err = d.gates(ctx, &l, o, now)
	return o, errors.Join(err, l.Leases.Release(context.WithoutCancel(ctx), lease))
}

// gates are those behind the first one.
func (d *Desk) gates(ctx context.Context, l *Launch, o *Outcome, now time.Time) error {
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
	if err := l.Deliver(ctx, o.To, l.envelope(o, now)); err != nil {
		return fmt.Errorf("launch: ask %s: %w", o.To, err)
	}
	o.Action = DidEmit
	return d.mark(context.WithoutCancel(ctx), l.Check.Workspace, o.To, now)
}

// request is what is asked for.
func (c *Check) request() []byte {
	var o canonjson.Object
	o.Str("kind", topicLaunch)
	o.Str("workspaceId", c.Workspace)
	o.Strs("hostPref", hosts)
	o.Raw("stalled", c.Activity.list())
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
func (d *Desk) remote(ctx context.Context, now time.Time) (address.Instance, error) {
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

// JSON writes the outcome as existing programs do.
func (o *Outcome) JSON() []byte {
	var j canonjson.Object
	j.Str("action", o.Action)
	switch o.Action {
	case DidNothing:
		o.check.fill(&j)
	case DidCool:
		j.Str("reason", "a conductor was asked for less than 30min ago")
		j.Str("lastSpawnAt", o.Last)
	case DidPreview:
		j.Raw("request", o.Request)
		j.Str("note", noteConfirm)
	case DidNotFind:
		j.Str("reason", reasonRemote)
	case DidEmit:
		j.Str("to", string(o.To))
		j.Raw("request", o.Request)
	}
	return j.Bytes()
}
