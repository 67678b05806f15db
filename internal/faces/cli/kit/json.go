package kit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	"tutti/internal/core/canonjson"
	"tutti/internal/core/termsafe"
)

// A List builds one JSON array of values that are JSON already.
type List struct{ buf []byte }

func (l *List) Raw(val []byte) {
	if len(l.buf) == 0 {
		l.buf = append(l.buf, '[')
	} else {
		l.buf = append(l.buf, ',')
	}
	l.buf = append(l.buf, val...)
}

func (l *List) Str(val string)            { l.Raw(canonjson.AppendString(nil, val)) }
func (l *List) Obj(val *canonjson.Object) { l.Raw(val.Bytes()) }

// Bytes returns the array. The list must not be added to afterwards.
func (l *List) Bytes() []byte {
	if len(l.buf) == 0 {
		return []byte("[]")
	}
	return append(l.buf, ']')
}

// An array prints one JSON array, element by element, in the layout of emit. What is long is written as it goes.
type array struct {
	c *Call
	n int
}

func (c *Call) Array() *array { return &array{c: c} }

func (a *array) Add(val []byte) error {
	lead := ",\n  "
	if a.n == 0 {
		lead = "[\n  "
	}
	a.n++
	a.c.Out = a.c.Lay(append(a.c.Out, lead...), val, 1)
	return a.c.FlushLong()
}

func (a *array) End() {
	last := "\n]\n"
	if a.n == 0 {
		last = "[]\n"
	}
	a.c.Out = append(a.c.Out, last...)
}

// Lay appends a JSON value as it is printed. On a terminal the characters that would do something to it, or to the lines around,
// are spelt with their numbers: others have written many of the texts. A program that reads gets them as they are.
func (c *Call) Lay(dst, raw []byte, depth int) []byte {
	from := len(dst)
	dst = canonjson.AppendIndent(dst, raw, depth)
	if c.Columns == 0 || bytes.IndexFunc(dst[from:], unsafeInJSON) < 0 {
		return dst
	}
	laid := string(dst[from:])
	dst = dst[:from]
	for _, r := range laid {
		switch {
		case !unsafeInJSON(r):
			dst = utf8.AppendRune(dst, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			dst = fmt.Appendf(dst, `\u%04x\u%04x`, high, low)
		default:
			dst = fmt.Appendf(dst, `\u%04x`, r)
		}
	}
	return dst
}

// unsafeInJSON is plain.Unsafe but for the line feeds of the layout: those of texts are spelt already.
func unsafeInJSON(r rune) bool { return r != '\n' && termsafe.Unsafe(r) }

// Marshal renders a result of ours. Its members are texts, numbers, times and lists of them, so that it cannot fail.
func Marshal(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}
