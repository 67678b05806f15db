package server

import (
	"context"
	"errors"

	"tutti/internal/app/full"
	"tutti/internal/bus/identity"
	"tutti/internal/core/canonjson"
)

// waitsShown is how many of the things that wait a status names. The command line lists all.
const waitsShown = 10

// waitsOnYou says what waits for the agent beside its mail: the same list as on a command line, the texts shortened.
func (c *call) waitsOnYou(ctx context.Context, o *canonjson.Object, own *identity.Speaker) error {
	submitter := ""
	if id := c.thread.Load(); id != nil {
		submitter = own.Instance.Host() + ":" + *id
	}
	all, err := full.WaitingForAgent(ctx, c.World, c.agree, own.Instance, submitter, now())
	if err != nil && ctx.Err() == nil && !errors.Is(err, errOver) {
		o.Str("waitsOnYouFault", word(err.Error())) // the rest of the status still helps
		return nil
	}
	if err != nil || len(all) == 0 {
		return err
	}
	o.Int("waitsOnYou", int64(len(all)))
	o.Each("waits", min(len(all), waitsShown), func(n int) []byte {
		i := all[n]
		i.ID, i.From, i.About = word(i.ID), word(i.From), word(i.About)
		return i.JSON()
	})
	return nil
}
