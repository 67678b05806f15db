package mcpserver

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tutti/internal/address"
	"tutti/internal/halt"
	"tutti/internal/identity"
	"tutti/internal/mailbox"
	"tutti/internal/peers"
	"tutti/internal/post"
	"tutti/internal/store"
	"tutti/internal/wake"
)

// absent are those whom this connection has sent mail and who have no session: agents that are not there, and people. No server
// of their own climbs for them, so that of the sender does. All that can be done is to tell the person: nobody is started.
type absent struct {
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

// An absentee is one of them.
type absentee struct {
	v      *server
	b      *bus
	who    address.Instance
	ladder *wake.Ladder
	stop   context.CancelFunc

	mu    sync.Mutex // guards what follows; a leaf
	from  address.Instance
	sent  []string // messages of this connection that may be unread, the newest last
	epoch uint64   // of the halts when they were sent
}

// deposited notes what was sent to somebody who has no session. It does not wait for anything that comes of it.
func (v *server) deposited(b *bus, from *identity.Speaker, r *post.Receipt) {
	if r.Outcome != post.Deposited {
		return
	}
	if a := v.absentee(b, r.To.Canonical()); a != nil {
		a.mail(from.Instance, r.ID)
	}
}

// absentee finds or makes one, nil when nobody is told, or there are too many.
func (v *server) absentee(b *bus, who address.Instance) *absentee {
	v.absent.mu.Lock()
	defer v.absent.mu.Unlock()
	if a := v.absent.all[who]; a != nil || v.absent.over || len(v.absent.all) >= maxAbsent {
		return a
	}
	config := v.waking()
	if !config.Enabled || !config.Desktop || !v.desktop().There() {
		return nil
	}
	times := timesOf(config)
	if who.Host() != identity.Human {
		times.Gather = times.Climb // it may be about to come back, or look from a command line
	}
	times.Quiet = 0
	a := &absentee{v: v, b: b, who: who}
	a.ladder = wake.NewLadder(wake.LadderOptions{
		Rungs: []wake.Rung{wake.DesktopRung(a.tell)}, Times: times, Unread: a.unread, May: a.may, Note: a.note, Log: v.log,
	})
	var ctx context.Context
	ctx, a.stop = context.WithCancel(context.Background())
	v.absent.works.Go(func() { a.ladder.Run(ctx) })
	if v.absent.all == nil {
		v.absent.all = map[address.Instance]*absentee{}
	}
	v.absent.all[who] = a
	return a
}

// work starts something, unless the server is about to end. Whoever starts it sees to its end.
func (s *absent) work(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.works.Go(f)
	}
	return !s.over
}

// leave ends all that is done for them.
func (s *absent) leave(ctx context.Context) {
	s.mu.Lock()
	s.over = true
	for _, a := range s.all {
		a.stop()
	}
	s.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.works.Wait()
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
}

// mail takes note of a message. What was sent before a halt is no reason to tell anybody after it.
func (a *absentee) mail(from address.Instance, id string) {
	epoch := halt.Epoch()
	a.mu.Lock()
	if a.epoch != epoch {
		a.sent, a.epoch = nil, epoch
	}
	a.from = from
	known := slices.Contains(a.sent, id)
	if !known {
		a.sent = append(a.sent, id)
	}
	if len(a.sent) > maxSent {
		a.sent = slices.Delete(a.sent, 0, 1)
	}
	a.mu.Unlock()
	if !known {
		a.ladder.Mail()
	}
}

func (a *absentee) may() bool {
	a.mu.Lock()
	epoch := a.epoch
	a.mu.Unlock()
	return epoch != halt.UnknownEpoch && !halt.Read().Halted && halt.Epoch() == epoch
}

// unread are the messages of this connection that nobody was shown, the newest first, as long as the reader has no session, is one
// of this user's, and nobody has told them of this mailbox a while ago. again is when the first of those is free that somebody is about to be shown.
func (a *absentee) unread(ctx context.Context) (ids []string, again time.Time, err error) {
	now := time.Now()
	found, err := a.b.office.Book.Resolve(ctx, string(a.who), now)
	if err != nil {
		return nil, again, err
	}
	live := found.Live > 0 || found.Kind == peers.DeliverHint || found.Kind == peers.Refuse
	if ours, err := a.ours(ctx); err != nil || live || !ours {
		return nil, again, err
	}
	all, _, err := a.b.Mail.Lines(ctx, a.who, mailbox.Query{States: true}) // whoever reads the mailbox says what is no message
	if err != nil {
		return nil, again, err
	}
	nobody := mailbox.Reader{By: a.who}
	a.mu.Lock()
	defer a.mu.Unlock()
	var kept []string
	for i := range all {
		s, mine := all[i].State, slices.Contains(a.sent, all[i].ID)
		if s != nil && s.Seen() {
			continue
		}
		if s != nil && s.Result == wake.Desktop && now.Sub(s.Pushed).Abs() < wake.Usual().Again {
			return nil, time.Time{}, nil // one knock is enough, whoever knocked
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
	a.sent = slices.DeleteFunc(a.sent, func(id string) bool { return !slices.Contains(kept, id) })
	return ids, again, nil
}

// ours tells whether the reader belongs to the user of this process: their keyring has its key. A label is theirs when an agent
// under it is.
func (a *absentee) ours(ctx context.Context) (bool, error) {
	if parent, _, ok := a.who.Subagent(); ok {
		return a.b.Ring.Has(parent), nil
	}
	if a.who.Perennial() {
		return a.b.Ring.Has(a.who), nil
	}
	all, err := a.b.Registry.Channel(ctx, a.who.Channel())
	return slices.ContainsFunc(all, a.b.Ring.Has), err
}

// alone is how long only one of those who have written to the same reader goes about telling: longer than it takes to tell, and to
// put that on record for the others.
const alone = 15 * time.Second

// tell says it to the person: whom the mail is for, and nothing that a peer wrote.
func (a *absentee) tell(ctx context.Context) (told bool, err error) {
	_, err = a.b.Store.Acquire(ctx, "desktop-"+a.who.Mailbox(), "mcp-serve "+strconv.Itoa(a.v.pid), alone)
	if _, held := errors.AsType[*store.HeldError](err); held {
		return false, nil
	}
	if ids, _, uerr := a.unread(ctx); err != nil || uerr != nil || len(ids) == 0 { // somebody may have, just now
		return false, errors.Join(err, uerr)
	}
	who, what := string(a.who), "It has no session now, and is shown its mail when it comes back."
	if a.who.Host() == identity.Human {
		_, what, _ = strings.Cut(wake.Sentence, ": ")
		what = "To read it, " + what
	}
	return a.v.desktop().Say(ctx, "Mail for "+who, what)
}

// note puts it on record.
func (a *absentee) note(m mailbox.Mark) {
	a.mu.Lock()
	from := a.from
	a.mu.Unlock()
	a.v.record(a.b, a.who, from, "", m)
}
