package protocol

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tutti/internal/core/orgfile"
)

// version tells messages of another version apart. Their fields are not judged by the rules of this one, and they are
// asked about only once the sender is known. One that is a query is never answered with a query: two versions would
// question each other for ever.
func (j *judge) version() bool {
	v, _ := j.d.Header.Get(orgfile.ProtocolVersion)
	if v == "" {
		return j.reject(CodeMissingField+":"+orgfile.ProtocolVersion, "the header has no "+orgfile.ProtocolVersion)
	}
	if v == j.r.Version {
		return false
	}
	j.foreign = true
	if t, _ := j.d.Header.Get(orgfile.MessageType); strings.EqualFold(t, string(Query)) {
		return j.reject(CodeVersionMismatch, fmt.Sprintf("a query of protocol version %s, where %s is expected", v, j.r.Version))
	}
	return false
}

func (j *judge) fields() bool {
	if j.foreign {
		return false
	}
	if len(j.problems) > 0 {
		return j.reject(j.problems[0].Code, j.problems[0].Detail)
	}
	j.warn(j.notes...)
	return false
}

// agreement compares the name with the header. The name is not signed; only so is it held to what is.
func (j *judge) agreement() bool {
	m := &j.d.Message
	n, err := ParseName(j.in.Name, m.Conversation, j.r.Signers.Senders())
	if err != nil {
		return j.reject(CodeNameMismatch, err.Error())
	}
	j.d.Sender = n.Sender
	if n.Short {
		j.warn(WarnShortName)
	}
	if j.foreign {
		return false
	}
	skew := skewOf(n.Stamp, m.Time)
	if skew > j.r.SkewMax || j.r.Strict && skew > SkewSilent {
		return j.skewed(fmt.Sprintf("the time of the name, %s, is %s away from that of the header, %s",
			FormatTime(n.Stamp), skew, FormatTime(m.Time.UTC())))
	}
	if skew > SkewSilent {
		j.warn(WarnSkew)
	}
	switch ahead := m.Time.Sub(j.r.Now); { // a clock that was not brought refuses
	case ahead > FutureMax:
		return j.reject(CodeTimestampFuture, fmt.Sprintf("the message is dated %s, and the clock here says %s: one of the two clocks is wrong",
			FormatTime(m.Time.UTC()), FormatTime(j.r.Now.UTC())))
	case ahead > FutureWarned:
		j.warn(WarnFuture)
	}
	return false
}

// skewed refuses a message whose name and header disagree on the time, unless it is a copy: a sender that names files by the clock and
// repeats one a while later has sent nothing new, and a refusal would alarm the reader.
func (j *judge) skewed(why string) bool {
	copied := judge{in: j.in, r: j.r, d: j.d}
	if !j.twin && !copied.signature() && !copied.signer() && !copied.envelope() && copied.duplicate() {
		j.d = copied.d
		return true
	}
	return j.reject(CodeTimestampMismatch, why)
}

// skewOf returns how far the time of a name, a whole second, is from that of a header.
func skewOf(stamp, header time.Time) time.Duration {
	return stamp.Sub(header.Truncate(time.Second)).Abs()
}

func (j *judge) signature() bool {
	if j.r.NoVerify {
		j.warn(WarnUnverified)
		return false
	}
	j.d.Checked = true
	j.d.Signature = Signature{Code: CodeNoVerifier, Detail: "nothing here can verify signatures"}
	if j.r.Verify != nil {
		j.d.Signature = j.r.Verify().settled()
	}
	if s := j.d.Signature; !s.Valid {
		return j.reject(s.Code, "unsigned/unverified message: "+s.Detail)
	}
	return false
}

// settled makes sense of verdicts that contradict themselves, never in favour of the message.
func (s Signature) settled() Signature {
	switch {
	case s.Valid && s.Code == "" && s.Fingerprint != "":
		return s
	case s.Valid:
		s.Valid = false
		s.Detail = "the verifier contradicts itself"
		if s.Code == "" {
			s.Code = CodeNoVerifier
		}
	case s.Code == "":
		s.Code = CodeSignatureInvalid
	}
	if s.Detail == "" {
		s.Detail = s.Code
	}
	return s
}

// signer judges whether the key of a signature may sign for the sender: signers.toml lists it for that sender, or under "*" where the sender is
// not listed. If the map cannot be read, no key may sign. Where there is none, that is a warning, and in strict mode a rejection.
func (j *judge) signer() bool {
	switch s := &j.r.Signers; {
	case s.Fault() != nil:
		return j.reject(CodeSignerNotAllowed, "the map of signers cannot be read, so no signer is allowed: "+s.Fault().Error())
	case j.r.NoVerify: // no known signer
	case !s.Present() && j.r.Strict:
		return j.reject(WarnSignerUnbound, "no map of signers says whose key this may be")
	case !s.Present():
		j.warn(WarnSignerUnbound)
	case !s.Allowed(j.d.Sender, j.d.Signature.Fingerprint):
		return j.reject(CodeSignerNotAllowed, fmt.Sprintf("the map of signers does not let key %s sign for %s", j.d.Signature.Fingerprint, j.d.Sender))
	default:
		j.d.Bound = true
	}
	return false
}

// envelope holds FROM and TO, which are signed, to the name and to this project. Only the projects bind: what a machine
// is called differs from one list of peers to the next.
func (j *judge) envelope() bool {
	if from := j.d.Message.From; from != "" && !speaksFor(from, j.d.Sender) {
		return j.reject(CodeSenderMismatch, fmt.Sprintf("FROM does not name %s, as the name of the file does", j.d.Sender))
	}
	to := j.d.Message.To
	if to == "" {
		return false
	}
	a, ok := ParseAddress(to)
	if !ok || a.Project != j.r.Me.Project {
		return j.reject(CodeWrongRecipient, fmt.Sprintf("TO names another project than this one, %s", j.r.Me.Project))
	}
	if a.Machine != j.r.Me.Machine && !slices.Contains(j.r.Machines, a.Machine) {
		j.warn(WarnMachineDiffers)
	}
	return false
}

// speaksFor reports whether a FROM is of the project that the name of the file calls by this slug.
func speaksFor(from, sender string) bool {
	a, ok := ParseAddress(from)
	slug, _ := Slugify(a.Project)
	return ok && slug == sender
}

func (j *judge) askVersion() bool {
	if !j.foreign {
		return false
	}
	j.suggest(CodeVersionMismatch, fmt.Sprintf("This project speaks protocol version %s and does not act on messages of another one. "+
		"Please write the message again in version %s.", j.r.Version, j.r.Version))
	return j.end(Ask, CodeVersionMismatch, fmt.Sprintf("protocol version %s, where %s is expected", j.d.Message.Version, j.r.Version))
}

// suggest proposes the query that is the answer, unless it was proposed before.
func (j *judge) suggest(code, text string) {
	conversation := j.d.Message.Conversation
	if conversation == "" {
		return // of another version, and it names none that could be answered in
	}
	if j.r.Asked != nil && j.r.Asked(conversation, code) {
		j.warn(WarnAlreadyAsked)
		return
	}
	highest := j.d.Message.Sequence
	if j.r.Highest != nil {
		highest = max(highest, j.r.Highest(conversation))
	}
	j.d.Reply = &Reply{Query, NextSequence(highest), text}
}

// duplicate finds copies: the same bytes under the same conversation and sequence. Of several copies exactly one is the
// message, however often and in which order they are judged: the one that the ledger says was acted on, else the one
// whose name comes first. A copy that would be refused itself is none, or both would be lost.
func (j *judge) duplicate() bool {
	if j.r.NoDedup {
		return false
	}
	m, sum := &j.d.Message, j.d.SHA256
	other := ""
	if j.r.Ledger != nil {
		for _, e := range j.r.Ledger(m.Conversation, m.Sequence) {
			acted := e.Decision == Process || e.Decision == ""
			switch {
			case e.SHA256 != sum:
				j.collides(e.Name)
			case e.Name == j.in.Name:
				j.d.SeenBefore = j.d.SeenBefore || acted
			case acted && (other == "" || e.Name < other):
				other = e.Name
			}
		}
	}
	var siblings []Sibling
	if j.r.Siblings != nil {
		siblings = j.r.Siblings(m.Conversation, m.Sequence)
	}
	for _, s := range siblings {
		switch {
		case s.Name == j.in.Name:
		case s.SHA256 != sum:
			j.collides(s.Name)
		case other == "" && !j.d.SeenBefore && s.Name < j.in.Name && j.accepts(s):
			other = s.Name
		}
	}
	if len(j.d.CollidesWith) > 0 {
		slices.Sort(j.d.CollidesWith)
		j.warn(WarnCollision)
	}
	if other == "" || j.d.SeenBefore {
		return false
	}
	j.d.DuplicateOf = other
	return j.end(Dedup, CodeDuplicate, "the same message as "+other)
}

func (j *judge) collides(name string) {
	if name != j.in.Name && !slices.Contains(j.d.CollidesWith, name) {
		j.d.CollidesWith = append(j.d.CollidesWith, name)
	}
}

// accepts reports whether a file with the bytes of this message would be accepted under its own name and signature.
func (j *judge) accepts(s Sibling) bool {
	twin := judge{in: Inbound{Name: s.Name, Text: j.in.Text}, r: j.r, d: Decision{Header: j.d.Header, Message: j.d.Message}, twin: true}
	twin.r.Verify = s.Verify
	if s.Verify == nil {
		good := j.d.Signature
		twin.r.Verify = func() Signature { return good }
	}
	return !twin.name() && !twin.agreement() && !twin.signature() && !twin.signer() && !twin.envelope()
}

func (j *judge) tools() bool {
	for _, tool := range j.d.Message.Tools {
		if !ToolName(tool) || j.r.Tool == nil || !j.r.Tool(tool) {
			j.d.MissingTools = append(j.d.MissingTools, tool)
		}
	}
	switch missing := len(j.d.MissingTools); {
	case missing == 0:
		return false
	case j.d.Message.Type == Query: // never a query for a query
		j.warn(WarnToolMissing)
		return false
	}
	var named []string // nothing else of the text of a peer goes into what is said in our name
	for _, tool := range j.d.MissingTools {
		if ToolName(tool) {
			named = append(named, tool)
		}
	}
	text := "A tool that this request asks for is not there. Please ask in a way that does without it, or release the conversation as cancelled."
	if len(named) > 0 {
		text = "Not there: " + strings.Join(named, ", ") + ". Please ask in a way that does without, or release the conversation as cancelled."
	}
	j.suggest(CodeToolMissing, text)
	return j.end(Ask, CodeToolMissing, "not there: "+strings.Join(j.d.MissingTools, ", "))
}
