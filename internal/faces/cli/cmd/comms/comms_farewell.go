package comms

import (
	"context"
	"errors"
	"strings"
	"time"

	"tutti/internal/comms/exchange"
	"tutti/internal/comms/protocol"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
)

// farewellJSON is one conversation and what became of its message, as farewell prints it with --json.
type farewellJSON struct {
	Conversation string `json:"conversation_id"`
	To           string `json:"to"`
	Sent         bool   `json:"sent"`
	Bundle       string `json:"bundle,omitempty"` // under which the message is kept
	Error        string `json:"error,omitempty"`
}

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
	retries, err := fast.Retries(c)
	if err != nil {
		return err
	}
	p := &poll{c: c, opt: &commsPollOptions{}, office: o, project: project, now: time.Now()}
	seen, err := p.survey(ctx)
	if err != nil {
		return kit.GeneralFault(err)
	}
	if seen != nil {
		p.openTalks(seen)
	}
	body := c.Arg(0)
	if strings.TrimSpace(body) == "" {
		body = protocol.FarewellBody
	}
	told, worst := []farewellJSON{}, error(nil)
	for i := range p.open {
		talk := p.open[i].Conversation
		if talk.PollingPaused {
			continue
		}
		f := farewellJSON{Conversation: talk.ID, To: p.addressOf(talk.ID, talk.Partner, "")}
		_, err := sendProgress(ctx, o, talk, exchange.Draft{
			Destination: f.To, Sender: project.Slug(), Project: project, Dir: project.Path, Retries: retries, QueueOnHalt: true,
		}, "Pausing", body)
		if f.Sent = err == nil; err != nil {
			f.Error = err.Error()
			var e *exchange.SendError
			if errors.As(err, &e) {
				f.Bundle = e.Bundle
			}
			if worst == nil {
				worst = err
			}
		}
		told = append(told, f)
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

func showFarewell(c *kit.Call, told []farewellJSON) {
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
