// Package tmux asks the tmux program which panes there are, reads their screens, types into one of them, makes and ends
// sessions, and tells when something has changed.
//
// What it promises: a pane that was seen is the pane that is typed into, or nothing is typed. A pane id (%7) is used once in
// the life of a server and starts again at %0 with the next one; a pane that is started anew keeps its id; and a program that
// ends leaves the shell below it, which would run the text as a command. So a [Ref] names the server by pid and start, the pane
// by id and first process, and the program in front; the server compares all of it in the same step in which it types. That
// step also refuses a pane whose program has ended, because pasting into one crashes the tmux of 2022 (3.3a) and with it every
// program that lives there; one whose input is switched off, where keys vanish without a word; and one that shares its keys
// with other panes.
//
// No shell is involved: tmux is started with a list of arguments, starts no server but for a new session, and is killed after
// [Limit]. Names, titles and folders come from other programs; none is ever expanded, and none can be taken for another field
// or row. They may hold control characters: callers that show them have to clean them. They may hold control characters: who
// shows them has to clean them.
//
// What it leaves to others: which text may be typed and when (it does not know a prompt from a permission dialog), whether the
// program in the pane is the right agent ([Pane.Runs] says what has to be shown), and the halt switch, which ends the context.
//
// Everything here is safe for concurrent use. It needs tmux 3.2, which brought the flag that starts no server.
package tmux

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Limit is how long one call of tmux may take. One usually takes 3 ms; a server that hangs must not hang who asks.
const Limit = 5 * time.Second

// Errors that callers tell apart. Whatever is none of these leaves the state unknown, and must not be taken for absence.
var (
	ErrMissing  = errors.New("tmux is not installed: no program of that name on PATH")
	ErrAbsent   = errors.New("not there")                                      // no server, or the server knows no such pane
	ErrDead     = errors.New("the program in the pane has ended")              // the pane is kept to show its last screen
	ErrChanged  = errors.New("the pane is not what it was when it was listed") // another server, process or program
	ErrInputOff = errors.New("input to the pane is switched off")
	ErrShared   = errors.New("the pane hands its keys to other panes (synchronize-panes)")
)

// A Server is one tmux server of this user, running or not. The zero Server is the default one.
type Server struct {
	name   string // for -L
	socket string // for -S, instead of name
	pid    int    // when it is known from $TMUX: another server on that socket is not this one
}

// maxName keeps the path of the socket below the 108 bytes that the system allows, in any usual folder.
const maxName = 64

// Named returns the server that "tmux -L name" means. Letters, digits, _ and - only: tmux makes a path of the name, and "../x"
// leads out of its folder. The empty name means the default server.
func Named(name string) (Server, error) {
	if len(name) > maxName {
		return Server{}, fmt.Errorf("tmux server name of %d bytes: at most %d", len(name), maxName)
	}
	for _, c := range []byte(name) {
		if !nameByte(c) {
			return Server{}, fmt.Errorf("tmux server name %q: only letters, digits, _ and -", name)
		}
	}
	return Server{name: name}, nil
}

func nameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// FromEnv returns the server in which a process lives that has this value in $TMUX: socket path, server pid and session
// number, with commas between them. The pid is remembered: a later server on the same socket is another one, and none of
// its panes is ever shown or typed into through this Server.
func FromEnv(tmux string) (Server, error) {
	path, rest, ok := cutLast2(tmux)
	if !ok || !filepath.IsAbs(path) || hasControl(path) {
		return Server{}, fmt.Errorf("$TMUX is %q: want socket path, server pid and session number", tmux)
	}
	pid, err := strconv.Atoi(rest)
	if err != nil || pid <= 0 {
		return Server{}, fmt.Errorf("$TMUX is %q: %q is not a pid", tmux, rest)
	}
	return Server{socket: path, pid: pid}, nil
}

// cutLast2 splits "path,pid,n" at its last two commas: a path may have commas of its own.
func cutLast2(s string) (path, pid string, ok bool) {
	i := strings.LastIndexByte(s, ',')
	if i < 0 {
		return "", "", false
	}
	j := strings.LastIndexByte(s[:i], ',')
	if j < 0 {
		return "", "", false
	}
	return s[:j], s[j+1 : i], true
}

// String names the server for messages: its name, or the path of its socket.
func (s Server) String() string {
	switch {
	case s.socket != "":
		return s.socket
	case s.name != "":
		return s.name
	}
	return "default"
}

// at returns the arguments with which every call begins. -u: else everything that is not ASCII, and every tab, is
// printed as "_" where the locale is not UTF-8, as it is below cron. -N: a question must not start a server.
func (s Server) at() []string {
	if s.socket != "" {
		return []string{"-u", "-N", "-S", s.socket}
	}
	return []string{"-u", "-N", "-L", s.String()}
}

// hasControl reports whether a text has a control character of ASCII.
func hasControl(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < 0x20 || r == 0x7f }) >= 0
}
