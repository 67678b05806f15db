package job

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// Memory remembers what this user has submitted, outside of every workspace: a record may have come with a foreign folder, and
// its content proves nothing.
type Memory struct {
	Known    func(mark string) (bool, error)
	Remember func(mark string) error
}

// A StrangerError reports a job that this user has not submitted here.
type StrangerError struct{ ID string }

func (e *StrangerError) Error() string {
	return "job " + e.ID + ": it was not submitted by you on this machine; others may have written it, or you did before an upgrade of tutti"
}

// Hint says what to do about it.
func (e *StrangerError) Hint() string {
	return fmt.Sprintf("read it: tutti job show %s; to take it all the same: tutti job claim %s --trust-job", e.ID, e.ID)
}

// mark is what is remembered of a job: where it is, its key, what is to be done, and who does it. A record in which one of them was changed is
// another job.
func (b *Book) mark(j *Job) string {
	all := []string{"job", b.Workspace, j.ID, j.token, j.Prompt, string(j.Type), j.Reviewer, j.ReviewerSession}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(all, "\x00"))))
}

// Stranger reports whether a job was submitted by another user, or on another machine. If that is unknown it reports true. A
// book without a memory knows no strangers.
func (b *Book) Stranger(j *Job) bool {
	if b.Memory.Known == nil {
		return false
	}
	known, err := b.Memory.Known(b.mark(j))
	return err != nil || !known
}

// vouched is nil for a job that is this user's, or that the user trusts, which is remembered.
func (b *Book) vouched(j *Job, trust bool) error {
	switch {
	case !b.Stranger(j):
		return nil
	case !trust:
		return &StrangerError{j.ID}
	}
	return b.remember(j)
}

func (b *Book) remember(j *Job) error {
	if b.Memory.Remember == nil {
		return nil
	}
	if err := b.Memory.Remember(b.mark(j)); err != nil {
		return fmt.Errorf("remember job %s as yours: %w", j.ID, err)
	}
	return nil
}
