package job

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
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
)

// bindDir holds a file for each session that works on a job, named by the id that its processes carry.
const bindDir = ".by-session"

// Terminating is what is said of a job whose session is being ended.
const Terminating = "terminating"

// quiet is how long an agent that works is silent before its hook says that it works.
const quiet = 30 * time.Second

// bind notes that a session works on a job.
func (b *Book) bind(owner, id, role string) error {
	if err := CheckID(owner); err != nil {
		return err
	}
	dir, err := b.open(jobsDir+"/"+bindDir, true)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Replace(owner, []byte(strings.TrimSpace(id+" "+role)+"\n"), 0o600, false)
}

// Bound returns the job that a session works on, and its role in it; "" for none.
func (b *Book) Bound(owner string) (id, role string) {
	if CheckID(owner) != nil {
		return "", ""
	}
	dir, err := b.open(jobsDir+"/"+bindDir, false)
	if err != nil {
		return "", ""
	}
	defer dir.Close()
	text, _, err := dir.Read(owner, 256)
	if err != nil {
		return "", ""
	}
	id, role, _ = strings.Cut(strings.TrimSpace(string(text)), " ")
	if CheckID(id) != nil || role != "" && role != RoleReviewer {
		return "", ""
	}
	return id, role
}

func (b *Book) unbind(owner string) {
	if dir, err := b.open(jobsDir+"/"+bindDir, false); err == nil {
		_ = dir.Remove(owner)
		_ = dir.Close()
	}
}

// A Report is one event of an agent program.
type Report struct {
	Dir     string // where the agent works, absolute
	Session string // the value of [SessionVariable]; "": the agent is in no session of ours, and nothing is done
	Moment  Moment
	Detail  string // "" for the usual words
}

// ByHook reports for an agent what its program tells of it, so that one that forgets to report is heard of all the same. It does
// nothing, in a few system calls, when the session works on no job. What it writes is told to a broker by whoever watches.
func ByHook(ctx context.Context, r Report) (told bool, err error) {
	if r.Session == "" || CheckID(r.Session) != nil || !filepath.IsAbs(r.Dir) {
		return false, nil
	}
	b := boundAbove(r.Dir, r.Session)
	if b == nil {
		return false, nil
	}
	id, role := b.Bound(r.Session)
	if id == "" {
		return false, nil
	}
	j, err := b.Get(id)
	switch {
	case errors.Is(err, ErrNone):
		b.unbind(r.Session)
		return false, nil
	case err != nil:
		return false, err
	case j.Status.Over():
		b.unbind(r.Session)
		return false, nil
	}
	d, say := j.hears(r.Moment, role, b.now())
	if !say {
		return false, nil
	}
	if r.Detail != "" {
		d.Detail = r.Detail
	}
	d.Role = role
	_, _, err = b.Publish(ctx, id, d, viaHook)
	if _, late := errors.AsType[*StateError](err); late { // the agent was faster
		return false, nil
	}
	return err == nil, err
}

// boundAbove finds the jobs of the nearest folder, from one upwards, in which a session works on one.
func boundAbove(from, owner string) *Book {
	for dir := filepath.Clean(from); ; dir = filepath.Dir(dir) {
		for _, name := range dataDirs {
			_, err := os.Lstat(filepath.Join(dir, name, jobsDir, bindDir, owner))
			if err == nil && mine(filepath.Join(dir, name)) {
				return &Book{Workspace: dir, data: name}
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
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
	fresh := j.Last == "" || j.Type == Loop && j.Last == Done // this turn was not heard of yet
	switch m {
	case Begins, Works:
		switch {
		case fresh && m == Begins:
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
