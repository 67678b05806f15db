package settings

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"
)

// checkText refuses what no format of ours may hold.
func checkText(text []byte) error {
	if len(text) > MaxSize {
		return fmt.Errorf("the text has %d bytes, and %d are the limit", len(text), MaxSize)
	}
	if i := bytes.IndexByte(text, 0); i >= 0 {
		return fault(text, i, "a byte with the value zero")
	}
	if utf8.Valid(text) {
		return nil
	}
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n == 1 {
			return fault(text, i, "this is not UTF-8")
		}
		i += n
	}
	return nil
}

// fault is an error about the byte at an offset.
func fault(text []byte, at int, format string, args ...any) error {
	at = min(at, len(text))
	line := bytes.Count(text[:at], []byte("\n")) + 1
	return &SyntaxError{Line: line, Column: at - lineStart(text, at) + 1, Reason: fmt.Sprintf(format, args...)}
}

// A splice puts a text in the place of a range of bytes.
type splice struct {
	from, to int
	with     string
}

// apply makes changes to a text. Every byte outside of their ranges is copied as it is.
func apply(text []byte, changes ...splice) ([]byte, error) {
	slices.SortStableFunc(changes, func(a, b splice) int { return cmp.Compare(a.from, b.from) })
	out := make([]byte, 0, len(text)+256)
	at := 0
	for _, c := range changes {
		if c.from < at || c.to < c.from || c.to > len(text) {
			return nil, fmt.Errorf("two changes meet at byte %d: %w", c.from, ErrUnsafe)
		}
		out = append(append(out, text[at:c.from]...), c.with...)
		at = c.to
	}
	return append(out, text[at:]...), nil
}

// eolOf returns how lines of a text end: as the first one does.
func eolOf(text []byte) string {
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// lineStart returns where the line of an offset begins.
func lineStart(text []byte, at int) int { return bytes.LastIndexByte(text[:at], '\n') + 1 }

// lineEnd returns where the line of an offset ends, behind its end mark.
func lineEnd(text []byte, at int) int {
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(text)
}

// indentOf returns the blanks at the beginning of the line of an offset.
func indentOf(text []byte, at int) string {
	s := lineStart(text, at)
	return string(text[s:skipBlanks(text, s)])
}

// skipBlanks goes over spaces and tabs.
func skipBlanks(text []byte, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\t') {
		at++
	}
	return at
}

// backBlanks goes back over spaces and tabs.
func backBlanks(text []byte, at int) int {
	for at > 0 && (text[at-1] == ' ' || text[at-1] == '\t') {
		at--
	}
	return at
}

// backEOL goes back over one end of a line.
func backEOL(text []byte, at int) int {
	if at > 0 && text[at-1] == '\n' {
		at--
		if at > 0 && text[at-1] == '\r' {
			at--
		}
	}
	return at
}

// blankLine says whether a line has nothing on it.
func blankLine(line []byte) bool { return len(bytes.TrimSpace(line)) == 0 }

// commentLine says whether a line has only a comment of the form # on it.
func commentLine(line []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(line, " \t"), []byte("#"))
}

// checkDepth refuses a text in which brackets stand in each other too deep, before a parser that calls itself reads it. It knows
// strings and comments, and leaves every other fault to the parser.
func checkDepth(text []byte, skip func(text []byte, at int) int) error {
	depth, dots := 0, 0
	for i := 0; i < len(text); {
		if j := skip(text, i); j > i {
			i = j
			continue
		}
		switch text[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '.':
			dots++
		case '\n', ',', '=':
			dots = 0
		}
		// Dots lead into tables too, in TOML. In JSON there are none to speak of outside of strings.
		if depth > MaxDepth || dots > MaxDepth {
			return fault(text, i, "more than %d tables and lists in each other", MaxDepth)
		}
		i++
	}
	return nil
}
