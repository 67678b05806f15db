package canonjson

import (
	"crypto/sha256"
	"encoding/hex"
	"iter"
)

// A Dissection is an object that was parsed once, for who needs its members and the hashes of several parts of it: a line of a
// log, which holds its own hash. It must be given back with Free.
type Dissection struct {
	p     *parser
	parts []part // of the members as they are sorted
}

// A part is where a member lies in the canonical form, name and value, without a comma.
type part struct{ start, end int }

// Dissect reads an object. It is an error when raw is none, and for all that Whole refuses.
func Dissect(raw []byte) (Dissection, error) {
	p, err := parse(raw)
	if err != nil {
		return Dissection{}, err
	}
	d := Dissection{p: p}
	if raw[p.start] != '{' {
		err = faultKind.at(p.start)
	} else if err = p.whole(); err == nil {
		err = d.write()
	}
	if err != nil {
		p.free()
		return Dissection{}, err
	}
	return d, nil
}

// write writes the canonical form member by member.
func (d *Dissection) write() error {
	w := writer{parser: d.p, dst: append(d.p.out[:0], '{'), i: d.p.start}
	all := d.members()
	d.parts = d.p.parts[:0]
	for n := range all {
		m := &all[n]
		if n > 0 {
			w.dst = append(w.dst, ',')
		}
		start := len(w.dst)
		w.text(int(m.name), int(m.nameEnd), m.escaped)
		w.dst = append(w.dst, ':')
		w.i, w.object = int(m.value), m.object
		if f := w.value(); f != fine {
			return f.at(w.i)
		}
		d.parts = append(d.parts, part{start, len(w.dst)})
	}
	d.p.out, d.p.parts = append(w.dst, '}'), d.parts
	return nil
}

func (d *Dissection) members() []member {
	o := d.p.objects[0]
	return d.p.sorted[o.first:o.last]
}

// Free ends a dissection.
func (d *Dissection) Free() { d.p.free() }

// Members yields the decoded names, which are valid until Free, and the raw values, which are parts of what was dissected, in the
// order of the canonical form.
func (d *Dissection) Members() iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		all := d.members()
		for n := range all {
			m := &all[n]
			if !yield(d.p.key(m), d.p.src[m.value:m.valueEnd:m.valueEnd]) {
				return
			}
		}
	}
}

// Hash is what Hash returns for the object.
func (d *Dissection) Hash() string { return hashOf(d.p.out) }

// AppendWithout appends the canonical form of the object without the members whose names are left out.
func (d *Dissection) AppendWithout(dst []byte, out func(name []byte) bool) []byte {
	dst = append(dst, '{')
	first := true
	all := d.members()
	for n := range all {
		if out(d.p.key(&all[n])) {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(dst, d.p.out[d.parts[n].start:d.parts[n].end]...)
	}
	return append(dst, '}')
}

// HashWithout is what Hash returns for the object without the members whose names are left out.
func (d *Dissection) HashWithout(out func(name []byte) bool) string {
	d.p.scratch = d.AppendWithout(d.p.scratch[:0], out)
	return hashOf(d.p.scratch)
}

// hashOf names bytes that are canonical.
func hashOf(canonical []byte) string {
	sum := sha256.Sum256(canonical)
	var text [len(hashPrefix) + 2*sha256.Size]byte
	copy(text[:], hashPrefix)
	hex.Encode(text[len(hashPrefix):], sum[:])
	return string(text[:])
}
