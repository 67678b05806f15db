package presence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/store"
)

var (
	// ErrTaken reports a session id, or the name of its file, under which another agent is there.
	ErrTaken = errors.New("the session belongs to another agent")
	// ErrClosed reports to the owner of a session that another process closed it.
	ErrClosed = errors.New("the session was closed by another process")
	// ErrUnknownMember reports an extra member whose name the guard of existing programs knows.
	ErrUnknownMember = errors.New("is not an extra member")
)

// A Start is what an agent says of itself when its session begins. Instance is needed.
type Start struct {
	SessionID  address.SessionID // minted when empty
	Instance   address.Instance
	Host       string
	PID        int // of the owner
	Interests  Interests
	Topics     []string // all when nil; unknown ones are left out, as they would cost the session its record
	WorkStatus string
	Launch     *Launch
	Workspace  *Workspace
	Name       string
	Version    *Version
	MirroredAt string
	Extra      map[string][]byte // members that the guard does not know: valid JSON
}

// Open writes the record of a session that begins now. When the same agent left one under this id, it begins anew with the
// members that are not known here. ErrTaken: another agent has it.
func (p *Presence) Open(ctx context.Context, o Start, now time.Time) (*Session, error) {
	if o.SessionID == "" {
		o.SessionID = address.NewSession()
	}
	s, err := fresh(o, now)
	if err == nil {
		err = address.Check(string(o.SessionID))
	}
	if err == nil {
		s, err = p.write(ctx, s, func(old []byte) []byte { return over(old, s.Raw) }, begins)
	}
	if err != nil {
		return nil, fmt.Errorf("open session %q: %w", o.SessionID, err)
	}
	return s, nil
}

// fresh makes the record of a session that begins.
func fresh(o Start, now time.Time) (*Session, error) {
	if o.Topics == nil {
		o.Topics = topics
	}
	known := slices.DeleteFunc(slices.Clone(o.Topics), func(t string) bool { return !slices.Contains(topics, t) })
	at := envelope.Stamp(now)
	var r canonjson.Object
	r.Str("sessionId", string(o.SessionID))
	r.Str("instance", string(o.Instance))
	r.Opt("host", o.Host)
	if o.PID > 0 {
		r.Int("pid", int64(o.PID))
	}
	r.Str("startedAt", at)
	r.Str("heartbeatAt", at)
	r.Str("state", Live)
	r.Raw("interests", o.Interests.json())
	r.Strs("subscribedTopics", known)
	r.Opt("workStatus", o.WorkStatus)
	r.Raw("launchContext", o.Launch.json())
	r.Raw("workspace", o.Workspace.json())
	r.Opt("name", o.Name)
	r.Raw("version", o.Version.json())
	r.Opt("mirroredAt", o.MirroredAt)
	extra := Change{Extra: o.Extra}
	if err := extra.check(); err != nil {
		return nil, err
	}
	s, err := Parse(extra.apply(r.Bytes()))
	if err == nil {
		s.key = key(o.SessionID)
	}
	return s, err
}

func (i Interests) json() []byte {
	var o canonjson.Object
	o.Strs("scopes", i.Scopes)
	o.Strs("negotiations", i.Negotiations)
	return o.Bytes()
}

func (l *Launch) json() []byte {
	if l == nil {
		return nil
	}
	var o canonjson.Object
	o.Str("cwd", l.Cwd)
	o.Str("command", l.Command)
	o.Opt("resumeCommand", l.ResumeCommand)
	o.Opt("tty", l.TTY)
	if t := l.Tmux; t != nil {
		var m canonjson.Object
		m.Str("session", t.Session)
		m.Opt("window", t.Window)
		m.Str("pane", t.Pane)
		o.Raw("tmux", m.Bytes())
	}
	return o.Bytes()
}

func (w *Workspace) json() []byte {
	if w == nil {
		return nil
	}
	var o canonjson.Object
	o.Str("id", w.ID)
	o.Str("path", w.Path)
	o.Str("host", w.Host)
	o.Str("label", w.Label)
	o.Opt("repo", w.Repo)
	return o.Bytes()
}

func (v *Version) json() []byte {
	if v == nil {
		return nil
	}
	var o canonjson.Object
	o.Str("cli", v.CLI)
	o.Opt("skill", v.Skill)
	return o.Bytes()
}

// over returns next with those members of old that are not known here.
func over(old, next []byte) []byte {
	for name, value := range canonjson.Members(old) {
		if !slices.Contains(members, name) {
			next = canonjson.Set(next, name, value)
		}
	}
	return next
}

// A Change is what an agent says anew of its session. Fields that are nil or empty stay as they are.
type Change struct {
	State      string
	WorkStatus *string // "" takes it away
	Interests  *Interests
	Topics     []string // unknown ones are left out
	Launch     *Launch
	Name       *string // "" takes it away
	Version    *Version
	MirroredAt string
	// MCPActivityAt is when the agent last said something; zero: as it was.
	MCPActivityAt time.Time
	Extra         map[string][]byte // members that the guard does not know: valid JSON, nil takes one away
}

// apply changes a record. The result need not pass the guard.
func (c Change) apply(raw []byte) []byte {
	set := func(name string, value []byte) {
		if value != nil {
			raw = canonjson.Set(raw, name, value)
		}
	}
	str := func(name, value string) {
		if value != "" {
			set(name, canonjson.AppendString(nil, value))
		}
	}
	orDelete := func(name string, value *string) {
		switch {
		case value == nil:
		case *value == "":
			raw = canonjson.Delete(raw, name)
		default:
			str(name, *value)
		}
	}
	str("state", c.State)
	orDelete("workStatus", c.WorkStatus)
	if c.Interests != nil {
		set("interests", c.Interests.json())
	}
	if c.Topics != nil {
		var o canonjson.Object
		o.Strs("t", slices.DeleteFunc(slices.Clone(c.Topics), func(t string) bool { return !slices.Contains(topics, t) }))
		list, _ := canonjson.Get(o.Bytes(), "t")
		set("subscribedTopics", list)
	}
	set("launchContext", c.Launch.json())
	orDelete("name", c.Name)
	set("version", c.Version.json())
	str("mirroredAt", c.MirroredAt)
	if !c.MCPActivityAt.IsZero() {
		str("lastMcpActivityAt", envelope.Stamp(c.MCPActivityAt))
	}
	for name, value := range c.Extra {
		if value == nil {
			raw = canonjson.Delete(raw, name)
			continue
		}
		set(name, value)
	}
	return raw
}

func (c Change) check() error {
	for name, value := range c.Extra {
		if slices.Contains(members, name) || name == "__proto__" || value != nil && !canonjson.Valid(value) {
			return fmt.Errorf("%q: %w", name, ErrUnknownMember)
		}
	}
	return nil
}

// Beat records that a session is there. It writes the record as the owner last saw it with a new heartbeat, without reading
// first; if another process changed it meanwhile its change stays, and if the record was swept, Beat makes it again. Only the
// owner may call it. It returns what is written; another process may have set another state. ErrClosed: that state is closed.
func (p *Presence) Beat(ctx context.Context, s *Session, now time.Time) (*Session, error) {
	return p.patch(ctx, s, Change{}, now, owns)
}

// Patch changes a session and says that it is there, as Beat does. Only the owner may call it.
func (p *Presence) Patch(ctx context.Context, s *Session, c Change, now time.Time) (*Session, error) {
	return p.patch(ctx, s, c, now, owns)
}

// Amend changes another agent's session, and closes it where the change says so: the heartbeat stays, and a session that is not
// there is not made (store.ErrNotFound).
func (p *Presence) Amend(ctx context.Context, id address.SessionID, c Change) (*Session, error) {
	s, err := p.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	return p.patch(ctx, s, c, time.Time{}, others)
}

// Keep records that another agent's session is there: for a prober that sees it alive.
func (p *Presence) Keep(ctx context.Context, id address.SessionID, now time.Time) (*Session, error) {
	s, err := p.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	return p.patch(ctx, s, Change{}, now, others)
}

func (p *Presence) patch(ctx context.Context, s *Session, c Change, now time.Time, by writer) (*Session, error) {
	err := c.check()
	if err == nil {
		s, err = p.write(ctx, s, func(raw []byte) []byte {
			if !now.IsZero() {
				raw = canonjson.Set(raw, "heartbeatAt", canonjson.AppendString(nil, envelope.Stamp(now)))
			}
			return c.apply(raw)
		}, by)
	}
	if err != nil {
		return nil, fmt.Errorf("update session: %w", err)
	}
	return s, nil
}

// maxTries ends a loop in which each round fails because another process wrote in between.
const maxTries = 100

// A writer says how a record is written. One that is not there is made, except by others.
type writer uint8

const (
	begins writer = iota // whatever state the stored one has
	owns                 // goes on with a session, unless it was closed meanwhile
	others
)

// write stores what change makes of a session's record: of the one that was last seen, or, if the stored record differs, of
// that one. Nothing is ever written that does not pass the guard: if the stored record does not, the one last seen takes its
// place, with the members that are not known here.
func (p *Presence) write(ctx context.Context, s *Session, change func([]byte) []byte, by writer) (*Session, error) {
	seen, rev := s.Raw, s.rev
	last := s.Raw
	for range maxTries {
		next, err := Parse(change(seen))
		if err != nil && string(seen) != string(last) {
			next, err = Parse(over(seen, change(last)))
		}
		if err != nil {
			return nil, err
		}
		next.Raw, next.key = pretty(next.Raw), s.key
		if next.rev, err = p.put(ctx, next, rev, by != others); err == nil {
			return next, nil
		}
		if !errors.Is(err, store.ErrConflict) {
			return nil, err
		}
		d, err := p.docs.Get(ctx, s.key)
		switch {
		case errors.Is(err, store.ErrNotFound):
			seen, rev = last, ""
			continue
		case err != nil:
			return nil, err
		case !same(d.Data, s):
			return nil, ErrTaken
		case by == owns && s.State != Closed && closed(d.Data):
			return nil, ErrClosed
		}
		seen, rev = d.Data, d.Rev
		if old, err := Parse(d.Data); by == begins && err == nil && elsewhere(old, s) {
			old.key, old.rev = s.key, d.Rev
			switch err := p.moved(ctx, old); {
			case err == nil, errors.Is(err, store.ErrNotFound):
				rev = ""
			case !errors.Is(err, store.ErrConflict): // then its old owner has beaten meanwhile: look again
				return nil, err
			}
		}
	}
	return nil, store.ErrConflict
}

// put is one attempt. store.ErrConflict: read the stored record again.
func (p *Presence) put(ctx context.Context, next *Session, old store.Rev, create bool) (store.Rev, error) {
	if old != "" {
		rev, err := p.docs.Replace(ctx, next.key, next.Raw, old)
		if !errors.Is(err, store.ErrNotFound) || !create {
			return rev, err
		}
	}
	if !create {
		return "", store.ErrNotFound
	}
	rev, err := p.docs.Create(ctx, next.key, next.Raw)
	if errors.Is(err, store.ErrExists) {
		err = store.ErrConflict
	}
	return rev, err
}

// same reports whether the document under the name of a session is a record of it. A document that names neither counts as one:
// it is a file that some program broke.
func same(raw []byte, s *Session) bool {
	var v [2][]byte
	canonjson.Pick(raw, []string{"sessionId", "instance"}, v[:])
	id, ok := canonjson.String(v[0])
	if ok && id != string(s.SessionID) {
		return false
	}
	i, ok := canonjson.String(v[1])
	return !ok || address.Canonical(i) == address.Canonical(string(s.Instance))
}

// closed reports whether a record is one of a session that was closed, not a broken one.
func closed(raw []byte) bool {
	s, err := Parse(raw)
	return err == nil && s.State == Closed
}

// Close takes a session away. Closing one that is gone already is not an error.
func (p *Presence) Close(ctx context.Context, s *Session) error {
	rev := s.rev
	for range maxTries {
		err := p.docs.Delete(ctx, s.key, rev)
		switch {
		case err == nil, errors.Is(err, store.ErrNotFound):
			return nil
		case !errors.Is(err, store.ErrConflict):
			return fmt.Errorf("close session %q: %w", s.SessionID, err)
		}
		d, err := p.docs.Get(ctx, s.key)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return nil
		case err != nil:
			return fmt.Errorf("close session %q: %w", s.SessionID, err)
		case !same(d.Data, s):
			return fmt.Errorf("close session %q: %w", s.SessionID, ErrTaken)
		}
		rev = d.Rev
	}
	return fmt.Errorf("close session %q: %w", s.SessionID, store.ErrConflict)
}
