package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"tutti/internal/canonjson"
	"tutti/internal/driver"
	"tutti/internal/halt"
	"tutti/internal/job"
	"tutti/internal/session"
)

// JobParts are what jobs need beyond files: too large for the light program, or not its business.
type JobParts struct {
	// Dial connects to a broker.
	Dial func(ctx context.Context, b job.Broker) (job.Network, error)
	// Open opens the registry of the sessions into which is typed; nil: this program cannot type.
	Open Opener
	// Deliver types in place of what is in that registry; for tests.
	Deliver job.Deliverer
}

// types tells whether something can be typed into sessions.
func (p *JobParts) types() bool { return p.Deliver != nil || p.Open != nil }

// deliverer types into the sessions of the workspace that has the jobs.
func (p *JobParts) deliverer(c *Call, b *job.Book) (job.Deliverer, error) {
	if p.Deliver != nil {
		return p.Deliver, nil
	}
	s, err := c.sessionsOf(b.Workspace, p.Open)
	if err != nil {
		return nil, err
	}
	return s.manager(c.Verb.Name)
}

// JobVerbs are the verbs about jobs that may need those parts.
func JobVerbs(p JobParts) Heavy {
	with := func(f func(context.Context, *Call, JobParts) error) Func {
		return func(ctx context.Context, c *Call) error { return f(ctx, c, p) }
	}
	return Heavy{
		{Name: "job submit", Run: with(runJobSubmit)}, {Name: "job publish", Run: with(runJobPublish)}, {Name: "job watch", Run: with(runJobWatch)},
	}
}

// The verbs as the light program has them.
func submitJob(ctx context.Context, c *Call) error  { return runJobSubmit(ctx, c, JobParts{}) }
func publishJob(ctx context.Context, c *Call) error { return runJobPublish(ctx, c, JobParts{}) }
func watchJob(ctx context.Context, c *Call) error   { return runJobWatch(ctx, c, JobParts{}) }

// brokerWanted tells whether a broker is configured, which only the heavy program can speak with.
func brokerWanted(c *Call) bool {
	b, err := c.jobBook()
	if err != nil {
		return false
	}
	_, err = job.BrokerOf(b.Workspace, os.Getenv)
	return !errors.Is(err, job.ErrNoBroker)
}

// submitNeeds tells whether submitting takes more than files.
func submitNeeds(c *Call) bool { return c.text("agent-session") != "" || brokerWanted(c) }

// watchNeeds tells whether watching takes more than files.
func watchNeeds(c *Call) bool { return c.on("drive") || brokerWanted(c) }

// jobBook opens the jobs that are meant.
func (c *Call) jobBook() (*job.Book, error) {
	b, note, err := c.findJobs()
	if err != nil {
		return nil, failIO("", err, "%s", c.Verb.Name)
	}
	if note != "" {
		c.remark("%s", Clean(note))
	}
	return b, nil
}

func (c *Call) findJobs() (*job.Book, string, error) {
	if dir := c.text("workspace"); dir != "" {
		return job.At(dir)
	}
	if c.Verb.Name == "job submit" || c.Verb.Name == "job register" { // a new job is one of the folder where one stands
		return job.At(".")
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, "", err
	}
	return job.Find(dir)
}

// jobActor is who acts on a job, and whether it is a person. It tells apart who submitted from who works; it proves nothing,
// because all of them are programs of one user.
func (c *Call) jobActor() (by string, person bool) {
	if session := os.Getenv(job.SessionVariable); session != "" && job.CheckID(session) == nil {
		return "session:" + session, false
	}
	for _, d := range driver.All() {
		if v := d.Hooks.Conversation; v != "" && os.Getenv(v) != "" {
			return d.Name + ":" + Truncate(Clean(os.Getenv(v)), 80), false
		}
	}
	f := factsOf(c.App)
	if p, ok := f.AgentProcess(); ok {
		return fmt.Sprintf("agent:%d.%d", p.ID.PID, p.ID.Start), false
	}
	return "user:" + f.Login(), true
}

// tellJob tells a job what becomes of its session. It is looked for in the workspace of the registry that has the session, then where
// the user stands and above.
func tellJob(workspace, dir string) func(ctx context.Context, id, event, detail string) error {
	return func(ctx context.Context, id, event, detail string) error {
		b, _, err := job.At(workspace)
		over := false
		if err == nil {
			over, err = b.Session(ctx, id, job.Kind(event), detail)
		}
		if errors.Is(err, job.ErrNone) {
			if b, _, err = job.Find(dir); err == nil {
				over, err = b.Session(ctx, id, job.Kind(event), detail)
			}
		}
		if over {
			return session.ErrJobOver
		}
		return err
	}
}

// jobFault turns what can be wrong with a job into an exit status.
func (c *Call) jobFault(err error) error {
	var (
		state   *job.StateError
		damaged *job.DamagedError
		public  *job.PublicError
		halted  *halt.Error
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &halted):
		return err
	case errors.Is(err, job.ErrNone):
		return &fault{code: exitState, err: err, hint: `"tutti job list" shows those of this workspace, --workspace names another one`}
	case errors.As(err, &state), errors.As(err, &damaged):
		return &fault{code: exitState, err: err}
	case errors.As(err, &public):
		return &fault{code: exitUsage, err: err, hint: public.Hint()}
	case exitCode(err, c.under) == exitUsage:
		return &fault{code: exitUsage, err: err}
	}
	return err
}

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

func runJobSubmit(ctx context.Context, c *Call, p JobParts) error {
	b, err := c.jobBook()
	if err != nil {
		return err
	}
	o, err := c.jobOrder(b)
	switch {
	case err != nil:
		return err
	case o.Session != "" && !p.types():
		return refuse("without --agent-session the job waits until an agent takes it: tutti job claim", "job submit: this program cannot type into sessions")
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
		if err := w.connect(ctx, o.Broker, j); err != nil { // before anybody begins, so that nothing is missed
			c.warn("%s", Clean(err.Error()))
		}
	}
	if o.Session != "" {
		d, err := p.deliverer(c, b)
		if err == nil {
			_, err = b.HandOver(ctx, j.ID, d, o.Submitter)
		}
		if err != nil {
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

func runJobPublish(ctx context.Context, c *Call, p JobParts) error {
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
func (c *Call) tellBroker(ctx context.Context, b *job.Book, j *job.Job, p JobParts) {
	broker, err := job.BrokerOf(b.Workspace, os.Getenv)
	if errors.Is(err, job.ErrNoBroker) || p.Dial == nil {
		return
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
