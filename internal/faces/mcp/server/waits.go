package server

import (
	"context"
	"errors"

	"tutti/internal/app/full"
	"tutti/internal/attention/todo"
	"tutti/internal/bus/identity"
	"tutti/internal/core/render"
)

// waitsShown is how many of the things that wait a status names. The command line lists all.
const waitsShown = 10

// waitsOnYou says what waits for the agent beside its mail: the same list as on a command line, the texts shortened.
func (c *call) waitsOnYou(ctx context.Context, o *ownMail, own *identity.Speaker) error {
	submitter := ""
	if id := c.thread.Load(); id != nil {
		submitter = own.Instance.Host() + ":" + *id
	}
	all, err := full.WaitingForAgent(ctx, c.World, c.agree, own.Instance, submitter, now())
	if err != nil && ctx.Err() == nil && !errors.Is(err, errOver) {
		o.WaitsFault = word(err.Error()) // the rest of the status still helps
		return nil
	}
	if err != nil || len(all) == 0 {
		return err
	}
	o.WaitsOnYou = len(all)
	o.Waits = render.Each(all[:min(len(all), waitsShown)], func(i todo.Item) todo.View {
		i.ID, i.From, i.About = word(i.ID), word(i.From), word(i.About)
		i.Actions = nil // those of screens
		return i.View()
	})
	return nil
}
