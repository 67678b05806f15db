// Package text changes another program's text by ranges of bytes.
//
// It knows lines and bytes. What they mean, and where a change has a safe place, is the caller's, who reads the result again before it
// counts.
package text

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// A Splice puts a text in the place of a range of bytes.
type Splice struct {
	From, To int
	With     string
}

// Put returns the splice that puts a text in the place of a range. An empty range is an insertion, an empty text takes the range away.
func Put(from, to int, with string) Splice { return Splice{From: from, To: to, With: with} }

// ErrOverlap is in the chain of the error about changes that touch each other, or that lie outside of the text.
var ErrOverlap = errors.New("two changes meet")

// Apply makes changes to a text, in the order in which they stand in it. What is inserted where another range begins stands before it.
func Apply(text []byte, changes ...Splice) ([]byte, error) {
	slices.SortStableFunc(changes, func(a, b Splice) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	size := len(text)
	for _, c := range changes {
		size += len(c.With)
	}
	out := make([]byte, 0, size)
	at := 0
	for _, c := range changes {
		if c.From < at || c.To < c.From || c.To > len(text) {
			return nil, fmt.Errorf("byte %d: %w", c.From, ErrOverlap)
		}
		out = append(append(out, text[at:c.From]...), c.With...)
		at = c.To
	}
	return append(out, text[at:]...), nil
}

// EOL returns how lines of a text end: as the first one does.
func EOL(text []byte) string {
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// LineStart returns where the line of an offset begins.
func LineStart(text []byte, at int) int { return bytes.LastIndexByte(text[:at], '\n') + 1 }

// LineEnd returns where the line of an offset ends, behind its end mark.
func LineEnd(text []byte, at int) int {
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(text)
}

// Line returns the number of the line of an offset, from one.
func Line(text []byte, at int) int { return bytes.Count(text[:at], []byte("\n")) + 1 }

// Blank reports whether a line has nothing on it.
func Blank(line []byte) bool { return len(bytes.TrimSpace(line)) == 0 }

// Comment reports whether a line has a comment on it, of the form #, and nothing else.
func Comment(line []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(line, " \t"), []byte("#")) }

// Flaw finds the first byte that no format for people may hold: one with the value zero, or what is not UTF-8. at is -1 when there is none.
func Flaw(text []byte) (at int, reason string) {
	if i := bytes.IndexByte(text, 0); i >= 0 {
		return i, "a byte with the value zero"
	}
	if utf8.Valid(text) {
		return -1, ""
	}
	for at < len(text) {
		r, n := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	return at, "this is not UTF-8"
}
