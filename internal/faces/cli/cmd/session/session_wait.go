package session

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"tutti/internal/faces/cli/kit"
	"tutti/internal/sessions/observe"
	"tutti/internal/sessions/registry"
)

// waitLimit is how long session wait waits unless its user says otherwise.
const waitLimit = 10 * time.Minute

var errWaited = errors.New("time is over")

type sessionWaitOptions struct {
	inFolder
	Until string
	Any   bool
	For   time.Duration
}

// sessionWait waits until sessions have reached a state.
func sessionWait(ctx context.Context, c *kit.Call, s *sessions, opt *sessionWaitOptions) error {
	q := observe.Wait{Any: opt.Any}
	if text := opt.Until; text != "" {
		for word := range strings.SplitSeq(text, ",") {
			word = observe.StateOf(word)
			if !slices.Contains(observe.States, word) {
				return kit.Usagef("session wait: --until %s: must be of %s", kit.Clean(word), strings.Join(observe.States, ","))
			}
			q.Until = append(q.Until, word)
		}
	}
	if len(c.Args) == 0 {
		return kit.UsageHint(`"tutti session list" shows them`, "session wait: missing session")
	}
	var from []*sessions // of each name
	for _, name := range c.Args {
		with, err := s.withSession(ctx, name)
		if err != nil {
			return err
		}
		from = append(from, with)
	}
	o, err := s.Observer()
	if err != nil {
		return err
	}
	o.Workspace = ""
	limit := kit.Or(c, &opt.For, waitLimit)
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, errWaited)
		defer cancel()
	}
	found, err := o.Wait(ctx, q, func(ctx context.Context) ([]registry.Row, error) {
		var all []registry.Row
		for i, name := range c.Args {
			rows, problems, err := from[i].rows(ctx)
			if err == nil {
				rows, err = from[i].only(rows, problems, name)
			}
			if err != nil {
				return nil, err
			}
			all = append(all, rows[0])
		}
		return all, nil
	})
	if c.JSON && found != nil {
		c.Result(found)
	} else if !c.JSON {
		var rows [][]string
		for i := range found {
			state := found[i].State
			if found[i].Guess {
				state += "?"
			}
			rows = append(rows, []string{found[i].Name, state, found[i].Asks})
		}
		c.Rows(rows)
	}
	switch {
	case errors.Is(err, observe.ErrBlind):
		return kit.Refuse("", "session wait: %s", kit.Clean(err.Error()))
	case errors.Is(err, errWaited):
		return kit.BadState("", "session wait: not reached within %s", limit)
	case errors.Is(err, observe.ErrNever):
		return kit.BadState("", "session wait: %s", kit.Clean(err.Error()))
	}
	return err
}
