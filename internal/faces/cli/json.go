package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"tutti/internal/core/canonjson"
	"tutti/internal/core/termsafe"
)

// A list builds one JSON array of values that are JSON already.
type list struct{ buf []byte }

// room makes room for so many bytes.
func (l *list) room(n int) { l.buf = slices.Grow(l.buf, n) }

func (l *list) raw(val []byte) {
	if len(l.buf) == 0 {
		l.buf = append(l.buf, '[')
	} else {
		l.buf = append(l.buf, ',')
	}
	l.buf = append(l.buf, val...)
}

func (l *list) str(val string)            { l.raw(canonjson.AppendString(nil, val)) }
func (l *list) obj(val *canonjson.Object) { l.raw(val.Bytes()) }

// bytes returns the array. The list must not be added to afterwards.
func (l *list) bytes() []byte {
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

func (c *Call) array() *array { return &array{c: c} }

func (a *array) add(val []byte) error {
	lead := ",\n  "
	if a.n == 0 {
		lead = "[\n  "
	}
	a.n++
	a.c.out = a.c.lay(append(a.c.out, lead...), val, 1)
	return a.c.flushLong()
}

func (a *array) end() {
	last := "\n]\n"
	if a.n == 0 {
		last = "[]\n"
	}
	a.c.out = append(a.c.out, last...)
}

// lay appends a JSON value as it is printed. On a terminal the characters that would do something to it, or to the lines around,
// are spelt with their numbers: others have written many of the texts. A program that reads gets them as they are.
func (c *Call) lay(dst, raw []byte, depth int) []byte {
	from := len(dst)
	dst = canonjson.AppendIndent(dst, raw, depth)
	if c.columns == 0 || bytes.IndexFunc(dst[from:], unsafeInJSON) < 0 {
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

// marshal renders a result of ours. Its members are texts, numbers, times and lists of them, so that it cannot fail.
func marshal(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}
