package mailbox

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"time"

	"tutti/internal/core/canonjson"
	"tutti/internal/store"
)

// A fold is the states of the requested messages, as far as the trail has been read.
type fold struct {
	ids    []string         // as they stand in the trail; nil where number was there before
	number map[string]int32 // of these
	states []*State         // by number; nil: the trail says nothing of it
	bare   bool             // that a message was stored is not noted: of most in a long list that is all there is to say
	buf    []byte           // scratch
}

func newFold(ids []string) *fold {
	f := foldFor(len(ids))
	for _, id := range ids {
		f.want(id)
	}
	return f
}

func foldFor(n int) *fold {
	return &fold{ids: make([]string, 0, n), number: make(map[string]int32, n)}
}

func (f *fold) want(id string) {
	t := trailID(id)
	if _, known := f.number[t]; !known {
		f.number[t] = int32(len(f.ids))
		f.ids = append(f.ids, t)
	}
}

// of returns what is known of a message, nil when that is nothing.
func (f *fold) of(id string) *State {
	if f.states == nil {
		return nil
	}
	return f.states[f.number[trailID(id)]]
}

func (f *fold) free(id string, r Reader, now time.Time) bool {
	s := f.of(id)
	return s == nil || s.Free(r, now)
}

func (f *fold) result(ids []string) map[string]State {
	out := make(map[string]State, len(ids))
	for _, id := range ids {
		if s := f.of(id); s != nil {
			out[id] = *s
		} else {
			out[id] = State{}
		}
	}
	return out
}

// The members of a line of a trail.
const (
	markID = iota
	markAt
	markStep
	markBy
	markSession
	markResult
	markEnd
)

var markMembers = []string{"id", "at", "step", "by", "session", "result"}

// add folds one line, if it is one, and of a message that is asked for.
func (f *fold) add(line []byte) {
	if f.bare && onlyStored(line) {
		return
	}
	var v [markEnd][]byte
	canonjson.Pick(line, markMembers, v[:])
	f.buf, _ = canonjson.AppendText(f.buf[:0], v[markID])
	n, wanted := f.number[string(f.buf)]
	if len(f.buf) == 0 || !wanted || f.bare && canonjson.Is(v[markStep], string(Stored)) {
		return
	}
	mark, ok := markOf(&v)
	if !ok {
		return
	}
	if f.states == nil {
		f.states = make([]*State, len(f.number))
	}
	if f.states[n] == nil {
		f.states[n] = new(State)
	}
	f.states[n].apply(&mark)
}

var (
	stepName   = []byte(`"step"`)
	stepStored = []byte(`"step":"stored"`)
)

// onlyStored tells at a glance that a line, should it be one, says of a message that it was stored: one member is called
// so, and nothing is spelled with escapes, behind which another could hide. False: who knows.
func onlyStored(line []byte) bool {
	at := bytes.Index(line, stepStored)
	return at >= 0 && bytes.IndexByte(line, '\\') < 0 &&
		!bytes.Contains(line[:at], stepName) && !bytes.Contains(line[at+len(stepName):], stepName)
}

// markOf reads a line but for its id. False: it is none.
func markOf(v *[markEnd][]byte) (Mark, bool) {
	var s [markEnd]string
	for n := markAt; n < markEnd; n++ {
		s[n], _ = canonjson.String(v[n])
	}
	at, err := time.Parse(time.RFC3339Nano, s[markAt])
	if err != nil || !Step(s[markStep]).known() {
		return Mark{}, false
	}
	return Mark{At: at, Step: Step(s[markStep]), By: s[markBy], Session: s[markSession], Result: s[markResult]}, true
}

func (m *Mailbox) states(ctx context.Context, trails, ids []string) (map[string]State, error) {
	f := newFold(ids)
	if err := m.foldAll(ctx, trails, f); err != nil {
		return nil, err
	}
	return f.result(ids), nil
}

// foldAll reads of trails what they say of the messages of a fold. The first trail is the reader's own; another one that cannot be
// read says nothing, so that it does not hide the mail of the others.
func (m *Mailbox) foldAll(ctx context.Context, trails []string, f *fold) error {
	_, indexed := m.s.(store.Viewer)
	for n, name := range trails {
		var err error
		if indexed && len(f.number) <= fewIDs {
			_, err = m.lookUp(ctx, name, f)
		} else {
			_, err = m.readOn(ctx, name, "", f)
		}
		if err != nil && !(n > 0 && closed(err)) {
			return err
		}
	}
	return nil
}

// closed reports whether a folder or log cannot be opened by this user, or is not one.
func closed(err error) bool { return store.IsUnfit(err) || errors.Is(err, fs.ErrPermission) }

// lookUp folds all lines of the messages that the trail has by now, and returns a place up to which it has read every one
// of them, "" when it knows none. The last message is looked up first: it is the newest in most calls, and the place the best.
func (m *Mailbox) lookUp(ctx context.Context, name string, f *fold) (store.Pos, error) {
	place := m.anchors.get(name)
	if s, ok := m.s.(seeker); ok && len(f.ids) > 0 {
		// All searches are made in the log as it is after this. A reader that goes on from here skips the lines, perhaps
		// millions, that follow those of an old message.
		end, err := store.EndOf(ctx, m.s, trailKey(name))
		if err != nil {
			return place, err
		}
		err = s.FindEach(ctx, trailKey(name), &trailProjection, f.ids, func(_ string, line store.Line) bool {
			f.add(line.Data)
			return true
		})
		return end, err
	}
	for n := len(f.ids) - 1; n >= 0; n-- {
		last := store.Pos("")
		for line, err := range store.FindIn(ctx, m.s, trailKey(name), &trailProjection, f.ids[n]) {
			if err != nil {
				return "", err
			}
			f.add(line.Data)
			last = line.Next
		}
		// Only what the first search met will do: all others come later, and see everything before it. What a later
		// search meets may lie behind a line that was added for an earlier one in between.
		if place == "" && n == len(f.ids)-1 {
			place = last
		}
	}
	return place, nil
}

// A seeker looks for several keys in one go: see filestore.Store.FindEach.
type seeker interface {
	FindEach(ctx context.Context, log store.Key, p *store.Projection, keys []string, see func(key string, l store.Line) bool) error
}

// A quick store folds a long log faster than it hands out lines one by one: see filestore.Store.ReadAll.
type quick interface {
	ReadAll(ctx context.Context, k store.Key, from store.Pos, each func(line []byte)) (store.Pos, error)
}

// readOn folds the lines from a place on and returns the end. A place that the trail no longer has is its beginning.
func (m *Mailbox) readOn(ctx context.Context, name string, from store.Pos, f *fold) (store.Pos, error) {
	if s, ok := m.s.(quick); ok {
		end, err := s.ReadAll(ctx, trailKey(name), from, f.add)
		if from != "" && errors.Is(err, store.ErrConflict) {
			return m.readOn(ctx, name, "", f)
		}
		if err != nil {
			return "", err
		}
		m.anchors.set(name, end)
		return end, nil
	}
	end := from
	for line, err := range m.s.Read(ctx, trailKey(name), from) {
		if err != nil {
			if store.IsUnfit(err) && line.Next != "" {
				end = line.Next
				continue // a torn or foreign line says nothing
			}
			if from != "" && errors.Is(err, store.ErrConflict) {
				return m.readOn(ctx, name, "", f)
			}
			return "", err
		}
		f.add(line.Data)
		end = line.Next
	}
	m.anchors.set(name, end)
	return end, nil
}
