package protocol

import "tutti/internal/core/orgfile"

// The codes by which names, headers and messages are refused. Programs compare them, so none changes its spelling.
const (
	CodeOK = "ok"

	// Of a file and its name.
	CodeNotFound    = "not_found"   // there is no such file, or no more
	CodeNotRegular  = "not_regular" // a link, a folder, a pipe
	CodeTooLarge    = orgfile.TooLarge
	CodeNotAMessage = "not_a_message" // a hidden file or a signature
	CodeBadName     = "bad_name"
	CodeIgnored     = "ignored"   // a hidden name: of a file that is being written
	CodeAmbiguous   = "ambiguous" // the name can be split in several ways and nothing says in which

	// Of a header.
	CodeNotText             = orgfile.NotText
	CodeNoFrontmatter       = orgfile.NoFrontmatter
	CodeDuplicateField      = orgfile.DuplicateField
	CodeMissingField        = "missing_field" // followed by a colon and the key
	CodeBadSender           = "bad_sender"
	CodeBadConversation     = "bad_conversation_id"
	CodeBadType             = "bad_message_type"
	CodeBadSequence         = "bad_sequence"
	CodeBadTimestamp        = "bad_timestamp"
	CodeBadReleaseStatus    = "bad_release_status"
	CodeBadInReplyTo        = "bad_in_reply_to"
	CodeBadPushbackResponse = "bad_pushback_response"
	CodeVersionMismatch     = "version_mismatch"

	// Of a name beside its header.
	CodeNameMismatch      = "name_mismatch"
	CodeTimestampMismatch = "timestamp_mismatch"
	CodeTimestampFuture   = "timestamp_future"

	// Of a signature, and of its signer.
	CodeSignatureMissing    = "signature_missing"
	CodeSignatureInvalid    = "signature_invalid"
	CodeSignatureUnknownKey = "signature_unknown_key"
	CodeSignatureEnded      = "signature_expired" // the signature itself, not its key
	CodeSignatureExpired    = "signature_key_expired"
	CodeSignatureRevoked    = "signature_key_revoked"
	CodeNoVerifier          = "verifier_unavailable"
	CodeSignerNotAllowed    = "signer_not_allowed"
	CodeSenderMismatch      = "sender_mismatch"
	CodeWrongRecipient      = "wrong_recipient"

	// Of what is right in itself.
	CodeDuplicate   = "duplicate"
	CodeClaimed     = "claimed" // another session of the project has it
	CodeToolMissing = "tool_missing"

	// Of drafts.
	CodeStale         = "timestamp_stale" // too far from the clock to be sent
	CodeFirstSequence = "sequence1_not_request"
	CodeCapReached    = "cap_reached" // pushed back and insisted often enough: only the user can decide
)

// The warnings, of messages that are acted on and of conversations.
const (
	WarnSignerUnbound        = "signer_unbound" // no map says whose key this may be
	WarnUnverified           = "unverified"
	WarnShortName            = "name_short_conv"
	WarnSkew                 = "timestamp_skew"
	WarnFuture               = CodeTimestampFuture
	WarnFirstSequence        = CodeFirstSequence
	WarnCollision            = "sequence_collision"
	WarnReleaseIgnored       = "release_status_ignored"
	WarnReleaseMissing       = "release_status_missing"
	WarnInReplyToIgnored     = "in_reply_to_ignored"
	WarnResponseIgnored      = "pushback_response_ignored"
	WarnMachineDiffers       = "recipient_machine_differs"
	WarnToolMissing          = CodeToolMissing // on a query, which is never answered with a query
	WarnAlreadyAsked         = "already_asked"
	WarnLedgerUnwritable     = "ledger_unwritable" // for package comms
	WarnOrphanStart          = "orphan_start"      // the first message is not a request
	WarnThirdParty           = "third_party"
	WarnLate                 = "late_after_release"
	WarnExpectedEscalate     = "expected_escalate"
	WarnReleaseByReceiver    = "release_by_receiver"
	WarnCompleteByOriginator = "complete_by_originator"
	WarnPushbackByOriginator = "pushback_by_originator"
)

// An Error says why a name or a value is refused.
type Error struct {
	Code   string // one of the codes of this package
	Detail string // in words
}

func (e *Error) Error() string { return e.Detail }

// Code returns the code of an error of this package or of orgfile, and "" for any other.
func Code(err error) string {
	switch e := err.(type) { //nolint:errorlint // pure functions here hand their errors through as they are
	case *Error:
		return e.Code
	case *orgfile.Error:
		return e.Code
	}
	return ""
}

// The exit statuses of the seven commands.
const (
	ExitOK       = 0
	ExitUsage    = 64 // an unknown flag, a wrong number of arguments
	ExitInternal = 70 // a fault of the program itself

	// cross-agent-recv. A usage error or a crash must not read as one of them.
	ExitProcess    = 0
	ExitDedup      = 1
	ExitQuery      = 2
	ExitReject     = 3
	ExitRecvHalted = 5

	// cross-agent-send.
	ExitSendFailed    = 1 // signing, files, settings, a name that is taken by other bytes
	ExitNoDestination = 2
	ExitNotDelivered  = 3 // to another machine, after all tries
	ExitBadDraft      = 4 // the header, or a rule of the protocol
	ExitSendHalted    = 5

	// The others.
	ExitPartial = 1 // halt and resume: not all machines
	ExitFailed  = 1 // status, discover and watch
)
