// Package canonjson works on JSON as text: it checks it, reads and changes single members, and brings it into the one
// canonical form that hashes and signatures are made of.
//
// Nothing here goes through maps, reflection or encoding/json, because each of these loses something that a signature
// covers: the digits of a number, a lone surrogate, the order of integer-like keys. The canonical form is that of the
// existing programs (an ECMAScript rule), not RFC 8785:
//
//   - no white space; members sorted by UTF-16 code units, but keys that are array indices ("0" to "4294967294") first,
//     in numeric order, because an ECMAScript object lists them so;
//   - a member called __proto__ is missing, at any depth; [Check] reports it, so that doors can refuse what a signature
//     would not cover;
//   - of members with one name the last one counts;
//   - strings escape only what must be escaped, lone surrogates as \udxxx in lower case; the rest is UTF-8;
//   - numbers are the shortest text that gives the same IEEE double: 1.0 is 1, -0 is 0, 1e21 is 1e+21. A number beyond
//     the range of doubles (1e400) has no canonical form and is an error.
//
// # What is accepted
//
// Strict RFC 8259: no comments, no trailing comma, no control character inside a string, no byte order mark, no text behind the
// value. Two limits are ours. Objects and arrays nest at most [MaxDepth] levels, so that hostile text cannot exhaust the stack.
// Bytes that are not valid UTF-8 are also refused where the existing programs would read U+FFFD: what they write is always
// UTF-8, and a replaced byte would let two different files have one hash.
//
// # Reading and changing
//
// Values are slices of the text they stand in: nothing is copied, and they change when the text does. The reading
// functions check what they pass over, but no more; a door calls [Check] (or [Valid], where names do not matter) on the
// whole text first. Decoded strings are UTF-8, except that a lone surrogate, which a Go string cannot hold otherwise,
// becomes its three-byte form (ED A0 80 to ED BF BF). [AppendString] turns it back into \udxxx, so that a string which is
// read and written again keeps its hash; package address refuses ids that hold one.
//
// All functions are safe for concurrent use, as long as the text does not change meanwhile.
package canonjson

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// MaxDepth is how many objects and arrays may be open at once. The existing programs have no limit but their stack;
// what people and agents write stays below 20.
const MaxDepth = 1000

// ErrProto is in the chain of the error by which Check refuses a member called __proto__.
var ErrProto = errors.New("a member is called __proto__, which no signature covers")

// An Error says where a text is not valid JSON or has no canonical form, and why.
type Error struct {
	Offset int // in bytes from the start of the text
	Why    string
	cause  error
}

func (e *Error) Error() string { return fmt.Sprintf("JSON at byte %d: %s", e.Offset, e.Why) }

// Unwrap gives ErrProto where that is the reason.
func (e *Error) Unwrap() error { return e.cause }

// A fault is the reason of an Error in the form in which the scanner hands it on. Zero is not a fault.
type fault uint8

const (
	fine fault = iota
	faultEnd
	faultValue
	faultKey
	faultColon
	faultObject
	faultArray
	faultTrailing
	faultDepth
	faultControl
	faultEscape
	faultUTF8
	faultNumber
	faultRange
	faultProto
	faultTwice
	faultSize
	faultKind
)

var faults = [...]string{
	faultEnd:      "the text ends too early",
	faultValue:    "here should be a value",
	faultKey:      "here should be a member name in double quotes",
	faultColon:    "here should be a colon",
	faultObject:   "here should be a comma or a closing brace",
	faultArray:    "here should be a comma or a closing bracket",
	faultTrailing: "something follows the value",
	faultDepth:    "nested too deeply",
	faultControl:  "a control character stands inside a string",
	faultEscape:   "a backslash is followed by something unknown",
	faultUTF8:     "the bytes are not valid UTF-8",
	faultNumber:   "the number is malformed",
	faultRange:    "the number is too large for a double",
	faultProto:    ErrProto.Error(),
	faultTwice:    "a member stands here twice, and only the last one counts",
	faultSize:     "the text is larger than 1 GiB",
	faultKind:     "here should be an object",
}

func (f fault) at(offset int) error {
	e := &Error{Offset: offset, Why: faults[f]}
	if f == faultProto {
		e.cause = ErrProto
	}
	return e
}

// Valid reports whether raw is one JSON value, with or without white space around it. It makes one pass and allocates
// nothing. It does not look at the range of numbers and lets __proto__ pass: Check does not.
func Valid(raw []byte) bool {
	i, f := scan(raw, 0)
	return f == fine && space(raw, i) == len(raw)
}

// Check returns nil if raw is one JSON value that has a canonical form which covers all of it, and an *Error otherwise: for
// text that is not valid JSON, for a number beyond the range of doubles, and, with ErrProto in the chain, for a member called
// __proto__ in whatever spelling.
func Check(raw []byte) error {
	p, err := parse(raw)
	if err != nil {
		return err
	}
	return p.check()
}

// Whole is Check that also refuses a member of a name that its object has twice: the canonical form holds the last one only, so
// that what an earlier one says could be exchanged without another hash.
func Whole(raw []byte) error {
	p, err := parse(raw)
	if err != nil {
		return err
	}
	return p.whole()
}

func (p *parser) whole() error {
	if p.twice >= 0 {
		return faultTwice.at(p.twice)
	}
	return p.check()
}

func (p *parser) check() error {
	if p.proto >= 0 {
		return faultProto.at(p.proto)
	}
	if p.huge >= 0 {
		return faultRange.at(p.huge)
	}
	return nil
}

// badRune reports whether DecodeRune met a byte that starts no rune, as opposed to a written U+FFFD.
func badRune(r rune, size int) bool { return r == utf8.RuneError && size <= 1 }
