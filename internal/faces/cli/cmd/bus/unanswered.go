package bus

import (
	"context"

	"tutti/internal/bus/mail"
	"tutti/internal/core/address"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
)

type unansweredOptions struct{ Instance string }

// runUnanswered lists what was sent and has no answer yet.
func runUnanswered(ctx context.Context, c *kit.Call, opt *unansweredOptions) error {
	d, readers, across, err := c.Readers(ctx, opt.Instance)
	if err != nil {
		return err
	}
	defer d.Close()
	all := []mail.Question{}
	collect := func(d *kit.Account, readers []address.Instance, bus string) error {
		for _, who := range readers {
			found, err := d.Office.Unanswered(ctx, who)
			if err != nil {
				return err
			}
			for i := range found {
				found[i].Bus = bus
			}
			all = append(all, found...)
		}
		return nil
	}
	if err := collect(d, readers, ""); err != nil {
		return err
	}
	if across {
		c.OtherBuses(ctx, d, func(d *kit.Account, readers []address.Instance) error { return collect(d, readers, d.Root.Path) })
	}
	mail.SortQuestions(all)
	switch {
	case c.JSON:
		c.Result(all)
		return nil
	case len(all) == 0:
		c.Line("nothing that you sent is without an answer")
		return nil
	}
	var rows [][]string
	for i := range all {
		q := &all[i]
		row := []string{fast.Cell(c, q.ID), kit.Ago(d.Now.Sub(q.Sent)), fast.Cell(c, kit.Name(q.From)+" to "+kit.Name(q.To)), fast.FirstWords(q.Preview)}
		if q.Bus != "" {
			row = append(row, "bus "+kit.Clean(c.App.Shown(q.Bus)))
		}
		rows = append(rows, row)
	}
	c.Rows(rows)
	return nil
}
