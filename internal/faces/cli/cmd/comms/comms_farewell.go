package comms

import (
	"context"
	"errors"

	"tutti/internal/comms/exchange"
	"tutti/internal/comms/poll"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
)

type commsFarewellOptions struct {
	Project string
	Retries int
}

// runCommsFarewell tells the other side of each open conversation that this project pauses.
func runCommsFarewell(ctx context.Context, c *kit.Call, opt *commsFarewellOptions) error {
	o, _, err := c.CommsService()
	if err != nil {
		return kit.GeneralFault(err)
	}
	project, err := c.ProjectHere(o, opt.Project)
	if err != nil {
		return err
	}
	retries, err := fast.Retries(c, &opt.Retries)
	if err != nil {
		return err
	}
	told, worst, err := poll.Pause(ctx, o, pollOf(c, o, project), retries, c.Arg(0))
	if err != nil {
		return kit.GeneralFault(err)
	}
	showFarewell(c, told)
	return farewellFault(worst)
}

// farewellFault is the first fault of a farewell. What is wrong with the others stands in their lines.
func farewellFault(err error) error {
	var e *exchange.SendError
	if !errors.As(err, &e) {
		return err
	}
	f := &kit.Fault{Code: int(e.Fault), Err: e, Next: e.Hint()}
	if e.Bundle != "" {
		f.Next = "what is kept is sent by: tutti comms retry --all"
	}
	return f
}

func showFarewell(c *kit.Call, told []poll.Farewell) {
	if c.JSON {
		c.Result(told)
		return
	}
	if len(told) == 0 {
		c.Line("no open conversation waits for an agent")
	}
	for _, f := range told {
		where := kit.Clean(f.Conversation) + ", to " + kit.Clean(f.To)
		switch {
		case f.Sent:
			c.Line("told: " + where)
		case f.Bundle != "":
			c.Line("kept: " + where)
		default:
			c.Warn("not told: %s: %s", where, kit.Clean(f.Error))
		}
	}
}
