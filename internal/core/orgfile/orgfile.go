// Package orgfile reads the header of an Org file, the keyword lines at its top, and changes one line of it without
// touching any other byte.
//
//	# a comment, or nothing
//	#+TITLE: Where the tests stand
//	#+MESSAGE_TYPE: request
//
//	The body, in which #+TITLE: is text.
//
// # What a header is
//
// Before the first keyword line there may be a byte-order mark, blank lines and comment lines (# alone, or followed by a
// blank). Anything else there means that the file has no header. From the first keyword line on, the header goes to the first
// line that is blank or not a keyword line. A keyword line begins in its first column with #+, letters and underscores, and a
// colon; the rest of it, without the blanks around, is the value. Keys are returned in capitals.
//
// # One text, one message
//
// Two programs that read one file must not see two messages in it. So a key of [Known] that is given twice is a fault,
// where a reader may take the first or the last. And so is, in the header, whatever some reader ends a line at and
// others do not: a carriage return alone, a form feed, the line and paragraph separators of Unicode and their like. In
// the body they are text.
//
// [ParseHead] reads the same header from the beginning of a file, and where [Parse] gives one it gives that one: Parse
// itself looks at no more for it. What the fields mean is not known here. Everything is a pure function of its arguments;
// texts are not kept.
package orgfile

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The limits of a message. A longer message is a fault; it is not cut off, so that a caller that signs or hashes a text has
// read all of it.
const (
	MaxHeaderLines = 64       // of the lines up to the last one of the header
	MaxHeader      = 16 << 10 // bytes up to the end of the header; ParseHead needs no more of a file
	MaxValue       = 1 << 10  // bytes of one value
	MaxMessage     = 1 << 20  // bytes of a file
)

// The keys of a message between projects. Only for these is it a fault to be given twice: files of people have unknown
// keys more than once, and no reader acts on them.
const (
	Title            = "TITLE"
	ConversationID   = "CONVERSATION_ID"
	MessageType      = "MESSAGE_TYPE"
	Sequence         = "SEQUENCE"
	Timestamp        = "TIMESTAMP"
	ProtocolVersion  = "PROTOCOL_VERSION"
	RequiresTools    = "REQUIRES_TOOLS"
	ReleaseStatus    = "RELEASE_STATUS"
	WorkflowVersion  = "WORKFLOW_VERSION"
	From             = "FROM"
	To               = "TO"
	InReplyTo        = "IN_REPLY_TO"
	PushbackResponse = "PUSHBACK_RESPONSE"
)

// Known reports whether a key, in capitals, is one that readers of messages act on.
func Known(key string) bool {
	switch key {
	case Title, ConversationID, MessageType, Sequence, Timestamp, ProtocolVersion, RequiresTools, ReleaseStatus,
		WorkflowVersion, From, To, InReplyTo, PushbackResponse:
		return true
	}
	return false
}

// The codes of an Error.
const (
	NotText        = "not_text"        // no UTF-8, a NUL, or in the header a sign at which not all readers end a line
	NoFrontmatter  = "no_frontmatter"  // no keyword line before the first text
	DuplicateField = "duplicate_field" // a known key twice
	TooLarge       = "too_large"       // over a limit
)

// An Error says why a file has no header that can be read.
type Error struct {
	Code   string // one of the codes above
	Line   int    // counted from 1; 0: the file as a whole
	Detail string // in words, without text of the file except the names of known keys
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Detail
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Detail)
}

// A Field is one keyword line. Offsets count from the first byte of the file, a byte-order mark included.
type Field struct {
	Key          string // in capitals
	Value        string // as in the text, without the blanks around it
	Start, End   int    // the line, with its end
	VStart, VEnd int    // the value; both are the end of the text of the line where it is empty
}

// A Header is what stands above the body.
type Header struct {
	Fields []Field // as they stand, at least one
	Body   int     // where the body begins: behind the blank line that ended the header, or at the line that did
	CRLF   bool    // its last line that has an end ends in CR LF
	BOM    bool    // the file begins with a byte-order mark
}

// Get returns the value of a key, and whether there is a line with it. Key is in capitals.
func (h Header) Get(key string) (string, bool) {
	f, ok := h.Field(key)
	return f.Value, ok
}

// Field returns the first line with a key in capitals.
func (h Header) Field(key string) (Field, bool) {
	for i := range h.Fields {
		if h.Fields[i].Key == key {
			return h.Fields[i], true
		}
	}
	return Field{}, false
}

// Parse reads the header of a whole file. The error is an *Error.
func Parse(text []byte) (Header, error) {
	if len(text) > MaxMessage {
		return Header{}, &Error{TooLarge, 0, fmt.Sprintf("%d bytes; a message has at most %d", len(text), MaxMessage)}
	}
	if bytes.IndexByte(text, 0) >= 0 {
		return Header{}, &Error{NotText, 0, "there is a NUL byte in it"}
	}
	if !utf8.Valid(text) {
		return Header{}, &Error{NotText, 0, "it is not valid UTF-8"}
	}
	return head(text[:min(len(text), MaxHeader)], len(text) > MaxHeader)
}

// ParseHead reads the header of a file of which prefix is the beginning; more says that the file goes on behind it. Give it
// [MaxHeader] bytes, or all that there are: a header that does not end within a shorter prefix is reported as [TooLarge].
// Whether all of the file is text is not known then. The error is an *Error.
func ParseHead(prefix []byte, more bool) (Header, error) {
	if len(prefix) > MaxHeader {
		prefix, more = prefix[:MaxHeader], true
	}
	whole := prefix
	if more { // the cut may go through a character
		for n := 1; n < utf8.UTFMax && n <= len(prefix); n++ {
			if last := prefix[len(prefix)-n:]; utf8.RuneStart(last[0]) {
				if !utf8.FullRune(last) {
					whole = prefix[:len(prefix)-n]
				}
				break
			}
		}
	}
	if bytes.IndexByte(whole, 0) >= 0 {
		return Header{}, &Error{NotText, 0, "there is a NUL byte in it"}
	}
	if !utf8.Valid(whole) {
		return Header{}, &Error{NotText, 0, "it is not valid UTF-8"}
	}
	return head(prefix, more)
}

var bom = []byte("\ufeff")

// head reads the lines of a header from the beginning of a text that is UTF-8 but for a character that is cut at the end.
func head(text []byte, more bool) (Header, error) {
	var h Header
	at := 0
	if bytes.HasPrefix(text, bom) {
		h.BOM, at = true, len(bom)
	}
	for n := 1; at < len(text); n++ {
		end, cut := len(text), more
		if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
			end, cut = at+i+1, false
		}
		line := text[at:end]
		key, colon := keyword(line)
		switch {
		case cut && mayBecome(line, len(h.Fields) > 0):
			return Header{}, &Error{TooLarge, n, fmt.Sprintf("the header does not end within %d bytes", len(text))}
		case key == 0 && len(h.Fields) == 0 && !skipped(line):
			return Header{}, &Error{NoFrontmatter, n, "there is text before the first keyword line"}
		case key == 0 && len(h.Fields) > 0:
			h.Body = at
			if blank(line) {
				h.Body = end
			}
			h.values(text)
			return h, nil
		case n > MaxHeaderLines:
			return Header{}, &Error{TooLarge, n, fmt.Sprintf("the header has more than %d lines", MaxHeaderLines)}
		}
		if odd := oddBreak(line); odd >= 0 {
			return Header{}, &Error{NotText, n, fmt.Sprintf("the sign at byte %d ends a line for some readers and not for others", at+odd+1)}
		}
		if key > 0 {
			if err := h.add(text, at, end, key, colon, n); err != nil {
				return Header{}, err
			}
		}
		at = end
	}
	switch {
	case len(h.Fields) == 0 && more:
		return Header{}, &Error{TooLarge, 0, fmt.Sprintf("no header within %d bytes", len(text))}
	case len(h.Fields) == 0:
		return Header{}, &Error{NoFrontmatter, 0, "there is no keyword line"}
	case more: // the next line is not to be seen
		return Header{}, &Error{TooLarge, 0, fmt.Sprintf("the header does not end within %d bytes", len(text))}
	}
	h.Body = len(text)
	h.values(text)
	return h, nil
}

// values gives each field its value. All are parts of one string: a header is one allocation, not one for each line.
func (h *Header) values(text []byte) {
	from := h.Fields[0].VStart
	all := string(text[from:h.Fields[len(h.Fields)-1].VEnd])
	for i := range h.Fields {
		f := &h.Fields[i]
		f.Value = all[f.VStart-from : f.VEnd-from]
	}
}

// add appends the keyword line text[at:end], whose key is that long and whose colon stands at that place of the line.
func (h *Header) add(text []byte, at, end, key, colon, n int) error {
	line := text[at:end]
	f := Field{Key: capitals(line[2 : 2+key]), Start: at, End: end}
	if Known(f.Key) {
		if _, twice := h.Field(f.Key); twice {
			return &Error{DuplicateField, n, f.Key + " is given twice"}
		}
	}
	rest := line[colon+1:]
	value := bytes.TrimRightFunc(rest, unicode.IsSpace)
	f.VEnd = at + colon + 1 + len(value)
	value = bytes.TrimLeftFunc(value, unicode.IsSpace)
	f.VStart = f.VEnd - len(value)
	if len(value) == 0 { // behind the blanks, so that a value put there stands apart from the colon if it did
		f.VStart = at + colon + 1 + len(bytes.TrimRight(rest, "\r\n"))
		f.VEnd = f.VStart
	}
	if len(value) > MaxValue {
		return &Error{TooLarge, n, fmt.Sprintf("a value of %d bytes; at most %d", len(value), MaxValue)}
	}
	if h.Fields == nil {
		h.Fields = make([]Field, 0, 12) // most messages have eight
	}
	h.Fields = append(h.Fields, f)
	if ended := bytes.HasSuffix(line, []byte("\n")); ended {
		h.CRLF = bytes.HasSuffix(line, []byte("\r\n"))
	}
	return nil
}

// keyword returns the length of the key of a keyword line and the place of its colon; 0: it is not a keyword line.
func keyword(line []byte) (key, colon int) {
	if len(line) < 4 || line[0] != '#' || line[1] != '+' {
		return 0, 0
	}
	i := 2
	for i < len(line) && keyByte(line[i]) {
		i++
	}
	if i == 2 || i == len(line) || line[i] != ':' {
		return 0, 0
	}
	return i - 2, i
}

func keyByte(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' }

// mayBecome reports whether a line that is cut may belong to the header or not, by what was cut off: a header has begun
// and the line is a keyword line, or blank, or their beginning; or none has begun, and it is one of those that may stand
// before it.
func mayBecome(line []byte, begun bool) bool {
	if blank(line) || !utf8.Valid(line) && blank(trimCut(line)) {
		return true
	}
	if line[0] != '#' {
		return false
	}
	if len(line) == 1 || line[1] != '+' {
		return len(line) == 1 || !begun && skipped(line)
	}
	i := 2
	for i < len(line) && keyByte(line[i]) {
		i++
	}
	return i == len(line) || i > 2 && line[i] == ':'
}

// trimCut takes off the bytes of a character that is not whole.
func trimCut(line []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(line); n++ {
		if utf8.RuneStart(line[len(line)-n]) {
			return line[:len(line)-n]
		}
	}
	return line
}

// skipped reports whether a line may stand before the header: blank, or a comment.
func skipped(line []byte) bool {
	return blank(line) || line[0] == '#' && (len(line) == 1 || line[1] == ' ' || line[1] == '\t' || line[1] == '\r' || line[1] == '\n')
}

func blank(line []byte) bool { return len(bytes.TrimSpace(line)) == 0 }

// oddBreak returns the place in a line of what ends a line for some readers and not for others; -1: nothing. Python's
// str.splitlines is the reader that knows most of them.
func oddBreak(line []byte) int {
	for i, c := range line {
		switch {
		case c >= 0x20 && c < 0xc2:
		case c == '\v', c == '\f', 0x1c <= c && c <= 0x1e,
			c == '\r' && (i+1 == len(line) || line[i+1] != '\n'),
			c == 0xc2 && bytes.HasPrefix(line[i:], []byte("\u0085")),
			c == 0xe2 && (bytes.HasPrefix(line[i:], []byte("\u2028")) || bytes.HasPrefix(line[i:], []byte("\u2029"))):
			return i
		}
	}
	return -1
}

// capitals returns a key in capitals. A known one is the constant, so that a caller that keeps the keys of ten thousand files
// does not keep ten thousand copies.
func capitals(key []byte) string {
	switch string(key) {
	case Title:
		return Title
	case ConversationID:
		return ConversationID
	case MessageType:
		return MessageType
	case Sequence:
		return Sequence
	case Timestamp:
		return Timestamp
	case ProtocolVersion:
		return ProtocolVersion
	case ReleaseStatus:
		return ReleaseStatus
	case From:
		return From
	case To:
		return To
	}
	return strings.ToUpper(string(key))
}
