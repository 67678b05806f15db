package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"tutti/internal/core/canonjson"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/sessions/job"
)

// timeFlag reads a time: as everywhere, or in whole seconds, as the older programs have it.
func timeFlag(c *kit.Call, flag *string, otherwise time.Duration) (time.Duration, error) {
	text := *flag
	if text == "" {
		return otherwise, nil
	}
	if n, err := strconv.Atoi(text); err == nil && n >= 0 && n <= 1e8 {
		return time.Duration(n) * time.Second, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 && d.Truncate(time.Second) == d {
		return d, nil
	}
	return 0, kit.Usagef("%s: invalid --%s %.40q: give whole seconds like 90, 2m or 1h", c.Verb.Name, c.FlagName(flag), text)
}

type newJobOptions struct {
	ofWorkspace
	Prompt, Agent, Total, IdleTimeout, Artifacts string
}

// jobOrder reads what is to be done.
func jobOrder(c *kit.Call, opt *newJobOptions, b *job.Book) (o job.Order, err error) {
	text := opt.Prompt
	if c.Arg(0) != "" {
		if text != "" {
			return o, kit.Usagef("%s: the prompt stands either behind --prompt or as an argument", c.Verb.Name)
		}
		text = c.Arg(0)
	}
	prompt, err := c.Body(text)
	if err != nil {
		return o, err
	}
	o = job.Order{
		Prompt: string(prompt), Agent: opt.Agent, Rounds: job.DefaultRounds,
	}
	for name := range strings.SplitSeq(opt.Artifacts, ",") {
		if name = strings.TrimSpace(name); name != "" {
			o.Artifacts = append(o.Artifacts, name)
		}
	}
	if o.Timeout, err = timeFlag(c, &opt.Total, job.DefaultTimeout); err != nil {
		return o, err
	}
	if o.Idle, err = timeFlag(c, &opt.IdleTimeout, job.DefaultIdle); err != nil {
		return o, err
	}
	o.Submitter, _ = c.JobActor()
	if o.Broker, err = job.BrokerOf(b.Workspace, os.Getenv); errors.Is(err, job.ErrNoBroker) {
		err = nil
	}
	return o, jobFault(c, err)
}

type jobSubmitOptions struct {
	newJobOptions
	AgentSession, Type, Reviewer, ReviewerSession string
	Wait                                          bool
	Rounds                                        int
}

func runJobSubmit(ctx context.Context, c *kit.Call, b *job.Book, opt *jobSubmitOptions) error {
	p := JobToolsOf()
	o, err := jobOrder(c, &opt.newJobOptions, b)
	o.Session, o.Reviewer, o.ReviewerSession = opt.AgentSession, opt.Reviewer, opt.ReviewerSession
	o.Rounds = kit.Or(c, &opt.Rounds, job.DefaultRounds)
	if o.Type = job.Type(opt.Type); o.Type == "single" {
		o.Type = job.Single
	}
	switch {
	case err != nil:
		return err
	case o.Type == job.Loop && (o.Session == "" || o.ReviewerSession == "" || !opt.Wait):
		return kit.Usagef("job submit: a loop needs --agent-session, --reviewer, --reviewer-session and --wait, so that the work can be handed back and forth")
	}
	j, err := b.Register(ctx, o)
	if err != nil {
		return err
	}
	w := &jobWatch{c: c, b: b, p: p, id: j.ID, drives: true}
	defer w.close()
	if opt.Wait {
		w.connect(ctx, o.Broker, j) // before anybody begins, so that nothing is missed
	}
	if o.Session != "" {
		err := errors.Join(startFor(ctx, c, b, o.Session, o.Agent), startFor(ctx, c, b, o.ReviewerSession, o.Reviewer))
		var d job.Deliverer
		if err == nil {
			d, err = p.deliverer(c, b)
		}
		if err == nil {
			_, err = b.HandOver(ctx, j.ID, d, o.Submitter)
		}
		if err != nil {
			w.ungiven(ctx, j.ID)
			return jobFault(c, fmt.Errorf("job %s: %w", j.ID, err))
		}
		if j, err = b.Get(j.ID); err != nil {
			return err
		}
	}
	sayNewJob(c, opt.Wait, b, j)
	if !opt.Wait {
		return nil
	}
	return w.wait(ctx)
}

type jobRegisterOptions struct {
	newJobOptions
}

func runJobRegister(ctx context.Context, c *kit.Call, b *job.Book, opt *jobRegisterOptions) error {
	o, err := jobOrder(c, &opt.newJobOptions, b)
	if err != nil {
		return err
	}
	j, err := b.Register(ctx, o)
	if err != nil {
		return err
	}
	sayNewJob(c, false, b, j)
	return nil
}

// sayNewJob says what was made, and what to type next.
func sayNewJob(c *kit.Call, wait bool, b *job.Book, j *job.Job) {
	switch {
	case c.JSON && wait: // lines follow
		c.Line(string(jobJSON(c, b, j)))
	case c.JSON:
		c.Result(jobJSON(c, b, j))
	default:
		where := "waits until an agent takes it: tutti job claim"
		if j.Status != job.StatusPending {
			where = "given to " + kit.Clean(j.Session)
		}
		c.Printf("job %s: %s\n", j.ID, where)
		c.Facts([][]string{{"", "follow", "tutti job watch " + j.ID}, {"", "log", b.Audit(j.ID)}})
	}
}

// A jobDue is when a job runs out.
type jobDue struct {
	At string `json:"at"`
	Of string `json:"of"` // which limit
}

// jobJSON is a job without its key.
func jobJSON(c *kit.Call, b *job.Book, j *job.Job) json.RawMessage {
	raw := canonjson.Set(j.Public(), "audit", canonjson.AppendString(nil, b.Audit(j.ID)))
	if b.Stranger(j) {
		raw = canonjson.Set(raw, "stranger", []byte("true"))
	}
	if at, which, ok := j.Due(); ok {
		raw = canonjson.Set(raw, "due", render.JSON(jobDue{at.UTC().Format(kit.JSONTime), which}))
	}
	return canonjson.Compact(raw)
}
