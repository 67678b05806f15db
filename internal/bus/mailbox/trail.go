package mailbox

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/store"
)

// A Step is one step of a message, as recorded in the trail.
type Step string

// The steps.
const (
	Stored  Step = "stored"  // it is in the mailbox
	Pushed  Step = "pushed"  // a session was notified that it is there
	Offered Step = "offered" // a reader has claimed it and is about to show it
	Shown   Step = "shown"   // it is proven that the reader has it
	Taken   Step = "taken"   // it was acknowledged
	Failed  Step = "failed"  // something was tried and did not work; Result says what
	Engaged Step = "engaged" // its reader's user has set the work going again after a halt

	Queued   Step = "queued"   // it waits here for another machine
	Carrying Step = "carrying" // it is being sent there; whether it arrived is not known
	Carried  Step = "carried"  // the other machine has it in the mailbox of its reader
	Returned Step = "returned" // the other machine has refused it; Result says why
)

// ResultStop is the result of a push that asked for one more turn at the end of one. A message is the reason for that once.
const ResultStop = "stop"

// ResultBack is the result of a failed step by which a reader gives back what it was offered: it is over, and nothing ever proved that
// it had the message.
const ResultBack = "given back"

func (s Step) known() bool {
	switch s {
	case Stored, Pushed, Offered, Shown, Taken, Failed, Engaged, Queued, Carrying, Carried, Returned:
		return true
	}
	return false
}

// A Mark is one line of a trail.
type Mark struct {
	ID      string // of the message
	Step    Step
	At      time.Time
	By      string // who did it: an instance
	Session string // "" for a command without a session
	Result  string // a few words; cut to 300 bytes
}

// A Reader is one session of an instance, or one command.
type Reader struct {
	By      address.Instance
	Session string // "": a command of its own, which no other continues
}

// A State is what the trail says of one message. Times are zero for what never happened, and those of the last time
// otherwise.
type State struct {
	Stored, Pushed, Offered, Shown, Taken, Failed, Engaged time.Time

	Queued, Carrying, Carried, Returned time.Time // of a message to another machine

	Asked time.Time // one more turn was asked for because of it, see ResultStop

	By      string   // who was offered it last, or shown it without an offer
	Session string   // in which session
	Result  string   // of the last step that had one
	readers []Reader // who was shown it
}

// Seen tells whether any reader has the message.
func (s State) Seen() bool { return !s.Shown.IsZero() || !s.Taken.IsZero() }

// SeenBy reports whether a reader of that instance has the message, or an agent has acknowledged it.
func (s State) SeenBy(inst address.Instance) bool {
	return !s.Taken.IsZero() || slices.ContainsFunc(s.readers, func(r Reader) bool { return r.By == inst.Canonical() })
}

// shownTo tells whether this very reader has it.
func (s State) shownTo(r Reader) bool { return slices.Contains(s.readers, r.canonical()) }

func (r Reader) canonical() Reader { return Reader{r.By.Canonical(), r.Session} }

// Terms of a claim.
const (
	// ClaimFor is how long a message that was offered and not acknowledged is reserved for the session that it was offered to.
	ClaimFor = 10 * time.Minute
	// AgainAfter is when a session is offered again what it was offered and what never was proven to have reached it. Two
	// programs of one session that look at the same time are a second apart, not more.
	AgainAfter = 30 * time.Second
)

// Free reports whether a reader may be offered the message: it is not acknowledged, this reader was not shown it, and no other
// reader was offered it in the last ten minutes.
func (s State) Free(r Reader, now time.Time) bool {
	at, ever := s.FreeAt(r)
	// A time more than that in the future is not a claim: it would hold the message back for ever.
	return ever && (!now.Before(at) || at.Sub(now) >= 2*s.term(r))
}

// FreeAt is when the claim on a message lapses for a reader; zero: it is not claimed. ever is false where the reader will not
// be offered it.
func (s State) FreeAt(r Reader) (at time.Time, ever bool) {
	if !s.Taken.IsZero() || s.shownTo(r) {
		return at, false
	}
	at = s.Offered
	if at.IsZero() {
		at = s.Shown
	}
	if !at.IsZero() {
		at = at.Add(s.term(r))
	}
	return at, true
}

// term is how long a claim keeps a message from a reader.
func (s State) term(r Reader) time.Duration {
	if r.Session != "" && s.Session == r.Session && address.Canonical(s.By) == string(r.By.Canonical()) {
		return AgainAfter
	}
	return ClaimFor
}

// apply adds one line to what is known. To apply a stretch of the trail a second time changes nothing.
func (s *State) apply(m *Mark) {
	switch m.Step {
	case Stored:
		s.Stored = m.At
	case Pushed:
		s.Pushed = m.At
		if m.Result == ResultStop {
			s.Asked = m.At
		}
	case Offered:
		s.Offered, s.By, s.Session = m.At, m.By, m.Session
	case Shown:
		s.Shown = m.At
		r := Reader{address.Instance(m.By), m.Session}.canonical()
		if !slices.Contains(s.readers, r) {
			s.readers = append(s.readers, r)
		}
		if s.Offered.IsZero() {
			s.By, s.Session = m.By, m.Session
		}
	case Taken:
		s.Taken = m.At
	case Failed:
		s.Failed = m.At
		if m.Result == ResultBack && s.Session == m.Session && address.Canonical(s.By) == address.Canonical(m.By) {
			s.Offered = time.Time{}
		}
	case Engaged:
		s.Engaged = m.At
	case Queued:
		s.Queued = m.At
	case Carrying:
		s.Carrying = m.At
	case Carried:
		s.Carried = m.At
	case Returned:
		s.Returned = m.At
	}
	if m.Result != "" && m.Step != Queued && m.Step != Carrying { // of these two it is where the message goes
		s.Result = m.Result
	}
}

const (
	maxResult  = 300
	timeLayout = "2006-01-02T15:04:05.000Z"
)

// trailID is the id as written in the trail.
func trailID(id string) string {
	const longest, escape = 256, 6
	var buf [longest + 2]byte
	if id != "" && (len(id) <= longest/escape || len(id) <= longest && len(canonjson.AppendString(buf[:0], id)) <= len(buf)) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "sha256:" + hex.EncodeToString(sum[:])
}

func (m *Mark) line() []byte {
	var o canonjson.Object
	o.Str("id", trailID(m.ID))
	o.Str("at", m.At.UTC().Format(timeLayout))
	o.Str("step", string(m.Step))
	o.Str("by", m.By)
	o.Opt("session", m.Session)
	if len(m.Result) > maxResult {
		n := maxResult
		for n > 0 && m.Result[n]&0xC0 == 0x80 {
			n-- // not in the middle of a rune
		}
		o.Str("result", m.Result[:n])
	} else {
		o.Opt("result", m.Result)
	}
	return o.End()
}

var errNoMark = errors.New("is not a line of a trail")

var trailProjection = store.Projection{Name: "trail", Version: 1, Make: func(line []byte, _ time.Time) ([]string, int64, []byte, error) {
	id, ok := canonjson.Get(line, "id")
	s, _ := canonjson.String(id)
	if !ok || s == "" {
		return nil, 0, nil, errNoMark
	}
	return []string{s}, 0, nil, nil
}}

func trailKey(name string) store.Key { return store.Key{Kind: store.Trail, Name: name} }

// Step adds a line to the trail of a mailbox. The trail serves memory and claims; it is not synced.
func (m *Mailbox) Step(ctx context.Context, inst address.Instance, mark Mark) error {
	if !mark.Step.known() {
		return fmt.Errorf("note %q of message %s: no such step", mark.Step, mark.ID)
	}
	if err := address.Check(string(inst)); err != nil {
		return fmt.Errorf("note %s of message %s: %w", mark.Step, mark.ID, err)
	}
	trail := inst.Mailbox()
	if mark.Step != Stored { // stored is what a sender notes, who does not read aliases
		var err error
		if trail, err = m.trailOf(ctx, inst, mark.ID); err != nil {
			return fmt.Errorf("note %s of message %s: %w", mark.Step, mark.ID, err)
		}
	}
	if _, err := m.s.Append(ctx, trailKey(trail), store.AnyEnd, mark.line()); err != nil {
		return fmt.Errorf("note %s of message %s: %w", mark.Step, mark.ID, err)
	}
	return nil
}

// StoredAll notes of many messages that they lie in a mailbox, as Step does for one, in their order.
func (m *Mailbox) StoredAll(ctx context.Context, inst address.Instance, marks []Mark) error {
	if err := address.Check(string(inst)); err != nil {
		return fmt.Errorf("note %s of messages: %w", Stored, err)
	}
	lines := make([][]byte, len(marks))
	for n := range marks {
		marks[n].Step = Stored
		lines[n] = marks[n].line()
	}
	if _, _, err := store.ExtendWith(ctx, m.s, trailKey(inst.Mailbox()), store.AnyEnd, lines); err != nil {
		return fmt.Errorf("note %s of messages: %w", Stored, err)
	}
	return nil
}

// StepAll adds a line for each of many messages that lie in the mailbox, as Step does for one, in their order. Where all of them
// have one trail, all lines are added or none.
func (m *Mailbox) StepAll(ctx context.Context, inst address.Instance, marks []Mark) error {
	if len(marks) == 0 {
		return nil
	}
	sources, err := m.lying(ctx, inst)
	if err != nil {
		return fmt.Errorf("note steps of messages: %w", err)
	}
	trails := trailsOf(sources)
	among, err := m.trailsAmong(ctx, trails, marks)
	if err != nil {
		return fmt.Errorf("note steps of messages: %w", err)
	}
	lines := map[string][][]byte{}
	for _, mark := range marks {
		if !mark.Step.known() {
			return fmt.Errorf("note %q of message %s: no such step", mark.Step, mark.ID)
		}
		name := cmp.Or(among[trailID(mark.ID)], trails[0])
		lines[name] = append(lines[name], mark.line())
	}
	for _, name := range trails {
		if len(lines[name]) == 0 {
			continue
		}
		if _, _, err := store.ExtendWith(ctx, m.s, trailKey(name), store.AnyEnd, lines[name]); err != nil {
			return fmt.Errorf("note steps of messages: %w", err)
		}
	}
	return nil
}

// trailsAmong is trailAmong for many messages at once: by their ids as trails have them. One that no trail knows is left out.
func (m *Mailbox) trailsAmong(ctx context.Context, trails []string, marks []Mark) (map[string]string, error) {
	if len(trails) < 2 {
		return nil, nil
	}
	found := map[string]string{}
	s, quick := m.s.(seeker)
	if !quick {
		for _, mark := range marks {
			name, err := m.trailAmong(ctx, trails, mark.ID)
			if err != nil {
				return nil, err
			}
			found[trailID(mark.ID)] = name
		}
		return found, nil
	}
	for _, name := range trails {
		var ids []string
		for _, mark := range marks {
			if id := trailID(mark.ID); found[id] == "" && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
		if len(ids) == 0 {
			break
		}
		err := s.FindEach(ctx, trailKey(name), &trailProjection, ids, func(id string, _ store.Line) bool {
			found[id] = name
			return true
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// trailOf finds the trail that knows a message.
func (m *Mailbox) trailOf(ctx context.Context, inst address.Instance, id string) (string, error) {
	trails, err := m.trails(ctx, inst)
	if err != nil {
		return "", err
	}
	return m.trailAmong(ctx, trails, id)
}

// trailAmong finds the one of an instance's trails that knows a message: nearly always there is only one that could. It is the first,
// the instance's own, where none does.
func (m *Mailbox) trailAmong(ctx context.Context, trails []string, id string) (string, error) {
	if len(trails) > 1 {
		for _, name := range trails {
			for _, err := range store.FindIn(ctx, m.s, trailKey(name), &trailProjection, trailID(id)) {
				return name, err
			}
		}
	}
	return trails[0], nil
}

// trails are those of the sources of an instance, its own first.
func (m *Mailbox) trails(ctx context.Context, inst address.Instance) ([]string, error) {
	sources, err := m.Sources(ctx, inst)
	if err != nil {
		return nil, err
	}
	return trailsOf(sources), nil
}

func trailsOf(sources []Source) []string {
	var out []string
	for _, s := range sources {
		if !slices.Contains(out, s.Trail) {
			out = append(out, s.Trail)
		}
	}
	return out
}

// fewIDs is up to how many messages are looked up one by one: a look-up takes some 0.1 ms, reading a trail of 10,000 messages
// some 20 ms.
const fewIDs = 48

// State returns what the trail says of messages; those of which it says nothing have a zero State.
func (m *Mailbox) State(ctx context.Context, inst address.Instance, ids []string) (map[string]State, error) {
	trails, err := m.trails(ctx, inst)
	if err != nil {
		return nil, fmt.Errorf("read trail of %s: %w", inst, err)
	}
	out, err := m.states(ctx, trails, ids)
	if err != nil {
		return nil, fmt.Errorf("read trail of %s: %w", inst, err)
	}
	return out, nil
}
