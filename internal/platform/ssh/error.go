package ssh

import (
	"errors"
	"fmt"
	"strings"
)

// A Kind says what sort of trouble it is.
type Kind uint8

const (
	Remote      Kind = iota // what was run there failed
	Unreachable             // no connection, or it broke
	Refused                 // the other side does not let us in, or is not who it was: host key, authentication, settings of ssh
	Missing                 // a program is missing, here or there
	Timeout                 // no end within the limit
	Usage                   // rsync here or there does not take what it is given
)

var kindNames = [...]string{"failed there", "unreachable", "refused", "program missing", "no answer in time", "not understood"}

func (k Kind) String() string { return kindNames[k] }

// An Error is a call that did not do what it was called for.
type Error struct {
	Op    string // "ssh" or "rsync"
	Host  string // name of the machine; "" when the trouble is here
	Exit  int    // exit status; -1: the process did not end by itself
	Last  string // the line of its standard error that says most, without control characters
	Kind  Kind
	Again bool // the same call may work later
	Err   error
	Typed string // how a person connects to the machine, see Host.Typed; "": the trouble is here
}

// Error has the form "ssh beta exit 255: LAST".
func (e *Error) Error() string {
	text := e.Op
	if e.Host != "" {
		text += " " + e.Host
	}
	switch {
	case e.Exit > 0:
		text += fmt.Sprintf(" exit %d", e.Exit)
	case e.Err != nil:
		text += ": " + e.Err.Error()
	default:
		text += ": " + e.Kind.String()
	}
	if e.Last != "" {
		text += ": " + e.Last
	}
	return text
}

// Cause has the form "ssh exit 255: LAST", for lists in which the machine is named already.
func (e *Error) Cause() string {
	short := *e
	short.Host = ""
	return short.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// Hint says what to do.
func (e *Error) Hint() string {
	switch {
	case e.Kind == Missing && e.Host == "":
		return "install " + e.Op + " on this machine"
	case e.Kind == Missing:
		return "a program is missing on " + e.Host + ": " + e.Last
	case e.Kind == Refused && strings.Contains(e.Last, "ost key"):
		return "connect once by hand, and compare the host key: " + e.Typed
	case e.Kind == Refused:
		return "it must get in without asking anything, try it by hand: " + e.Typed
	}
	return ""
}

// Retryable reports whether the same call may work later: the network or the other side was in the way, and the call was not
// refused.
func Retryable(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Again
}

// connection is the exit status with which ssh says that it is not that of the remote program. rsync hands it on.
const connection = 255

// Exit statuses of rsync, from its manual.
const (
	rsyncUsage    = 1
	rsyncProtocol = 2
	rsyncFiles    = 3
	rsyncAction   = 4
	rsyncSocket   = 10
	rsyncStream   = 12
	rsyncTimeout  = 30
	rsyncConnect  = 35
	rsyncNotRun   = 126
	rsyncNotFound = 127
)

// classify fills in what exit status and standard error say.
func (e *Error) classify(said string) {
	e.Last = lastLine(said)
	switch {
	case (e.Exit == connection || e.Op == "rsync") && refused(said):
		e.Kind = Refused
	case e.Exit == connection:
		e.Kind, e.Again = Unreachable, true
	case e.Exit == rsyncNotFound, e.Exit == rsyncNotRun, e.Exit == rsyncStream && notFound(said):
		e.Kind = Missing
	case e.Op != "rsync":
		e.Kind = Remote
	case e.Exit == rsyncSocket || e.Exit == rsyncStream:
		e.Kind, e.Again = Unreachable, true
	case e.Exit == rsyncTimeout || e.Exit == rsyncConnect:
		e.Kind, e.Again = Timeout, true
	case e.Exit >= rsyncUsage && e.Exit <= rsyncAction && e.Exit != rsyncFiles:
		e.Kind = Usage
	default:
		e.Kind = Remote
	}
}

// refused finds the sentences with which ssh says that trying again is of no use. They are in its source and not translated.
func refused(said string) bool {
	for _, s := range [...]string{
		"Host key verification failed",
		"REMOTE HOST IDENTIFICATION HAS CHANGED",
		"Too many authentication failures",
		"No supported authentication methods available",
		"Unable to negotiate with",
		"Bad configuration option",
		"Bad owner or permissions",
		"terminating, ", // the words after "bad configuration options" and their number
		"no argument after keyword",
	} {
		if strings.Contains(said, s) {
			return true
		}
	}
	// Followed by the ways to authenticate. With a number it is the system that says so, of a file there.
	const denied = "Permission denied ("
	for rest := said; ; {
		_, after, found := strings.Cut(rest, denied)
		if !found {
			return false
		}
		if after != "" && (after[0] < '0' || after[0] > '9') {
			return true
		}
		rest = after
	}
}

// notFound finds the sentence with which a shell says that there is no rsync: sh and bash "rsync: not found" or "command not found", fish
// "Unknown command: rsync". The rsync here only sees its stream end.
func notFound(said string) bool {
	for line := range strings.SplitSeq(said, "\n") {
		if strings.Contains(line, "rsync") && (strings.Contains(line, "not found") || strings.Contains(line, "Unknown command")) {
			return true
		}
	}
	return false
}

// lastLine returns the line that says most: the last one, but what rsync adds when its ssh has ended says less than what ssh said.
func lastLine(said string) string {
	last := ""
	for line := range strings.SplitSeq(said, "\n") {
		line = clean(line)
		if line == "" {
			continue
		}
		if last == "" || !empty(line) {
			last = line
		}
	}
	return last
}

// empty tells the lines of rsync that say no more than that the stream has ended.
func empty(line string) bool {
	return strings.HasPrefix(line, "rsync error:") || strings.HasPrefix(line, "rsync: ") &&
		(strings.Contains(line, "connection unexpectedly closed") || strings.Contains(line, "Broken pipe") || strings.Contains(line, "write error"))
}

// maxLine bounds a line that is shown, in bytes.
const maxLine = 500

// clean takes control characters out of a line, and blanks off its ends.
func clean(line string) string {
	line = strings.ToValidUTF8(line, "?")
	if len(line) > maxLine {
		line = strings.ToValidUTF8(line[:maxLine], "") + "…"
	}
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case isControl(r), r >= 0x200e && r <= 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0xfeff:
			return -1 // marks of direction would turn the rest of the line around
		}
		return r
	}, line))
}
