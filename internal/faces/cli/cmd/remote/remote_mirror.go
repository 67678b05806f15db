package remote

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/registry"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/halt"
)

// How a mirror is kept up to date.
const (
	leastPush  = 5 * time.Second // between two pushes
	firstAgain = 5 * time.Second // after the first that failed; doubled each time
	mostAgain  = 5 * time.Minute
	mostDenied = 3 // refusals of the agent in a row
	mostWrong  = 5 // other refusals in a row, and failures to make a push
)

type mirrorOptions struct {
	URL, Instance, PrivateKey, CA string
	IntervalMS                    int
}

func runMirror(ctx context.Context, c *kit.Call, opt *mirrorOptions) error {
	every := time.Duration(opt.IntervalMS) * time.Millisecond
	if c.IsSet(&opt.IntervalMS) && every < leastPush {
		return kit.Usagef("--interval-ms %d: must be a whole number, at least 5000", opt.IntervalMS)
	}
	if opt.URL == "" {
		return c.Missing(&opt.URL)
	}
	w, err := c.World(app.Reading)
	if err != nil {
		return err
	}
	defer w.Close()
	m := mirroring{c: c, opt: opt, w: w}
	m.push.URL = opt.URL
	if m.push.Instance, m.push.Key, err = Signer(ctx, c, w, &opt.Instance, &opt.PrivateKey); err != nil {
		return err
	}
	if there, err := w.Presence.Of(ctx, m.push.Instance, time.Now()); err == nil && len(there) == 0 && c.Under == kit.Tutti {
		c.Remark("%s has no live session here: the other bus shows nothing until it has one", kit.Name(m.push.Instance))
	}
	if every > 0 {
		return m.run(ctx, every)
	}
	status, answer, err := m.once(ctx)
	if errors.Is(err, registry.ErrNotRegistered) && c.Under == kit.H2A {
		return &kit.Fault{Code: kit.ExitUsage, Err: err}
	}
	if err != nil {
		if errors.Is(err, registry.ErrNotRegistered) || errors.Is(err, registry.ErrGone) {
			return c.RegistryFault(err)
		}
		return unanswered(ctx, c, err)
	}
	return answered(c, status, answer)
}

// A mirroring shows one agent elsewhere.
type mirroring struct {
	c    *kit.Call
	opt  *mirrorOptions
	w    *app.World
	push Push
}

func (m *mirroring) once(ctx context.Context) (status int, answer []byte, err error) {
	raw, err := Mirror(ctx, m.w, m.push)
	if err != nil {
		return 0, nil, err
	}
	return Submit(ctx, Destination{URL: m.push.URL, Roots: m.opt.CA}, raw)
}

// run goes on until it is interrupted, or it is clear that no push will be taken. It is silent while the halt switch is on.
func (m *mirroring) run(ctx context.Context, every time.Duration) error {
	denied, wrong, failed := 0, 0, 0
	for {
		status, answer, err := m.once(ctx)
		_, halted := errors.AsType[*halt.Error](err)
		wait := time.Duration(float64(every) * (0.9 + 0.2*rand.Float64())) // so that many do not come at once
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case halted:
		case err != nil && (errors.Is(err, registry.ErrNotRegistered) || errors.Is(err, registry.ErrGone)):
			if wrong++; wrong == mostWrong {
				return m.c.RegistryFault(err)
			}
		case err != nil, status >= 500, status == 429:
			wait = min(firstAgain<<min(failed, 10), mostAgain)
			failed++
		case status == 401 || status == 403:
			if denied++; denied == mostDenied {
				return answered(m.c, status, answer)
			}
		case status/100 != 2:
			if wrong++; wrong == mostWrong {
				return answered(m.c, status, answer)
			}
		default:
			denied, wrong, failed = 0, 0, 0
		}
		if !halted {
			m.say(status, answer, err)
		}
		if e := m.c.Flush(); e != nil {
			return e
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// say prints what became of a push, in one line.
func (m *mirroring) say(status int, answer []byte, err error) {
	if m.c.JSON {
		r := reply{Status: status, Body: answer}
		if err != nil {
			r.Error = err.Error()
		}
		m.c.ResultLine(r)
		return
	}
	at := time.Now().Format(time.TimeOnly)
	switch {
	case err != nil:
		m.c.Line(at + " no answer: " + kit.Clean(err.Error()))
	case status/100 == 2:
		m.c.Line(at + " shown")
	default:
		m.c.Line(at + " not taken: " + kit.Clean(string(answer)) + " (status " + strconv.Itoa(status) + ")")
	}
}
