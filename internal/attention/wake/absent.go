package wake

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"tutti/internal/bus/identity"
	"tutti/internal/bus/keyring"
	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/members"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/halt"
	"tutti/internal/store"
)

// AbsentOptions select the bus whose readers without a session are looked after, and how their person is notified. All but
// Otherwise, Holder, Most and Log are needed.
type AbsentOptions struct {
	Mail     *mailbox.Mailbox
	Book     *members.Book
	Registry *registry.Registry
	Ring     *keyring.Ring // agents whose keys are in it belong to this user; there are no notices about others
	Leases   Leases
	Holder   string // this process, for people
	// Times are those of an agent; a person is notified after Gather.
	Times Times
	// Say notifies the person that mail waits for a reader, and what to do about it; told is false where there is no desktop.
	Say func(ctx context.Context, who address.Instance, text string) (told bool, err error)
	// Otherwise is called if the desktop could not show the notice, with the number of messages. Nil: nothing is done then.
	Otherwise func(who address.Instance, unread int)
	// Note puts a step on record in the mailbox of the reader. from is who sent the last message to it.
	Note func(reader, from address.Instance, m mailbox.Mark)
	Most int // of how many readers it is known that mail waits; 0: maxAbsent
	Log  func(string)
}

// Leases let one process at a time do something.
type Leases interface {
	Acquire(ctx context.Context, name, holder string, ttl time.Duration) (store.Lease, error) // as store.Leases
	Release(ctx context.Context, l store.Lease) error
}

// Absent are readers who may have no session: agents that are not there, and people. No server of their own climbs for them, so
// that of the sender does, or the process that watches all mailboxes of a user. All that can be done is to notify the person:
// no agent is started. However many look after the same mailbox, one of them tells.
type Absent struct {
	o     AbsentOptions
	works sync.WaitGroup // what was started for them

	mu   sync.Mutex // guards what follows; a leaf
	all  map[address.Instance]*absentee
	over bool
}

// maxAbsent and maxSent bound what is remembered: of how many readers, and of how many messages to each.
const (
	maxAbsent = 64
	maxSent   = 100
)

// NewAbsent returns an empty Absent. Nothing runs before mail was sent to an absent reader.
func NewAbsent(o AbsentOptions) *Absent {
	if o.Log == nil {
		o.Log = func(string) {}
	}
	if o.Most == 0 {
		o.Most = maxAbsent
	}
	return &Absent{o: o, all: map[address.Instance]*absentee{}}
}

// An absentee is one of them.
type absentee struct {
	a      *Absent
	who    address.Instance
	ladder *Ladder
	stop   context.CancelFunc

	elsewhere bool // another process tells, just now; it belongs to the goroutine of the ladder

	mu    sync.Mutex // guards what follows; a leaf
	from  address.Instance
	sent  []string // messages that may be unread, the newest last
	epoch uint64   // of the halts when they were sent
}

// Mail reports that a message is in the mailbox of a reader, as of a number of halts, see [halt.Epoch]: if there was another one since,
// it causes no notice. Mail does not wait for the result; noted is false if nothing will follow, because there are too many readers.
func (a *Absent) Mail(who, from address.Instance, id string, epoch uint64) (noted bool) {
	one := a.find(who.Canonical())
	if one != nil && epoch == halt.Epoch() {
		one.mail(from, id, epoch)
	}
	return one != nil
}

// Left reports that a session of a reader has ended: its unread mail may now wait for an absent reader.
func (a *Absent) Left(who address.Instance) {
	a.mu.Lock()
	one := a.all[who.Canonical()]
	a.mu.Unlock()
	if one != nil && !one.idle() {
		one.ladder.Mail()
	}
}

// Halt ends what is being done, and forgets what waits.
func (a *Absent) Halt() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range a.all {
		one.ladder.Halt()
	}
}

// find finds or makes one, nil when there are too many.
func (a *Absent) find(who address.Instance) *absentee {
	a.mu.Lock()
	defer a.mu.Unlock()
	if one := a.all[who]; one != nil || a.over {
		return one
	}
	if len(a.all) >= a.o.Most && !a.drop() {
		return nil
	}
	one := &absentee{a: a, who: who}
	times := a.o.Times
	if who.Host() != identity.Human {
		times.Gather = times.Climb // it may be about to come back, or look from a command line
	}
	times.Quiet = 0
	rungs := []Rung{one.desktop()}
	if a.o.Otherwise != nil {
		rungs = append(rungs, Rung{Line, one.otherwise})
	}
	one.ladder = NewLadder(LadderOptions{Rungs: rungs, Times: times, Unread: one.unread, May: one.may, Note: one.note, Log: a.o.Log})
	var ctx context.Context
	ctx, one.stop = context.WithCancel(context.Background())
	a.works.Go(func() { one.ladder.Run(ctx) })
	a.all[who] = one
	return one
}

// drop forgets one of whom nothing is known to wait. a.mu is held.
func (a *Absent) drop() bool {
	for who, one := range a.all {
		if one.idle() {
			one.stop()
			delete(a.all, who)
			return true
		}
	}
	return false
}

// Work starts a task about them, unless this is over. The caller sees to its end.
func (a *Absent) Work(f func()) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.over {
		a.works.Go(f)
	}
	return !a.over
}

// Leave ends all that is done for them, and waits for that until ctx is done.
func (a *Absent) Leave(ctx context.Context) {
	a.mu.Lock()
	a.over = true
	for _, one := range a.all {
		one.stop()
	}
	a.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		a.works.Wait()
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
}

// idle tells whether nothing is known to wait.
func (one *absentee) idle() bool {
	one.mu.Lock()
	defer one.mu.Unlock()
	return len(one.sent) == 0
}

// mail takes note of a message. Mail that was sent before a halt causes no notice after it.
func (one *absentee) mail(from address.Instance, id string, epoch uint64) {
	one.mu.Lock()
	if one.epoch != epoch {
		one.sent, one.epoch = nil, epoch
	}
	one.from = from
	known := slices.Contains(one.sent, id)
	if !known {
		one.sent = append(one.sent, id)
	}
	if len(one.sent) > maxSent {
		one.sent = slices.Delete(one.sent, 0, 1)
	}
	one.mu.Unlock()
	if !known {
		one.ladder.Mail()
	}
}

func (one *absentee) may() bool {
	one.mu.Lock()
	epoch := one.epoch
	one.mu.Unlock()
	return epoch != halt.UnknownEpoch && !halt.Read().Halted && halt.Epoch() == epoch
}

// unread are the messages known here that no reader was shown, the newest first, as long as the reader has no session, is one
// of this user's, and had no recent notice about this mailbox. again is when the first message that a reader is about to be
// shown becomes free.
func (one *absentee) unread(ctx context.Context) (ids []string, again time.Time, err error) {
	now := time.Now()
	found, err := one.a.o.Book.Resolve(ctx, string(one.who), now)
	if err != nil {
		return nil, again, err
	}
	live := found.Live > 0 || found.Kind == members.DeliverHint || found.Kind == members.Refuse
	if ours, err := one.a.Ours(ctx, one.who); err != nil || live || !ours {
		return nil, again, err
	}
	all, _, err := one.a.o.Mail.Lines(ctx, one.who, mailbox.Query{States: true}) // the reader of the mailbox reports files that are not messages
	if err != nil {
		return nil, again, err
	}
	nobody := mailbox.Reader{By: one.who}
	one.mu.Lock()
	defer one.mu.Unlock()
	var kept []string
	for i := range all {
		s, mine := all[i].State, slices.Contains(one.sent, all[i].ID)
		if s != nil && s.Seen() {
			continue
		}
		if s != nil && s.Result == Desktop && now.Sub(s.Pushed).Abs() < Usual().Again {
			return nil, time.Time{}, nil // one knock is enough, whichever process knocked
		}
		if !mine {
			continue
		}
		kept = append(kept, all[i].ID)
		if s == nil || s.Free(nobody, now) {
			ids = append(ids, all[i].ID)
		} else if at, ever := s.FreeAt(nobody); ever && (again.IsZero() || at.Before(again)) {
			again = at
		}
	}
	one.sent = slices.DeleteFunc(one.sent, func(id string) bool { return !slices.Contains(kept, id) })
	return ids, again, nil
}

// Ours tells whether a reader belongs to the user of this process: their keyring has its key. A label is theirs when an agent
// under it is.
func (a *Absent) Ours(ctx context.Context, who address.Instance) (bool, error) {
	if parent, _, ok := who.Subagent(); ok {
		return a.o.Ring.Has(parent), nil
	}
	if who.Perennial() {
		return a.o.Ring.Has(who), nil
	}
	all, err := a.o.Registry.Channel(ctx, who.Channel())
	return slices.ContainsFunc(all, a.o.Ring.Has), err
}

// alone is how long only one of those who look after the same reader goes about telling: longer than it takes to tell, and to
// put that on record for the others.
const alone = 15 * time.Second

// desktop is the rung of the desktop. If another process is about to notify it is looked at again later: that one may have no
// desktop, or be ended before it has done so.
func (one *absentee) desktop() Rung {
	r := DesktopRung(one.tell)
	return Rung{r.Name, func(ctx context.Context) Attempt {
		a := r.Try(ctx)
		a.Later = one.elsewhere
		return a
	}}
}

// tell says it to the person: whom the mail is for, and nothing that a peer wrote.
func (one *absentee) tell(ctx context.Context) (told bool, err error) {
	lease, err := one.a.o.Leases.Acquire(ctx, "desktop-"+one.who.Mailbox(), one.a.o.Holder, alone)
	if _, one.elsewhere = errors.AsType[*store.HeldError](err); one.elsewhere {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() {
		if !told || err != nil { // else it is on record before the lease ends
			_ = one.a.o.Leases.Release(context.WithoutCancel(ctx), lease)
		}
	}()
	if ids, _, err := one.unread(ctx); err != nil || len(ids) == 0 { // another process may have, just now
		return false, err
	}
	what := "It is not live now, and is shown its mail when it comes back."
	if one.who.Host() == identity.Human {
		what = `To read it, run "tutti receive".`
	}
	return one.a.o.Say(ctx, one.who, what)
}

// otherwise reports it by a line, if no process has notified or is about to.
func (one *absentee) otherwise(ctx context.Context) Attempt {
	if one.elsewhere {
		return Attempt{}
	}
	ids, _, err := one.unread(ctx)
	if err != nil || len(ids) == 0 {
		return Attempt{Err: err}
	}
	one.a.o.Otherwise(one.who, len(ids))
	return Attempt{Did: true, Counts: true}
}

// note puts it on record.
func (one *absentee) note(m mailbox.Mark) {
	one.mu.Lock()
	from := one.from
	one.mu.Unlock()
	one.a.o.Note(one.who, from, m)
}
