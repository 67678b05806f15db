package cli

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tutti/internal/core/canonjson"
	"tutti/internal/sessions/job"
)

func runJobList(_ context.Context, c *Call) error {
	b, err := c.jobBook()
	if err != nil {
		return err
	}
	all, bad, err := b.List()
	if err != nil {
		return c.jobFault(err)
	}
	for _, p := range bad {
		c.warn("%s", Clean(p.Err.Error()))
	}
	if want := c.text("status"); want != "" {
		all = slices.DeleteFunc(all, func(j *job.Job) bool { return string(j.Status) != want })
	}
	switch {
	case c.json:
		out := c.array()
		for _, j := range all {
			if err := out.add(c.jobJSON(b, j)); err != nil {
				return err
			}
		}
		out.end()
	case len(all) == 0:
		c.remark("no jobs in %s", Clean(b.Dir()))
	default:
		now := time.Now()
		g := gridFor(len(all), 5)
		for _, j := range all {
			g.add(Clean(j.ID), jobState(j, now), Clean(cmp.Or(j.Session, j.Agent, "-")), ago(now.Sub(j.Created)), Clean(firstLine(j.Prompt, "")))
		}
		if err := c.long(g); err != nil {
			return err
		}
	}
	if len(bad) > 0 {
		return &fault{code: exitState}
	}
	return nil
}

// jobState says in a few words where a job stands.
func jobState(j *job.Job, now time.Time) string {
	text := string(j.Status)
	switch {
	case j.Verdict != "":
		text += ", " + Clean(string(j.Verdict))
	case j.Status == job.StatusCompleted:
		text += ", to be accepted"
	case j.Waits(now):
		text += ", waits until its agent rests"
	case j.Status == job.StatusRunning && j.Last == job.Permission:
		text += ", asks for a permission"
	case j.Status == job.StatusRunning && j.Type == job.Loop:
		text += ", " + Clean(cmp.Or(j.Phase, job.Work)) + " " + strconv.Itoa(max(j.Round, 1))
	}
	if at, which, ok := j.Due(); ok && now.After(at) {
		text += ", overdue (" + which + ")"
	}
	return text
}

// runJobStatus is show under the name and with the flag of the older program.
func runJobStatus(ctx context.Context, c *Call) error {
	id, word := c.text("job"), c.arg(0)
	switch {
	case id == "" && word == "":
		return c.missing("job")
	case id == "":
		id = word
	case word != "" && word != id:
		return usagef("job status: either --job %s or %s, not both", Clean(id), Clean(word))
	}
	return c.showJob(ctx, id)
}

func runJobShow(ctx context.Context, c *Call) error { return c.showJob(ctx, c.arg(0)) }

func (c *Call) showJob(_ context.Context, id string) error {
	b, err := c.jobBook()
	if err != nil {
		return err
	}
	j, err := b.Get(id)
	if err != nil {
		return c.jobFault(err)
	}
	if c.json {
		c.emit(c.jobJSON(b, j))
		return nil
	}
	now := time.Now()
	rows := [][]string{{"job", j.ID}, {"status", jobState(j, now)}}
	add := func(name, text string) {
		if text != "" {
			rows = append(rows, []string{name, text})
		}
	}
	add("agent", strings.TrimSpace(j.Agent+" "+j.Session))
	add("reviewer", strings.TrimSpace(j.Reviewer+" "+j.ReviewerSession))
	add("submitted", strings.TrimSpace(ago(now.Sub(j.Created))+" by "+j.Submitter))
	add("claimed by", j.ClaimedBy)
	if j.LastSeq > 0 {
		add("last event", strconv.FormatInt(j.LastSeq, 10)+" "+string(j.Last)+" "+ago(now.Sub(j.Heard))+": "+firstLine(j.Detail, "-"))
	}
	if at, which, ok := j.Due(); ok {
		add("ends", at.Local().Format("15:04:05")+" ("+which+")")
	}
	if j.Verdict != "" {
		add(string(j.Verdict), strings.TrimSpace("by "+j.VerdictBy+" "+j.Note))
	}
	add("log", b.Audit(j.ID))
	c.facts(rows)
	c.printf("\n%s\n", strings.TrimRight(CleanBlock(j.Prompt), "\n"))
	if j.Status == job.StatusCompleted && j.Verdict == "" {
		c.remark(`its agent says that it is done; look, then "tutti job accept %s" or "tutti job reject %s"`, j.ID, j.ID)
	}
	return nil
}

func runJobLogs(_ context.Context, c *Call) error {
	b, err := c.jobBook()
	if err != nil {
		return err
	}
	if c.on("list") || c.arg(0) == "" {
		if c.arg(0) != "" {
			return usagef("job logs: either --list or a job")
		}
		return c.listLogs(b)
	}
	lines, _, err := b.Log(c.arg(0), 0, 0)
	if err != nil {
		return c.jobFault(err)
	}
	if len(lines) == 0 {
		return badState(`"tutti job logs" lists those that there are`, "job logs: there is no log of job %s", Clean(c.arg(0)))
	}
	for i := range lines {
		c.jobLine(&lines[i], false)
		if err := c.flushLong(); err != nil {
			return err
		}
	}
	return nil
}

// listLogs lists what is kept, also of jobs whose record is gone.
func (c *Call) listLogs(b *job.Book) error {
	found, err := os.ReadDir(filepath.Dir(b.Audit("x")))
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	var ids list
	for _, f := range found {
		if !f.IsDir() || job.CheckID(f.Name()) != nil {
			continue
		}
		if c.json {
			ids.str(f.Name())
			continue
		}
		c.line(f.Name() + "  " + Clean(b.Audit(f.Name())))
	}
	if c.json {
		c.emit(ids.bytes())
	}
	return nil
}

// jobLine prints a line of a log. many: of more than one job.
func (c *Call) jobLine(l *job.Line, many bool) {
	switch {
	case !c.json:
		c.line(jobText(l, many))
	case !canonjson.Valid(l.Raw):
		var o canonjson.Object
		o.Str("event", "unreadable")
		o.Str("job_id", l.Job)
		o.Int("line", int64(l.N))
		c.line(string(o.Bytes()))
	default:
		c.line(string(l.Raw))
	}
}

// jobText is a line of a log for people. Everything in it may come from others.
func jobText(l *job.Line, many bool) string {
	text := l.Received.Local().Format("15:04:05")
	if l.Received.IsZero() {
		text = "--:--:--"
	}
	if many {
		text += " " + Clean(l.Job)
	}
	text += " " + cmp.Or(Truncate(Clean(l.What), 40), "(no line of a log)")
	detail, reason := "", l.Reason
	if l.Event != nil {
		detail = l.Event.Detail
		text += " " + strconv.FormatInt(l.Event.Seq, 10)
		if role := l.Event.Role(); role != "" {
			text += " " + Truncate(Clean(role), 20)
		}
	}
	if l.Via != "" && l.Via != job.ByAgent {
		text += " (" + Truncate(Clean(l.Via), 20) + ")"
	}
	if reason != "" {
		text += ": " + Clean(reason)
	}
	if detail != "" {
		text += ": " + Clean(strings.ReplaceAll(detail, "\n", " "))
	}
	return text
}
