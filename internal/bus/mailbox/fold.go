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

// A fold is the states of the messages that somebody asks for, as far as the trail has been read.
type fold struct {
	states map[string]*State // by the id as it stands in the trail; nil: the trail says nothing of it
	bare   bool              // that a message was stored is not noted: of most in a long list that is all there is to say
	buf    []byte            // scratch
}

func newFold(ids []string) *fold {
	f := &fold{states: make(map[string]*State, len(ids))}
	for _, id := range ids {
		f.states[trailID(id)] = nil
	}
	return f
}

// of returns what is known of a message, nil when that is nothing.
func (f *fold) of(id string) *State { return f.states[trailID(id)] }

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
	s, wanted := f.states[string(f.buf)]
	if len(f.buf) == 0 || !wanted || f.bare && canonjson.Is(v[markStep], string(Stored)) {
		return
	}
	mark, ok := markOf(&v)
	if !ok {
		return
	}
	if s == nil {
		s = new(State)
		f.states[string(f.buf)] = s
	}
	s.apply(&mark)
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
	for n, name := range trails {
		if _, err := m.readOn(ctx, name, "", f); err != nil && !(n > 0 && closed(err)) {
			return err
		}
	}
	return nil
}

// closed reports whether a folder or log cannot be opened by this user, or is not one.
func closed(err error) bool { return store.IsUnfit(err) || errors.Is(err, fs.ErrPermission) }

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
		return end, err
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
	return end, nil
}
