package job

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"tutti/internal/halt"
	"tutti/internal/platform/atomicfile"
	"tutti/internal/platform/filelock"
	"tutti/internal/platform/gitexclude"
)

// The names below the data folder of a workspace.
const (
	jobsDir  = "jobs"
	logsDir  = "delegate_job_logs"
	lockName = ".lock"
	eventLog = "events.ndjson"
	metaName = "meta.json"
	nowName  = "status.json"
)

// dataDirs are the names of the data folder, the present one first.
var dataDirs = [...]string{".hermes", ".mam"}

// lockTime is how long a lock is waited for. A holder syncs two files.
const lockTime = 30 * time.Second

// ErrNone reports that there is no such job.
var ErrNone = errors.New("no such job")

// A StateError reports an action that the current state of a job does not allow.
type StateError struct {
	ID, Why string
}

func (e *StateError) Error() string { return "job " + e.ID + ": " + e.Why }

// A Book is the jobs of one workspace. It is safe for concurrent use, also by several processes.
type Book struct {
	Workspace string // absolute
	data      string // name of the data folder in it
	// Halted asks the halt switch for an action; nil: package halt.
	Halted func(action string) error
	// Memory knows the jobs of this user. Without it every job counts as this user's.
	Memory Memory
	// Now is the clock; nil: time.Now.
	Now   func() time.Time
	again time.Duration // between two looks at the clock while a job may run out of time; 0: lookAgain
	// step is called between the steps of a change; tests end the process there.
	step func(name string)
}

// At returns the book of a workspace, which need not have one yet. note is what the user should know, "" for nothing.
func At(workspace string) (b *Book, note string, err error) {
	abs, err := filepath.Abs(workspace)
	if err != nil {
		return nil, "", err
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	}
	b = &Book{Workspace: abs, data: dataDirs[0]}
	_, errNew := os.Lstat(filepath.Join(abs, dataDirs[0]))
	_, errOld := os.Lstat(filepath.Join(abs, dataDirs[1]))
	switch {
	case errOld == nil && errNew == nil:
		note = fmt.Sprintf("both %s and %s are in %s; the first one is used", dataDirs[0], dataDirs[1], abs)
	case errOld == nil:
		b.data = dataDirs[1]
	}
	return b, note, nil
}

// Find returns the book of the nearest folder, from one upwards, that has jobs; where there is none, that of the folder.
func Find(from string) (b *Book, note string, err error) {
	first, note, err := At(from)
	if err != nil {
		return nil, "", err
	}
	home, _ := os.UserHomeDir()
	for dir := first.Workspace; ; dir = filepath.Dir(dir) {
		for _, name := range dataDirs {
			if i, err := os.Lstat(filepath.Join(dir, name, jobsDir)); err == nil && i.IsDir() && mine(filepath.Join(dir, name)) {
				return At(dir)
			}
		}
		if dir == home || dir == filepath.Dir(dir) {
			return first, note, nil
		}
	}
}

// mine tells whether a folder is the user's own: what lies above a workspace may be everybody's to write to.
func mine(dir string) bool {
	i, err := os.Lstat(dir)
	if err != nil || !i.IsDir() {
		return false
	}
	st, ok := i.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid()
}

func (b *Book) now() time.Time {
	if b.Now != nil {
		return b.Now()
	}
	return time.Now()
}

func (b *Book) halted(action string) error {
	if b.Halted != nil {
		return b.Halted(action)
	}
	return halt.Check(action)
}

func (b *Book) passed(name string) {
	if b.step != nil {
		b.step(name)
	}
}

// Dir is where the records lie, Audit where what is kept of one job does.
func (b *Book) Dir() string            { return filepath.Join(b.Workspace, b.data, jobsDir) }
func (b *Book) Audit(id string) string { return filepath.Join(b.Workspace, b.data, logsDir, id) }

// CheckID tells why something cannot be the id of a job. It becomes the name of a file.
func CheckID(id string) error {
	ok := id != "" && len(id) <= 64 && id[0] != '-'
	for i := 0; ok && i < len(id); i++ {
		c := id[i]
		ok = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
	}
	if !ok {
		return fmt.Errorf("%.80q is not a job id", id)
	}
	return nil
}

// open opens a folder below the data folder. What is missing is made when create is set.
func (b *Book) open(rel string, create bool) (*atomicfile.Dir, error) {
	ws, err := atomicfile.OpenDir(b.Workspace)
	if err != nil {
		return nil, err
	}
	defer ws.Close()
	rel = b.data + "/" + rel
	if !create {
		return ws.Sub(rel)
	}
	if _, err := os.Lstat(filepath.Join(b.Workspace, b.data)); errors.Is(err, fs.ErrNotExist) {
		_ = gitexclude.Exclude(filepath.Join(b.Workspace, b.data)) // jobs that git offers are a nuisance, and not a fault
	}
	return ws.MakeSub(rel, 0o700)
}

// A change is one at work under the lock.
type change struct {
	b    *Book
	jobs *atomicfile.Dir
	now  time.Time
}

// change runs f under the lock of all jobs.
func (b *Book) change(ctx context.Context, create bool, f func(c *change) error) (err error) {
	jobs, err := b.open(jobsDir, create)
	if errors.Is(err, fs.ErrNotExist) && !create {
		return ErrNone
	}
	if err != nil {
		return err
	}
	defer jobs.Close()
	lock, err := filelock.Acquire(ctx, jobs.FD(), jobs.Path(), filelock.Options{Kernel: lockName, Timeout: lockTime})
	if err != nil {
		return fmt.Errorf("lock the jobs: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	return f(&change{b: b, jobs: jobs, now: b.now()})
}

// with changes one job: f gets its current state, from record and log, and the record is written when f returns nil.
func (b *Book) with(ctx context.Context, id string, f func(c *change, j *Job) error) (j *Job, err error) {
	if err := CheckID(id); err != nil {
		return nil, err
	}
	err = b.change(ctx, false, func(c *change) error {
		if j, err = c.load(id); err != nil {
			return err
		}
		if err := f(c, j); err != nil {
			return err
		}
		return c.write(j)
	})
	if err != nil {
		return nil, err
	}
	return j, nil
}

// load reads a job and finishes the change of a process that was ended meanwhile.
func (c *change) load(id string) (*Job, error) {
	j, err := c.b.load(c.jobs, id)
	if err == nil && j.torn { // that line may be a whole event, whose number would be given once more
		if err = c.b.endLine(id); err == nil {
			j, err = c.b.load(c.jobs, id)
		}
	}
	if err != nil || len(j.behind) == 0 {
		return j, err
	}
	for _, e := range j.behind {
		c.copyEvent(id, e)
	}
	j.behind = nil
	return j, c.write(j)
}

// write replaces the record, and what is derived from it.
func (c *change) write(j *Job) error {
	raw := j.bytes()
	if err := c.jobs.Replace(j.ID+".json", raw, 0o600, true); err != nil {
		return fmt.Errorf("write job %s: %w", j.ID, err)
	}
	c.b.passed("record")
	c.b.writeNow(j, nil) // a convenience for others; the record has it all
	return nil
}

// Get reads the current state of a job.
func (b *Book) Get(id string) (*Job, error) {
	if err := CheckID(id); err != nil {
		return nil, err
	}
	jobs, err := b.open(jobsDir, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s in %s", ErrNone, id, b.Dir())
	}
	if err != nil {
		return nil, err
	}
	defer jobs.Close()
	return b.load(jobs, id)
}

// load reads the record, and brings it up to date from the log.
func (b *Book) load(jobs *atomicfile.Dir, id string) (*Job, error) {
	raw, _, err := jobs.Read(id+".json", maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s in %s", ErrNone, id, b.Dir())
	}
	if err != nil {
		return nil, fmt.Errorf("read job %s: %w", id, err)
	}
	j, err := parseRecord(raw, id, filepath.Join(b.Dir(), id+".json"))
	if err != nil {
		return nil, err
	}
	return j, b.catchUp(j)
}

// A Problem is a record that could not be read.
type Problem struct {
	ID  string
	Err error
}

// List reads all jobs, oldest first.
func (b *Book) List() (all []*Job, bad []Problem, err error) {
	jobs, err := b.open(jobsDir, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer jobs.Close()
	names, err := jobs.Names()
	if err != nil {
		return nil, nil, err
	}
	slices.Sort(names)
	for _, name := range names {
		id, ok := strings.CutSuffix(name, ".json")
		if !ok || name[0] == '.' {
			continue
		}
		j, err := (*Job)(nil), CheckID(id)
		if err == nil {
			j, err = b.load(jobs, id)
		}
		switch {
		case errors.Is(err, ErrNone): // it went away meanwhile
		case err != nil:
			bad = append(bad, Problem{id, err})
		default:
			all = append(all, j)
		}
	}
	slices.SortStableFunc(all, func(a, b *Job) int { return a.Created.Compare(b.Created) })
	return all, bad, nil
}
