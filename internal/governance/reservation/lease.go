// Package reservation keeps who has said that he works on a file, so that two agents do not edit it at once.
//
// A lease is a notice among peers, not a lock: it does not prevent writing. It is shown to agents that are about to edit the
// file, and they decide. It is on a file, or on a folder and everything below it; on each there is one at a time, and of
// several agents that request it at once one gets it. An agent that requests several gets all or none, also if it is killed
// meanwhile ([Reservations.Take]). It ends at its time, when it is released, when the session for which it was taken is gone,
// and when its holder is retired. The process that finds one that has ended notifies those concerned ([Reservations.Tell],
// [Lease.Notices]): its holder, and those who were warned or requested it. Then it removes the lease, so that each end is
// announced.
//
// Paths are what package truepath makes of them: one file has one, however it was reached.
//
// The package starts nothing: it reads and writes the store, gets the time, and asks about processes through functions that it
// is given.
package reservation

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/render"
	"tutti/internal/core/termsafe"
	"tutti/internal/platform/proc"
	"tutti/internal/store"
)

const (
	// Usual is how long a lease is by default: a piece of work, not a day's.
	Usual = 30 * time.Minute
	// Longest is the longest that one can be. It can be taken again.
	Longest = 24 * time.Hour
	// maxPath is the longest path that is taken, in bytes: as long as the system takes them, and short enough for the document.
	maxPath = 2048
	// maxTold is how many peers of each sort a lease names, if there is room for them in its document.
	maxTold = 10
	// MaxHeld is how many leases one holder has at a time: who works on more works on a folder.
	MaxHeld = 200
)

// A Lease is one as it is stored.
type Lease struct {
	Path    string
	Folder  bool // it was a folder when it was reserved; what is below is covered in any case
	Holder  address.Instance
	Session address.SessionID // with which it ends; "": with none
	Agent   proc.ID           // the agent program of that session, zero where it is not known: its next session goes on with it
	Since   time.Time
	Until   time.Time
	Note    string             // what the holder says he does
	Warned  []address.Instance // agents that were warned when they were about to edit
	Waits   []address.Instance // who wanted it

	over   bool // it was released, and is there until those concerned have been notified
	part   part // of a take that may not be done
	key    store.Key
	rev    store.Rev
	stored time.Time
}

var members = []string{"path", "kind", "holder", "sessionId", "agent", "since", "until", "note", "warned", "waits", "released", "take"}

// parse reads a document. What is none is an error.
func parse(d store.Doc) (*Lease, error) {
	var v [12][]byte
	if !canonjson.Valid(d.Data) || !canonjson.Pick(d.Data, members, v[:]) {
		return nil, errors.New("is not a JSON object")
	}
	text := func(n int) string { s, _ := canonjson.String(v[n]); return s }
	l := &Lease{
		Path: text(0), Folder: text(1) == "folder", Holder: address.Instance(text(2)), Session: address.SessionID(text(3)), Note: note(text(7)),
		part: partOf(v[11]), key: d.Key, rev: d.Rev, stored: d.Stored,
	}
	l.over, _ = canonjson.Bool(v[10])
	var okSince, okUntil bool
	l.Since, okSince = envelope.ParseTime(text(5))
	l.Until, okUntil = envelope.ParseTime(text(6))
	if !filepath.IsAbs(l.Path) || filepath.Clean(l.Path) != l.Path || address.Check(string(l.Holder)) != nil || !okSince || !okUntil || d.Key.Name != name(l.Path) {
		return nil, errors.New("is not a reservation")
	}
	l.Until = minTime(l.Until, l.Since.Add(Longest)) // no agent keeps a file for good
	var a [3][]byte
	if canonjson.Pick(v[4], []string{"pid", "start", "boot"}, a[:]) {
		pid, _ := canonjson.Int(a[0])
		start, _ := canonjson.Int(a[1])
		boot, _ := canonjson.String(a[2])
		l.Agent = proc.ID{PID: int(pid), Start: uint64(max(start, 0)), Boot: boot}
	}
	for n, to := range map[int]*[]address.Instance{8: &l.Warned, 9: &l.Waits} {
		for raw := range canonjson.Elements(v[n]) {
			if s, ok := canonjson.String(raw); ok && address.Check(s) == nil && len(*to) < maxTold {
				*to = append(*to, address.Instance(s))
			}
		}
	}
	return l, nil
}

func minTime(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// bytes writes the document. Of those who are to be told it names as many as there is room for, the first of each sort.
func (l *Lease) bytes() []byte {
	for {
		data := l.document()
		if int64(len(data)) <= store.FileLease.Spec().WriteLimit || len(l.Warned)+len(l.Waits) == 0 {
			return data
		}
		longer := &l.Waits
		if len(l.Warned) >= len(l.Waits) {
			longer = &l.Warned
		}
		*longer = (*longer)[:len(*longer)-1]
	}
}

func (l *Lease) document() []byte {
	var o canonjson.Object
	l.fill(&o)
	o.Opt("sessionId", string(l.Session))
	if l.Agent.PID > 1 && l.Agent.Boot != "" {
		o.Within("agent", func(a *canonjson.Object) {
			a.Int("pid", int64(l.Agent.PID))
			a.Raw("start", strconv.AppendUint(nil, l.Agent.Start, 10))
			a.Str("boot", l.Agent.Boot)
		})
	}
	if l.over {
		o.Bool("released", true)
	}
	if l.part.id != "" {
		o.Within("take", l.part.fill)
	}
	return append(o.End(), '\n')
}

func (l *Lease) fill(o *canonjson.Object) {
	o.Str("path", l.Path)
	o.Str("kind", l.kind())
	o.Str("holder", string(l.Holder))
	o.Str("since", envelope.Stamp(l.Since))
	o.Str("until", envelope.Stamp(l.Until))
	o.Opt("note", l.Note)
	o.Strs("warned", address.Texts(l.Warned))
	o.Strs("waits", address.Texts(l.Waits))
}

// A View is a reservation for programs.
type View struct {
	Path   string   `json:"path"`
	Kind   string   `json:"kind"` // file, or folder with all that is below it
	Holder string   `json:"holder"`
	Since  string   `json:"since"`
	Until  string   `json:"until"`
	Note   string   `json:"note,omitempty"` // what the holder does there
	Warned []string `json:"warned"`         // agents that were warned when they were about to edit
	Waits  []string `json:"waits"`          // agents that asked for it meanwhile
}

// View returns what programs are shown of a reservation.
func (l *Lease) View() View {
	return View{
		l.Path, l.kind(), string(l.Holder), envelope.Stamp(l.Since), envelope.Stamp(l.Until), l.Note,
		render.List(address.Texts(l.Warned)), render.List(address.Texts(l.Waits)),
	}
}

func (l *Lease) kind() string {
	if l.Folder {
		return "folder"
	}
	return "file"
}

// name is the key of a path: what it ends with, for people, and a hash of all of it.
func name(path string) string {
	sum := sha256.Sum256([]byte(path))
	base := address.Segment(termsafe.Clean(filepath.Base(path)))
	if len(base) > 80 {
		base = strings.ToValidUTF8(base[:80], "")
	}
	return base + "-" + hex.EncodeToString(sum[:16])
}

func keyOf(path string) store.Key { return store.Key{Kind: store.FileLease, Name: name(path)} }

// Touches tells whether a lease is on a path, on a folder above it, or on something below it.
func (l *Lease) Touches(path string) bool { return l.covers(path) || within(l.Path, path) }

// Is tells whether an instance holds the lease.
func (l *Lease) Is(i address.Instance) bool { return l.Holder.Canonical() == i.Canonical() }

// covers tells whether a lease is on a path. Below a file there is nothing, unless it becomes a folder.
func (l *Lease) covers(path string) bool { return l.Path == path || within(path, l.Path) }

func within(path, folder string) bool {
	return path != folder && strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

func (l *Lease) tiedTo(s *presence.Session) bool {
	agent, ok := s.Agent()
	return s.SessionID == l.Session || ok && l.Agent.PID > 1 && agent == l.Agent
}

// note is what a holder says, in one short line.
func note(s string) string {
	const most = 200
	return termsafe.Head(termsafe.Clean(s), most)
}
