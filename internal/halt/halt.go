// Package halt is the switch that stops every agent of this user: an entry named HALT in the
// folder ~/.config/cross-agent-comms.
//
// Whatever is called HALT there counts: an empty file made with touch does as much as [Raise]. Only
// "there is no such entry" means not halted. Everything else (a folder, a pipe, a link that leads
// nowhere, a file in the place of a folder above it, a folder that may not be searched, a home that
// cannot be found) means halted, because a stop that fails open does not stop. The place depends on the home folder alone, never on a bus root or on
// XDG variables, so that every program looks at the same one.
//
// [Check] is asked before every action; while nothing is halted it costs two system calls. [Context]
// ends an action in hand within 100 ms. [Settled] is for what runs for long and shows the reason. [Raise] and [Clear] set and remove the switch. A process that
// meets HALT also counts it ([Note]), so that a session can tell later that it was stopped and that
// its user has not let it go on since ([Epoch]). That counter is a convenience: no failure of it ever
// keeps anybody from halting.
//
// The package imports the standard library only and starts no process. Stopping the watcher service,
// reaching other machines and printing are left to its callers. All functions may be called from
// several goroutines and processes at once.
package halt

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"time"
)

// maxReason bounds the reason, in bytes, when it is read and when it is stored: 4 KiB is the protocol's limit.
const maxReason = 4 << 10

// State says what the switch looked like at one moment. The zero value means not halted.
type State struct {
	Halted     bool
	Reason     string    // first line of the file, without control characters; "" when there is none
	Unreadable bool      // something is there, but no reason could be read from it
	Problem    string    // why it is unreadable, for people: "is a directory"
	Since      time.Time // UTC time of the entry's last change; zero when it could not be looked at
	Path       string    // where was looked; "" when no home folder is known
	By         string    // owner of the entry: a login name, or the uid in decimal; "" when unknown
}

// Path returns where the switch of the acting user lies, or "" when there is no home folder to look
// in; everything is then treated as halted.
func Path() string { return locate().halt }

// Check returns nil when action may go on, and an *[Error] that names it when the user has halted. Call it before every single
// thing that sends, starts or types.
func Check(action string) error {
	if !present() {
		return nil
	}
	s := Read()
	if !s.Halted { // cleared between the two looks
		return nil
	}
	return s.Err(action)
}

// Read returns the state of the switch, and counts a halt that has not been counted yet.
func Read() State {
	s, mark := read()
	if s.Halted {
		_ = note(mark) // a counter that cannot be written must not change the answer
	}
	return s
}

// Err returns the *[Error] that refuses action in state s. It must not be called when s is not halted.
func (s State) Err(action string) *Error {
	return &Error{
		Action: action, By: s.By, Reason: s.Reason, Since: s.Since,
		Unreadable: s.Unreadable, Path: s.Path, Problem: s.Problem,
	}
}

// present tells whether the switch is on, with two system calls and without reading a reason.
func present() bool {
	p := locate()
	if p.halt == "" {
		return true
	}
	var st syscall.Stat_t
	err := lstat(p.halt, &st)
	return !absent(err) || p.broken(err) != ""
}

// read looks once, without counting. mark is the ctime of the entry in nanoseconds, or 0.
func read() (s State, mark int64) {
	p := locate()
	s.Path = p.halt
	if p.halt == "" {
		s.Halted, s.Unreadable, s.Problem = true, true, p.problem
		return s, 0
	}
	for range 3 { // a file that is cleared while being opened is looked for again
		var st syscall.Stat_t
		err := lstat(p.halt, &st)
		if absent(err) {
			why := p.broken(err)
			return State{Path: p.halt, Halted: why != "", Unreadable: why != "", Problem: why}, 0
		}
		s.Halted = true
		if err != nil {
			s.Unreadable, s.Problem = true, err.Error()
			return s, 0
		}
		mtime, ctime := times(&st)
		s.Since, s.By = time.Unix(0, mtime).UTC(), userName(st.Uid)
		if kind := kindOf(&st); kind != "a regular file" {
			s.Unreadable, s.Problem = true, "is "+kind
			return s, ctime
		}
		text, err := readSmall(p.halt, maxReason)
		if errors.Is(err, fs.ErrNotExist) {
			s.Unreadable, s.Problem = true, err.Error()
			continue
		}
		if s.Unreadable = err != nil; s.Unreadable {
			s.Problem = err.Error()
			return s, ctime
		}
		s.Problem = ""
		s.Reason, _ = cleanReason(string(text))
		return s, ctime
	}
	return s, 0
}

// absent tells the two answers that mean "there is no such entry" from all the others. For the switch they mean "not halted"
// only if the folders above it are not [place.broken].
func absent(err error) bool { return err == syscall.ENOENT || err == syscall.ENOTDIR }

// broken says what is wrong with the folders above a switch that a look has not found, "" for nothing: each is a folder, or was
// never made. A file in the place of a folder, and a link that leads nowhere, could hide a switch that was set.
func (p *place) broken(err error) string {
	if err == nil {
		return ""
	}
	config := p.folder[:strings.LastIndexByte(p.folder, '/')]
	for _, dir := range [...]string{p.folder, config, config[:strings.LastIndexByte(config, '/')]} {
		var st syscall.Stat_t
		err := lstat(dir, &st)
		if err == syscall.ENOENT || dir == "" {
			continue // was it never made, or is the one above it broken?
		}
		if err == nil && st.Mode&syscall.S_IFMT == syscall.S_IFLNK {
			if err = stat(dir, &st); err == syscall.ENOENT {
				return dir + " is a link that leads nowhere"
			}
		}
		switch {
		case err == syscall.ENOTDIR:
			continue // the one above is not a folder
		case err != nil:
			return dir + ": " + err.Error()
		case st.Mode&syscall.S_IFMT != syscall.S_IFDIR:
			return dir + " is " + kindOf(&st) + ", not a folder"
		}
		return ""
	}
	return ""
}

// stat asks for what name leads to.
func stat(name string, st *syscall.Stat_t) error {
	for {
		if err := syscall.Stat(name, st); err != syscall.EINTR {
			return err
		}
	}
}

// lstat asks for name itself, never for what a link points to.
func lstat(name string, st *syscall.Stat_t) error {
	for {
		if err := syscall.Lstat(name, st); err != syscall.EINTR {
			return err
		}
	}
}

// kindOf names the type of an entry, with its article.
func kindOf(st *syscall.Stat_t) string {
	switch st.Mode & syscall.S_IFMT {
	case syscall.S_IFREG:
		return "a regular file"
	case syscall.S_IFDIR:
		return "a directory"
	case syscall.S_IFLNK:
		return "a symbolic link"
	case syscall.S_IFIFO:
		return "a named pipe"
	case syscall.S_IFSOCK:
		return "a socket"
	}
	return "a device"
}

// errNotRegular is the answer for an entry that was swapped for something else while being opened.
var errNotRegular = errors.New("not a regular file")

// readSmall returns up to limit bytes of the regular file name. It follows no link in the last step
// and never waits for the other end of a pipe.
func readSmall(name string, limit int) ([]byte, error) {
	fd, err := open(name, syscall.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer syscall.Close(fd)
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if st.Mode&syscall.S_IFMT != syscall.S_IFREG {
		return nil, errNotRegular
	}
	buf := make([]byte, min(int64(limit), st.Size+1)) // +1: it may have grown since
	n := 0
	for n < len(buf) {
		m, err := syscall.Read(fd, buf[n:])
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		if m == 0 {
			break
		}
		n += m
	}
	return buf[:n], nil
}

// open opens name without following a link in the last step; the descriptor is not inherited.
func open(name string, flags int, perm uint32) (int, error) {
	for {
		fd, err := syscall.Open(name, flags|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, perm)
		if err != syscall.EINTR {
			return fd, err
		}
	}
}
