package comms

import (
	"context"
	"strings"
	"time"

	"tutti/internal/app/search"
	"tutti/internal/comms/exchange"
	"tutti/internal/core/address"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
)

type searchOptions struct {
	Only, From, Since, Project, Instance string
	Newest                               int
}

// runSearch looks for a text in the mail of both kinds.
func runSearch(ctx context.Context, c *kit.Call, opt *searchOptions) error {
	q := search.Query{Words: strings.Join(c.Args, " "), From: opt.From, Newest: kit.Or(c, &opt.Newest, fast.DefaultNewest)}
	if strings.TrimSpace(q.Words) == "" {
		return kit.Usagef("search: for what?")
	}
	if c.IsSet(&opt.Since) {
		age, err := c.Age(&opt.Since, 0)
		if err != nil {
			return err
		}
		q.Since = time.Now().Add(-age)
	}
	must := func() bool { return opt.Only == "bus" || c.IsSet(&opt.Instance) || ctx.Err() != nil }
	var here *kit.Account // of the user, who searches the mail of all own agents
	if opt.Only != "projects" {
		d, readers, across, err := c.Readers(ctx, opt.Instance)
		switch {
		case err != nil && must():
			return err
		case err != nil:
			c.Remark("the bus is not searched: %s", kit.Clean(err.Error()))
		case d != nil:
			defer d.Close()
			if q.Office, q.Readers = d.Office, readers; across {
				here = d
			}
		}
	}
	if opt.Only != "bus" {
		var err error
		if q.Exchange, q.Projects, err = searchedProjects(c, opt.Project); err != nil {
			return err
		}
	}
	r, err := search.Find(ctx, q)
	if err != nil {
		return err
	}
	if r.BusErr != nil {
		if must() {
			return r.BusErr
		}
		c.Remark("the bus is not searched: %s", kit.Clean(r.BusErr.Error()))
	}
	for _, f := range r.Faults {
		c.Warn("%s of %s: %s", f.Folder, kit.Clean(f.Project), kit.Clean(f.Err.Error()))
	}
	if here != nil {
		c.OtherBuses(ctx, here, func(d *kit.Account, readers []address.Instance) error {
			there, err := search.Find(ctx, search.Query{
				Words: q.Words, From: q.From, Since: q.Since, Newest: q.Newest, Office: d.Office, Readers: readers, Bus: d.Root.Path,
			})
			if err == nil && there.BusErr == nil {
				r.Add(there, q.Newest)
			}
			return err
		})
	}
	showHits(c, r)
	if r.Found == 0 {
		return &kit.Fault{Code: kit.ExitState} // it is said
	}
	return nil
}

// searchedProjects are all projects, or one.
func searchedProjects(c *kit.Call, name string) (*exchange.Service, []exchange.Project, error) {
	o, _, err := c.CommsService()
	if err != nil {
		return nil, nil, err
	}
	if name != "" {
		p, err := c.ProjectNamed(o, name)
		return o, []exchange.Project{p}, err
	}
	all, err := search.AllProjects(o, c.App.WorkDir())
	if err != nil {
		c.Warn("%s", kit.Clean(err.Error()))
	}
	return o, all, nil
}

// showHits prints what was found.
func showHits(c *kit.Call, r *search.Result) {
	if c.JSON {
		c.Result(r)
		return
	}
	if r.Found == 0 {
		c.Nothing("nothing was found")
		return
	}
	now := time.Now()
	for i := range r.Hits {
		h := &r.Hits[i]
		ends := kit.Clean(h.From)
		if h.To != "" {
			ends += " to " + kit.Clean(h.To)
		}
		c.Line(strings.Join([]string{ends, c.Paint(wordColor(h.Verdict), kit.Clean(h.Verdict)), kit.Ago(now.Sub(h.Time)), kit.Clean(h.Where)}, "  "))
		what := kit.Clean(h.ID)
		if h.Kind == search.ToProject {
			what = kit.Clean(c.App.Shown(h.Path))
		}
		if h.Bus != "" {
			what += "  bus " + kit.Clean(c.App.Shown(h.Bus))
		}
		c.Line("  " + what)
		if h.Title != "" {
			c.Line("  title: " + fast.Cell(c, h.Title))
		}
		if h.Snippet != "" {
			c.Prose("  | ", 4, kit.Clean(h.Snippet))
		}
	}
	if left := r.Found - len(r.Hits); left > 0 {
		c.Printf("and %d more; --newest 0 shows all\n", left)
	}
}

// wordColor is the colour of what a signature is worth.
func wordColor(word string) string {
	switch {
	case strings.HasPrefix(word, "verified"):
		return kit.Green
	case strings.HasPrefix(word, "key changed"), strings.HasPrefix(word, "bad signature"):
		return kit.Red
	}
	return kit.Yellow
}
