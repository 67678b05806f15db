package exchange

import (
	"errors"
	"fmt"
	"strings"

	"tutti/internal/comms/machines"
	"tutti/internal/comms/protocol"
	"tutti/internal/halt"
	"tutti/internal/platform/gpg"
	"tutti/internal/platform/ssh"
)

// A Fault sorts the ways in which a send fails. Its number is the exit status of cross-agent-send.
type Fault int

// The faults.
const (
	General       Fault = protocol.ExitSendFailed    // signing, files, settings, a name that is taken by other bytes
	NoDestination Fault = protocol.ExitNoDestination // no such machine, or no such project on it
	NotDelivered  Fault = protocol.ExitNotDelivered  // to another machine, after all tries
	BadDraft      Fault = protocol.ExitBadDraft      // the header, or a rule of the protocol
	Halted        Fault = protocol.ExitSendHalted    // the switch was on, at the start or on the way
)

// A SendError says why a message was not delivered. When the switch was the reason, a *halt.Error is in its chain.
type SendError struct {
	Fault  Fault
	Code   string // short and fixed, for programs: "unknown_machine", "name_taken", "signing", a code of package conversation
	Advice string // what to do, for people; "" when the error says all
	Bundle string // ID of the bundle that keeps the message, "" when there is none
	Err    error
}

func (e *SendError) Error() string { return e.Err.Error() }
func (e *SendError) Unwrap() error { return e.Err }

// Hint says what to type: what the reason knows, or how the bundle is sent later.
func (e *SendError) Hint() string {
	if e.Advice != "" {
		return e.Advice
	}
	var hinted interface{ Hint() string }
	if errors.As(e.Err, &hinted) {
		if hint := hinted.Hint(); hint != "" {
			return hint
		}
	}
	if e.Bundle != "" {
		return "the message is kept; \"tutti comms retry " + e.Bundle + "\" sends it"
	}
	return ""
}

// The codes of SendError that are not of package conversation.
const (
	CodeHalted         = "halted"
	CodeBadDestination = machines.BadDestination
	CodeUnknownMachine = machines.UnknownMachine
	CodeNoProject      = "no_project"
	CodePeers          = "peers_malformed"
	CodeDraft          = "draft_unreadable"
	CodeSigning        = "signing"
	CodeMailbox        = "mailbox_refused"
	CodeNameTaken      = "name_taken"
	CodeNoRsync        = "no_rsync"
	CodeUndelivered    = "undelivered" // after all tries
	CodeRefused        = "refused"     // trying again changes nothing by itself
	CodeInterrupted    = "interrupted"
	CodeInHand         = "in_hand" // another process is delivering the bundle
	CodeNoBundle       = "no_bundle"
	CodeIO             = "io"
)

func general(code string, err error) *SendError {
	return &SendError{Fault: General, Code: code, Err: err}
}

// sendError gives an error of a delivery its place.
func sendError(err error) *SendError {
	var (
		own     *SendError
		halted  *halt.Error
		taken   *TakenError
		box     *MailboxError
		project *NoProjectError
		signing *gpg.Error
		address *machines.AddressError
		peers   *machines.FileError
		draft   *DraftError
		missing *ssh.Error
		bundle  *BundleError
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &own):
		return own
	case errors.As(err, &halted):
		return &SendError{Fault: Halted, Code: CodeHalted, Err: err}
	case errors.As(err, &taken):
		e := general(CodeNameTaken, err)
		e.Advice = "two messages of one second: send it again with --restamp"
		return e
	case errors.As(err, &box):
		return general(CodeMailbox, err)
	case errors.As(err, &project):
		return &SendError{Fault: NoDestination, Code: CodeNoProject, Err: err}
	case errors.As(err, &signing):
		return general(CodeSigning, err)
	case errors.As(err, &address):
		return &SendError{Fault: NoDestination, Code: address.Code, Err: err}
	case errors.As(err, &peers):
		return general(CodePeers, err)
	case errors.As(err, &draft):
		return &SendError{Fault: BadDraft, Code: draft.Problems[0].Code, Err: err}
	case errors.As(err, &missing) && missing.Kind == ssh.Missing && missing.Host == "":
		return general(CodeNoRsync, err)
	case errors.Is(err, ErrInHand):
		return general(CodeInHand, err)
	case errors.As(err, &bundle):
		return general(CodeNoBundle, err)
	}
	return general(CodeIO, err)
}

// A DraftError says what is wrong with a draft: the header, or a rule of the protocol. There is at least one problem.
type DraftError struct{ Problems []protocol.Problem }

func (e *DraftError) Error() string {
	text := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		text[i] = p.Detail
	}
	return strings.Join(text, "; ")
}

// Hint says what to type against the problems that have a flag.
func (e *DraftError) Hint() string {
	for _, p := range e.Problems {
		switch p.Code {
		case protocol.CodeStale:
			return "--restamp makes the time now, --keep-timestamp sends it as it is"
		case protocol.CodeCapReached:
			return "send an escalate with both positions; the user decides"
		case protocol.WarnReleaseByReceiver:
			return "your side sends a complete when the work is done: MESSAGE_TYPE complete, or --type complete"
		}
	}
	return ""
}

// meant returns similar names, for a hint.
func meant(near []string) string {
	switch len(near) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("did you mean %s?", near[0])
	}
	return fmt.Sprintf("did you mean one of %v?", near)
}
