package exchange

import "tutti/internal/comms/protocol"

// A Sent is what became of a letter.
type Sent struct {
	Name         string
	Destination  string // as it was resolved
	Path         string // of the message, on this machine; "" on another one
	Sender       string
	SHA256       string
	Key          string // that signed, "" unsigned
	KeySource    string // where the key was named
	Message      protocol.Message
	Already      bool // the same bytes were there
	DryRun       bool
	Tries        int // on another machine
	Swept        int // temporary files of dead sends that were removed
	Advice       []string
	Warnings     []string // codes of package conversation and of this one
	WarningTexts []string // what to tell people, with the facts

	draft    []byte // with its time
	stamped  bool   // by this send
	artifact *Artifact
}

// The warnings of a send beside those of package conversation.
const (
	WarnMailboxWide = "mailbox_mode"    // others can read or write the mailbox
	WarnPeerHalted  = "peer_halted"     // its mailbox fills, it has no reader
	WarnSentRecord  = "sent_unwritable" // the record of sends misses this one
	WarnPeersBroken = "peers_malformed" // only this machine can be reached
	WarnGuessed     = "machine_guessed" // an unknown machine was taken for this one
	WarnOneSided    = "one_sided"       // only one direction of the conversation is known
	WarnUnstamped   = "draft_unstamped" // the draft does not have the time of the message
	WarnBundleLeft  = "bundle_left"     // the message is delivered and its bundle could not be removed
)

func (s *Sent) warn(code, text string) {
	s.Warnings = append(s.Warnings, code)
	s.WarningTexts = append(s.WarningTexts, text)
}
