package index

import (
	"fmt"
	"unsafe"
)

// raw returns the body as it is stored.
func (r *Row) raw() (string, error) {
	if r.body != "" || r.from == nil {
		return r.body, nil
	}
	b, err := r.read(&r.from.bodies)
	return string(b), err
}

// read reads the body through a window over its section. The body is valid until the window moves.
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

// Summary is the summary of Body, for callers that do not need the keys.
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

// Bodies are all bodies of one table in memory, where they stay when it is closed. Who keeps one of them keeps all.
type Bodies struct {
	of  [2]*part
	all [2][]byte // which never changes once they are read
}

// mostBodies limits what is read at once: a hundred thousand messages. What is larger is read row by row.
const mostBodies = 64 << 20

// Bodies reads them in one go: to read those of ten thousand rows one by one takes longer than to check them. It may run beside
// the other methods, but for Close. Bodies that cannot be read are those of no row: asking the row for its own returns why.
func (t *Table) Bodies() *Bodies {
	b := &Bodies{of: [2]*part{t.base, t.more}}
	for i, p := range b.of {
		if p == nil || p.bodies.size == 0 || p.bodies.size > mostBodies {
			continue
		}
		all := make([]byte, p.bodies.size)
		getPages(all)
		if readInto(p.bodies.fd, p.bodies.start, all) == nil {
			b.all[i] = all
		}
	}
	return b
}

// Hold gives a row its body; several goroutines may do so at once. A row that is damaged stays as it is: asking for its body
// returns the error.
func (b *Bodies) Hold(r *Row) {
	for i, p := range b.of {
		all := b.all[i]
		outside := r.off < 0 || r.size <= 0 || r.off > int64(len(all)) || int64(r.size) > int64(len(all))-r.off
		if p == nil || r.from != p || outside {
			continue
		}
		if body := all[r.off:][:r.size]; sum(0, body) == r.sum {
			r.body = unsafe.String(unsafe.SliceData(body), len(body))
		}
	}
}
