package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"

	"tutti/internal/core/canonjson"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/halt"
	"tutti/internal/sessions/job"
)

type jobClaimOptions struct {
	ofWorkspace
	Agent    string
	TrustJob bool
}

func runJobClaim(ctx context.Context, c *kit.Call, b *job.Book, opt *jobClaimOptions) error {
	if opt.TrustJob && c.Arg(0) == "" {
		return kit.Usagef("job claim: --trust-job needs the id of a job that you have read")
	}
	by, _ := c.JobActor()
	j, err := b.Claim(ctx, c.Arg(0), opt.Agent, by, opt.TrustJob)
	if err != nil {
		return err
	}
	if session, ok := strings.CutPrefix(by, "session:"); ok {
		if err := b.Bind(session, j.ID); err != nil {
			c.Warn("the hooks of this session cannot report on it: %s", kit.Clean(err.Error()))
		}
	}
	if c.JSON {
		c.Result(json.RawMessage(canonjson.Set(jobJSON(c, b, j), "brief", canonjson.AppendString(nil, b.Printed(j)))))
		return nil
	}
	c.Printf("%s", kit.CleanBlock(b.Printed(j)))
	return nil
}

type jobPublishOptions struct {
	ofWorkspace
	Detail, Data, Role string
}

func runJobPublish(ctx context.Context, c *kit.Call, b *job.Book, opt *jobPublishOptions) error {
	p := JobToolsOf()
	detail := strings.Join(c.Args[min(2, len(c.Args)):], " ")
	if opt.Detail != "" {
		detail = strings.TrimSpace(detail + " " + opt.Detail)
	}
	text, err := c.Body(detail)
	if err != nil {
		return err
	}
	d := job.Draft{Kind: job.Kind(c.Arg(1)), Detail: strings.TrimSpace(string(text)), Role: opt.Role}
	if d.Role == "worker" {
		d.Role = ""
	}
	if !slices.Contains(job.Kinds(), string(d.Kind)) {
		return kit.Usagef("job publish: %.60q is not an event; use %s", string(d.Kind), strings.Join(job.Kinds(), ", "))
	}
	if opt.Data != "" {
		if d.Data, err = c.Body(opt.Data); err != nil {
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
		c.Result(json.RawMessage(e.Raw))
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
		err = halt.Check("publish events of job " + j.ID) // nothing is published
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

type jobCancelOptions struct {
	ofWorkspace
	Reason string
}

func runJobCancel(ctx context.Context, c *kit.Call, b *job.Book, opt *jobCancelOptions) error {
	by, _ := c.JobActor()
	j, again, err := b.Cancel(ctx, c.Arg(0), by, opt.Reason)
	if err != nil {
		return err
	}
	return sayJob(c, b, j, "cancelled", again)
}

type jobAcceptOptions struct {
	ofWorkspace
	Note string
}

func runJobAccept(ctx context.Context, c *kit.Call, b *job.Book, opt *jobAcceptOptions) error {
	return judgeJob(ctx, c, b, job.Accepted, opt.Note)
}

type jobRejectOptions struct {
	ofWorkspace
	Reason string
}

func runJobReject(ctx context.Context, c *kit.Call, b *job.Book, opt *jobRejectOptions) error {
	return judgeJob(ctx, c, b, job.Rejected, opt.Reason)
}

// judgeJob gives a verdict, with what else there is to say.
func judgeJob(ctx context.Context, c *kit.Call, b *job.Book, v job.Verdict, why string) error {
	by, person := c.JobActor()
	j, again, err := b.Judge(ctx, c.Arg(0), v, by, person, why)
	if err != nil {
		return err
	}
	return sayJob(c, b, j, string(v), again)
}

// sayJob says what was done with a job.
func sayJob(c *kit.Call, b *job.Book, j *job.Job, word string, again bool) error {
	switch {
	case c.JSON:
		c.Result(jobJSON(c, b, j))
	case again:
		c.Printf("job %s: was %s already\n", j.ID, word)
	default:
		c.Printf("job %s: %s\n", j.ID, word)
	}
	return nil
}
