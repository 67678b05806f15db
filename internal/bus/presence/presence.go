// Package presence knows which sessions of which agents are there now.
//
// A session is one record that its owner writes again every [Heartbeat]; a record older than [Expiry] counts for nothing.
// Existing programs delete every record that they do not understand, no matter which program wrote it, whenever they list. So
// everything written here always passes their guard ([Check]): new things go into members that the guard does not know, and
// those that others wrote are kept. The next heartbeat of its owner restores a session that was swept.
//
// Nothing is deleted by reading. [Presence.Sweep] takes away what is certainly dead, and only that: what cannot be parsed may
// come from a newer program.
//
// That an agent has no fresh session says that it cannot be reached now. It does not say that it is idle: an agent that runs
// without a session works and is not seen here. This fact alone is not a reason to start or replace an agent, or to send it
// something twice.
//
// Questions about one agent or channel read the records of these only; which they are is kept by the store's index, as it
// never changes during a session. A Presence is safe for concurrent use, and so is a *Session: it is never changed.
package presence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/store"
)

const (
	// Expiry is how old a heartbeat may be: the value of existing readers since version 0.61. With another one two programs
	// could disagree on who conducts.
	Expiry = 90 * time.Second
	// Heartbeat is how often an owner writes its record: four of them fit into Expiry, so that two may fail. Existing
	// programs take 5 s; with many agents on one machine each write costs all of them a look.
	Heartbeat = 20 * time.Second
	// StallAfter is the age of a heartbeat from which an agent that said to be at work counts as stalled.
	StallAfter = 120 * time.Second
)

// A Presence reads and writes the sessions of one bus.
type Presence struct {
	docs store.Docs
	// TTL takes the place of Expiry when it is not 0. Set it before the first call.
	TTL time.Duration
}

// New returns the presence of a bus. Documents that are also a store.Viewer are asked as one.
func New(docs store.Docs) *Presence { return &Presence{docs: docs} }

func (p *Presence) ttl() time.Duration {
	if p.TTL > 0 {
		return p.TTL
	}
	return Expiry
}

// Expired reports whether a session counts no more by its record alone: it was closed, or its heartbeat is not a time or is older
// than ttl at now. A heartbeat more than envelope.MaxSkew in the future is as old as its record, so that a dead owner whose clock
// was early does not stay; existing readers wait until the clock has caught up. Times are compared in whole milliseconds, as they
// are written. [Absent] also looks at the process.
func Expired(s *Session, now time.Time, ttl time.Duration) bool {
	if s.State == Closed || s.State == StateExpired {
		return true
	}
	age, ok := s.age(now)
	return !ok || age > ttl
}

// age is how old the heartbeat is, in whole milliseconds; false when it is not a time.
func (s *Session) age(now time.Time) (time.Duration, bool) {
	beat, ok := envelope.ParseTime(s.HeartbeatAt)
	age := now.Sub(beat) // which stays within its range, also for a heartbeat of the year 9999
	if ok && age < -envelope.MaxSkew && !s.stored.IsZero() {
		age = now.Truncate(time.Millisecond).Sub(s.stored.Truncate(time.Millisecond))
	}
	return age, ok
}

func key(id address.SessionID) store.Key {
	return store.Key{Kind: store.Presence, Name: address.Segment(string(id))}
}

// What the index keys of a session begin with.
const (
	byInstance  = "in:"
	byChannel   = "ch:"
	byWorkspace = "ws:"
	byFolder    = "at:"
)

// facts are what never changes in a record of one name. A session id that is opened again in another folder gets another record for
// that (see Presence.moved).
var facts = &store.Projection{
	Name: "sessions", Version: 2, Frozen: true,
	Make: func(raw []byte, _ time.Time) ([]string, int64, []byte, error) {
		s, err := Parse(raw)
		if err != nil {
			return nil, 0, nil, err
		}
		keys := []string{byInstance + string(s.Instance.Canonical()), byChannel + s.Instance.Channel()}
		if w := s.Workspace; w != nil {
			keys = append(keys, byWorkspace+address.Canonical(w.ID), byFolder+w.Path)
		}
		return keys, 0, nil, nil
	},
}

// Fresh returns the sessions that are there, in the order in which they began.
func (p *Presence) Fresh(ctx context.Context, now time.Time) ([]*Session, error) {
	all, _, err := p.All(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(s *Session) bool { return Absent(s, now, p.ttl()) }), nil
}

// All returns every session, expired ones too, in the order in which they began, and the files that are not sessions.
func (p *Presence) All(ctx context.Context) (all []*Session, problems []error, err error) {
	for e, err := range p.docs.List(ctx, store.Presence, "") {
		var s *Session
		if err == nil {
			s, err = p.read(ctx, e.Key)
		}
		switch {
		case err == nil:
			all = append(all, s)
		case errors.Is(err, store.ErrNotFound): // it went away meanwhile
		case store.IsUnfit(err):
			problems = append(problems, err)
		default:
			return nil, nil, fmt.Errorf("list sessions: %w", err)
		}
	}
	slices.SortFunc(all, func(a, b *Session) int {
		return cmp.Or(strings.Compare(a.StartedAt, b.StartedAt), cmp.Compare(a.SessionID, b.SessionID))
	})
	return all, problems, nil
}

// read gets one record. One that is not a session is a *store.UnfitError.
func (p *Presence) read(ctx context.Context, k store.Key) (*Session, error) {
	d, err := p.docs.Get(ctx, k)
	if err != nil {
		return nil, err
	}
	s, err := ParseDoc(d)
	if err != nil {
		return nil, &store.UnfitError{Key: k, Where: k.String(), Why: err.Error()}
	}
	return s, nil
}

// ParseDoc is Parse of what a store has. With it comes when that was written, by which a heartbeat from the future is judged
// (see [Expired]): a caller that reads records from a store for that question uses this.
func ParseDoc(d store.Doc) (*Session, error) {
	s, err := Parse(d.Data)
	if err == nil {
		s.rev, s.key, s.stored = d.Rev, d.Key, d.Stored
	}
	return s, err
}

// Get returns a session, expired or not. store.ErrNotFound: there is none.
func (p *Presence) Get(ctx context.Context, id address.SessionID) (*Session, error) {
	s, err := p.read(ctx, key(id))
	if err == nil && s.SessionID != id {
		err = store.ErrNotFound // another id with the same file name
	}
	if err != nil {
		return nil, fmt.Errorf("session %q: %w", id, err)
	}
	return s, nil
}

// Of returns the fresh sessions of an instance in any spelling, the one with the latest heartbeat first.
func (p *Presence) Of(ctx context.Context, i address.Instance, now time.Time) ([]*Session, error) {
	return p.with(ctx, byInstance+string(i.Canonical()), p.counts(now))
}

// InChannel returns the fresh sessions of all agents under "host:label" in any spelling, the one with the latest heartbeat
// first. Only the first two parts of channel count.
func (p *Presence) InChannel(ctx context.Context, channel string, now time.Time) ([]*Session, error) {
	return p.with(ctx, byChannel+address.Instance(channel).Channel(), p.counts(now))
}

// counts tells which sessions are there.
func (p *Presence) counts(now time.Time) func(*Session) bool {
	return func(s *Session) bool { return !Absent(s, now, p.ttl()) }
}

func latestFirst(list []*Session) {
	slices.SortFunc(list, func(a, b *Session) int {
		return cmp.Or(b.beat().Compare(a.beat()), cmp.Compare(a.SessionID, b.SessionID))
	})
}

func (s *Session) beat() time.Time {
	t, _ := envelope.ParseTime(s.HeartbeatAt)
	return t
}

// The reasons of a stall.
const (
	StalledIdle      = "idle"           // it said to be at work or paused, and has fallen silent
	StalledHeuristic = "idle-heuristic" // it never said what it does, and has fallen silent
	StalledTokens    = "out-of-tokens"
)

// Stalled reports whether a session seems to have stopped in the middle of its work, and why. One that is closed, done or
// blocked has not. A heartbeat that is not a time has no age.
func Stalled(s *Session, now time.Time) (reason string, stalled bool) {
	switch {
	case s.State == Closed, s.State == StateExpired, s.WorkStatus == Done, s.WorkStatus == Blocked:
		return "", false
	case s.WorkStatus == OutOfTokens:
		return StalledTokens, true
	}
	age, ok := s.age(now)
	switch {
	case !ok || age <= StallAfter:
		return "", false
	case s.WorkStatus == "":
		return StalledHeuristic, true
	}
	return StalledIdle, true
}

// The ages from which a session is swept. Ten minutes after its expiry it was not just suspended by a closed lid, and a dead
// process cannot come back; a day covers processes that cannot be checked from here.
const (
	sweepDead = 10 * time.Minute
	sweepOld  = 24 * time.Hour
)

// Sweep deletes the sessions that are certainly dead: those whose heartbeat is ten minutes beyond its expiry and whose process
// is gone, or whose heartbeat is a day old. alive answers for processes of this machine; sessions mirrored from another one are
// not asked about. A record that is not a session, or has a heartbeat that is not a time, stays. It returns what it deleted.
func (p *Presence) Sweep(ctx context.Context, now time.Time, alive func(pid int) bool) ([]*Session, error) {
	all, _, err := p.All(ctx)
	if err != nil {
		return nil, err
	}
	var swept []*Session
	for _, s := range all {
		age, ok := s.age(now)
		dead := s.PID > 0 && s.MirroredAt == "" && age > p.ttl()+sweepDead && !alive(s.PID)
		if !ok || !dead && age <= sweepOld {
			continue
		}
		switch err := p.docs.Delete(ctx, s.key, s.rev); {
		case err == nil:
			swept = append(swept, s)
		case errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrNotFound): // it lives, or another process was faster
		default:
			return swept, fmt.Errorf("sweep session %q: %w", s.SessionID, err)
		}
	}
	return swept, nil
}

// pretty is how records stand on disk.
func pretty(raw []byte) []byte { return append(canonjson.Indent(raw), '\n') }
