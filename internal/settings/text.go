package settings

import (
	"fmt"

	"tutti/internal/textedit"
)

// checkText refuses what no format of ours may hold.
func checkText(text []byte) error {
	if len(text) > MaxSize {
		return fmt.Errorf("the text has %d bytes, and %d are the limit", len(text), MaxSize)
	}
	if at, reason := textedit.Flaw(text); at >= 0 {
		return fault(text, at, "%s", reason)
	}
	return nil
}

// fault is an error about the byte at an offset.
func fault(text []byte, at int, format string, args ...any) error {
	at = min(at, len(text))
	return &SyntaxError{Line: textedit.Line(text, at), Column: at - textedit.LineStart(text, at) + 1, Reason: fmt.Sprintf(format, args...)}
}

// apply makes changes to a text. Those that meet are none for a program.
func apply(text []byte, changes ...textedit.Splice) ([]byte, error) {
	out, err := textedit.Apply(text, changes...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, ErrUnsafe)
	}
	return out, nil
}

// indentOf returns the blanks at the beginning of the line of an offset.
func indentOf(text []byte, at int) string {
	s := textedit.LineStart(text, at)
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
