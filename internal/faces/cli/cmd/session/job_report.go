package session

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"tutti/internal/core/canonjson"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/halt"
	"tutti/internal/sessions/job"
)

func runJobClaim(ctx context.Context, c *kit.Call, b *job.Book) error {
	if c.On("trust-job") && c.Arg(0) == "" {
		return kit.Usagef("job claim: --trust-job needs the id of a job that you have read")
	}
	by, _ := c.JobActor()
	j, err := b.Claim(ctx, c.Arg(0), c.Text("agent"), by, c.On("trust-job"))
	if err != nil {
		return err
	}
	if session, ok := strings.CutPrefix(by, "session:"); ok {
		if err := b.Bind(session, j.ID); err != nil {
			c.Warn("the hooks of this session cannot report on it: %s", kit.Clean(err.Error()))
		}
	}
	if c.JSON {
		c.Emit(canonjson.Set(jobJSON(c, b, j), "brief", canonjson.AppendString(nil, b.Printed(j))))
		return nil
	}
	c.Printf("%s", kit.CleanBlock(b.Printed(j)))
	return nil
}

func runJobPublish(ctx context.Context, c *kit.Call, b *job.Book) error {
	p := JobToolsOf()
	detail := strings.Join(c.Args[min(2, len(c.Args)):], " ")
	if c.Text("detail") != "" {
		detail = strings.TrimSpace(detail + " " + c.Text("detail"))
	}
	text, err := c.Body(detail)
	if err != nil {
		return err
	}
	d := job.Draft{Kind: job.Kind(c.Arg(1)), Detail: strings.TrimSpace(string(text)), Role: c.Text("role")}
	if d.Role == "worker" {
		d.Role = ""
	}
	if !slices.Contains(job.Kinds(), string(d.Kind)) {
		return kit.Usagef("job publish: %.60q is not an event; use %s", string(d.Kind), strings.Join(job.Kinds(), ", "))
	}
	if c.Text("data") != "" {
		if d.Data, err = c.Body(c.Text("data")); err != nil {
			return err
		}
	}
	if session := os.Getenv(job.SessionVariable); session != "" {
		if id, role := b.Bound(session); id == c.Arg(0) && role != d.Role {
			return kit.Refuse("", "job publish: this session is the %s of job %s", cmp.Or(role, "worker"), id)
		}
	}
	e, j, err := b.Publish(ctx, c.Arg(0), d, job.ByAgent)
	if err != nil {
		return err
	}
	tellBroker(ctx, c, b, j, p)
	if c.JSON {
		c.Emit(e.Raw)
		return nil
	}
	c.Printf("job %s: %s, event %d\n", j.ID, e.Kind, e.Seq)
	return nil
}

// tellBroker tells the broker that is configured, if there is one. The event is safe by now: what goes wrong is a warning.
func tellBroker(ctx context.Context, c *kit.Call, b *job.Book, j *job.Job, p JobTools) {
	broker, err := job.BrokerOf(b.Workspace, os.Getenv)
	if errors.Is(err, job.ErrNoBroker) {
		return
	}
	if err == nil {
		err = halt.Check("publish events of job " + j.ID) // nobody is spoken to
	}
	var net job.Network
	if err == nil {
		net, err = p.Dial(ctx, broker)
	}
	if err == nil {
		_, err = b.Flush(ctx, j.ID, net)
		err = errors.Join(err, net.Close())
	}
	if _, halted := errors.AsType[*halt.Error](err); halted {
		c.Remark("halted: the next watcher or publisher will pass it to the broker")
		return
	}
	if err != nil {
		c.Warn("the event is in the log, and will reach the broker later: %s", kit.Clean(err.Error()))
	}
}

func runJobCancel(ctx context.Context, c *kit.Call, b *job.Book) error {
	by, _ := c.JobActor()
	j, again, err := b.Cancel(ctx, c.Arg(0), by, c.Text("reason"))
	if err != nil {
		return err
	}
	return sayJob(c, b, j, "cancelled", again)
}

// judgeJob makes the function of a verb that gives a verdict; the flag has what else there is to say.
func judgeJob(v job.Verdict, flag string) func(ctx context.Context, c *kit.Call, b *job.Book) error {
	return func(ctx context.Context, c *kit.Call, b *job.Book) error {
		by, person := c.JobActor()
		j, again, err := b.Judge(ctx, c.Arg(0), v, by, person, c.Text(flag))
		if err != nil {
			return err
		}
		return sayJob(c, b, j, string(v), again)
	}
}

// sayJob says what was done with a job.
func sayJob(c *kit.Call, b *job.Book, j *job.Job, word string, again bool) error {
	switch {
	case c.JSON:
		c.Emit(jobJSON(c, b, j))
	case again:
		c.Printf("job %s: was %s already\n", j.ID, word)
	default:
		c.Printf("job %s: %s\n", j.ID, word)
	}
	return nil
}
