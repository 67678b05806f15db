package index

import (
	"fmt"
	"strings"
)

// raw returns the body as it is stored.
func (r *Row) raw() (string, error) {
	if r.body != "" || r.from == nil {
		return r.body, nil
	}
	b, err := r.read(&r.from.bodies)
	return string(b), err
}

// read reads the body through a window over the section that it lies in. It is valid until the window moves.
func (r *Row) read(from *section) ([]byte, error) {
	b, err := from.bytes(r.off, r.size)
	if err == nil && sum(0, b) != r.sum {
		err = fmt.Errorf("%w: body of row %d damaged", ErrBad, r.pos)
	}
	return b, err
}

// Body returns keys and summary. A row whose table is damaged there gives ErrBad; one that comes from NewRow has its body
// with it.
func (r *Row) Body() (keys []string, summary string, err error) {
	b, err := r.raw()
	if err != nil {
		return nil, "", err
	}
	n, b, ok := count(b)
	if !ok {
		return nil, "", errBody
	}
	if n > 0 {
		keys = make([]string, n)
	}
	for i := range keys {
		size, rest, ok := count(b)
		if !ok {
			return nil, "", errBody
		}
		keys[i], b = rest[:size], rest[size:]
	}
	return keys, b, nil
}

// Summary is the summary of Body, for who does not ask for the keys.
func (r *Row) Summary() (string, error) {
	b, err := r.raw()
	if err != nil {
		return "", err
	}
	n, b, ok := count(b)
	for ; ok && n > 0; n-- {
		var size int
		if size, b, ok = count(b); ok {
			b = b[size:]
		}
	}
	if !ok {
		return "", errBody
	}
	return b, nil
}

var errBody = fmt.Errorf("%w: body makes no sense", ErrBad)

// count takes a number that is not larger than what is left is long.
func count(b string) (n int, rest string, ok bool) {
	for i, shift := 0, 0; i < len(b) && shift <= 28; i, shift = i+1, shift+7 {
		n |= int(b[i]&0x7f) << shift
		if b[i] < 0x80 {
			rest = b[i+1:]
			return n, rest, n <= len(rest)
		}
	}
	return 0, "", false
}

// Bodies gets the bodies of many rows of one table. It belongs to one goroutine; several may work beside each other, as long
// as the table is open.
type Bodies struct {
	of   [2]*part
	from [2]section
	room *strings.Builder
}

// Bodies returns one.
func (t *Table) Bodies() *Bodies {
	b := &Bodies{of: [2]*part{t.base, t.more}}
	for i, p := range b.of {
		if p != nil {
			b.from[i] = section{fd: p.bodies.fd, start: p.bodies.start, size: p.bodies.size, step: heldWindow, most: heldWindow}
		}
	}
	return b
}

// heldPiece is how much memory held bodies take at a time: large against most of them.
const heldPiece = 64 << 10

// heldWindow is how much is read at a time. Several goroutines go through a table by turns, some dozen rows each: what a
// window has beyond these is read in vain.
const heldWindow = 16 << 10

// Hold gets the body of a row into memory, where it stays as long as somebody keeps the row, or a part of its body. A row
// that is damaged stays as it is: who asks for its body is told.
func (b *Bodies) Hold(r *Row) {
	for i, p := range b.of {
		if r.from != p || p == nil || r.body != "" {
			continue
		}
		body, err := r.read(&b.from[i])
		if err != nil {
			return
		}
		if b.room == nil || b.room.Cap()-b.room.Len() < len(body) {
			b.room = new(strings.Builder)
			b.room.Grow(max(heldPiece, len(body)))
		}
		at := b.room.Len()
		b.room.Write(body)
		r.body = b.room.String()[at:]
	}
}
