package job

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tutti/internal/core/termsafe"
)

// A Moment is what the hook of an agent program sees.
type Moment uint8

// The moments.
const (
	Begins Moment = iota // a prompt was taken
	Works                // a tool was used, or one more turn was asked for
	Asks                 // a person is asked for a permission
	Rests                // the turn is over
	Ends                 // the program ends
	Leaves               // the conversation ends, and the program goes on with another one
)

// bindDir holds a file for each session that works on a job, named by the id that its processes carry.
const bindDir = ".by-session"

// Terminating is what is said of a job whose session is being ended.
const Terminating = "terminating"

// quiet is how long an agent that works is silent before its hook says that it works.
const quiet = 30 * time.Second

// A bound is on what a session works.
type bound struct {
	job, role string
	// conversation is the one in which the job is worked on, "" as long as it is unknown. What the agent of a session starts
	// has the mark of the session, too, and other agents may be among that: what they do is not what becomes of the job.
	conversation string
}

// bind notes on what a session works.
func (b *Book) bind(owner string, to bound) error {
	if err := CheckID(owner); err != nil {
		return err
	}
	dir, err := b.open(jobsDir+"/"+bindDir, true)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Replace(owner, []byte(strings.TrimSpace(to.job+" "+to.role)+"\n"+to.conversation+"\n"), 0o600, false)
}

// Bound returns the job that a session works on, and its role in it; "" for none.
func (b *Book) Bound(owner string) (id, role string) {
	to := b.bound(owner)
	return to.job, to.role
}

func (b *Book) bound(owner string) (to bound) {
	if CheckID(owner) != nil {
		return to
	}
	dir, err := b.open(jobsDir+"/"+bindDir, false)
	if err != nil {
		return to
	}
	defer dir.Close()
	text, _, err := dir.Read(owner, 1024)
	if err != nil {
		return to
	}
	first, rest, _ := strings.Cut(string(text), "\n")
	to.job, to.role, _ = strings.Cut(strings.TrimSpace(first), " ")
	to.conversation = strings.TrimSpace(rest)
	if CheckID(to.job) != nil || to.role != "" && to.role != RoleReviewer {
		return bound{}
	}
	return to
}

// unbind notes that a session does not work on a job any more. Under the lock.
func (b *Book) unbind(owner, id string) {
	if owner == "" || b.bound(owner).job != id {
		return
	}
	if dir, err := b.open(jobsDir+"/"+bindDir, false); err == nil {
		_ = dir.Remove(owner)
		_ = dir.Close()
	}
}

// leave is unbind for callers that do not hold the lock.
func (b *Book) leave(ctx context.Context, owner, id string) {
	_ = b.change(ctx, false, func(*change) error { // should it fail it is done with the next report
		b.unbind(owner, id)
		return nil
	})
}

// A Report is one event of an agent program.
type Report struct {
	Dir     string // where the agent works, absolute
	Home    string // the workspace of its session, absolute, as [HomeVariable] has it; "": it is known to be above Dir, if there is one
	Session string // the value of [SessionVariable]; "": the agent is in no session of ours, and nothing is done
	Moment  Moment
	// Prompt is the beginning of what the user said, of Begins; "": it is not known.
	Prompt string
	// Conversation is where it happened: the first one of which is heard after a job was given is that of the job. "": it is not known, and
	// counts as that one.
	Conversation string
}

// most is the length of the id of a conversation that is kept.
const most = 200

// ByHook reports for an agent what its hooks show, so that one that forgets to report is followed all the same. It does
// nothing, in a few system calls, when the session works on no job. A watcher sends its events to the broker.
func ByHook(ctx context.Context, r Report) (told bool, err error) {
	if r.Session == "" || CheckID(r.Session) != nil {
		return false, nil
	}
	b := boundAbove(r.Dir, r.Session)
	if b == nil && r.Home != r.Dir {
		b = boundAbove(r.Home, r.Session) // an agent may work beside the workspace that it belongs to
	}
	if b == nil {
		return false, nil
	}
	to := b.bound(r.Session)
	if to.job == "" || !to.in(r.Conversation) {
		return false, nil
	}
	j, err := b.Get(to.job)
	switch {
	case errors.Is(err, ErrNone):
		b.leave(ctx, r.Session, to.job)
		return false, nil
	case err != nil:
		return false, err
	case j.Status.Over():
		b.leave(ctx, r.Session, to.job)
		return false, nil
	case j.Status == StatusPending: // it is about to be given, or could not be: the agent does not know of it
		return false, nil
	}
	if j.waits() && (r.Moment != Begins || r.Prompt != "" && !strings.Contains(r.Prompt, "Job "+j.ID)) {
		return false, nil // what the agent does until then is something else
	}
	if its, err := b.heard(ctx, to, r); err != nil || !its {
		return false, err
	}
	d, say := j.hears(r.Moment, to.role, b.now())
	if !say {
		return false, nil
	}
	d.Role = to.role
	_, _, err = b.Publish(ctx, to.job, d, viaHook)
	if _, late := errors.AsType[*StateError](err); late { // the agent was faster
		return false, nil
	}
	return err == nil, err
}

// in tells whether what happens in a conversation is what becomes of the job.
func (to bound) in(conversation string) bool {
	return to.conversation == "" || conversation == "" || conversation == to.conversation
}

// after is what holds after a report.
func (to bound) after(r Report) bound {
	switch {
	case r.Moment == Leaves && to.conversation != "":
		to.conversation = ""
	case r.Moment < Rests && to.conversation == "" && r.Conversation != "" && len(r.Conversation) <= most && termsafe.Clean(r.Conversation) == r.Conversation:
		to.conversation = r.Conversation
	}
	return to
}

// heard remembers the conversation of a job. its is false when the session was given another job meanwhile, or another
// conversation came first.
func (b *Book) heard(ctx context.Context, to bound, r Report) (its bool, err error) {
	if to.after(r) == to {
		return true, nil
	}
	err = b.change(ctx, false, func(*change) error {
		now := b.bound(r.Session)
		its = now.job == to.job && now.role == to.role && now.in(r.Conversation)
		if next := now.after(r); its && next != now {
			return b.bind(r.Session, next)
		}
		return nil
	})
	return its, err
}

// boundAbove finds the jobs of the nearest folder, from one upwards, in which a session works on one.
func boundAbove(from, owner string) *Book {
	if !filepath.IsAbs(from) {
		return nil
	}
	for dir := filepath.Clean(from); ; dir = filepath.Dir(dir) {
		for _, name := range dataDirs {
			_, err := os.Lstat(filepath.Join(dir, name, jobsDir, bindDir, owner))
			if err == nil && mine(filepath.Join(dir, name)) {
				return &Book{Workspace: dir, data: name}
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.ENOTDIR) {
				return nil
			}
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// hears tells what a moment means for a job.
func (j *Job) hears(m Moment, role string, now time.Time) (d Draft, say bool) {
	mine := j.Type != Loop || (role == RoleReviewer) == j.reviewing()
	if !mine {
		return d, false
	}
	if j.Last == Progress && j.Detail == Terminating { // what it does now is not its own doing; a prompt shows that it goes on
		return Draft{Kind: Progress, Detail: "the agent goes on"}, m == Begins
	}
	fresh := j.Last == "" || j.Type == Loop && j.Last == Done // this turn is new
	switch m {
	case Begins, Works:
		switch {
		case fresh && (m == Begins || j.Handed == ""): // of one that was claimed no prompt tells
			return Draft{Kind: Started, Detail: "the agent has begun"}, true
		case j.Last == Permission:
			return Draft{Kind: Progress, Detail: "the agent goes on"}, true
		case !fresh && now.Sub(j.Heard) > max(quiet, j.Idle/4):
			return Draft{Kind: Progress, Detail: "the agent works"}, true
		}
	case Asks:
		return Draft{Kind: Permission, Detail: "the agent asks for a permission"}, j.Last != Permission
	case Rests:
		if fresh {
			return d, false // the turn that ended was not about the job
		}
		if role == RoleReviewer {
			return Draft{Kind: Progress, Detail: "the reviewer rests and has not said PASS"}, j.Last != Progress
		}
		return Draft{Kind: Done, Detail: "the agent rests and has reported no result"}, true
	case Ends:
		return Draft{Kind: Failed, Detail: "the agent has ended"}, true
	}
	return d, false
}
