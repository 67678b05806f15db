package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/sessions/registry"
)

// States are the words that can be waited for.
var States = []string{StateIdle, StateWorking, StateWaiting, StateLimited, StateEnded}

// StateOf is the state for a word that people type: that of a status, asking or dead, stands for waiting or ended.
func StateOf(word string) string {
	switch word {
	case Asking:
		return StateWaiting
	case Gone:
		return StateEnded
	}
	return word
}

// DefaultUntil are those for which is waited when none is named.
var DefaultUntil = []string{StateIdle, StateWaiting, StateEnded}

// A Wait says what to wait for.
type Wait struct {
	Any   bool     // one session is enough
	Until []string // of [States]; none: [DefaultUntil]
}

// A Reached is one session that was waited for.
type Reached struct {
	Name    string `json:"name"`
	State   string `json:"state"`
	Guess   bool   `json:"guess,omitempty"` // read from the screen
	Asks    string `json:"asks,omitempty"`
	Reached bool   `json:"reached"`
}

// ErrNever reports that a session has ended and can reach no state that is waited for.
var ErrNever = errors.New("it has ended")

// ErrBlind reports that tutti cannot tell what the program of a session does while it runs.
var ErrBlind = errors.New("only --until ended works")

// The pauses between two looks. A state that is read from a screen, or a session that is gone, counts at the second look.
const (
	waitEvery = 250 * time.Millisecond
	waitLater = time.Second      // after
	waitSoon  = 20 * time.Second // this
)

// WaitLeast is the shortest wait that makes sense: two looks.
const WaitLeast = 2 * time.Second

// Wait looks at sessions until all of them are in one of the states at the same time, or with Any until one is. rows returns their rows,
// in one order; a session whose row is gone is an error of it. When the context ends, the error is its cause. The states are those of the last
// look, also with an error.
func (o *Observer) Wait(ctx context.Context, q Wait, rows func(ctx context.Context) ([]registry.Row, error)) ([]Reached, error) {
	until := q.Until
	if len(until) == 0 {
		until = DefaultUntil
	}
	began := time.Now()
	last := []Reached{}
	for {
		all, err := rows(ctx)
		if err != nil {
			return last, err
		}
		rep := o.Status(ctx, all)
		if err := ctx.Err(); err != nil { // what was not answered by then is not known
			return last, context.Cause(ctx)
		}
		now := make([]Reached, len(all))
		reached, ended := 0, ""
		for i := range all {
			f := &rep.Sessions[i]
			now[i] = Reached{Name: f.Row.Name, State: Activity(&f.Observation, &f.Doing, f.UnderWay), Asks: f.Doing.Asks}
			now[i].Guess = f.Doing.Guess && now[i].State != StateEnded
			sure := f.Doing.From == "program" || len(last) == len(now) && last[i].State == now[i].State
			if f.State == Alive && blind(f.Kind) && !slices.Equal(until, []string{StateEnded}) && (!q.Any || len(all) == 1) {
				return now, fmt.Errorf("%s runs %s; %w", f.Name, programText(f.Kind), ErrBlind)
			}
			if now[i].Reached = sure && slices.Contains(until, now[i].State); now[i].Reached {
				reached++
			} else if sure && now[i].State == StateEnded {
				ended = now[i].Name
			}
		}
		last = now
		switch {
		case reached == len(all), q.Any && reached > 0:
			return now, nil
		case ended != "" && (!q.Any || !slices.ContainsFunc(now, func(r Reached) bool { return r.State != StateEnded })):
			return now, fmt.Errorf("session %s: %w", ended, ErrNever)
		}
		pause := waitEvery
		if time.Since(began) > waitSoon {
			pause = waitLater
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return last, context.Cause(ctx)
		}
	}
}

// blind tells whether nothing shows what a kind of program does.
func blind(kind string) bool {
	d, ok := driver.Kind(kind)
	return !ok || d.Life.Screen == nil && d.Life.Sheet == nil
}

// programText is a program whose state is not known, for people.
func programText(kind string) string {
	if d, ok := driver.Kind(kind); ok && kind != "custom" {
		return d.Title + ", whose state is not known"
	}
	return "a program of your own"
}
