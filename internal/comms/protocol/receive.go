package protocol

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"tutti/internal/core/orgfile"
)

// A Word is what to do with a message that came in.
type Word string

// The words, and what an agent does.
const (
	Process Word = "process" // read the body and act
	Dedup   Word = "dedup"   // nothing: it is a copy
	Ask     Word = "query"   // answer with one query
	Reject  Word = "reject"  // tell the user, and do not act
	Halted  Word = "halted"  // stop; nothing was looked at, and the message stays as it is
)

// Exit returns the exit status of cross-agent-recv.
func (w Word) Exit() int {
	switch w {
	case Process:
		return ExitProcess
	case Dedup:
		return ExitDedup
	case Ask:
		return ExitQuery
	case Reject:
		return ExitReject
	case Halted:
		return ExitRecvHalted
	}
	return ExitInternal
}

// A Signature is what became of the check of one: the verdict of gpg by its status lines, not by how it ended.
type Signature struct {
	Valid       bool
	Code        string // why not: one of the codes signature_… or verifier_unavailable
	Fingerprint string // of the primary key
	User        string // as the key names its owner
	Detail      string // in words
}

// A Sibling is another file of the mailbox that has the same conversation and sequence.
type Sibling struct {
	Name, SHA256 string
	// Verify checks its signature file; nil takes it for valid. It is called only for a copy that would come before the message
	// in hand.
	Verify func() Signature
}

// An Entry is what the ledger has of a message, of the same conversation and sequence: it was verified, and decided on.
type Entry struct {
	Name, SHA256 string
	Decision     Word // Process or Dedup; "" counts as Process
}

// An Inbound is a message that came in, read once: what is judged here must be what is shown later.
type Inbound struct {
	Name  string // of its file, without the folder
	Fault string // why it could not be read: CodeNotFound, CodeNotRegular, CodeTooLarge; "": it could
	Text  []byte
}

// Rules are all that Receive knows of the world. Functions are called at most once each, except for Tool, when their
// step has come and not before; a nil one gives the answer that lets least pass.
type Rules struct {
	Halted  bool
	Now     time.Time
	Version string // that is expected; "": Version
	// Me is this project on this machine; Machines are further names of the machine, which a TO may have.
	Me       Address
	Machines []string
	NoVerify bool // for tests: an unverified message is acted on, with a warning
	NoDedup  bool // for tests
	Strict   bool // any skew above SkewSilent, and a sender whom no map of signers binds, are refused
	// SkewMax is how far the time of the name may be from that of the header; 0: the constant of that name.
	SkewMax time.Duration

	Verify   func() Signature
	Signers  Signers
	Siblings func(conversation string, sequence int) []Sibling
	Ledger   func(conversation string, sequence int) []Entry
	Tool     func(name string) bool               // whether it is there: on PATH or in the settings
	Highest  func(conversation string) int        // the highest sequence of both directions
	Asked    func(conversation, code string) bool // whether this query was suggested before
}

// A Decision is what [Receive] says, and all that it found out on the way.
type Decision struct {
	Word         Word
	Code         string // CodeOK, or why it is not Process
	Reason       string // in words; "" for CodeOK. May hold text of the message
	Name         string
	SHA256       string // of the bytes, in hexadecimal; "" if they could not be read
	Header       orgfile.Header
	Message      Message
	Sender       string    // by the name of the file and the header; "" before that was known
	Stamp        time.Time // of the name
	Checked      bool      // a signature was looked for
	Signature    Signature
	Bound        bool // the map of signers allows the key for this sender
	MissingTools []string
	CollidesWith []string // other messages of the same sequence
	DuplicateOf  string
	SeenBefore   bool // decided on before, under this name
	Reply        *Reply
	Warnings     []string // sorted, each once
}

// A Reply is the query that is suggested as the answer.
type Reply struct {
	Type     Type
	Sequence int
	Text     string
}

// Exit returns the exit status of cross-agent-recv.
func (d *Decision) Exit() int { return d.Word.Exit() }

// Records reports whether the decision belongs into the ledger: what was refused is judged afresh the next time.
func (d *Decision) Records() bool {
	return d.Signature.Valid && (d.Word == Process || d.Word == Dedup && d.Code == CodeDuplicate)
}

// Claimed returns the decision for everybody but the session that has leased the message.
func (d Decision) Claimed() Decision {
	if d.Word == Process {
		d.Word, d.Code, d.Reason = Dedup, CodeClaimed, "another session of this project works on it"
	}
	return d
}

// Receive decides on one message. The checks come in a fixed order and the first that fails decides; warnings are those
// of the checks until then.
func Receive(in Inbound, r Rules) Decision {
	j := &judge{in: in, r: r}
	j.d.Name = in.Name
	if j.r.Version == "" {
		j.r.Version = Version
	}
	if j.r.SkewMax == 0 {
		j.r.SkewMax = SkewMax
	}
	for _, s := range steps {
		if s.check(j) {
			break
		}
	}
	slices.Sort(j.d.Warnings)
	j.d.Warnings = slices.Compact(j.d.Warnings)
	return j.d
}

// Order returns the names of the checks of [Receive], in their order.
func Order() []string {
	names := make([]string, len(steps))
	for i, s := range steps {
		names[i] = s.name
	}
	return names
}

// A judge is one run of Receive. A check returns true when it has decided.
type judge struct {
	in       Inbound
	r        Rules
	d        Decision
	problems []Problem
	notes    []string
	foreign  bool // of another version: asked about once it is known who asks
	twin     bool // a copy that is judged beside the message in hand
}

var steps = [...]struct {
	name  string
	check func(*judge) bool
}{
	{"halt", (*judge).halt},
	{"file", (*judge).file},
	{"name", (*judge).name},
	{"parse", (*judge).parse},
	{"protocol_version", (*judge).version},
	{"required_fields", (*judge).fields},
	{"name_vs_frontmatter", (*judge).agreement},
	{"signature", (*judge).signature},
	{"signer_map", (*judge).signer},
	{"envelope", (*judge).envelope},
	{"version_query", (*judge).askVersion},
	{"dedup", (*judge).duplicate},
	{"requires_tools", (*judge).tools},
	{"process", (*judge).process},
}

func (j *judge) end(w Word, code, reason string) bool {
	j.d.Word, j.d.Code, j.d.Reason = w, code, reason
	return true
}

func (j *judge) reject(code, reason string) bool { return j.end(Reject, code, reason) }

func (j *judge) warn(codes ...string) { j.d.Warnings = append(j.d.Warnings, codes...) }

func (j *judge) halt() bool {
	return j.r.Halted && j.end(Halted, string(Halted), "halt is active")
}

func (j *judge) file() bool {
	switch fault := j.in.Fault; {
	case fault == CodeNotFound:
		return j.reject(fault, "there is no such file")
	case fault == CodeTooLarge || len(j.in.Text) > orgfile.MaxMessage:
		return j.reject(CodeTooLarge, "it is larger than a message may be")
	case fault != "":
		return j.reject(fault, "it is not a regular file of this user")
	}
	sum := sha256.Sum256(j.in.Text)
	j.d.SHA256 = hex.EncodeToString(sum[:])
	return false
}

func (j *judge) name() bool {
	n, err := ParseName(j.in.Name, "", nil)
	switch code := Code(err); {
	case code == CodeIgnored:
		return j.reject(CodeNotAMessage, "a hidden file is not a message")
	case code != "" && code != CodeAmbiguous:
		return j.reject(code, err.Error())
	case n.Signature:
		return j.reject(CodeNotAMessage, "it is a signature, not a message")
	}
	j.d.Stamp = n.Stamp
	return false
}

func (j *judge) parse() bool {
	h, err := orgfile.Parse(j.in.Text)
	if err != nil {
		return j.reject(Code(err), err.Error())
	}
	j.d.Header = h
	j.d.Message, j.problems, j.notes = Read(h)
	return false
}

func (j *judge) process() bool { return j.end(Process, CodeOK, "") }
