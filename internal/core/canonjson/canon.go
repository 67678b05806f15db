package canonjson

import (
	"crypto/sha256"
	"encoding/hex"
)

// Canonical returns the canonical form of raw, which is one JSON value.
func Canonical(raw []byte) ([]byte, error) {
	out, err := Append(make([]byte, 0, len(raw)), raw)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Covered is Canonical for what Check has nothing to say of, and its error otherwise: one look instead of two.
func Covered(raw []byte) ([]byte, error) {
	p, err := parse(raw)
	if err != nil {
		return nil, err
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	return p.append(make([]byte, 0, len(raw)), "", false)
}

// Append appends the canonical form of raw to dst. With an error dst is returned as it was.
func Append(dst, raw []byte) ([]byte, error) {
	p, err := parse(raw)
	if err != nil {
		return dst, err
	}
	return p.append(dst, "", false)
}

// CanonicalWithout returns the canonical form of the object raw without the one member of that name: what the signature of an
// envelope covers is the envelope without "signatures". Members of members are not concerned. It is an error when raw is not an
// object.
func CanonicalWithout(raw []byte, member string) ([]byte, error) {
	out, err := AppendWithout(make([]byte, 0, len(raw)), raw, member)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// AppendWithout is CanonicalWithout that appends to dst. With an error dst is returned as it was.
func AppendWithout(dst, raw []byte, member string) ([]byte, error) {
	p, err := parse(raw)
	if err != nil {
		return dst, err
	}
	if raw[p.start] != '{' {
		return dst, faultKind.at(p.start)
	}
	return p.append(dst, member, true)
}

// Hash returns "sha256:" and the 64 lower-case hexadecimal digits of the SHA-256 of the canonical form of raw.
func Hash(raw []byte) (string, error) {
	return hash(raw, func(*parser) error { return nil })
}

// HashWhole is Hash for what Whole has nothing to say of, and its error otherwise: one look instead of two.
func HashWhole(raw []byte) (string, error) { return hash(raw, (*parser).whole) }

func hash(raw []byte, check func(*parser) error) (string, error) {
	p, err := parse(raw)
	if err != nil {
		return "", err
	}
	if err := check(p); err != nil {
		return "", err
	}
	out, err := p.append(make([]byte, 0, len(raw)), "", false)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(out)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// append writes the canonical form of what was parsed. With skip, the top-level object loses the member called without.
func (p *parser) append(dst []byte, without string, skip bool) ([]byte, error) {
	before := len(dst)
	w := writer{parser: p, dst: dst, i: p.start, without: without, skip: skip}
	if f := w.value(); f != fine {
		return dst[:before], f.at(w.i)
	}
	return w.dst, nil
}

// A writer goes through parsed text and appends its canonical form. i is where it reads; object is the number of the
// next object that opens at or behind i.
type writer struct {
	*parser
	dst     []byte
	i       int
	object  int32
	without string
	skip    bool
}

// value writes the value at i and leaves i behind it. The text has been parsed: only numbers can still be at fault.
func (w *writer) value() fault {
	switch w.src[w.i] {
	case '{':
		return w.members()
	case '[':
		return w.elements()
	case '"':
		end, escaped, _ := str(w.src, w.i+1)
		w.text(w.i, end, escaped)
		w.i = end
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		end, _ := number(w.src, w.i)
		dst, ok := appendNumber(w.dst, w.src[w.i:end])
		if !ok {
			return faultRange
		}
		w.dst, w.i = dst, end
	default:
		end, _ := atom(w.src, w.i)
		w.dst = append(w.dst, w.src[w.i:end]...)
		w.i = end
	}
	return fine
}

// text writes the string that reaches, with its quotes, from i to end.
func (w *writer) text(i, end int, escaped bool) {
	if escaped {
		w.dst = appendRewritten(w.dst, w.src[i+1:end-1])
	} else {
		w.dst = append(w.dst, w.src[i:end]...) // nothing in it needs an escape, or it would have one
	}
}

func (w *writer) elements() fault {
	w.dst = append(w.dst, '[')
	w.i = space(w.src, w.i+1)
	for w.src[w.i] != ']' {
		if w.src[w.i] == ',' {
			w.dst = append(w.dst, ',')
			w.i = space(w.src, w.i+1)
		}
		if f := w.value(); f != fine {
			return f
		}
		w.i = space(w.src, w.i)
	}
	w.dst = append(w.dst, ']')
	w.i++
	return fine
}

func (w *writer) members() fault {
	o := w.objects[w.object]
	skip := w.skip
	w.skip = false
	w.dst = append(w.dst, '{')
	first := true
	for n := o.first; n < o.last; n++ {
		m := &w.sorted[n]
		key := w.key(m)
		if skip && string(key) == w.without {
			continue
		}
		before := len(w.dst)
		if !first {
			w.dst = append(w.dst, ',')
		}
		w.text(int(m.name), int(m.nameEnd), m.escaped)
		w.dst = append(w.dst, ':')
		w.i, w.object = int(m.value), m.object
		if f := w.value(); f != fine {
			return f
		}
		if string(key) == proto { // written for its faults only
			w.dst = w.dst[:before]
			continue
		}
		first = false
	}
	w.dst = append(w.dst, '}')
	w.i, w.object = int(o.end), o.next
	return fine
}
