package job

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"tutti/internal/core/canonjson"
	"tutti/internal/core/termsafe"
)

// The ways by which an event comes.
const (
	ByAgent    = "local"    // a program on this machine published it
	viaHook    = "hook"     // the agent program's own events
	ByNetwork  = "mqtt"     // a broker brought it
	ByObserver = "observer" // who watches noticed
)

// Publish takes an event of this machine: numbers it, signs it and puts it into the log. It tells no broker; [Book.Flush] does.
func (b *Book) Publish(ctx context.Context, id string, d Draft, via string) (e *Event, j *Job, err error) {
	if err := d.check(); err != nil {
		return nil, nil, fmt.Errorf("event for job %s: %w", id, err)
	}
	if d.Kind == Started {
		if err := b.halted("start job " + id); err != nil {
			return nil, nil, err
		}
	}
	j, err = b.with(ctx, id, func(c *change, j *Job) error {
		e, err = c.take(j, d, via)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return e, j, nil
}

// take makes an event of a draft and applies it.
func (c *change) take(j *Job, d Draft, via string) (*Event, error) {
	if j.token != "" && strings.Contains(string(d.Data), j.token) {
		return nil, &StateError{j.ID, "data holds the key of the job, which is never sent"}
	}
	d.Detail = c.b.fit(d.Detail, j.token)
	e, err := d.make(j.ID, j.LastSeq+1, j.token, c.now)
	if err != nil {
		return nil, fmt.Errorf("event for job %s: %w", j.ID, err)
	}
	next := *j
	if err := next.apply(e, c.now); err != nil {
		return nil, &StateError{j.ID, err.Error()}
	}
	if err := c.event(j, e, via); err != nil {
		return nil, err
	}
	*j = next
	return e, nil
}

// What becomes of an event from the network.
const (
	Taken   = "taken"
	Known   = "known" // it was taken before
	Dropped = "dropped"
)

// A Receipt says what became of an event from the network.
type Receipt struct {
	Word   string
	Reason string // why it was not taken
	Event  *Event // nil where it could not be read
	Job    *Job
}

// Receive judges an event that the network brought, and changes the state of the job when it is one. size is that of the payload,
// of which only the beginning may be there when it is too large.
func (b *Book) Receive(ctx context.Context, id string, payload []byte, size int64) (r Receipt, err error) {
	if err := CheckID(id); err != nil {
		return r, err
	}
	err = b.change(ctx, false, func(c *change) error {
		j, err := c.load(id)
		if err != nil {
			return err
		}
		r.Job = j
		r.Event, r.Reason, err = c.judge(j, payload, size)
		switch {
		case err != nil:
			return err
		case r.Event != nil && r.Reason == "":
			r.Word = Taken
			if err := c.event(j, r.Event, ByNetwork); err != nil {
				return err
			}
			if err := j.apply(r.Event, c.now); err != nil {
				return err
			}
			return c.write(j)
		case r.Reason == Known:
			r.Word, r.Reason = Known, fmt.Sprintf("seq %d was taken before", r.Event.Seq)
			return nil
		}
		r.Word = Dropped
		return c.drop(j, payload, size, r.Reason)
	})
	return r, err
}

// judge tells why an event is not taken; the reason Known says that it was taken before.
func (c *change) judge(j *Job, payload []byte, size int64) (e *Event, reason string, err error) {
	if size > MaxEvent {
		return nil, fmt.Sprintf("%d bytes; at most %d are taken", size, MaxEvent), nil
	}
	e, err = parseEvent(payload, j.ID)
	if err != nil {
		return nil, err.Error(), nil
	}
	if err := e.genuine(j.token); err != nil {
		return e, err.Error(), nil
	}
	if e.Seq > maxSeq {
		return e, fmt.Sprintf("seq %d is above all that are taken", e.Seq), nil
	}
	if e.Seq > j.LastSeq {
		next := *j
		if err := next.apply(e, c.now); err != nil {
			return e, err.Error(), nil
		}
		return e, "", nil
	}
	lines, _, err := c.b.Log(j.ID, 0, 0)
	if err != nil {
		return e, "", err
	}
	for i := range lines {
		if old := lines[i].Event; old != nil && old.Seq == e.Seq && old.same(e) {
			return e, Known, nil
		}
	}
	return e, fmt.Sprintf("seq %d is not above %d", e.Seq, j.LastSeq), nil
}

// drop notes an event that was not taken.
func (c *change) drop(j *Job, payload []byte, size int64, reason string) error {
	dropped := c.b.readNow(j.ID).dropped
	c.b.writeNow(j, func(n *now) { n.dropped++ })
	if dropped >= MaxDropped {
		return nil
	}
	return c.note(j, "dropped", func(n *canonjson.Object) {
		sum := sha256.Sum256(payload)
		n.Str("reason", termsafe.Head(termsafe.Clean(reason), 300))
		n.Str("via", ByNetwork)
		n.Int("size", size)
		n.Str("sha256", hex.EncodeToString(sum[:]))
		n.Str("begins", termsafe.Head(termsafe.Clean(string(payload[:min(len(payload), 200)])), 200))
	})
}

// Claim gives the oldest pending job to the caller, that of an id when one is named, and only one for that kind of agent when
// one is. Of several that ask for one job a single one gets it. A job of a stranger is given only when it is named and trusted.
// ErrNone: there is none.
func (b *Book) Claim(ctx context.Context, id, agent, by string, trust bool) (j *Job, err error) {
	if err := b.halted(strings.TrimSpace("start job " + id)); err != nil {
		return nil, err
	}
	if err := b.single(id, by); err != nil {
		return nil, err
	}
	if id == "" {
		return b.claimAny(ctx, agent, by)
	}
	return b.with(ctx, id, func(c *change, j *Job) error { return c.claim(j, by, trust) })
}

// sessionBy is the prefix of the name of an actor that is a session; the id of the session follows.
const sessionBy = "session:"

// single tells why a session takes no job: it works on another one, of which its hooks could not speak any more.
func (b *Book) single(id, by string) error {
	session, ok := strings.CutPrefix(by, sessionBy)
	if !ok {
		return nil
	}
	if other := b.at(b.bound(session).job); other != nil && other.ID != id {
		return &StateError{other.ID, "this session works on it, and it is not over; say first what became of it: tutti job publish " + other.ID + " completed"}
	}
	return nil
}

// at is a job that an agent works on, nil when none does.
func (b *Book) at(id string) *Job {
	j, err := b.Get(id)
	if err != nil || j.Status != StatusRunning {
		return nil
	}
	if at, _, ok := j.Due(); ok && b.now().After(at) {
		return nil // no process followed it
	}
	return j
}

func (c *change) claim(j *Job, by string, trust bool) error {
	if j.Status != StatusPending {
		why := "it is not pending but " + string(j.Status)
		if j.ClaimedBy != "" {
			why += ", claimed by " + j.ClaimedBy
		}
		return &StateError{j.ID, why}
	}
	if err := c.b.vouched(j, trust); err != nil {
		return err
	}
	if err := c.note(j, "claimed", func(n *canonjson.Object) { n.Opt("by", by) }); err != nil {
		return err
	}
	j.Status, j.ClaimedBy, j.Running, j.Updated = StatusRunning, by, c.now, c.now
	return nil
}

func (b *Book) claimAny(ctx context.Context, agent, by string) (*Job, error) {
	all, _, err := b.List()
	if err != nil {
		return nil, err
	}
	strangers := 0
	for _, j := range all {
		if j.Status != StatusPending || agent != "" && j.Agent != "" && j.Agent != agent {
			continue
		}
		if b.Stranger(j) {
			strangers++
			continue
		}
		got, err := b.with(ctx, j.ID, func(c *change, j *Job) error { return c.claim(j, by, false) })
		if _, lost := errors.AsType[*StateError](err); !lost {
			return got, err
		}
	}
	if strangers > 0 {
		return nil, fmt.Errorf("%w that is pending and was submitted by you on this machine; %d others are pending", ErrNone, strangers)
	}
	return nil, fmt.Errorf("%w that is pending", ErrNone)
}

// Cancel ends a job. It sends nothing and ends no session. again: it had been cancelled before.
func (b *Book) Cancel(ctx context.Context, id, by, why string) (j *Job, again bool, err error) {
	j, err = b.with(ctx, id, func(c *change, j *Job) error {
		switch {
		case j.Status == StatusCancelled:
			again = true
			return nil
		case j.Status.Over():
			return &StateError{id, fmt.Sprintf("it is over (%s)", j.Status)}
		}
		why = c.b.fit(why, j.token)
		err := c.note(j, "cancelled", func(n *canonjson.Object) { n.Opt("by", by); n.Opt("detail", why) })
		j.Status, j.Updated, j.Detail = StatusCancelled, c.now, cmp.Or(why, j.Detail)
		return err
	})
	return j, again, err
}

// Judge is the word of the submitter on a job that claims to be completed. person: a person asks, who outranks every agent.
func (b *Book) Judge(ctx context.Context, id string, v Verdict, by string, person bool, note string) (j *Job, again bool, err error) {
	j, err = b.with(ctx, id, func(c *change, j *Job) error {
		switch {
		case j.Verdict == v:
			again = true
			return nil
		case j.Verdict != "":
			return &StateError{id, fmt.Sprintf("it was %s by %s", j.Verdict, cmp.Or(j.VerdictBy, "an unknown agent"))}
		case j.Status != StatusCompleted:
			return &StateError{id, fmt.Sprintf("it does not claim to be completed: it is %s", j.Status)}
		case !person && by != j.Submitter:
			return &StateError{id, fmt.Sprintf("only its submitter (%s) or a person may say so", cmp.Or(j.Submitter, "unknown"))}
		}
		note = c.b.fit(note, j.token)
		err := c.note(j, string(v), func(n *canonjson.Object) { n.Opt("by", by); n.Opt("detail", note) })
		j.Verdict, j.VerdictBy, j.Judged, j.Note, j.Updated = v, by, c.now, note, c.now
		if v == Rejected {
			j.Status = StatusError
		}
		return err
	})
	return j, again, err
}

// Session is the report of the process that ends the session of a job: Progress before, Done or Failed once it is certain. Work
// that was cut off is not done: it ends with an error; Done is for users who ask for the word of the older programs, and ends
// no loop, in which no agent alone ends the job. over: the job had ended before, by what its agent said or otherwise, and stays
// as it was.
func (b *Book) Session(ctx context.Context, id string, kind Kind, detail string) (over bool, err error) {
	j, err := b.Get(id)
	if err != nil || j.Status.Over() {
		return err == nil, err
	}
	if kind == Done && j.Type == Loop {
		kind = Failed
	}
	_, _, err = b.Publish(ctx, id, Draft{Kind: kind, Detail: detail}, ByObserver)
	if _, late := errors.AsType[*StateError](err); late {
		return true, nil
	}
	return false, err
}

// timeout is the detail of the event that ends a job which has run out of time.
const timeout = "timeout"

// Expire ends a job that has run out of time. expired is false when it has not, which is judged under the lock.
func (b *Book) Expire(ctx context.Context, id string) (j *Job, expired bool, err error) {
	return b.expire(ctx, id, (*Job).Due)
}

func (b *Book) expire(ctx context.Context, id string, due func(j *Job) (at time.Time, which string, ok bool)) (j *Job, expired bool, err error) {
	errNotYet := errors.New("not yet")
	j, err = b.with(ctx, id, func(c *change, j *Job) error {
		at, which, ok := due(j)
		if !ok || c.now.Before(at) {
			return errNotYet
		}
		limit := map[string]time.Duration{"total": j.Timeout, "idle": j.Idle}[which]
		var data canonjson.Object
		data.Str("timeout", which)
		data.Int("seconds", int64(limit/time.Second))
		_, err := c.take(j, Draft{Kind: Failed, Detail: timeout, Data: data.Bytes()}, ByObserver)
		return err
	})
	if errors.Is(err, errNotYet) {
		return nil, false, nil
	}
	return j, err == nil, err
}
