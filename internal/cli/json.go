package cli

import (
	"slices"

	"tutti/internal/canonjson"
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
	a.c.out = canonjson.AppendIndent(append(a.c.out, lead...), val, 1)
	return a.c.flushLong()
}

func (a *array) end() {
	last := "\n]\n"
	if a.n == 0 {
		last = "[]\n"
	}
	a.c.out = append(a.c.out, last...)
}
