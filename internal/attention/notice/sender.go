package notice

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"tutti/internal/core/termsafe"
)

// Times and limits.
const (
	gather = 2 * time.Second // conditions that begin within it share a notice
	pause  = 3 * time.Second // between two notices
	again  = time.Minute     // until the same thing may cause a notice again
	finish = 2 * time.Second // for a notice that is being sent when the process has to end: it may have been shown, and is not to be shown twice

	maxKnown = 2000
	maxQueue = 100 // notices that were not accepted yet; the oldest are given up
	maxLast  = 50
)

// retries are the waits before a channel is tried again; after the last one it is given up.
var retries = []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute}

// The states of a notice in one channel.
const (
	Pending = "pending"
	Sent    = "sent"
	Failed  = "failed"
)

// A Try is what became of a notice in one channel.
type Try struct {
	Channel string    `json:"channel"`
	State   string    `json:"state"`
	Tries   int       `json:"tries"`
	Next    time.Time `json:"next,omitzero"`
	Error   string    `json:"error,omitempty"`
}

// A Message is one notice.
type Message struct {
	ID      string    `json:"id"`
	At      time.Time `json:"at"`
	Title   string    `json:"title"`
	Text    string    `json:"text"`    // for channels on this machine
	Outside string    `json:"outside"` // without words of agents
	Kinds   []Kind    `json:"kinds"`
	Agents  []string  `json:"agents"`
	Tries   []Try     `json:"channels"`
}

func (m *Message) pending() bool {
	return slices.ContainsFunc(m.Tries, func(t Try) bool { return t.State == Pending })
}

// A Sender decides which notices are sent, and when. It belongs to one goroutine.
type Sender struct {
	Channels []Channel
	Quiet    Quiet
	Now      func() time.Time // nil: time.Now
	// Focused tells whether the user is looking at the agent of a condition; nil: never.
	Focused func(ctx context.Context, of string) bool

	dir   string
	state state
}

func (d *Sender) now() time.Time {
	if d.Now != nil {
		return d.Now()
	}
	return time.Now()
}

// Look takes the conditions that there are now. The first look ever causes no notice, and a halt
// causes only its own.
func (d *Sender) Look(all []Condition) error {
	now, known := d.now(), map[string]time.Time{}
	halted := slices.ContainsFunc(all, func(c Condition) bool { return c.Kind == Halted })
	first := d.state.Known == nil
	changed := first
	var waiting []Condition
	for _, c := range d.state.Waiting {
		lasts := c.Kind == Ended || slices.ContainsFunc(all, func(n Condition) bool { return n.key() == c.key() })
		if lasts {
			waiting = append(waiting, c)
		} else {
			changed = true
		}
	}
	for _, c := range all {
		key := c.key()
		at, old := d.state.Known[key]
		if known[key] = at; old || len(known) > maxKnown {
			continue
		}
		known[key], changed, c.At = now, true, now
		c.About = termsafe.Cut(c.About, maxAbout)
		if !first && (!halted || c.Kind == Halted) {
			waiting = append(waiting, c)
		}
	}
	for key, at := range d.state.Known { // an end is seen by several looks, or by none
		if _, is := known[key]; !is && strings.HasPrefix(key, string(Ended)+" ") && now.Sub(at) < again {
			known[key] = at
		}
	}
	if changed = changed || len(known) != len(d.state.Known); !changed {
		return nil
	}
	d.state.Known, d.state.Waiting = known, waiting
	return d.save()
}

// Next returns when [Sender.Send] has something to do; the zero time: not before the next change.
func (d *Sender) Next() (at time.Time) {
	earlier := func(t time.Time) {
		if at.IsZero() || t.Before(at) {
			at = t
		}
	}
	for i := range d.state.Waiting {
		earlier(d.due(&d.state.Waiting[i]))
	}
	for i := range d.state.Out {
		for _, t := range d.state.Out[i].Tries {
			if t.State == Pending {
				earlier(t.Next)
			}
		}
	}
	if until := d.Quiet.Until(d.now()); !at.IsZero() && until.After(at) {
		return until
	}
	return at
}

// due is when a condition may cause a notice.
func (d *Sender) due(c *Condition) time.Time {
	at := c.At.Add(gather)
	for _, t := range []time.Time{d.state.Told[c.thing()].Add(again), d.state.Spoke.Add(pause)} {
		if t.After(at) {
			at = t
		}
	}
	return at
}

// Send sends what is due, and returns the notices of which something was tried.
func (d *Sender) Send(ctx context.Context) (tried []Message, err error) {
	now := d.now()
	if !d.Quiet.Until(now).IsZero() {
		return nil, nil
	}
	if err := d.gather(ctx, now); err != nil {
		return nil, err
	}
	for i := range d.state.Out {
		m := &d.state.Out[i]
		did := false
		for n := range m.Tries {
			if t := &m.Tries[n]; t.State == Pending && !t.Next.After(now) && ctx.Err() == nil {
				d.try(ctx, m, t)
				did = true
				if err := d.save(); err != nil {
					return tried, err
				}
			}
		}
		if did {
			tried = append(tried, *m)
		}
	}
	if len(tried) == 0 {
		return nil, nil
	}
	d.state.Out = slices.DeleteFunc(d.state.Out, func(m Message) bool {
		if m.pending() {
			return false
		}
		d.state.Last = append(d.state.Last, m)
		return true
	})
	d.state.Last = d.state.Last[max(0, len(d.state.Last)-maxLast):]
	return tried, d.save()
}

// gather makes one notice of all conditions that are due, and keeps it before anything is sent.
func (d *Sender) gather(ctx context.Context, now time.Time) error {
	var due, rest []Condition
	took := map[string]bool{}
	for _, c := range d.state.Waiting {
		switch {
		case d.due(&c).After(now) || took[c.thing()]:
			rest = append(rest, c)
		case c.Kind != Ended && c.Kind != Halted && d.Focused != nil && d.Focused(ctx, c.Of):
		default:
			due, took[c.thing()] = append(due, c), true
		}
	}
	if len(rest) == len(d.state.Waiting) {
		return nil
	}
	d.state.Waiting = rest
	if len(due) > 0 {
		m := compose(due)
		m.ID, m.At = strconv.FormatInt(now.UnixNano(), 36), now
		for _, c := range d.Channels {
			if c.Ready() == nil {
				m.Tries = append(m.Tries, Try{Channel: c.Name(), State: Pending, Next: now})
			}
		}
		if len(m.Tries) == 0 {
			d.state.Last = append(d.state.Last, m)
		} else {
			d.state.Out = append(d.state.Out, m)
		}
		d.state.Out = d.state.Out[max(0, len(d.state.Out)-maxQueue):]
		d.state.Spoke = now
	}
	for t, at := range d.state.Told {
		if now.Sub(at) > again {
			delete(d.state.Told, t)
		}
	}
	for _, c := range due {
		if d.state.Told == nil {
			d.state.Told = map[string]time.Time{}
		}
		d.state.Told[c.thing()] = now
	}
	return d.save()
}

// try sends a notice by one channel.
func (d *Sender) try(ctx context.Context, m *Message, t *Try) {
	at := slices.IndexFunc(d.Channels, func(c Channel) bool { return c.Name() == t.Channel })
	if at < 0 {
		t.State, t.Error = Failed, "the settings do not have it any more"
		return
	}
	sending, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(finish, stop) })()
	err := d.Channels[at].Send(sending, m)
	if err != nil && ctx.Err() != nil {
		return // this process ends; it is tried again by the next one
	}
	t.Tries++
	switch {
	case err == nil:
		t.State, t.Error, t.Next = Sent, "", time.Time{}
	case t.Tries > len(retries):
		t.State, t.Error, t.Next = Failed, reason(err), time.Time{}
	default:
		t.Error, t.Next = reason(err), d.now().Add(retries[t.Tries-1])
	}
}

const maxReason = 200

func reason(err error) string {
	return cmp.Or(termsafe.Clean(termsafe.Cut(err.Error(), maxReason)), "failed")
}
