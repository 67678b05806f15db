package cli

import (
	"context"

	"tutti/internal/app"
)

// Service makes the function of a verb that is served by another face: it gets the command line and the standard streams
// and talks by itself. What it returns is exit status 1, as scripts around such a server expect.
func Service(serve func(context.Context, app.Service) error) Func {
	return func(ctx context.Context, c *Call) error {
		err := serve(ctx, c.service())
		if err != nil && ctx.Err() == nil {
			return &fault{code: exitUsage, err: err, hint: hintOf(err)}
		}
		return err
	}
}

func (c *Call) service() app.Service {
	return app.Service{
		App: c.App, Flag: c.flagText, Args: c.Args, In: c.In, Out: c.outFile, Err: c.errFile, Version: Version,
		JSON: c.json, Quiet: c.quiet, Color: c.color, Columns: c.columns,
	}
}

// flagText is the value of a flag, "true" for a switch that is on, and "" for one that was not given.
func (c *Call) flagText(name string) string {
	if i := c.Verb.flag(c.under, name); i >= 0 && c.Verb.at(i).Kind <= TrueSwitch && c.on(name) {
		return "true"
	}
	return c.value(name)
}

// A Named is one row of a list that another face has: a name and what it is.
type Named struct{ Name, Is string }

// Listing makes the function of a verb that lists what another face has: the names as JSON, or a table for people.
func Listing(rows func() []Named) Func {
	return func(_ context.Context, c *Call) error {
		var names list
		var table [][]string
		for _, r := range rows() {
			names.str(r.Name)
			table = append(table, []string{r.Name, firstWords(r.Is)})
		}
		if c.json {
			c.emit(names.bytes())
		} else {
			c.facts(table)
		}
		return nil
	}
}
