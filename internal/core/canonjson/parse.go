package canonjson

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// proto is the name that an ECMAScript object takes for something else than a member.
const proto = "__proto__"

// maxText keeps offsets within 32 bits, with room to spare.
const maxText = 1 << 30

// A parser holds what must be known of a text before it can be written in another order: its objects, each with its
// members sorted. Arrays and plain values are read again from the text. Memory is proportional to the number of members,
// time to the length of the text and to sorting.
type parser struct {
	src     []byte
	start   int      // where the value begins
	objects []object // in the order in which they open
	sorted  []member // of closed objects, those of one object together and sorted
	open    []member // of objects that are still open, innermost last
	decoded []byte   // keys that are spelled with escapes
	proto   int      // offset of the first member called __proto__, -1 without one
	twice   int      // offset of a member of whose name its object has a later one, -1 without one
	huge    int      // offset of the first number beyond the range of doubles, -1 without one
}

type object struct {
	first, last int32 // its members
	end         int32 // offset behind its closing brace
	next        int32 // number of the first object that opens behind that
}

type member struct {
	index         int64 // value of an integer-like key, -1 for others
	key, keyEnd   int32 // the decoded key: in decoded if escaped, in src if not
	name, nameEnd int32 // the name in src, with its quotes
	value         int32
	valueEnd      int32
	object        int32 // number of the first object that opens at or behind value
	escaped       bool
}

// parse reads one value.
func parse(raw []byte) (*parser, error) {
	if len(raw) > maxText {
		return nil, faultSize.at(maxText)
	}
	p := &parser{src: raw, proto: -1, huge: -1, twice: -1}
	p.start = space(raw, 0)
	i, f := p.parseValue(p.start, 0)
	if f == fine {
		if i = space(raw, i); i < len(raw) {
			f = faultTrailing
		}
	}
	if f != fine {
		return nil, f.at(i)
	}
	return p, nil
}

func (p *parser) parseValue(i, depth int) (int, fault) {
	if i >= len(p.src) {
		return len(p.src), faultEnd
	}
	switch c := p.src[i]; c {
	case '"':
		i, _, f := str(p.src, i+1)
		return i, f
	case '{', '[':
		if depth == MaxDepth {
			return i, faultDepth
		}
		if c == '[' {
			return p.parseArray(i+1, depth+1)
		}
		return p.parseObject(i+1, depth+1)
	}
	end, f := atom(p.src, i)
	if f == fine && p.huge < 0 && tooLarge(p.src[i:end]) {
		p.huge = i
	}
	return end, f
}

// tooLarge reports whether text is a number beyond the range of doubles.
func tooLarge(text []byte) bool {
	if len(text) < 300 && bytes.IndexByte(text, 'e') < 0 && bytes.IndexByte(text, 'E') < 0 || text[0] > '9' {
		return false
	}
	_, err := strconv.ParseFloat(string(text), 64)
	return err != nil
}

func (p *parser) parseArray(i, depth int) (int, fault) {
	i = space(p.src, i)
	if i < len(p.src) && p.src[i] == ']' {
		return i + 1, fine
	}
	for {
		var f fault
		if i, f = p.parseValue(i, depth); f != fine {
			return i, f
		}
		if i = space(p.src, i); i >= len(p.src) {
			return i, faultEnd
		}
		switch p.src[i] {
		case ']':
			return i + 1, fine
		case ',':
			i = space(p.src, i+1)
		default:
			return i, faultArray
		}
	}
}

func (p *parser) parseObject(i, depth int) (int, fault) {
	number, base := len(p.objects), len(p.open)
	p.objects = append(p.objects, object{})
	i = space(p.src, i)
	if i < len(p.src) && p.src[i] == '}' {
		return p.close(number, base, i+1), fine
	}
	for {
		var f fault
		if i, f = p.parseMember(i, depth); f != fine {
			return i, f
		}
		if i = space(p.src, i); i >= len(p.src) {
			return i, faultEnd
		}
		switch p.src[i] {
		case '}':
			return p.close(number, base, i+1), fine
		case ',':
			i = space(p.src, i+1)
		default:
			return i, faultObject
		}
	}
}

func (p *parser) parseMember(i, depth int) (int, fault) {
	at, quote, _, f := name(p.src, i)
	if f != fine {
		return at, f
	}
	at = space(p.src, at)
	m := member{
		key: int32(i + 1), keyEnd: int32(quote), name: int32(i), nameEnd: int32(quote + 1),
		value: int32(at), object: int32(len(p.objects)),
	}
	if body := p.src[i+1 : quote]; bytes.IndexByte(body, '\\') >= 0 {
		m.escaped, m.key = true, int32(len(p.decoded))
		p.decoded = appendDecoded(p.decoded, body)
		m.keyEnd = int32(len(p.decoded))
	}
	key := p.key(&m)
	m.index = index(key)
	if p.proto < 0 && string(key) == proto {
		p.proto = i
	}
	own := len(p.open)
	p.open = append(p.open, m)
	at, f = p.parseValue(at, depth)
	p.open[own].valueEnd = int32(at)
	return at, f
}

func (p *parser) key(m *member) []byte {
	if m.escaped {
		return p.decoded[m.key:m.keyEnd]
	}
	return p.src[m.key:m.keyEnd]
}

// close sorts the members of an object, keeps the last of each name, and returns end.
func (p *parser) close(number, base, end int) int {
	all := p.open[base:]
	slices.SortFunc(all, func(a, b member) int { return cmp.Or(p.compare(&a, &b), cmp.Compare(a.name, b.name)) })
	first := len(p.sorted)
	p.open = p.open[:base]
	for n := range all {
		if n+1 < len(all) && p.compare(&all[n], &all[n+1]) == 0 {
			p.twice = int(all[n].name)
			continue // sorted by place, too: a later one of this name follows
		}
		p.sorted = append(p.sorted, all[n])
	}
	p.objects[number] = object{first: int32(first), last: int32(len(p.sorted)), end: int32(end), next: int32(len(p.objects))}
	return end
}

// compare orders two names: integer-like ones first, by value, the others by UTF-16 code units.
func (p *parser) compare(a, b *member) int {
	if a.index >= 0 || b.index >= 0 {
		switch {
		case b.index < 0:
			return -1
		case a.index < 0:
			return 1
		}
		return cmp.Compare(a.index, b.index)
	}
	return compareUTF16(p.key(a), p.key(b))
}

// index returns the value of a key that ECMAScript takes for an array index: decimal, no leading zero, at most 2^32-2.
// For any other key it returns -1.
func index(key []byte) int64 {
	if len(key) == 0 || len(key) > 10 || key[0] > '9' || key[0] == '0' && len(key) > 1 {
		return -1
	}
	var n int64
	for _, c := range key {
		if c-'0' > 9 {
			return -1
		}
		n = 10*n + int64(c-'0')
	}
	if n > 1<<32-2 {
		return -1
	}
	return n
}

// compareUTF16 orders two decoded keys by UTF-16 code units. That is the order of their bytes, except where a character
// beyond U+FFFF (a surrogate pair, D800 to DFFF) meets one from U+E000 to U+FFFF, or a lone surrogate.
func compareUTF16(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	if n == len(a) || n == len(b) {
		return cmp.Compare(len(a), len(b))
	}
	if a[n]&0xC0 == 0x80 || a[n] < 0xED && b[n] < 0xED { // within characters that begin alike, or two below the surrogates
		return cmp.Compare(a[n], b[n])
	}
	x, y := units{text: a[n:]}, units{text: b[n:]}
	for {
		u, more := x.next()
		v, other := y.next()
		if !more || !other || u != v {
			return cmp.Compare(u, v)
		}
	}
}

// units gives a decoded key as UTF-16 code units, one more than their value each, and 0 behind the last: so an end is
// lower than any unit.
type units struct {
	text []byte
	low  rune // second half of a pair of which the first has been given
}

func (u *units) next() (rune, bool) {
	if r := u.low; r != 0 {
		u.low = 0
		return r + 1, true
	}
	if len(u.text) == 0 {
		return 0, false
	}
	r, n := utf8.DecodeRune(u.text)
	if badRune(r, n) { // a key has been checked: this is a lone surrogate in its three bytes
		r, n = 0xD000|rune(u.text[1]&0x3F)<<6|rune(u.text[2]&0x3F), 3
	}
	u.text = u.text[n:]
	if r > 0xFFFF {
		r, u.low = utf16.EncodeRune(r)
	}
	return r + 1, true
}
