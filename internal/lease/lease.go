// Package lease keeps who has said that he works on a file, so that two agents do not edit it at once.
//
// A lease is a word among peers, not a lock: nothing keeps anybody from writing. It is shown to who is about to edit the file, and he
// decides. It is on a file, or on a folder and all that lies below; on each there is one at a time, and of several who want it at once
// one gets it. It ends at its time, when it is released, when the session for which it was taken is gone, and when its holder is taken
// out of service. Whoever finds one that has ended takes it away ([Desk.End]), once, and learns from it who is to be told ([Lease.Notices]):
// its holder, and those who were warned or wanted it.
//
// Paths are what package truepath makes of them: one file has one, however it was reached.
//
// The package starts nothing: it reads and writes the store, is told the time, and processes are asked about through what it is given.
package lease

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tutti/internal/address"
	"tutti/internal/canonjson"
	"tutti/internal/envelope"
	"tutti/internal/plain"
	"tutti/internal/presence"
	"tutti/internal/proc"
	"tutti/internal/registry"
	"tutti/internal/store"
)

const (
	// Usual is how long a lease is where nobody says: a piece of work, not a day's.
	Usual = 30 * time.Minute
	// Longest is the longest that one can be. It can be taken again.
	Longest = 24 * time.Hour
	// maxPath is the longest path that is taken, in bytes: as long as the system takes them, and short enough for the document.
	maxPath = 2048
	// maxTold is how many peers of each sort a lease names.
	maxTold = 10
)

// A Lease is one as it lies there.
type Lease struct {
	Path    string
	Folder  bool // it covers what lies below
	Holder  address.Instance
	Session address.SessionID // with which it ends; "": with none
	Agent   proc.ID           // the agent program of that session, zero where it is not known: its next session goes on with it
	Since   time.Time
	Until   time.Time
	Note    string             // what the holder says he does
	Warned  []address.Instance // who was told of it when he was about to edit
	Waits   []address.Instance // who wanted it

	key store.Key
	rev store.Rev
	raw []byte
}

var members = []string{"path", "kind", "holder", "sessionId", "agent", "since", "until", "note", "warned", "waits"}

// parse reads a document. What is none is an error.
func parse(d store.Doc) (*Lease, error) {
	var v [10][]byte
	if !canonjson.Valid(d.Data) || !canonjson.Pick(d.Data, members, v[:]) {
		return nil, errors.New("is no JSON object")
	}
	text := func(n int) string { s, _ := canonjson.String(v[n]); return s }
	l := &Lease{
		Path: text(0), Folder: text(1) == "folder", Holder: address.Instance(text(2)), Session: address.SessionID(text(3)), Note: text(7),
		key: d.Key, rev: d.Rev, raw: d.Data,
	}
	var okSince, okUntil bool
	l.Since, okSince = envelope.ParseTime(text(5))
	l.Until, okUntil = envelope.ParseTime(text(6))
	if !filepath.IsAbs(l.Path) || address.Check(string(l.Holder)) != nil || !okSince || !okUntil || d.Key.Name != name(l.Path) {
		return nil, errors.New("is no lease")
	}
	l.Until = minTime(l.Until, l.Since.Add(Longest)) // nobody keeps a file for good
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

// bytes writes the document.
func (l *Lease) bytes() []byte {
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
	return append(o.End(), '\n')
}

func (l *Lease) fill(o *canonjson.Object) {
	o.Str("path", l.Path)
	kind := "file"
	if l.Folder {
		kind = "folder"
	}
	o.Str("kind", kind)
	o.Str("holder", string(l.Holder))
	o.Str("since", envelope.Stamp(l.Since))
	o.Str("until", envelope.Stamp(l.Until))
	o.Opt("note", l.Note)
	o.Strs("warned", texts(l.Warned))
	o.Strs("waits", texts(l.Waits))
}

// JSON writes a lease for programs.
func (l *Lease) JSON() []byte {
	var o canonjson.Object
	l.fill(&o)
	return o.End()
}

func texts(all []address.Instance) []string {
	out := make([]string, len(all))
	for n, i := range all {
		out[n] = string(i)
	}
	return out
}

// name is the key of a path: what it ends with, for people, and a hash of all of it.
func name(path string) string {
	sum := sha256.Sum256([]byte(path))
	base := address.Segment(plain.Clean(filepath.Base(path)))
	if len(base) > 80 {
		base = strings.ToValidUTF8(base[:80], "")
	}
	return base + "-" + hex.EncodeToString(sum[:16])
}

func keyOf(path string) store.Key { return store.Key{Kind: store.FileLease, Name: name(path)} }

// A Desk keeps the leases of one bus. Its members are set once, before the first call.
type Desk struct {
	Docs     store.Docs
	Presence *presence.Presence
	Registry *registry.Registry
	Machine  presence.Machine // where processes are asked about; the zero one knows of none
}

// Why a lease has ended.
const (
	Expired   = "its time is over"
	SessionUp = "the session of its holder is gone"
	Gone      = "its holder was taken out of service"
	Released  = "its holder has released it"
)

// Ended tells whether a lease has ended, and why; "" while it stands.
func (d *Desk) Ended(ctx context.Context, l *Lease, now time.Time) (string, error) {
	if !now.Before(l.Until) {
		return Expired, nil
	}
	switch err := d.Registry.Standing(ctx, l.Holder); {
	case errors.Is(err, registry.ErrGone):
		return Gone, nil
	case err != nil:
		return "", err
	}
	if l.Session == "" {
		return "", nil
	}
	there, err := d.Presence.Of(ctx, l.Holder, now)
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(there, func(s *presence.Session) bool { return !s.Ended(d.Machine) && l.tiedTo(s) }) {
		return "", nil
	}
	return SessionUp, nil
}

func (l *Lease) tiedTo(s *presence.Session) bool {
	agent, ok := s.Agent()
	return s.SessionID == l.Session || ok && l.Agent.PID > 1 && agent == l.Agent
}

// Is tells whether an instance holds the lease.
func (l *Lease) Is(i address.Instance) bool { return l.Holder.Canonical() == i.Canonical() }

// covers tells whether a lease is on a path.
func (l *Lease) covers(path string) bool {
	return l.Path == path || l.Folder && within(path, l.Path)
}

func within(path, folder string) bool {
	return strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

// get reads the document of a path. store.ErrNotFound: there is none, or something that is no lease.
func (d *Desk) get(ctx context.Context, k store.Key) (*Lease, error) {
	doc, err := d.Docs.Get(ctx, k)
	if err != nil {
		if _, unfit := errors.AsType[*store.UnfitError](err); unfit {
			err = store.ErrNotFound
		}
		return nil, err
	}
	l, err := parse(doc)
	if err != nil {
		return nil, store.ErrNotFound
	}
	return l, nil
}

// On returns the leases that cover a path, that of the path first, then those of the folders above it. Who wants to know asks of each
// whether it has ended. No other documents are read.
func (d *Desk) On(ctx context.Context, path string) ([]*Lease, error) {
	var all []*Lease
	for at := path; ; at = filepath.Dir(at) {
		l, err := d.get(ctx, keyOf(at))
		switch {
		case err == nil && l.covers(path):
			all = append(all, l)
		case err != nil && !errors.Is(err, store.ErrNotFound):
			return nil, fmt.Errorf("look for leases on %s: %w", path, err)
		}
		if at == filepath.Dir(at) {
			return all, nil
		}
	}
}

// All returns every lease by its path, those that have ended as well.
func (d *Desk) All(ctx context.Context) ([]*Lease, error) {
	var all []*Lease
	for e, err := range d.Docs.List(ctx, store.FileLease, "") {
		if err != nil {
			if _, unfit := errors.AsType[*store.UnfitError](err); unfit {
				continue
			}
			return nil, fmt.Errorf("list leases: %w", err)
		}
		l, err := d.get(ctx, e.Key)
		switch {
		case err == nil:
			all = append(all, l)
		case !errors.Is(err, store.ErrNotFound):
			return nil, fmt.Errorf("list leases: %w", err)
		}
	}
	slices.SortFunc(all, func(a, b *Lease) int { return strings.Compare(a.Path, b.Path) })
	return all, nil
}

// Warn puts on record that somebody was told of a lease, so that he is told as well when it ends. Who is on record already costs nothing.
func (d *Desk) Warn(ctx context.Context, l *Lease, who address.Instance) error {
	return d.note(ctx, l, who, func(l *Lease) *[]address.Instance { return &l.Warned })
}

// Wait puts on record that somebody wants a lease.
func (d *Desk) Wait(ctx context.Context, l *Lease, who address.Instance) error {
	return d.note(ctx, l, who, func(l *Lease) *[]address.Instance { return &l.Waits })
}

// maxTries ends a loop in which each round fails only because somebody else has written.
const maxTries = 50

func (d *Desk) note(ctx context.Context, l *Lease, who address.Instance, list func(*Lease) *[]address.Instance) error {
	for range maxTries {
		to := list(l)
		if who == "" || len(*to) >= maxTold || slices.ContainsFunc(*to, func(i address.Instance) bool { return i.Canonical() == who.Canonical() }) {
			return nil
		}
		*to = append(*to, who.Canonical())
		_, err := d.Docs.Replace(ctx, l.key, l.bytes(), l.rev)
		if !errors.Is(err, store.ErrConflict) {
			if errors.Is(err, store.ErrNotFound) {
				err = nil // it has ended
			}
			return err
		}
		holder := l.Holder
		if l, err = d.get(ctx, l.key); errors.Is(err, store.ErrNotFound) || err == nil && !l.Is(holder) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return store.ErrConflict
}

// End takes a lease away that has ended. Of several who do so one is told that it was he: he tells the others.
func (d *Desk) End(ctx context.Context, l *Lease) (mine bool, err error) {
	err = d.Docs.Delete(ctx, l.key, l.rev)
	if errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound) {
		return false, nil // somebody was faster, or it was taken anew
	}
	return err == nil, err
}

// A Notice is what is told to one peer.
type Notice struct {
	To   address.Instance
	Text string
}

// Notices are what is to be told when a lease has ended: to those who were warned of it or wanted it, and to its holder where he did not
// end it himself.
func (l *Lease) Notices(why string) []Notice {
	var all []Notice
	told := map[address.Instance]bool{}
	tell := func(to address.Instance, text string) {
		if c := to.Canonical(); !told[c] {
			told[c] = true
			all = append(all, Notice{To: to, Text: text})
		}
	}
	path, holder, take := shown(l.Path), shown(string(l.Holder)), "tutti lease list"
	if plain.Clean(l.Path) == l.Path {
		take = "tutti lease take " + plain.Word(l.Path)
	}
	if why == Expired {
		tell(l.Holder, fmt.Sprintf("Your lease on %s has ended: %s (it ran until %s). Others may edit now. To go on: %s", path, why, envelope.Stamp(l.Until), take))
	}
	told[l.Holder.Canonical()] = true
	for _, to := range append(slices.Clone(l.Waits), l.Warned...) {
		tell(to, fmt.Sprintf("The lease of %s on %s has ended: %s. To take it: %s", holder, path, why, take))
	}
	return all
}

// shown is what somebody else has written, within a line that is told in the name of another one: it has no line of its own, and what is more
// than a name or a path stands in quotes.
func shown(s string) string {
	const most = 300
	return plain.Word(plain.Head(plain.Clean(s), most))
}

// Touches tells whether a lease is on a path, on a folder above it, or on something below it.
func (l *Lease) Touches(path string) bool { return l.covers(path) || within(l.Path, path) }
