package text

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// A Fault is what is wrong with a text, and in which line.
type Fault struct {
	Line   int
	Reason string
	Cause  error // may be nil
}

func (e *Fault) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }
func (e *Fault) Unwrap() error { return e.Cause }

// ErrSecond is in the chain of the error about a text with more than one document.
var ErrSecond = errors.New("a second document begins here")

// maxDirectives bounds the lines that begin with %. The parser compares each of them with all others, and people write one at most.
const maxDirectives = 100

// One reads a text that has one document and returns what it is about, nil where it is about nothing. The error is a *Fault.
func One(src []byte) (*yaml.Node, error) {
	if bytes.Count(src, []byte("\n%")) > maxDirectives {
		return nil, &Fault{Line: 1, Reason: fmt.Sprintf("more than %d lines begin with %%", maxDirectives)}
	}
	dec := yaml.NewDecoder(bytes.NewReader(src))
	var doc, second yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, faultOf(err)
	}
	switch err := dec.Decode(&second); {
	case err == nil:
		return nil, &Fault{Line: second.Line, Reason: ErrSecond.Error(), Cause: ErrSecond}
	case !errors.Is(err, io.EOF):
		return nil, faultOf(err)
	}
	if len(doc.Content) != 1 {
		return nil, &Fault{Line: 1, Reason: "the text is not a document"}
	}
	return doc.Content[0], nil
}

var faultLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`line (\d+): `)
})

// faultOf takes the line out of what the parser says.
func faultOf(err error) error {
	src := strings.TrimPrefix(err.Error(), "yaml: ")
	m := faultLine().FindStringSubmatchIndex(src)
	if m == nil {
		return &Fault{Line: 1, Reason: src}
	}
	line, _ := strconv.Atoi(src[m[2]:m[3]])
	return &Fault{Line: line, Reason: src[:m[0]] + src[m[1]:]}
}

// Lines are the offsets at which the lines of a text begin.
type Lines []int

// LinesOf finds the lines of a text.
func LinesOf(src []byte) Lines {
	lines := make(Lines, 1, bytes.Count(src, []byte("\n"))+1)
	for i := 0; i < len(src); {
		if i = LineEnd(src, i); i < len(src) || src[i-1] == '\n' {
			lines = append(lines, i)
		}
	}
	return lines
}

// Offset returns where a part of the text begins. The parser counts characters.
func (l Lines) Offset(src []byte, n *yaml.Node) int {
	if n.Line < 1 || n.Line > len(l) {
		return len(src)
	}
	at := l[n.Line-1]
	for range n.Column - 1 {
		_, size := utf8.DecodeRune(src[at:])
		at += size
	}
	return at
}

// ContentEnd goes back from an offset over blank lines, and over comments that stand further left than what they could belong to: those that
// are indented by less than indent. It does not go back before from.
func ContentEnd(src []byte, from, to, indent int) int {
	for to > from {
		above := LineStart(src, to-1)
		line := src[above:to]
		if !Blank(line) && (!Comment(line) || len(line)-len(bytes.TrimLeft(line, " \t")) >= indent) {
			break
		}
		to = above
	}
	return max(from, to)
}
