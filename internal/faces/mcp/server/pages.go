package server

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"tutti/internal/core/canonjson"
	"tutti/internal/core/termsafe"
	"tutti/internal/faces/mcp/wire"
)

// A row is one element of a list that is answered.
type row struct {
	key  string                 // its place in the order of the list, which is that of these keys
	id   string                 // by which it is named when it is too long to be shown
	make func() ([]byte, error) // the element; nil bytes leave it out
}

// A list is answered in pages: as many rows as fit, and the cursor behind the last one.
type list struct {
	member string // under which the rows stand
	more   string // what to call to go on, for people
	hint   string // how a row is read that is too long for any page
	limit  int    // rows of a page; 0: as many as fit
	cursor string // key behind which the page begins
}

// paged reads the arguments that every list has.
func (c *call) paged(member, hint string) list {
	return list{
		member: member, more: c.tool, hint: hint,
		limit: c.count("limit", 0, 1<<20), cursor: c.text("cursor"),
	}
}

// page adds a page of rows to an object, by the arguments that every list has.
func (c *call) page(o *canonjson.Object, member, hint string, rows []row) (*canonjson.Object, error) {
	l := c.paged(member, hint)
	return o, l.fill(o, rows)
}

// numbered are the rows of a list that has its order already.
func numbered[T any](all []T, id func(T) string, element func(T) []byte) []row {
	rows := make([]row, len(all))
	for n, one := range all {
		rows[n] = row{key: rowKey(n), id: id(one), make: func() ([]byte, error) { return element(one), nil }}
	}
	return rows
}

// rowKey is the place of a row in such a list.
func rowKey(n int) string { return fmt.Sprintf("%09d", n) }

// maxOmitted is how many rows of one page are named because they are too long; a page ends at the next one.
const maxOmitted = 10

// fill adds a page of rows to an object, which may have members already. finish adds what depends on the page.
func (l *list) fill(o *canonjson.Object, rows []row) error {
	return l.fillWith(o, rows, func(*canonjson.Object, []string) {})
}

// fillWith is fill with members that are made from the ids of the rows that are shown.
func (l *list) fillWith(o *canonjson.Object, rows []row, finish func(*canonjson.Object, []string)) error {
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.key, b.key) })
	if l.cursor != "" {
		at, found := slices.BinarySearchFunc(rows, l.cursor, func(r row, key string) int { return strings.Compare(r.key, key) })
		if found {
			at++
		}
		rows = rows[at:]
	}
	p := page{list: l, head: o, finish: finish}
	for n, r := range rows {
		full, err := p.add(r)
		if err != nil {
			return err
		}
		if full {
			p.left = len(rows) - n
			break
		}
	}
	*o = *p.object(p.left)
	return nil
}

// A page is being filled.
type page struct {
	*list
	head    *canonjson.Object
	finish  func(*canonjson.Object, []string)
	shown   [][]byte
	ids     []string
	omitted [][]byte
	last    string // key of the last row that is dealt with
	left    int
}

// add puts a row on the page. full: there is no room for it, or no more are wanted.
func (p *page) add(r row) (full bool, err error) {
	if p.limit > 0 && len(p.shown) >= p.limit {
		return true, nil
	}
	raw, err := r.make()
	if err != nil || raw == nil {
		return false, err
	}
	before := *p
	p.shown, p.ids, p.last = append(p.shown, raw), append(p.ids, r.id), r.key
	if wire.Fits(p.object(1).Bytes()) {
		return false, nil
	}
	*p = before
	if len(p.shown)+len(p.omitted) > 0 && p.fitsAlone(raw, r) {
		return true, nil // on the next page
	}
	if len(p.omitted) == maxOmitted {
		return true, nil
	}
	var o canonjson.Object
	o.Str("id", termsafe.Cut(r.id, maxWord))
	o.Int("size", int64(len(raw)))
	o.Str("hint", p.hint)
	p.omitted, p.last = append(p.omitted, o.Bytes()), r.key
	if wire.Fits(p.object(1).Bytes()) {
		return false, nil
	}
	*p = before
	return true, nil
}

// fitsAlone tells whether a row would fit on a page of its own.
func (p *page) fitsAlone(raw []byte, r row) bool {
	alone := page{list: p.list, head: p.head, finish: p.finish, shown: [][]byte{raw}, ids: []string{r.id}, last: r.key}
	return wire.Fits(alone.object(1).Bytes())
}

// object is the answer with what is on the page so far.
func (p *page) object(left int) *canonjson.Object {
	o := copyOf(p.head)
	o.Raw(p.member, array(p.shown))
	if len(p.omitted) > 0 {
		o.Raw("omitted", array(p.omitted))
	}
	p.finish(o, p.ids)
	if left > 0 {
		o.Int("left", int64(left))
		o.Str("next", p.last)
		o.Str("more", fmt.Sprintf(`there are more: call %s again with "cursor" set to the value of "next"`, p.more))
	}
	return o
}

// copyOf is an object to which may be added without changing the other one.
func copyOf(o *canonjson.Object) *canonjson.Object {
	next := new(canonjson.Object)
	for name, value := range canonjson.Members(o.Bytes()) {
		next.Raw(name, value)
	}
	return next
}

// array joins values that are JSON.
func array(all [][]byte) []byte {
	return slices.Concat([]byte("["), bytes.Join(all, []byte(",")), []byte("]"))
}

// maxWord is the most that is told of an id, name or address of others, in bytes: what we write ourselves is shorter.
const maxWord = 250
