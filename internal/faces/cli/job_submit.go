package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"tutti/internal/core/canonjson"
	"tutti/internal/sessions/job"
)

// timeFlag reads a time: as everywhere, or in whole seconds, as the older programs have it.
func (c *Call) timeFlag(name string, otherwise time.Duration) (time.Duration, error) {
	text := c.text(name)
	if text == "" {
		return otherwise, nil
	}
	if n, err := strconv.Atoi(text); err == nil && n >= 0 && n <= 1e8 {
		return time.Duration(n) * time.Second, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 && d.Truncate(time.Second) == d {
		return d, nil
	}
	return 0, usagef("%s: --%s %.40q is no time in whole seconds: 90, 2m, 1h", c.Verb.Name, name, text)
}

// jobOrder reads what is to be done.
func (c *Call) jobOrder(b *job.Book) (o job.Order, err error) {
	text := c.text("prompt")
	if c.arg(0) != "" {
		if text != "" {
			return o, usagef("%s: the prompt stands either behind --prompt or as an argument", c.Verb.Name)
		}
		text = c.arg(0)
	}
	prompt, err := c.body(text)
	if err != nil {
		return o, err
	}
	o = job.Order{
		Prompt: string(prompt), Agent: c.text("agent"), Session: c.text("agent-session"), Reviewer: c.text("reviewer"),
		ReviewerSession: c.text("reviewer-session"), Rounds: c.count("rounds", job.DefaultRounds), Type: job.Type(c.text("type")),
	}
	if o.Type == "single" {
		o.Type = job.Single
	}
	for name := range strings.SplitSeq(c.text("artifacts"), ",") {
		if name = strings.TrimSpace(name); name != "" {
			o.Artifacts = append(o.Artifacts, name)
		}
	}
	if o.Timeout, err = c.timeFlag("total", job.DefaultTimeout); err != nil {
		return o, err
	}
	if o.Idle, err = c.timeFlag("idle-timeout", job.DefaultIdle); err != nil {
		return o, err
	}
	o.Submitter, _ = c.jobActor()
	if o.Broker, err = job.BrokerOf(b.Workspace, os.Getenv); errors.Is(err, job.ErrNoBroker) {
		err = nil
	}
	return o, c.jobFault(err)
}

func runJobSubmit(ctx context.Context, c *Call) error {
	p := jobToolsOf()
	b, err := c.jobBook()
	if err != nil {
		return err
	}
	o, err := c.jobOrder(b)
	switch {
	case err != nil:
		return err
	case o.Type == job.Loop && (o.Session == "" || o.ReviewerSession == "" || !c.on("wait")):
		return usagef("job submit: a loop needs --agent-session, --reviewer, --reviewer-session and --wait: somebody has to hand the work to and fro")
	}
	j, err := b.Register(ctx, o)
	if err != nil {
		return c.jobFault(err)
	}
	w := c.jobWatch(b, p, j.ID)
	defer w.close()
	if c.on("wait") {
		w.connect(ctx, o.Broker, j) // before anybody begins, so that nothing is missed
	}
	if o.Session != "" {
		d, err := p.deliverer(c, b)
		if err == nil {
			_, err = b.HandOver(ctx, j.ID, d, o.Submitter)
		}
		if err != nil {
			w.ungiven(ctx, j.ID)
			return c.jobFault(fmt.Errorf("job %s: %w", j.ID, err))
		}
		if j, err = b.Get(j.ID); err != nil {
			return c.jobFault(err)
		}
	}
	c.sayNewJob(b, j)
	if !c.on("wait") {
		return nil
	}
	return w.wait(ctx)
}

func runJobRegister(ctx context.Context, c *Call) error {
	b, err := c.jobBook()
	if err != nil {
		return err
	}
	o, err := c.jobOrder(b)
	if err != nil {
		return err
	}
	j, err := b.Register(ctx, o)
	if err != nil {
		return c.jobFault(err)
	}
	c.sayNewJob(b, j)
	return nil
}

// sayNewJob says what was made, and what to type next.
func (c *Call) sayNewJob(b *job.Book, j *job.Job) {
	switch {
	case c.json && c.on("wait"): // lines follow
		c.line(string(c.jobJSON(b, j)))
	case c.json:
		c.emit(c.jobJSON(b, j))
	default:
		where := "waits until an agent takes it: tutti job claim"
		if j.Status != job.StatusPending {
			where = "given to " + Clean(j.Session)
		}
		c.printf("job %s: %s\n", j.ID, where)
		c.facts([][]string{{"", "follow", "tutti job watch " + j.ID}, {"", "log", b.Audit(j.ID)}})
	}
}

// jobJSON is a job without its key.
func (c *Call) jobJSON(b *job.Book, j *job.Job) []byte {
	raw := canonjson.Set(j.Public(), "audit", canonjson.AppendString(nil, b.Audit(j.ID)))
	if at, which, ok := j.Due(); ok {
		var o canonjson.Object
		o.Str("at", at.UTC().Format(jsonTime))
		o.Str("of", which)
		raw = canonjson.Set(raw, "due", o.Bytes())
	}
	return canonjson.Compact(raw)
}
