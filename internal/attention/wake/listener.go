package wake

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"tutti/internal/core/canonjson"
	"tutti/internal/platform/proc"
)

// A Word is what a hook says at the bell.
type Word struct {
	Conversation string
	Event        string // as the program spells it
	Works        bool   // the agent works, whatever the event says
	Waits        bool   // it stays, and waits for mail
	// Ask and GoOn come from a person who has lifted a halt: what the agent waits for, or that it goes on. Instance names the agent,
	// "" any that a halt stopped.
	Ask, GoOn bool
	Instance  string
}

// BellOptions say where a bell hangs. Place, Host and Whose are needed.
type BellOptions struct {
	Place SocketDir
	Host  string
	Whose string // the conversation, or the instance where the server does not know its conversation
	// Heard is called with the words, one after the other, in the order in which the hooks came, but for those of hooks that
	// wait; a word that comes behind that of a later hook is passed over. It must not block. Nil: ignored.
	Heard func(Word)
	// Released answers a word with Ask or GoOn. It may take some seconds. Nil: no answer.
	Released func(Word) Released
}

// A Socket is the socket at which the hooks of one session are heard, and wait. It is safe for concurrent use.
type Socket struct {
	o      BellOptions
	folder *os.File
	name   string
	socket *os.File
	work   sync.WaitGroup
	room   chan struct{} // a place for each hook that is there

	hearing sync.Mutex // guards last, and is held while a word is heard
	last    uint64     // number of the hook that was heard last

	mu     sync.Mutex // guards what follows, and name; a leaf
	waits  *visitor   // nil: none
	guests map[*visitor]bool
	over   bool
}

// A visitor is a hook at the other end.
type visitor struct {
	n     uint64 // in the order in which they came
	f     *os.File
	heard chan struct{} // closed when it has said that it heard the bell
	gone  chan struct{} // closed when it is not there any more
}

// maxVisitors is how many hooks are listened to at a time; they are there for a moment each, but for one.
const maxVisitors = 32

// Listen hangs up a bell. Sockets of processes that ended without taking theirs away are removed.
func Listen(o BellOptions) (*Socket, error) {
	folder, err := o.Place.open()
	if err != nil {
		return nil, fmt.Errorf("hear the hooks of a session: %w", err)
	}
	b := &Socket{o: o, folder: folder, name: tagFor(o.Host, o.Whose, os.Getpid()).String(), room: make(chan struct{}, maxVisitors), guests: map[*visitor]bool{}}
	sweep(folder, b.name)
	if b.socket, err = listen(folder, b.name); err != nil {
		return nil, errors.Join(fmt.Errorf("hear the hooks of a session: %w", err), folder.Close())
	}
	b.work.Go(b.serve)
	return b, nil
}

// sweep removes sockets whose process is gone, and that of this process by an earlier one of the same number. A process may be gone
// from here only, because it lives in another space of process numbers: as long as it answers it is left alone.
func sweep(folder *os.File, own string) {
	all, err := names(folder)
	if err != nil {
		return
	}
	for _, name := range all {
		t, ok := parse(name)
		if !ok {
			continue
		}
		if _, err := proc.Of(t.pid); name != own && !errors.Is(err, proc.ErrGone) {
			continue
		}
		f, err := dial(folder, name)
		if err == nil {
			f.Close()
		} else if errors.Is(err, unix.ECONNREFUSED) {
			_ = unix.Unlinkat(int(folder.Fd()), name, 0)
		}
	}
}

// serve lets hooks in until the bell is taken down.
func (b *Socket) serve() {
	for n := uint64(1); ; n++ {
		b.room <- struct{}{}
		f, err := accept(b.socket)
		if err == nil {
			v := &visitor{n: n, f: f, heard: make(chan struct{}), gone: make(chan struct{})}
			if b.enter(v) {
				b.work.Go(func() {
					b.listen(v)
					<-b.room
				})
				continue
			}
		}
		<-b.room
		if b.isOver() {
			return
		}
		if err != nil && !errors.Is(err, errForeign) {
			time.Sleep(50 * time.Millisecond) // no descriptor is left, as a rule; trying again at once gives none
		}
	}
}

func (b *Socket) isOver() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.over
}

func (b *Socket) enter(v *visitor) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		v.f.Close()
		return false
	}
	b.guests[v] = true
	return true
}

// sayWithin is how long a hook may take to say what it came for: it has nothing to do before.
const sayWithin = 500 * time.Millisecond

// listen hears what a hook says, and stays with it until it leaves.
func (b *Socket) listen(v *visitor) {
	defer func() {
		b.mu.Lock()
		delete(b.guests, v)
		if b.waits == v {
			b.waits = nil
		}
		b.mu.Unlock()
		v.f.Close()
		close(v.gone)
	}()
	if v.f.SetReadDeadline(time.Now().Add(sayWithin)) != nil {
		return
	}
	line, err := readLine(v.f)
	if err != nil {
		return
	}
	w, ok := parseWord(line)
	if !ok {
		return
	}
	if w.Ask || w.GoOn {
		if b.o.Released != nil {
			_ = writeLine(v.f, b.o.Released(w).line()) // who has gone away does not want to know
		}
		return
	}
	if w.Waits {
		b.stay(v)
	}
	b.hear(v, w)
	if !w.Waits || v.f.SetReadDeadline(time.Time{}) != nil {
		return
	}
	if _, err := readLine(v.f); err == nil {
		close(v.heard)
	}
}

// hear passes on what a hook says, unless a later one was quicker: an agent that has ended its turn would be taken for one that
// works. A hook that waits says nothing of what the agent does: it comes at the same events as those that do, and hides none of them.
func (b *Socket) hear(v *visitor, w Word) {
	b.hearing.Lock()
	defer b.hearing.Unlock()
	if !w.Waits {
		if v.n < b.last {
			return
		}
		b.last = v.n
	}
	if b.o.Heard != nil {
		b.o.Heard(w)
	}
}

// stay has a hook wait in place of the one that did until now: a program starts a new one at each end of a turn, and the old
// one would answer for a turn that is over.
func (b *Socket) stay(v *visitor) {
	b.mu.Lock()
	old := b.waits
	b.waits = v
	b.mu.Unlock()
	if old != nil {
		old.f.Close()
	}
}

// Belongs gives the bell to a conversation, or an agent: hooks of that one find it from now on, and no others do.
func (b *Socket) Belongs(whose string) error {
	name := tagFor(b.o.Host, whose, os.Getpid()).String()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over || name == b.name {
		return nil
	}
	if err := unix.Renameat(int(b.folder.Fd()), b.name, int(b.folder.Fd()), name); err != nil {
		return fmt.Errorf("hear the hooks of a conversation: %w", err)
	}
	b.name = name
	return nil
}

// Waited tells whether a hook waits.
func (b *Socket) Waited() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.waits != nil
}

// hearWithin is how long a hook may take to say that it heard the bell: it does nothing else.
const hearWithin = 2 * time.Second

var errUnheard = errors.New("the hook that waited does not answer")

// Ring has the hook that waits say [Sentence] or [GoOn]. there is false when none waits. An error says that it did not answer.
func (b *Socket) Ring(ctx context.Context, say string) (there bool, err error) {
	b.mu.Lock()
	v := b.waits
	b.waits = nil
	b.mu.Unlock()
	if v == nil {
		return false, nil
	}
	defer v.f.Close() // who heard it is gone already
	line := mailLine
	if say == GoOn {
		line = goOnLine
	}
	if err := writeLine(v.f, []byte(line)); err != nil {
		return true, errUnheard
	}
	late := time.NewTimer(hearWithin)
	defer late.Stop()
	select {
	case <-v.heard:
		return true, nil
	case <-v.gone:
		select {
		case <-v.heard:
			return true, nil
		default:
		}
	case <-late.C:
	case <-ctx.Done():
	}
	return true, errUnheard
}

// Close takes the bell down. Hooks that wait leave without a word.
func (b *Socket) Close() {
	b.mu.Lock()
	first, name := !b.over, b.name
	b.over = true
	for v := range b.guests {
		v.f.Close()
	}
	b.mu.Unlock()
	if !first {
		return
	}
	_ = unix.Unlinkat(int(b.folder.Fd()), name, 0)
	b.socket.Close()
	b.work.Wait()
	b.folder.Close()
}

// The words exchanged at a bell: a hook sends a Word, learns that there is mail or that its agent goes on, and confirms it.
const (
	mailLine  = "mail"
	goOnLine  = "go on"
	heardLine = "heard"
)

func (w Word) line() []byte {
	var o canonjson.Object
	o.Bool("waits", w.Waits)
	o.Bool("works", w.Works)
	o.Str("conversation", w.Conversation)
	o.Str("event", w.Event)
	if w.Ask || w.GoOn {
		o.Bool("ask", w.Ask)
		o.Bool("goOn", w.GoOn)
		o.Str("instance", w.Instance)
	}
	return o.Bytes()
}

func parseWord(line []byte) (Word, bool) {
	var v [7][]byte
	if !canonjson.Pick(line, []string{"waits", "conversation", "event", "works", "ask", "goOn", "instance"}, v[:]) {
		return Word{}, false
	}
	var w Word
	w.Waits, _ = canonjson.Bool(v[0])
	w.Conversation, _ = canonjson.String(v[1])
	w.Event, _ = canonjson.String(v[2])
	w.Works, _ = canonjson.Bool(v[3])
	w.Ask, _ = canonjson.Bool(v[4])
	w.GoOn, _ = canonjson.Bool(v[5])
	w.Instance, _ = canonjson.String(v[6])
	return w, true
}
