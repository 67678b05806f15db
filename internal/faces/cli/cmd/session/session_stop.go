package session

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/platform/proc"
	"tutti/internal/sessions/lifecycle"
	"tutti/internal/sessions/observe"
	"tutti/internal/sessions/registry"
)

func (o *sessionStopOptions) place() Location {
	return Location{Registry: o.Registry, TmuxServer: o.TmuxServer, Here: o.Here}
}

type sessionStopOptions struct {
	inFolder
	Session, Reason, Conversation, JobEvent, TmuxServer, Mode                                         string
	All, PurgeConversation, ToTrash, Yes, Force, ForceNoYAML, NoKeys, WithDaemon, CaptureID, Graceful bool
	Grace                                                                                             time.Duration
}

// sessionStop ends a session, or all that run.
func sessionStop(ctx context.Context, c *kit.Call, s *sessions, opt *sessionStopOptions) error {
	begun := apartFromParent()
	if err := s.mayStop(opt, begun != nil); err != nil {
		return err
	}
	q, err := stopRequest(c, opt)
	if err != nil {
		return err
	}
	q.Apart = begun != nil
	q.Begun = begun
	if opt.All {
		return s.stopAll(ctx, opt, q)
	}
	if !q.ForceNoYAML {
		if s, err = s.withSession(ctx, q.Session); err != nil {
			return err
		}
	}
	m, err := s.manager("session stop")
	if err != nil {
		return err
	}
	out, err := m.Stop(ctx, q)
	if inside, ok := errors.AsType[*lifecycle.Error](err); ok && inside.Kind == lifecycle.Inside {
		return stopApart(c, q.Session)
	}
	if out != nil && (err == nil || len(out.Steps) > 0) {
		showStopped(c, opt, out, err)
	}
	return err
}

// mayStop refuses below an agent CLI to stop the sessions of all folders. The rest of a stop that another process has begun was
// allowed there.
func (s *sessions) mayStop(opt *sessionStopOptions, apart bool) error {
	if !opt.All || s.alone() || apart && startedByUs() {
		return nil
	}
	_, err := s.c.ForUser("stop the sessions of all folders")
	if f, ok := errors.AsType[*kit.Fault](err); ok {
		f.Next = "add --here to stop those of this folder, or name a session\nto stop all, " + f.Next
	}
	return err
}

// startedByUs tells whether the parent of this process runs the same program.
func startedByUs() bool {
	parent, err := proc.Exe(os.Getppid())
	self, selfErr := os.Executable()
	return err == nil && selfErr == nil && parent == self
}

// stopRequest is what the command line asks for.
func stopRequest(c *kit.Call, opt *sessionStopOptions) (q lifecycle.StopRequest, err error) {
	q = lifecycle.StopRequest{
		Reason: opt.Reason, Purge: opt.PurgeConversation, Conversation: opt.Conversation, ToTrash: opt.ToTrash, Yes: opt.Yes, ForceNoYAML: opt.ForceNoYAML, Force: opt.Force,
		Grace: opt.Grace, NoKeys: opt.NoKeys, WithDaemon: opt.WithDaemon, JobEvent: opt.JobEvent,
	}
	if opt.All {
		if name, err := sessionName(c, opt.Session); err != nil || name != "" {
			return q, kit.Usagef("session stop: --all and the name of a session do not go together")
		}
		if q.ForceNoYAML || q.Force {
			return q, kit.Usagef("session stop: --all ends what the registry has; --force and --force-no-yaml take the name of a session")
		}
	} else if q.Session, err = oneSession(c, opt.Session); err != nil {
		return q, err
	}
	for _, flag := range [...]any{&opt.Conversation, &opt.ToTrash} {
		if c.IsSet(flag) && !q.Purge {
			return q, kit.Usagef("session stop: --%s goes with --purge-conversation", c.FlagName(flag))
		}
	}
	if q.Conversation != "" {
		if opt.All {
			return q, kit.Usagef("session stop: --conversation names one transcript, and --all stops several sessions")
		}
		if _, err := c.ForUser("delete a transcript that the session may not have begun"); err != nil {
			return q, err
		}
	}
	switch mode := opt.Mode; mode {
	case "hard":
		q.Mode = lifecycle.Hard
	case "soft":
		q.Mode = lifecycle.Soft
	}
	for _, old := range [...]struct {
		flag any
		now  string
	}{
		{&opt.Mode, "a stop is graceful, and --purge-conversation deletes the conversation"},
		{&opt.CaptureID, "the id of the conversation is always kept"},
		{&opt.Graceful, "that is how every session is stopped"},
	} {
		if c.IsSet(old.flag) {
			c.Remark("--%s is of older programs: %s", c.FlagName(old.flag), old.now)
		}
	}
	if q.Purge && !q.Yes {
		q.Yes, err = confirmPurge(c, opt, q.Session)
	}
	return q, err
}

// confirmPurge asks for confirmation. Without a terminal it refuses.
func confirmPurge(c *kit.Call, opt *sessionStopOptions, name string) (bool, error) {
	what := "the conversation of " + kit.Clean(name)
	if name == "" {
		what = "the conversations of all sessions of this folder"
	}
	err := c.Confirm(opt.Yes, "Stop and delete "+what+" for good?", "nothing was done: --purge-conversation deletes the conversation for good", "add --yes")
	return err == nil, err
}

// stopAll ends all that run: in this folder, and on the rest of this machine where the user agreed to it. Scripts call it for the
// sessions of their folder, so that without a terminal it reaches others only with --yes. A purge never leaves the folder.
func (s *sessions) stopAll(ctx context.Context, opt *sessionStopOptions, q lifecycle.StopRequest) error {
	c := s.c
	parts, err := s.Parts(ctx, false)
	if err != nil {
		return err
	}
	var far []string
	count := 0
	for i := range parts {
		running := 0
		for n := range parts[i].Rows {
			if parts[i].Rows[n].Status == registry.Running {
				running++
			}
		}
		if parts[i].Far && running > 0 {
			far, count = append(far, c.App.Shown(parts[i].Workspace())), count+running
		}
	}
	reach := len(far) > 0 && !q.Purge
	agreed := opt.Yes
	switch in, ok := c.In.(*os.File); {
	case !reach || agreed:
	case !ok || kit.Columns(in) == 0:
		reach = false
		c.Remark("%s in other folders: left running; --yes stops them too", kit.Plural(count, "session"))
	default:
		question := "Stop all sessions, also " + kit.Plural(count, "session") + " in " + kit.Clean(strings.Join(far, ", ")) + "?"
		if err := c.Confirm(opt.Yes, question, "nothing was stopped", ""); err != nil {
			return err
		}
		agreed = true
	}
	if !q.Apart && os.Getenv(observe.Variable) != "" { // this process may run in one of them
		if agreed && !opt.Yes {
			return stopApart(c, "all sessions", "--yes")
		}
		return stopApart(c, "all sessions")
	}
	l := []stopped{}
	var failed []error
	ended := 0
	for i := range parts {
		if parts[i].Far && !reach {
			continue
		}
		all, err := parts[i].stopRunning(ctx, q)
		failed = append(failed, err)
		ended += len(all)
		for _, out := range all {
			switch {
			case c.JSON:
				l = append(l, stoppedOf(out, out.Err))
			case out.Err == nil:
				stoppedText(c, opt, out)
			}
		}
	}
	err = errors.Join(failed...)
	if c.JSON {
		c.Result(l)
	} else if ended == 0 && err == nil {
		where := ""
		if opt.Here || len(far) > 0 && !reach {
			where = " in this folder"
		}
		c.Remark("no session runs%s", where)
	}
	return err
}

// stopRunning ends what runs of one registry.
func (p *Part) stopRunning(ctx context.Context, q lifecycle.StopRequest) ([]*lifecycle.Stopped, error) {
	m, err := p.manager("session stop")
	if err != nil {
		return nil, err
	}
	return m.StopAll(ctx, q)
}

func showStopped(c *kit.Call, opt *sessionStopOptions, out *lifecycle.Stopped, err error) {
	if c.JSON {
		c.Result(stoppedOf(out, err))
	} else if err == nil {
		stoppedText(c, opt, out)
	}
	if err != nil {
		for _, n := range out.Notes {
			c.Remark("%s", kit.Clean(n))
		}
	}
}

// stoppedText returns the result of a stop. The first words are what scripts look for; where many are stopped, each line begins with
// what has become of which.
func stoppedText(c *kit.Call, opt *sessionStopOptions, out *lifecycle.Stopped) {
	name, many := kit.Clean(out.Session), opt.All
	if out.Already {
		text := "already " + string(out.Was) + " (" + strings.Join(endedWhy(&out.Row), ", ") + ")"
		if many {
			text = name + ": " + text
		}
		c.Line(text)
		stopNotes(c, out)
		return
	}
	how := ""
	switch {
	case out.Gone && many:
		how = ", tmux already dead"
	case out.Gone:
		c.Line("tmux already dead")
	}
	word := string(out.Row.Status)
	if out.Row.Name == "" {
		word = "ended"
	}
	switch {
	case out.Lives:
		how = ": it goes on in tmux"
	case len(out.Steps) > 0:
		how += " in " + out.Took.Round(10*time.Millisecond).String() + ": " + strings.Join(out.Steps, ", ")
	}
	c.Line(c.Paint(kit.Bold, word+" "+name) + how)
	var rows [][]string
	if id := out.Conversation; id != "" && len(out.Deleted) == 0 && out.Row.Mode != "purge" {
		rows = append(rows, []string{"  conversation", keptText(c, &out.Row, id)})
	}
	for _, path := range out.Deleted {
		rows = append(rows, []string{"  deleted", kit.Clean(c.App.Shown(path))})
	}
	if out.Trash != "" {
		rows = append(rows, []string{"  copy", kit.Clean(c.App.Shown(out.Trash))})
	}
	if out.Forgot != "" {
		rows = append(rows, []string{"  deleted", "by " + out.Forgot + " itself: " + kit.Clean(out.Conversation)})
	}
	for _, k := range out.Kept {
		rows = append(rows, []string{"  left", kit.Clean(c.App.Shown(k.Path)) + ": " + kit.Clean(k.Why)})
	}
	for _, b := range out.Apart {
		hint := ""
		if b.Program {
			hint = "; --with-daemon ends it"
		}
		rows = append(rows, []string{"  lives on", "process " + strconv.Itoa(b.PID) + " (" + kit.Clean(b.Comm) + "), " + b.Is + hint})
	}
	c.Facts(rows)
	stopNotes(c, out)
}

// keptText says of the transcript of a session that has ended whether its agent CLI has it.
func keptText(c *kit.Call, r *registry.Row, id string) string {
	if missing(c, r) {
		return kit.Clean(id) + ", missing: its agent CLI has no such transcript"
	}
	return kit.Clean(id) + ", kept"
}

func missing(c *kit.Call, r *registry.Row) bool {
	home, err := c.App.Home()
	return err == nil && observe.OnDisk(r, home, os.Getenv) == registry.No
}

func stopNotes(c *kit.Call, out *lifecycle.Stopped) {
	for _, n := range out.Notes {
		c.Remark("%s", kit.Clean(n))
	}
}

// endedWhy is when and why a session ended, as far as its row says.
func endedWhy(r *registry.Row) []string {
	at := r.StoppedAt
	switch r.Status {
	case registry.Terminated:
		at = r.TerminatedAt
	case registry.Archived:
		at = r.ArchivedAt
	}
	var all []string
	if !at.IsZero() {
		all = append(all, at.UTC().Format(time.RFC3339))
	}
	if r.StopReason != "" {
		all = append(all, kit.Clean(r.StopReason))
	} else if r.VisibleNote != "" {
		all = append(all, kit.Clean(r.VisibleNote))
	}
	return all
}

func stoppedOf(out *lifecycle.Stopped, failed error) stopped {
	v := stopped{
		OK: failed == nil, Session: out.Session, Was: string(out.Was), Status: string(out.Row.Status), Already: out.Already, Gone: out.Gone,
		Reason: out.Row.StopReason, Conversation: out.Conversation, Steps: render.List(out.Steps), Took: out.Took.Milliseconds(),
		Ended: []endedProcess{}, Left: []endedProcess{}, Apart: []endedProcess{}, Deleted: render.List(out.Deleted), Trash: out.Trash,
		Kept: []keptPath{}, Notes: render.List(out.Notes),
	}
	if failed != nil {
		text := failed.Error()
		v.Error = &text
	}
	if !out.Row.StoppedAt.IsZero() {
		v.StoppedAt = out.Row.StoppedAt.UTC().Format(time.RFC3339)
	}
	for _, p := range out.Ended {
		v.Ended = append(v.Ended, endedProcess{p.PID, p.Comm, ""})
	}
	for _, p := range out.Left {
		v.Left = append(v.Left, endedProcess{p.PID, p.Comm, ""})
	}
	for _, b := range out.Apart {
		v.Apart = append(v.Apart, endedProcess{b.PID, b.Comm, b.Is})
	}
	for _, k := range out.Kept {
		v.Kept = append(v.Kept, keptPath{k.Path, k.Why})
	}
	return v
}

// A stopped is what became of a session that was to be stopped.
type stopped struct {
	OK           bool           `json:"ok"`
	Error        *string        `json:"error,omitempty"` // why it was not stopped
	Session      string         `json:"session"`
	Was          string         `json:"was,omitempty"`    // its status before
	Status       string         `json:"status,omitempty"` // its status now
	Already      bool           `json:"already"`          // it was stopped before
	Gone         bool           `json:"tmux_already_dead"`
	StoppedAt    string         `json:"stopped_at,omitempty"`
	Reason       string         `json:"reason,omitempty"`
	Conversation string         `json:"conversation,omitempty"` // by which it can be resumed
	Steps        []string       `json:"steps"`                  // what was done, in order
	Took         int64          `json:"took_ms"`
	Ended        []endedProcess `json:"ended"`
	Left         []endedProcess `json:"left"`     // processes that did not end
	Apart        []endedProcess `json:"lives_on"` // processes that do not belong to the session alone
	Deleted      []string       `json:"deleted"`  // files
	Trash        string         `json:"trash,omitempty"`
	Kept         []keptPath     `json:"kept"` // files that were not deleted
	Notes        []string       `json:"notes"`
}

// An endedProcess is a process of a session.
type endedProcess struct {
	PID  int    `json:"pid"`
	Name string `json:"name"`
	Is   string `json:"is,omitempty"` // what it is for
}

// A keptPath is a file that was not deleted, and why.
type keptPath struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// apartVariable tells the process that stops a session for one that runs in it: it holds the number of the pipe on which it says
// that it has begun.
const apartVariable = "TUTTI_STOP_APART"

// apartFromParent returns what says that a stop has begun, nil if no process waits for that.
func apartFromParent() func() {
	fd, err := strconv.Atoi(os.Getenv(apartVariable))
	if os.Unsetenv(apartVariable) != nil || err != nil || fd <= 2 {
		return nil
	}
	pipe := os.NewFile(uintptr(fd), "begun")
	parent, parentErr := proc.Of(os.Getppid())
	return sync.OnceFunc(func() {
		_, _ = pipe.Write([]byte{1}) // who has gone on meanwhile does not mind
		_ = pipe.Close()
		if parentErr == nil { // it has something to say, and as long as it runs this process is found below the session
			ctx, cancel := context.WithTimeout(context.Background(), parentLimit)
			defer cancel()
			proc.Gone(ctx, []proc.ID{parent})
		}
	})
}

// parentLimit is how long the process that has handed a stop over may take to end.
const parentLimit = time.Second
