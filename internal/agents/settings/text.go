package settings

import (
	"fmt"

	"tutti/internal/core/text"
)

// checkText refuses what no format of ours may hold.
func checkText(src []byte) error {
	if len(src) > MaxSize {
		return fmt.Errorf("the text has %d bytes, and %d are the limit", len(src), MaxSize)
	}
	if at, reason := text.Flaw(src); at >= 0 {
		return fault(src, at, "%s", reason)
	}
	return nil
}

// fault is an error about the byte at an offset.
func fault(src []byte, at int, format string, args ...any) error {
	at = min(at, len(src))
	return &SyntaxError{Line: text.Line(src, at), Column: at - text.LineStart(src, at) + 1, Reason: fmt.Sprintf(format, args...)}
}

// apply makes changes to a text. Those that meet are none for a program.
func apply(src []byte, changes ...text.Splice) ([]byte, error) {
	out, err := text.Apply(src, changes...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, ErrUnsafe)
	}
	return out, nil
}

// indentOf returns the blanks at the beginning of the line of an offset.
func indentOf(src []byte, at int) string {
	s := text.LineStart(src, at)
	return string(src[s:skipBlanks(src, s)])
}

// skipBlanks goes over spaces and tabs.
func skipBlanks(src []byte, at int) int {
	for at < len(src) && (src[at] == ' ' || src[at] == '\t') {
		at++
	}
	return at
}

// backBlanks goes back over spaces and tabs.
func backBlanks(src []byte, at int) int {
	for at > 0 && (src[at-1] == ' ' || src[at-1] == '\t') {
		at--
	}
	return at
}

// backEOL goes back over one end of a line.
func backEOL(src []byte, at int) int {
	if at > 0 && src[at-1] == '\n' {
		at--
		if at > 0 && src[at-1] == '\r' {
			at--
		}
	}
	return at
}

// checkDepth refuses a text in which brackets stand in each other too deep, before a parser that calls itself reads it. It knows
// strings and comments, and leaves every other fault to the parser.
func checkDepth(src []byte, skip func(src []byte, at int) int) error {
	depth, dots := 0, 0
	for i := 0; i < len(src); {
		if j := skip(src, i); j > i {
			i = j
			continue
		}
		switch src[i] {
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
			return fault(src, i, "more than %d tables and lists in each other", MaxDepth)
		}
		i++
	}
	return nil
}
