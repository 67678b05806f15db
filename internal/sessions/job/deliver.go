package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"tutti/internal/core/canonjson"
	"tutti/internal/core/termsafe"
	"tutti/internal/halt"
)

// A Deliverer puts text before the agent of a session.
type Deliverer interface {
	// Deliver types text into the session and returns nil when its agent has it. While the halt switch is on it types nothing and
	// returns a *halt.Error. It may wait for some minutes until the agent rests.
	Deliver(ctx context.Context, session, text string) error
	// Owner returns the id that the processes of a session carry in [SessionVariable]: it lets the hooks of the agent report by
	// themselves. Where there is none, the agent has to report by itself.
	Owner(ctx context.Context, session string) (string, error)
	// Assign writes into the registry on which job a session works. It is called before anything is typed.
	Assign(ctx context.Context, session, job string) error
}

// SessionVariable names the session that a process belongs to, HomeVariable the workspace whose registry has that session.
const (
	SessionVariable = "TUTTI_SESSION"
	HomeVariable    = "TUTTI_WORKSPACE"
)

// turnOf is what has to be typed now: the round and the phase.
func (j *Job) turnOf() string {
	return fmt.Sprintf("%d:%s", max(j.Round, 1), cmp.Or(j.Phase, Work))
}

// ToHand reports that a job goes on only when something is typed, and that no process has begun to.
func (j *Job) ToHand() bool {
	session, _ := j.whose()
	turn := j.turnOf()
	return !j.Status.Over() && session != "" && j.Handed != handing+turn && j.Handed != handed+turn
}

// longestWait is when pending typing counts as abandoned: a Deliverer gives up after five minutes, and types for some seconds.
const longestWait = 6 * time.Minute

// waits tells that something is about to be typed, and that whose turn it is knows nothing of it yet.
func (j *Job) waits() bool { return j.Handed == handing+j.turnOf() && !j.Heard.After(j.HandedAt) }

// Waits reports that a process is about to type, as soon as the agent is idle.
func (j *Job) Waits(now time.Time) bool {
	return !j.Status.Over() && j.waits() && now.Before(j.HandedAt.Add(longestWait))
}

// reviewing tells that it is the turn of the reviewer.
func (j *Job) reviewing() bool { return j.Type == Loop && j.Phase == Review }

// whose is the session whose turn it is, and its role.
func (j *Job) whose() (session, role string) {
	if j.reviewing() {
		return j.ReviewerSession, RoleReviewer
	}
	return j.Session, ""
}

const (
	handing = "delivering "
	handed  = "delivered "
)

// HandOver gives a job to the agent whose turn it is, when that was not done yet. What is typed is written down before and
// after: after an end of the process in between no process types it again on its own. When it could not be typed the job ends
// with an error; when the halt switch is on, nothing has happened.
func (b *Book) HandOver(ctx context.Context, id string, d Deliverer, by string) (typed bool, err error) {
	if err := b.halted("type job " + id); err != nil {
		return false, err
	}
	asked, owner, err := b.owner(ctx, id, d)
	if err != nil {
		return false, err
	}
	var session, text string
	errDone := errors.New("nothing to type")
	before, err := b.with(ctx, id, func(c *change, j *Job) error {
		var role string
		if session, role = j.whose(); session != asked {
			owner = "" // of another one
		}
		switch turn := j.turnOf(); {
		case j.Status.Over() || j.Handed == handed+turn || session == "":
			return errDone
		case j.Handed == "" && j.Status != StatusPending:
			return &StateError{id, "it is worked on already, by " + cmp.Or(j.ClaimedBy, "another agent")}
		case j.Handed == handing+turn:
			return &StateError{id, fmt.Sprintf("it may have been typed into %s already, or not: the typing process was ended meanwhile", session)}
		}
		if err := b.vouched(j, false); err != nil {
			return err
		}
		if err := c.free(owner, session, id); err != nil {
			return err
		}
		if owner != "" {
			_ = b.bind(owner, bound{job: id, role: role}) // without it the agent has to report by itself, as its brief says
		}
		text = b.Brief(j)
		note := func(n *canonjson.Object) { n.Str("session", session); n.Str("turn", j.turnOf()) }
		if err := c.note(j, strings.TrimSpace(handing), note); err != nil {
			return err
		}
		if j.Status == StatusPending {
			j.Status, j.ClaimedBy, j.Running = StatusRunning, by, c.now
		}
		j.Handed, j.HandedAt, j.Updated = handing+j.turnOf(), c.now, c.now
		return nil
	})
	if errors.Is(err, errDone) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	name := strings.TrimPrefix(session, "tmux:")
	if err = d.Assign(ctx, name, id); err == nil {
		err = b.deliver(ctx, d, before, text)
	}
	return err == nil, errors.Join(err, b.wasTyped(context.WithoutCancel(ctx), before, session, owner, err))
}

// deliver types. It may wait for long until its agent rests: when the job is ended meanwhile, and not by that agent, it gives up.
func (b *Book) deliver(ctx context.Context, d Deliverer, j *Job, text string) error {
	session, _ := j.whose()
	within, give := context.WithCancelCause(ctx)
	var looks sync.WaitGroup
	looks.Go(func() {
		_ = b.Follow(within, Follower{ // should that be impossible it is typed all the same
			ID:   j.ID,
			Line: func(*Line, *Job) error { return nil },
			State: func(now *Job) error {
				if now.Status == StatusCancelled || now.Status == StatusError && now.Detail == timeout {
					give(&StateError{j.ID, "it ended while it was being typed into " + session + ": " + string(now.Status)})
					return ErrEnough
				}
				return nil
			},
		})
	})
	err := d.Deliver(within, strings.TrimPrefix(session, "tmux:"), text)
	give(nil)
	looks.Wait()
	if over, ended := errors.AsType[*StateError](context.Cause(within)); err != nil && ended {
		return over
	}
	return err
}

// owner is the mark of the session whose turn it is, "" where that is not known.
func (b *Book) owner(ctx context.Context, id string, d Deliverer) (session, owner string, err error) {
	j, err := b.Get(id)
	if err != nil {
		return "", "", err
	}
	session, _ = j.whose()
	if session == "" {
		return "", "", nil
	}
	if owner, err = d.Owner(ctx, strings.TrimPrefix(session, "tmux:")); err != nil || CheckID(owner) != nil {
		return session, "", nil // the typing process reports why nothing can be typed there
	}
	return session, owner, nil
}

// free tells why a session gets no job: it works on another one, and it would not be known any more of which of them its hooks speak.
func (c *change) free(owner, session, id string) error {
	if owner == "" {
		return nil
	}
	other := c.b.at(c.b.bound(owner).job)
	if other == nil || other.ID == id {
		return nil
	}
	return &StateError{id, fmt.Sprintf("%s works on job %s, which is not over; \"tutti job watch %s --drive\" gives it this one later", session, other.ID, id)}
}

// wasTyped records the result of typing.
func (b *Book) wasTyped(ctx context.Context, before *Job, session, owner string, failure error) error {
	_, stopped := errors.AsType[*halt.Error](failure)
	_, err := b.with(ctx, before.ID, func(c *change, j *Job) error {
		if j.Handed != before.Handed {
			return nil
		}
		switch {
		case failure == nil:
			j.Handed, j.HandedAt = handed+strings.TrimPrefix(j.Handed, handing), c.now
			if j.LastSeq == 0 {
				j.Running = c.now // from now on an agent works on it
			}
			return c.note(j, strings.TrimSpace(handed), func(n *canonjson.Object) { n.Str("session", session) })
		case stopped:
			j.Handed = "none"
			b.unbind(owner, j.ID)                            // what its agent does next is not this job
			if j.LastSeq == 0 && j.Status == StatusRunning { // as if it had not been taken, and its time does not run
				j.Status, j.ClaimedBy, j.Running = StatusPending, "", time.Time{}
			}
			return nil
		case j.Status.Over():
			return nil
		}
		_, err := c.take(j, Draft{Kind: Failed, Detail: "it could not be given to " + session + ": " + failure.Error()}, ByObserver)
		return err
	})
	return err
}

// Bind lets the hooks of a session report on a job that its agent has claimed.
func (b *Book) Bind(session, id string) error { return b.bind(session, bound{job: id}) }

// Brief is the text for the agent of a job, with the job in it. Text of another agent is not in it: a command shows that.
func (b *Book) Brief(j *Job) string { return b.brief(j, j.Prompt) }

// Printed is Brief as it is printed: each line of what is to be done stands behind a bar, so that none looks like one of ours.
func (b *Book) Printed(j *Job) string {
	safe := *j
	safe.Artifacts = nil
	for _, name := range j.Artifacts {
		safe.Artifacts = append(safe.Artifacts, termsafe.Clean(name))
	}
	return b.brief(&safe, "| "+strings.ReplaceAll(strings.TrimRight(termsafe.CleanBlock(j.Prompt), "\n"), "\n", "\n| "))
}

func (b *Book) brief(j *Job, prompt string) string {
	command := func(verb, rest string) string {
		return fmt.Sprintf("    tutti job %s %s%s --workspace %s\n", verb, j.ID, rest, quote(b.Workspace))
	}
	var t strings.Builder
	switch {
	case j.reviewing():
		fmt.Fprintf(&t, "Job %s: you are the reviewer, round %d. Another agent says that it has done what is asked for below. "+
			"Look at the work itself; what it reported is shown by\n\n", j.ID, j.Round)
		t.WriteString(command("logs", ""))
		t.WriteString("\nWhen you have decided, run one of these, and nothing else about the job:\n\n")
		t.WriteString(command("publish", " completed 'PASS' --role reviewer"))
		t.WriteString(command("publish", " completed 'WHAT HAS TO BE DONE' --role reviewer"))
	case j.Round > 1:
		fmt.Fprintf(&t, "Job %s: the reviewer is not content. What has to be done is shown by\n\n", j.ID)
		t.WriteString(command("logs", ""))
		t.WriteString("\nDo it, and report as before.\n")
		return t.String()
	default:
		fmt.Fprintf(&t, "Job %s. Its submitter follows it by what you report. Run these yourself, as the work goes on:\n\n", j.ID)
		t.WriteString(command("publish", " started"))
		t.WriteString(command("publish", " progress 'WHAT IS DONE'"))
		t.WriteString(command("publish", " completed 'WHAT CAME OUT'"))
		t.WriteString(command("publish", " error 'WHAT IS IN THE WAY'"))
		if j.Idle > 0 {
			fmt.Fprintf(&t, "\nReport progress at least every %s. ", termsafe.Duration(j.Idle/2))
		} else {
			t.WriteString("\n")
		}
		t.WriteString("Reports hold no keys and no absolute paths.\n")
		if j.Type == Discuss {
			t.WriteString("Give your answer in the report \"completed\". Change no files.\n")
		}
	}
	if len(j.Artifacts) > 0 {
		t.WriteString("These are expected to be there in the end: " + strings.Join(j.Artifacts, ", ") + "\n")
	}
	t.WriteString("\nThe job:\n\n" + prompt + "\n")
	return t.String()
}

// quote makes a word that a shell reads as it is.
func quote(s string) string {
	plain := s != ""
	for _, r := range s {
		plain = plain && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+", r))
	}
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
