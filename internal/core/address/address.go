// Package address knows how agents, sessions and messages are called, when two names mean one agent, and which file name
// a name becomes.
//
// Everything here is a pure function of its arguments, except for the minting of ids, which takes random bytes. No function
// checks whether an agent of a name exists: that is package members. Names come from messages, so [Check] stands before each step
// that takes one to the disk.
//
// # Forms
//
//	claude:api:3f2a9c01b7de         one agent, for good: host, label, twelve hexadecimal digits ("perennial")
//	claude:api                      a channel: a mailbox for the agents under that label
//	claude:api:3f2a9c01b7de~scout   a subagent; its name is all behind the ~
//	remote:<conversation id>        an agent behind a bridge
//	sess:0011223344556677           a connection of an agent
//	ws:<uuid>                       a workspace
//	env:1781258400000:9c1e          a message: milliseconds and four random digits; thr:… a thread
//
// These are habits of writers. A reader takes any string for an id, and compares agents and workspaces by [Canonical].
//
// # Segments
//
// A [Segment] is an id as one step of a path. The mapping loses letters (a:b, a/b and a__b are one segment), so it is made
// once, above the store, and the true id is in the document stored there. [SegmentToAddress] guesses it for listings.
package address

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxSegment is the longest segment that Check lets pass, in bytes. File systems end at 255; the difference is room for
// ".json" and the marks of temporary files.
const MaxSegment = 200

// Canonical returns the one spelling under which an address is compared and under which its mailbox lies: the host in
// lower case, the label as a slug, all other parts in lower case. The name of a subagent, from the first ~ on, stays as
// it is, and so does a name without a colon. Canonical of a canonical address is itself, without an allocation.
func Canonical(a string) string {
	body, rest := a, ""
	if i := strings.IndexByte(a, '~'); i >= 0 {
		body, rest = a[:i], a[i:]
	}
	if strings.IndexByte(body, ':') < 0 || settled(body) {
		return a
	}
	parts := strings.Split(body, ":")
	for n, p := range parts {
		switch {
		case n != 1:
			parts[n] = lower(p)
		case p != "":
			parts[n] = Slug(p)
		}
	}
	return strings.Join(parts, ":") + rest
}

// settled reports whether an address without ~ is seen to be canonical at a glance, as nearly all are.
func settled(body string) bool {
	for i := range len(body) {
		if c := body[i]; c != ':' && !slugByte(c) {
			return false
		}
	}
	_, label, _ := strings.Cut(body, ":")
	label, _, _ = strings.Cut(label, ":")
	return label == "" || label[0] != '-' && label[len(label)-1] != '-'
}

// HostQualified reports whether an address says at which host its label is: at least two parts, the first two not
// empty, the name of a subagent aside. Mail to any other address is refused, as its recipient cannot be told.
func HostQualified(a string) bool {
	a, _, _ = strings.Cut(a, "~")
	host, rest, _ := strings.Cut(a, ":")
	label, _, _ := strings.Cut(rest, ":")
	return host != "" && label != ""
}

// Segment returns an id as a step of a path: each run of the characters : / \ < > " | ? * becomes two underscores, and
// what would be nothing or dots only becomes one. All else stays, also what Check refuses.
func Segment(id string) string {
	clean, dots := true, true
	for i := range len(id) {
		clean = clean && !reserved(id[i])
		dots = dots && id[i] == '.'
	}
	switch {
	case dots:
		return "_"
	case clean:
		return id
	}
	out := make([]byte, 0, len(id)+8)
	for i := 0; i < len(id); i++ {
		if !reserved(id[i]) {
			out = append(out, id[i])
			continue
		}
		out = append(out, "__"...)
		for i+1 < len(id) && reserved(id[i+1]) {
			i++
		}
	}
	return string(out)
}

func reserved(c byte) bool {
	switch c {
	case ':', '/', '\\', '<', '>', '"', '|', '?', '*':
		return true
	}
	return false
}

// SegmentToAddress guesses the address of which s is the segment: each __ is a colon. It is for listings only: an
// address that held a slash, a run of colons or underscores of its own comes back as another one.
func SegmentToAddress(s string) string { return strings.ReplaceAll(s, "__", ":") }

// Mailbox returns the segment under which the mail for an address is put: that of its canonical form. Readers also look
// at Segment(a), where older programs put it.
func Mailbox(a string) string { return Segment(Canonical(a)) }

// An Error reports a name that may not become a file name.
type Error struct{ ID, Why string }

func (e *Error) Error() string {
	id := e.ID
	if len(id) > 60 {
		id = id[:60] + "…"
	}
	return fmt.Sprintf("id %q: %s", id, e.Why)
}

// Check returns an *Error for an id that must not touch the disk: an empty one, one with an ASCII control character, one that
// is not valid UTF-8 (two of them could look the same everywhere), and one whose segment is longer than MaxSegment. The
// existing programs accept all of these.
func Check(id string) error {
	if id == "" {
		return &Error{id, "it is empty"}
	}
	for i := range len(id) {
		if id[i] < ' ' || id[i] == 0x7f {
			return &Error{id, "it holds a control character"}
		}
	}
	if !utf8.ValidString(id) {
		return &Error{id, "it is not valid UTF-8"}
	}
	if len(id) <= MaxSegment/2 { // a segment has at most twice as many bytes
		return nil
	}
	if n := len(Segment(id)); n > MaxSegment {
		return &Error{id, fmt.Sprintf("as a file name it has %d bytes, at most %d are allowed", n, MaxSegment)}
	}
	return nil
}

// KeyName returns the part of an agent's key files that stands for its name: each colon and each slash becomes a dash,
// one by one, and nothing else changes. So a:b and a-b share their key files. Beyond what Check refuses, a backslash and
// two dots are errors here.
func KeyName(id string) (string, error) {
	switch err := Check(id); {
	case err != nil:
		return "", err
	case strings.IndexByte(id, '\\') >= 0:
		return "", &Error{id, "it holds a backslash"}
	case strings.Contains(id, ".."):
		return "", &Error{id, "it holds two dots in a row"}
	}
	dash := func(r rune) rune {
		if r == ':' || r == '/' {
			return '-'
		}
		return r
	}
	return strings.Map(dash, id), nil
}

// KeyFiles returns the paths of an agent's two key files, in PEM, below the folder that keys are kept in.
func KeyFiles(id string) (private, public string, err error) {
	name, err := KeyName(id)
	if err != nil {
		return "", "", fmt.Errorf("name key files: %w", err)
	}
	return name + ".key.pem", name + ".pub.pem", nil
}

// Texts are instances as texts.
func Texts(all []Instance) []string {
	out := make([]string, len(all))
	for n, i := range all {
		out[n] = string(i)
	}
	return out
}

// Same tells whether two names mean one agent.
func Same(a, b string) bool { return a == b || Canonical(a) == Canonical(b) }
