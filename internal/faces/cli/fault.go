package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"tutti/internal/bus/keyring"
	"tutti/internal/bus/registry"
	"tutti/internal/halt"
	"tutti/internal/sessions/lifecycle"
	"tutti/internal/store"
)

// Exit codes. 0 to 3 mean what scripts around a bus already expect, 64 is wrong usage of a cross-agent
// command and of a verb whose exit status is a decision, 70 a fault of ours.
// A script treats a code that it does not know as failure. Add numbers; never reuse one.
const (
	exitOK          = 0
	exitUsage       = 1 // wrong usage, or refused
	exitState       = 2 // not there, there already, changed meanwhile, unhealthy
	exitIO          = 3 // a file or a program could not be reached
	exitNotUp       = 4 // an agent did not stay up
	exitHalted      = 5
	exitSeveral     = 6 // more than one candidate
	exitStillUp     = 7 // something runs on after everything was tried
	exitNotTheOne   = 8 // what is there is not what the registry says
	exitCrossUsage  = 64
	exitPanic       = 70
	exitInterrupted = 130
)

// A fault is an error that knows its exit code and the line to type next.
type fault struct {
	code  int
	msg   string
	err   error // what lies below, nil when the message is all
	hint  string
	bare  bool // h2a prints the message without naming the verb
	usage bool // the command line was wrong, which the cross-agent commands tell apart
}

func (f *fault) Error() string {
	switch {
	case f.err == nil:
		return f.msg
	case f.msg == "":
		return f.err.Error()
	}
	return f.msg + ": " + f.err.Error()
}

func (f *fault) Unwrap() error { return f.err }

// Hint says what to type.
func (f *fault) Hint() string { return f.hint }

func usagef(format string, args ...any) error {
	return &fault{code: exitUsage, usage: true, msg: fmt.Sprintf(format, args...)}
}

func usageHint(hint, format string, args ...any) error {
	return &fault{code: exitUsage, usage: true, hint: hint, msg: fmt.Sprintf(format, args...)}
}

// refuse is exit status 1 for what was understood and not done.
func refuse(hint, format string, args ...any) error {
	return &fault{code: exitUsage, hint: hint, msg: fmt.Sprintf(format, args...)}
}

// badState is exit status 2.
func badState(hint, format string, args ...any) error {
	return &fault{code: exitState, hint: hint, msg: fmt.Sprintf(format, args...)}
}

// failIO is exit status 3.
func failIO(hint string, err error, format string, args ...any) error {
	return &fault{code: exitIO, hint: hint, err: err, msg: fmt.Sprintf(format, args...)}
}

// exitCode is the one place that turns errors into exit codes.
func exitCode(err error, under Names) int {
	var (
		f      *fault
		halted *halt.Error
		held   *store.HeldError
		unfit  *store.UnfitError
		path   *fs.PathError
		sess   *lifecycle.Error
		errno  syscall.Errno
	)
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &halted): // before the canceled ones: a halt also cancels contexts
		return exitHalted
	case errors.As(err, &f):
		if f.usage && under == Cross {
			return exitCrossUsage
		}
		return f.code
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &sess):
		return sessionExit(sess)
	case errors.Is(err, context.DeadlineExceeded):
		return exitIO
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrExists), errors.Is(err, store.ErrConflict),
		errors.Is(err, store.ErrLost), errors.Is(err, registry.ErrGone), errors.As(err, &held), errors.As(err, &unfit):
		return exitState
	case errors.Is(err, store.ErrReadOnly), errors.As(err, &path), errors.As(err, &errno):
		return exitIO
	}
	return exitUsage
}

// hintOf returns the hint that an error carries, "" for none.
func hintOf(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	if errors.Is(err, keyring.ErrNoKey) {
		return `"tutti keys list" shows the agents whose keys are here; "tutti connect --host HOST --name NAME" makes one`
	}
	return ""
}

// sessionExit is the exit status of an error about a session.
func sessionExit(e *lifecycle.Error) int {
	switch e.Kind {
	case lifecycle.NotUp:
		return exitNotUp
	case lifecycle.Several:
		return exitSeveral
	case lifecycle.StillUp:
		return exitStillUp
	case lifecycle.NotTheOne:
		return exitNotTheOne
	case lifecycle.Unclear:
		return exitIO
	}
	return exitUsage
}
