package session

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
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/platform/smallfile"
	"tutti/internal/sessions/job"
)

type jobListOptions struct {
	ofWorkspace
	Status string
}

func runJobList(_ context.Context, c *kit.Call, b *job.Book, opt *jobListOptions) error {
	all, bad, err := b.List()
	if err != nil {
		return err
	}
	for _, p := range bad {
		c.Warn("%s", kit.Clean(p.Err.Error()))
	}
	if want := opt.Status; want != "" {
		all = slices.DeleteFunc(all, func(j *job.Job) bool { return string(j.Status) != want })
	}
	switch {
	case c.JSON:
		out := c.Array()
		for _, j := range all {
			if err := out.Add(jobJSON(c, b, j)); err != nil {
				return err
			}
		}
		out.End()
	case len(all) == 0:
		c.Remark("no jobs in %s", kit.Clean(b.Dir()))
	default:
		now := time.Now()
		var g kit.Grid
		for _, j := range all {
			g.Add(kit.Clean(j.ID), jobState(j, now)+origin(b, j), kit.Clean(cmp.Or(j.Session, j.Agent, "-")), kit.Ago(now.Sub(j.Created)), kit.Clean(fast.FirstLine(j.Prompt, "")))
		}
		if err := c.Long(&g); err != nil {
			return err
		}
	}
	if len(bad) > 0 {
		return &kit.Fault{Code: kit.ExitState}
	}
	return nil
}

// origin marks a job of a stranger.
func origin(b *job.Book, j *job.Job) string {
	if b.Stranger(j) {
		return ", not submitted here"
	}
	return ""
}

// jobState says in a few words where a job stands.
func jobState(j *job.Job, now time.Time) string {
	text := string(j.Status)
	switch {
	case j.Verdict != "":
		text += ", " + kit.Clean(string(j.Verdict))
	case j.Status == job.StatusCompleted:
		text += ", to be accepted"
	case j.Waits(now):
		text += ", waits until its agent rests"
	case j.Status == job.StatusRunning && j.Last == job.Permission:
		text += ", asks for a permission"
	case j.Status == job.StatusRunning && j.Type == job.Loop:
		text += ", " + kit.Clean(cmp.Or(j.Phase, job.Work)) + " " + strconv.Itoa(max(j.Round, 1))
	}
	if at, which, ok := j.Due(); ok && now.After(at) {
		text += ", overdue (" + which + ")"
	}
	return text
}

type jobStatusOptions struct {
	ofWorkspace
	Job string
}

// runJobStatus is show under the name and with the flag of the older program.
func runJobStatus(_ context.Context, c *kit.Call, b *job.Book, opt *jobStatusOptions) error {
	id, word := opt.Job, c.Arg(0)
	switch {
	case id == "" && word == "":
		return c.Missing(&opt.Job)
	case id == "":
		id = word
	case word != "" && word != id:
		return kit.Usagef("job status: either --job %s or %s, not both", kit.Clean(id), kit.Clean(word))
	}
	return showJob(c, b, id)
}

type jobShowOptions struct{ ofWorkspace }

func runJobShow(_ context.Context, c *kit.Call, b *job.Book, opt *jobShowOptions) error {
	return showJob(c, b, c.Arg(0))
}

func showJob(c *kit.Call, b *job.Book, id string) error {
	j, err := b.Get(id)
	if err != nil {
		return err
	}
	if c.JSON {
		c.Result(jobJSON(c, b, j))
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
	add("submitted", strings.TrimSpace(kit.Ago(now.Sub(j.Created))+" by "+j.Submitter))
	if b.Stranger(j) {
		add("origin", "not submitted by you on this machine; others may have written all of this")
	}
	add("claimed by", j.ClaimedBy)
	if j.LastSeq > 0 {
		add("last event", strconv.FormatInt(j.LastSeq, 10)+" "+string(j.Last)+" "+kit.Ago(now.Sub(j.Heard))+": "+fast.FirstLine(j.Detail, "-"))
	}
	if at, which, ok := j.Due(); ok {
		add("ends", at.Local().Format("15:04:05")+" ("+which+")")
	}
	if j.Verdict != "" {
		add(string(j.Verdict), strings.TrimSpace("by "+j.VerdictBy+" "+j.Note))
	}
	add("log", b.Audit(j.ID))
	c.Facts(rows)
	c.Line("")
	for line := range strings.SplitSeq(strings.TrimRight(kit.CleanBlock(j.Prompt), "\n"), "\n") {
		c.Line("| " + line)
	}
	if j.Status == job.StatusCompleted && j.Verdict == "" {
		c.Remark(`its agent says that it is done; look, then "tutti job accept %s" or "tutti job reject %s"`, j.ID, j.ID)
	}
	return nil
}

type jobLogsOptions struct {
	ofWorkspace
	List bool
}

func runJobLogs(_ context.Context, c *kit.Call, b *job.Book, opt *jobLogsOptions) error {
	if opt.List || c.Arg(0) == "" {
		if c.Arg(0) != "" {
			return kit.Usagef("job logs: either --list or a job")
		}
		return listLogs(c, b)
	}
	lines, _, err := b.Log(c.Arg(0), 0, 0)
	if err != nil {
		return err
	}
	if len(lines) == 0 {
		return kit.BadState(`"tutti job logs" lists those that there are`, "job logs: there is no log of job %s", kit.Clean(c.Arg(0)))
	}
	for i := range lines {
		jobLine(c, &lines[i], false)
		if err := c.FlushLong(); err != nil {
			return err
		}
	}
	return nil
}

// listLogs lists what is kept, also of jobs whose record is gone.
func listLogs(c *kit.Call, b *job.Book) error {
	found, err := smallfile.ReadDir(filepath.Dir(b.Audit("x")), smallfile.NoLinks)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	ids := []string{}
	for _, f := range found {
		if !f.IsDir() || job.CheckID(f.Name()) != nil {
			continue
		}
		if c.JSON {
			ids = append(ids, f.Name())
			continue
		}
		c.Line(f.Name() + "  " + kit.Clean(b.Audit(f.Name())))
	}
	if c.JSON {
		c.Result(ids)
	}
	return nil
}

// An unreadableLine is a line of a log that is not valid JSON.
type unreadableLine struct {
	Event string `json:"event"` // unreadable
	Job   string `json:"job_id"`
	Line  int    `json:"line"` // from 1
}

// jobLine prints a line of a log. many: of more than one job.
func jobLine(c *kit.Call, l *job.Line, many bool) {
	switch {
	case !c.JSON:
		c.Line(jobText(l, many))
	case !canonjson.Valid(l.Raw):
		c.ResultLine(unreadableLine{"unreadable", l.Job, l.N})
	default:
		c.Line(string(l.Raw))
	}
}

// jobText is a line of a log for people. Everything in it may come from others.
func jobText(l *job.Line, many bool) string {
	text := l.Received.Local().Format("15:04:05")
	if l.Received.IsZero() {
		text = "--:--:--"
	}
	if many {
		text += " " + kit.Clean(l.Job)
	}
	text += " " + cmp.Or(kit.Truncate(kit.Clean(l.What), 40), "(no line of a log)")
	detail, reason := "", l.Reason
	if l.Event != nil {
		detail = l.Event.Detail
		text += " " + strconv.FormatInt(l.Event.Seq, 10)
		if role := l.Event.Role(); role != "" {
			text += " " + kit.Truncate(kit.Clean(role), 20)
		}
	}
	if l.Via != "" && l.Via != job.ByAgent {
		text += " (" + kit.Truncate(kit.Clean(l.Via), 20) + ")"
	}
	if reason != "" {
		text += ": " + kit.Clean(reason)
	}
	if detail != "" {
		text += ": " + kit.Clean(strings.ReplaceAll(detail, "\n", " "))
	}
	return text
}
