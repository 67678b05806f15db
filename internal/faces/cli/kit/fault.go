package kit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
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
	ExitOK          = 0
	ExitUsage       = 1 // wrong usage, or refused
	ExitState       = 2 // not there, there already, changed meanwhile, unhealthy
	ExitIO          = 3 // a file or a program could not be reached
	ExitNotUp       = 4 // an agent did not stay up
	ExitHalted      = 5
	ExitSeveral     = 6 // more than one candidate
	ExitStillUp     = 7 // something runs on after everything was tried
	ExitNotTheOne   = 8 // what is there is not what the registry says
	ExitCrossUsage  = 64
	ExitPanic       = 70
	ExitInterrupted = 130
)

// A Fault is an error that knows its exit code and the line to type next.
type Fault struct {
	Code  int
	Msg   string
	Err   error // the cause, nil when the message is all
	Next  string
	bare  bool // h2a prints the message without naming the verb
	usage bool // the command line was wrong, which the cross-agent commands tell apart
}

func (f *Fault) Error() string {
	switch {
	case f.Err == nil:
		return f.Msg
	case f.Msg == "":
		return f.Err.Error()
	}
	return f.Msg + ": " + f.Err.Error()
}

func (f *Fault) Unwrap() error { return f.Err }

// Hint says what to type.
func (f *Fault) Hint() string { return f.Next }

func Usagef(format string, args ...any) error {
	return &Fault{Code: ExitUsage, usage: true, Msg: fmt.Sprintf(format, args...)}
}

func UsageHint(hint, format string, args ...any) error {
	return &Fault{Code: ExitUsage, usage: true, Next: hint, Msg: fmt.Sprintf(format, args...)}
}

// Refuse is exit status 1 for what was understood and not done.
func Refuse(hint, format string, args ...any) error {
	return &Fault{Code: ExitUsage, Next: hint, Msg: fmt.Sprintf(format, args...)}
}

// BadState is exit status 2.
func BadState(hint, format string, args ...any) error {
	return &Fault{Code: ExitState, Next: hint, Msg: fmt.Sprintf(format, args...)}
}

// FailIO is exit status 3.
func FailIO(hint string, err error, format string, args ...any) error {
	return &Fault{Code: ExitIO, Next: hint, Err: err, Msg: fmt.Sprintf(format, args...)}
}

// ExitCode is the one place that turns errors into exit codes.
func ExitCode(err error, under Names) int {
	var (
		f      *Fault
		halted *halt.Error
		held   *store.HeldError
		unfit  *store.UnfitError
		path   *fs.PathError
		sess   *lifecycle.Error
		errno  syscall.Errno
	)
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &halted): // before the canceled ones: a halt also cancels contexts
		return ExitHalted
	case errors.As(err, &f):
		if f.usage && under == Cross {
			return ExitCrossUsage
		}
		return f.Code
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	case errors.As(err, &sess):
		return sessionExit(sess)
	case errors.Is(err, context.DeadlineExceeded):
		return ExitIO
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrExists), errors.Is(err, store.ErrConflict),
		errors.Is(err, store.ErrLost), errors.Is(err, registry.ErrGone), errors.As(err, &held), errors.As(err, &unfit):
		return ExitState
	case errors.Is(err, store.ErrReadOnly), errors.As(err, &path), errors.As(err, &errno):
		return ExitIO
	}
	return ExitUsage
}

// HintOf returns the hint that an error carries, "" for none.
func HintOf(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	if errors.Is(err, keyring.ErrNoKey) {
		return `"tutti keys list" shows the agents whose keys are here; "tutti connect --host HOST --name NAME" makes one`
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		return `free some space on that disk; until then "tutti inbox" and "tutti thread" show mail, because they write nothing`
	}
	if errors.Is(err, store.ErrReadOnly) && os.Getenv("CODEX_THREAD_ID") != "" {
		return "the sandbox of Codex does not let a shell write there; call the tool tutti_send, tutti_reply or tutti_receive"
	}
	return ""
}

// sessionExit is the exit status of an error about a session.
func sessionExit(e *lifecycle.Error) int {
	switch e.Kind {
	case lifecycle.NotUp:
		return ExitNotUp
	case lifecycle.Several:
		return ExitSeveral
	case lifecycle.StillUp:
		return ExitStillUp
	case lifecycle.NotTheOne:
		return ExitNotTheOne
	case lifecycle.Unclear:
		return ExitIO
	}
	return ExitUsage
}
