package cli

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"tutti/internal/core/canonjson"
	"tutti/internal/halt"
	"tutti/internal/sessions/job"
)

func runJobClaim(ctx context.Context, c *Call) error {
	b, err := c.jobBook()
	if err != nil {
		return err
	}
	by, _ := c.jobActor()
	j, err := b.Claim(ctx, c.arg(0), c.text("agent"), by)
	if err != nil {
		return c.jobFault(err)
	}
	if session, ok := strings.CutPrefix(by, "session:"); ok {
		if err := b.Bind(session, j.ID); err != nil {
			c.warn("the hooks of this session cannot report on it: %s", Clean(err.Error()))
		}
	}
	if c.json {
		c.emit(canonjson.Set(c.jobJSON(b, j), "brief", canonjson.AppendString(nil, b.Brief(j))))
		return nil
	}
	c.printf("%s", CleanBlock(b.Brief(j)))
	return nil
}

func runJobPublish(ctx context.Context, c *Call) error {
	p := jobToolsOf()
	b, err := c.jobBook()
	if err != nil {
		return err
	}
	detail := strings.Join(c.Args[min(2, len(c.Args)):], " ")
	if c.text("detail") != "" {
		detail = strings.TrimSpace(detail + " " + c.text("detail"))
	}
	text, err := c.body(detail)
	if err != nil {
		return err
	}
	d := job.Draft{Kind: job.Kind(c.arg(1)), Detail: strings.TrimSpace(string(text)), Role: c.text("role")}
	if d.Role == "worker" {
		d.Role = ""
	}
	if !slices.Contains(job.Kinds(), string(d.Kind)) {
		return usagef("job publish: %.60q is no event; there are %s", string(d.Kind), strings.Join(job.Kinds(), ", "))
	}
	if c.text("data") != "" {
		if d.Data, err = c.body(c.text("data")); err != nil {
			return err
		}
	}
	if session := os.Getenv(job.SessionVariable); session != "" {
		if id, role := b.Bound(session); id == c.arg(0) && role != d.Role {
			return refuse("", "job publish: this session is the %s of job %s", cmp.Or(role, "worker"), id)
		}
	}
	e, j, err := b.Publish(ctx, c.arg(0), d, job.ByAgent)
	if err != nil {
		return c.jobFault(err)
	}
	c.tellBroker(ctx, b, j, p)
	if c.json {
		c.emit(e.Raw)
		return nil
	}
	c.printf("job %s: %s, event %d\n", j.ID, e.Kind, e.Seq)
	return nil
}

// tellBroker tells the broker that is configured, if there is one. The event is safe by now: what goes wrong is a warning.
func (c *Call) tellBroker(ctx context.Context, b *job.Book, j *job.Job, p jobTools) {
	broker, err := job.BrokerOf(b.Workspace, os.Getenv)
	if errors.Is(err, job.ErrNoBroker) {
		return
	}
	if err == nil {
		err = halt.Check("publish events of job " + j.ID) // nobody is spoken to
	}
	var net job.Network
	if err == nil {
		net, err = p.dial(ctx, broker)
	}
	if err == nil {
		_, err = b.Flush(ctx, j.ID, net)
		err = errors.Join(err, net.Close())
	}
	if _, halted := errors.AsType[*halt.Error](err); halted {
		c.remark("halted: the broker is told later, by whoever watches or publishes then")
		return
	}
	if err != nil {
		c.warn("the event is in the log, and the broker is told later: %s", Clean(err.Error()))
	}
}

func runJobCancel(ctx context.Context, c *Call) error {
	b, err := c.jobBook()
	if err != nil {
		return err
	}
	by, _ := c.jobActor()
	j, again, err := b.Cancel(ctx, c.arg(0), by, c.text("reason"))
	if err != nil {
		return c.jobFault(err)
	}
	return c.sayJob(b, j, "cancelled", again)
}

func runJobAccept(ctx context.Context, c *Call) error {
	return c.judgeJob(ctx, job.Accepted, c.text("note"))
}

func runJobReject(ctx context.Context, c *Call) error {
	return c.judgeJob(ctx, job.Rejected, c.text("reason"))
}

func (c *Call) judgeJob(ctx context.Context, v job.Verdict, note string) error {
	b, err := c.jobBook()
	if err != nil {
		return err
	}
	by, person := c.jobActor()
	j, again, err := b.Judge(ctx, c.arg(0), v, by, person, note)
	if err != nil {
		return c.jobFault(err)
	}
	return c.sayJob(b, j, string(v), again)
}

// sayJob says what was done with a job.
func (c *Call) sayJob(b *job.Book, j *job.Job, word string, again bool) error {
	switch {
	case c.json:
		c.emit(c.jobJSON(b, j))
	case again:
		c.printf("job %s: was %s already\n", j.ID, word)
	default:
		c.printf("job %s: %s\n", j.ID, word)
	}
	return nil
}
