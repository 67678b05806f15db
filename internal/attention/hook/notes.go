package hook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/bus/mail"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/platform/atomicfile"
	"tutti/internal/platform/filelock"
)

// A note is what is remembered of a conversation from one event to the next.
type note struct {
	Root     string           // of the bus
	Instance address.Instance // who the agent is there
	Epoch    uint64           // halts there had been when its user last set it to work
	Told     uint64           // count of halts when it last learnt that one was cleared
	Prompted uint64           // halts there had been when its user last typed a prompt after one
	Ended    uint64           // the last halt that it learnt of whose lift was not recorded
	Printed  []printed        // what is not proven to have been shown
	Letters  letterNote       // what is remembered of the mail between projects
	Session  string           // in which "/clear" began the conversation; in a note of its own, see BegunIn
}

// A printed is a message that an event has printed.
type printed struct {
	mail.Print
	Event string
	At    time.Time
	Lost  bool // the turn for which it was printed was broken off, and it was given back since
	Twice bool // it had been lost before it was printed
}

// sameMoment is how far apart two calls for one event can be: several settings may name the hook, and several tools may
// come to an end together.
const sameMoment = 2 * time.Second

// after tells whether an event comes after what was printed, and not beside it.
func (p *printed) after(c *driver.Call, now time.Time) bool {
	return c.Event.Name != p.Event || c.Again || now.Sub(p.At).Abs() >= sameMoment
}

// lostBy tells whether an event proves that the turn for which something was printed was broken off: its user says something, and
// neither a tool nor an end of that turn came in between. Claude Code then takes all of it back that came with the prompt, if the
// model had not begun to answer, and nothing tells whether it had. Where only some hooks are set that would never end: the second time
// counts. A prompt that follows on the end of a turn is no such sign: Gemini tells of the turn that a hook asked for as of a prompt.
func (p *printed) lostBy(c *driver.Call, printed driver.Moment) bool {
	return !p.Twice && c.Event.Moment == driver.Prompt && printed == driver.Prompt
}

const (
	maxNote    = 256 << 10
	maxPrinted = 200 // of the newest; an answer has room for about ten
	// keepNotes is how long a conversation is remembered that was never said to be over: programs are killed.
	keepNotes = 30 * 24 * time.Hour
)

// notes is where the note of one conversation lies: with the user, for what is in a bus others can write.
type notes struct {
	state string // folder of the user's state
	name  string
}

const notesFolder = "hooks"

func notesFor(state, host, conversation string) *notes {
	sum := sha256.Sum256([]byte(host + "\x00" + conversation))
	return &notes{state: state, name: hex.EncodeToString(sum[:16])}
}

// load reads the note, if there is one. One that is damaged is none.
func (s *notes) load(n *note) bool {
	d, err := atomicfile.OpenDir(filepath.Join(s.state, notesFolder))
	if err != nil {
		return false
	}
	defer d.Close()
	return s.read(d, n)
}

// load reads what is remembered of the conversation, once.
func (e *event) load() (known bool) {
	if !e.read {
		e.read, e.known = true, e.notes.load(&e.was)
	}
	return e.known
}

func (s *notes) read(d *atomicfile.Dir, n *note) bool {
	data, _, err := d.Read(s.name, maxNote)
	if err != nil {
		return false
	}
	got, ok := parseNote(data)
	if ok {
		*n = got
	}
	return ok
}

// update changes the note, with no other process changing it in between. A crash may undo the last changes.
func (s *notes) update(change func(*note)) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("remember the conversation: %w", err)
		}
	}()
	path := filepath.Join(s.state, notesFolder)
	d, err := atomicfile.OpenDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(path, 0o700); err == nil {
			d, err = atomicfile.OpenDir(path)
		}
	}
	if err != nil {
		return err
	}
	defer d.Close()
	lock, err := filelock.Acquire(context.Background(), d.FD(), path, filelock.Options{Kernel: ".flock", Timeout: time.Second})
	if err != nil {
		return err
	}
	var n note
	s.read(d, &n)
	change(&n)
	if over := len(n.Printed) - maxPrinted; over > 0 {
		n.Printed = n.Printed[over:]
	}
	n.Letters.shorten()
	return errors.Join(d.Replace(s.name, n.bytes(), 0o600, false), lock.Release())
}

// forget removes the note.
func (s *notes) forget() error {
	d, err := atomicfile.OpenDir(filepath.Join(s.state, notesFolder))
	if err == nil {
		defer d.Close()
		err = d.Remove(s.name)
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("forget the conversation: %w", err)
}

// sweep removes the notes of conversations that have been silent for long. What fails is tried again with the next one.
func (s *notes) sweep(now time.Time) {
	d, err := atomicfile.OpenDir(filepath.Join(s.state, notesFolder))
	if err != nil {
		return
	}
	defer d.Close()
	names, err := d.Names()
	if err != nil {
		return
	}
	limit := now.Add(-keepNotes).UnixNano()
	for _, name := range names {
		if i, err := d.Stat(name); err == nil && name[0] != '.' && i.Regular() && i.Mtime < limit {
			_ = d.Remove(name)
		}
	}
}

var (
	noteMembers    = []string{"root", "instance", "epoch", "told", "printed", "letters", "ended", "prompted", "session"}
	printedMembers = []string{"id", "from", "first", "event", "at", "lost", "twice"}
)

func parseNote(data []byte) (n note, ok bool) {
	var v [9][]byte
	if canonjson.Check(data) != nil || !canonjson.Pick(data, noteMembers, v[:]) {
		return n, false
	}
	n.Root, _ = canonjson.String(v[0])
	instance, _ := canonjson.String(v[1])
	n.Instance = address.Instance(instance)
	for i, to := range []*uint64{&n.Epoch, &n.Told} {
		if k, ok := canonjson.Int(v[2+i]); ok && k >= 0 {
			*to = uint64(k)
		}
	}
	for i, to := range []*uint64{&n.Ended, &n.Prompted} {
		if k, ok := canonjson.Int(v[6+i]); ok && k >= 0 {
			*to = uint64(k)
		}
	}
	for raw := range canonjson.Elements(v[4]) {
		var w [7][]byte
		canonjson.Pick(raw, printedMembers, w[:])
		var s [4]string
		for i := range s {
			s[i], _ = canonjson.String(w[i])
		}
		at, _ := canonjson.Int(w[4])
		p := printed{Print: mail.Print{ID: s[0], From: address.Instance(s[1])}, Event: s[3], At: time.UnixMilli(at)}
		p.Lost, _ = canonjson.Bool(w[5])
		p.Twice, _ = canonjson.Bool(w[6])
		if key, err := hex.DecodeString(s[2]); err == nil && len(key) == len(p.First) {
			copy(p.First[:], key)
		}
		n.Printed = append(n.Printed, p)
	}
	n.Letters = parseLetters(v[5])
	n.Session, _ = canonjson.String(v[8])
	return n, true
}

func (n *note) bytes() []byte {
	var o canonjson.Object
	o.Opt("root", n.Root)
	o.Opt("instance", string(n.Instance))
	o.Opt("session", n.Session)
	o.Int("epoch", int64(n.Epoch))
	o.Int("told", int64(n.Told))
	if n.Ended > 0 {
		o.Int("ended", int64(n.Ended))
	}
	if n.Prompted > 0 {
		o.Int("prompted", int64(n.Prompted))
	}
	canonjson.Objects(&o, "printed", n.Printed, func(o *canonjson.Object, p printed) {
		o.Str("id", p.ID)
		o.Str("from", string(p.From))
		if p.First != (signature.Public{}) {
			o.Str("first", hex.EncodeToString(p.First[:]))
		}
		o.Str("event", p.Event)
		o.Int("at", p.At.UnixMilli())
		if p.Lost {
			o.Bool("lost", true)
		}
		if p.Twice {
			o.Bool("twice", true)
		}
	})
	if n.Letters.Project != "" || !n.Letters.Prompt.IsZero() {
		o.Raw("letters", n.Letters.bytes())
	}
	return append(o.Bytes(), '\n')
}
