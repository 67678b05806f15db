package server

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tutti/internal/core/render"
	"tutti/internal/core/termsafe"
	"tutti/internal/faces/mcp/wire"
)

// A row is one element of a list that is answered.
type row[T any] struct {
	key  string            // its place in the order of the list, which is that of these keys
	id   string            // by which it is named when it is too long to be shown
	make func() (T, error) // the element; errLeftOut leaves it out
}

var errLeftOut = errors.New("left out of the list")

// A list is answered in pages: as many rows as fit, and the cursor behind the last one.
type list struct {
	more   string // what to call to go on, for people
	hint   string // how a row is read that is too long for any page
	limit  int    // rows of a page; 0: as many as fit
	cursor string // key behind which the page begins
}

// A page is a part of a list.
type page[T any] struct {
	rows []T
	ids  []string // of the rows
	pageTail
}

// A pageTail stands behind the rows of a page.
type pageTail struct {
	omissions
	pageNext
}

// omissions are rows that are too long to be shown.
type omissions struct {
	Omitted []omittedRow `json:"omitted,omitempty"`
}

// An omittedRow names a row that is too long for any answer.
type omittedRow struct {
	ID   string `json:"id"`
	Size int    `json:"size"` // bytes
	Hint string `json:"hint"` // how to read it
}

// A pageNext says how to go on. It is absent on the last page.
type pageNext struct {
	Left int    `json:"left,omitempty"` // rows that follow
	Next string `json:"next,omitempty"` // the cursor of the next page
	More string `json:"more,omitempty"` // what to call
}

// paged reads the arguments that every list has.
func (c *call) paged(hint string) list {
	return list{more: c.tool, hint: hint, limit: c.count("limit", 0, 1<<20), cursor: c.text("cursor")}
}

// answerPage answers with a page of rows, by the arguments that every list has.
func answerPage[T any](c *call, hint string, rows []row[T], answer func(page[T]) any) (any, error) {
	return fill(c.paged(hint), rows, answer)
}

// numbered are the rows of a list that has its order already.
func numbered[T, V any](all []T, id func(T) string, element func(T) V) []row[V] {
	rows := make([]row[V], len(all))
	for n, one := range all {
		rows[n] = row[V]{key: rowKey(n), id: id(one), make: func() (V, error) { return element(one), nil }}
	}
	return rows
}

// rowKey is the place of a row in such a list.
func rowKey(n int) string { return fmt.Sprintf("%09d", n) }

// maxOmitted is how many rows of one page are named because they are too long; a page ends at the next one.
const maxOmitted = 10

// fill makes the answer with as many rows as fit.
func fill[T any](l list, rows []row[T], answer func(page[T]) any) (any, error) {
	slices.SortFunc(rows, func(a, b row[T]) int { return strings.Compare(a.key, b.key) })
	if l.cursor != "" {
		at, found := slices.BinarySearchFunc(rows, l.cursor, func(r row[T], key string) int { return strings.Compare(r.key, key) })
		if found {
			at++
		}
		rows = rows[at:]
	}
	p := filling[T]{list: l, answer: answer, page: page[T]{rows: []T{}}}
	for n, r := range rows {
		full, err := p.add(r)
		if err != nil {
			return nil, err
		}
		if full {
			return p.result(len(rows) - n), nil
		}
	}
	return p.result(0), nil
}

// A filling is a page that is being filled.
type filling[T any] struct {
	list
	page[T]
	answer func(page[T]) any
	last   string // key of the last row that is dealt with
}

// add puts a row on the page. full: there is no room for it, or the caller asked for no more.
func (p *filling[T]) add(r row[T]) (full bool, err error) {
	if p.limit > 0 && len(p.rows) >= p.limit {
		return true, nil
	}
	one, err := r.make()
	if errors.Is(err, errLeftOut) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	before := *p
	p.rows, p.ids, p.last = append(p.rows, one), append(p.ids, r.id), r.key
	if fits(p.result(1)) {
		return false, nil
	}
	*p = before
	if len(p.rows)+len(p.Omitted) > 0 && p.fitsAlone(one, r) {
		return true, nil // on the next page
	}
	if len(p.Omitted) == maxOmitted {
		return true, nil
	}
	p.Omitted = append(p.Omitted, omittedRow{termsafe.Cut(r.id, maxWord), len(render.JSON(one)), p.hint})
	p.last = r.key
	if fits(p.result(1)) {
		return false, nil
	}
	*p = before
	return true, nil
}

// fitsAlone tells whether a row would fit on a page of its own.
func (p *filling[T]) fitsAlone(one T, r row[T]) bool {
	alone := filling[T]{list: p.list, answer: p.answer, page: page[T]{rows: []T{one}, ids: []string{r.id}}, last: r.key}
	return fits(alone.result(1))
}

// result is the answer with what is on the page so far.
func (p *filling[T]) result(left int) any {
	page := p.page
	if left > 0 {
		page.pageNext = pageNext{left, p.last, fmt.Sprintf(`there are more: call %s again with "cursor" set to the value of "next"`, p.more)}
	}
	return p.answer(page)
}

// fits tells whether an answer is short enough.
func fits(answer any) bool { return wire.Fits(render.JSON(answer)) }

// maxWord limits an id, name or address of others, in bytes: ours are shorter.
const maxWord = 250
