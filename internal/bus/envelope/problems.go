package envelope

import (
	"errors"
	"fmt"
	"strings"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
)

// An InvalidError reports an envelope that may not be written. Its text is the one that existing programs give for a refused
// write, with all problems behind it.
type InvalidError struct{ Problems []string }

func (e *InvalidError) Error() string {
	return "putInboxMessage: invalid H2A envelope: " + strings.Join(e.Problems, "; ")
}

// Unwrap gives ErrInvalid.
func (e *InvalidError) Unwrap() error { return ErrInvalid }

// Check returns nil for an envelope that may be written, else an *InvalidError that lists everything that is wrong.
func Check(raw []byte) error {
	if p := Problems(raw); len(p) > 0 {
		return &InvalidError{p}
	}
	return nil
}

// Problems returns everything that is wrong with an envelope before it is written, one text a field, each beginning with the
// name of the field.
//
// Beyond the agreed checks ours refuses what readers would take and regret: an id that can be no file name, a document that
// is too large, and a member or number that no signature could cover.
func Problems(raw []byte) []string {
	return problemsWith(raw, canonjson.Check)
}

// problems is Problems for what is known to be covered by a signature.
func problems(raw []byte) []string { return problemsWith(raw, func([]byte) error { return nil }) }

func problemsWith(raw []byte, covered func([]byte) error) []string {
	if len(raw) > MaxDocument {
		return []string{fmt.Sprintf("envelope has %d bytes, at most %d are allowed", len(raw), MaxDocument)}
	}
	m, ok := members(raw)
	if !ok {
		why := ""
		if e := (*canonjson.Error)(nil); errors.As(canonjson.Check(raw), &e) {
			why = " (" + e.Error() + ")"
		}
		return []string{"envelope must be a JSON object" + why}
	}
	var all []string
	add := func(p string) {
		if p != "" {
			all = append(all, p)
		}
	}
	if err := covered(raw); err != nil {
		add("envelope cannot be signed: " + err.Error())
	}
	add(constant("protocol", m[mProtocol], Protocol))
	add(constant("version", m[mVersion], Version))
	add(idProblem(m[mID]))
	add(typeProblem(m[mType]))
	for _, p := range actorProblems(m[mActor]) {
		add(p)
	}
	if !canonjson.IsObject(m[mBody]) {
		add("body must be a JSON object: the content of a message belongs under body, as in {\"kind\":\"message\",\"text\":\"…\"}")
	}
	add(stringProblem("createdAt", m[mCreatedAt], true))
	add(stringProblem("threadId", m[mThreadID], false))
	add(stringProblem("replyTo", m[mReplyTo], false))
	if s := m[mSignatures]; s != nil && canonjson.Kind(s) != canonjson.TypeArray {
		add("signatures must be an array")
	}
	return all
}

// guard is the check of readers: it returns the first problem, and lets pass what only our door refuses.
func guard(m *[mEnd][]byte) string {
	for _, p := range []string{
		constant("protocol", m[mProtocol], Protocol),
		constant("version", m[mVersion], Version),
		stringProblem("id", m[mID], true),
		typeProblem(m[mType]),
		stringProblem("createdAt", m[mCreatedAt], true),
		stringProblem("threadId", m[mThreadID], false),
		stringProblem("replyTo", m[mReplyTo], false),
	} {
		if p != "" {
			return p
		}
	}
	if p := actorProblems(m[mActor]); len(p) > 0 {
		return p[0]
	}
	if m[mBody] == nil {
		return "body is missing"
	}
	return ""
}

func constant(name string, raw []byte, want string) string {
	if canonjson.Is(raw, want) {
		return ""
	}
	return fmt.Sprintf("%s must be %q, not %s", name, want, shown(raw))
}

func stringProblem(name string, raw []byte, required bool) string {
	switch {
	case raw == nil && !required, canonjson.Kind(raw) == canonjson.TypeString:
		return ""
	case raw == nil:
		return name + " is missing; it must be a string"
	}
	return fmt.Sprintf("%s must be a string, not %s", name, shown(raw))
}

func idProblem(raw []byte) string {
	if p := stringProblem("id", raw, true); p != "" {
		return p
	}
	id := text(raw)
	if len(id) > MaxID {
		return fmt.Sprintf("id has %d bytes, at most %d are allowed", len(id), MaxID)
	}
	if e := (*address.Error)(nil); errors.As(address.Check(id), &e) {
		return "id " + e.Why
	}
	return ""
}

func typeProblem(raw []byte) string {
	if wordOf(raw, Types) != "" {
		return ""
	}
	return fmt.Sprintf("type must be one of %s, not %s", quoteAll(Types), shown(raw))
}

// actorProblems judges the actor. Without one each of its required members is missing.
func actorProblems(raw []byte) (all []string) {
	a := actorOf(raw)
	if p := stringProblem("actor.instance", a[0], true); p != "" {
		all = append(all, p)
	}
	if wordOf(a[1], Roles) == "" {
		all = append(all, fmt.Sprintf("actor.role must be one of %s, not %s", quoteAll(Roles), shown(a[1])))
	}
	if p := stringProblem("actor.scope", a[2], true); p != "" {
		all = append(all, p)
	}
	if p := stringProblem("actor.mandate", a[3], false); p != "" {
		all = append(all, p)
	}
	return all
}

// maxShown is how much of a wrong value an error repeats: enough to find it again.
const maxShown = 60

// shown is a wrong value for people: canonical JSON, so that it holds no control characters, cut to a readable length.
func shown(raw []byte) string {
	if raw == nil {
		return "absent"
	}
	s, err := canonjson.Canonical(raw)
	if err != nil {
		return "what it is"
	}
	if len(s) > maxShown {
		return string(head(s, maxShown)) + "…"
	}
	return string(s)
}

// head returns at most n bytes from the start of valid UTF-8, no character cut.
func head[T ~string | ~[]byte](s T, n int) T {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}
