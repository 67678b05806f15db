package cli

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/registry"
	"tutti/internal/core/canonjson"
	"tutti/internal/faces/cli/remoting"
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

func runMirror(ctx context.Context, c *Call) error {
	every := time.Duration(0)
	if text := c.value("interval-ms"); text != "" {
		ms, err := strconv.Atoi(text)
		if every = time.Duration(ms) * time.Millisecond; err != nil || every < leastPush {
			return usagef("--interval-ms %s: a whole number from 5000 on is meant", Clean(text))
		}
	}
	if c.value("url") == "" {
		return c.missing("url")
	}
	w, err := c.world(app.Reading)
	if err != nil {
		return err
	}
	defer w.Close()
	m := mirroring{c: c, w: w}
	m.push.URL = c.value("url")
	if m.push.Instance, m.push.Key, err = c.signer(ctx, w, "instance"); err != nil {
		return err
	}
	if there, err := w.Presence.Of(ctx, m.push.Instance, time.Now()); err == nil && len(there) == 0 && c.under == Tutti {
		c.remark("%s has no live session here: until it has one, nobody is shown there", Clean(string(m.push.Instance)))
	}
	if every > 0 {
		return m.run(ctx, every)
	}
	status, answer, err := m.once(ctx)
	if errors.Is(err, registry.ErrNotRegistered) && c.under == H2A {
		return &fault{code: exitUsage, err: err}
	}
	if err != nil {
		if errors.Is(err, registry.ErrNotRegistered) || errors.Is(err, registry.ErrGone) {
			return c.registryFault(err)
		}
		return c.unanswered(ctx, err)
	}
	return c.answered(status, answer)
}

// A mirroring shows one agent elsewhere.
type mirroring struct {
	c    *Call
	w    *app.World
	push app.Push
}

func (m *mirroring) once(ctx context.Context) (status int, answer []byte, err error) {
	raw, err := remoting.Mirror(ctx, m.w, m.push)
	if err != nil {
		return 0, nil, err
	}
	return remoting.Submit(ctx, app.Destination{URL: m.push.URL, Roots: m.c.value("ca")}, raw)
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
				return m.c.registryFault(err)
			}
		case err != nil, status >= 500, status == 429:
			wait = min(firstAgain<<min(failed, 10), mostAgain)
			failed++
		case status == 401 || status == 403:
			if denied++; denied == mostDenied {
				return m.c.answered(status, answer)
			}
		case status/100 != 2:
			if wrong++; wrong == mostWrong {
				return m.c.answered(status, answer)
			}
		default:
			denied, wrong, failed = 0, 0, 0
		}
		if !halted {
			m.say(status, answer, err)
		}
		if e := m.c.flush(); e != nil {
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
	if m.c.json {
		var o canonjson.Object
		o.Int("status", int64(status))
		o.Raw("body", answer)
		if err != nil {
			o.Str("error", err.Error())
		}
		m.c.out = append(append(m.c.out, o.Bytes()...), '\n')
		return
	}
	at := time.Now().Format(time.TimeOnly)
	switch {
	case err != nil:
		m.c.line(at + " no answer: " + Clean(err.Error()))
	case status/100 == 2:
		m.c.line(at + " shown")
	default:
		m.c.line(at + " not taken: " + Clean(string(answer)) + " (status " + strconv.Itoa(status) + ")")
	}
}
