package index

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Flags of a row.
type Flags uint16

// The flags. Rows that have one are found without going through the table, see [Table.Loose].
const (
	// Unsettled: the source was so young when it was read that a later write need not show in its Stat.
	Unsettled Flags = 1 << iota
	// Unfit: the source is not a document.
	Unfit
)

// A Row is what a table knows of one document. Its keys and its summary are its body; [Table.Body] gets it.
type Row struct {
	Name   string
	ID     Stat
	Flags  Flags
	Order  int64
	Stored int64 // nanoseconds since 1970

	body string // of a row that is not from a table, or whose body is held
	from *part  // of a row that is
	pos  uint32 // in from
	off  int64  // of the body in its section
	size int    // of the body
	sum  uint32 // of the body
}

// NewRow makes a row for a table that will be written. It keeps neither keys nor summary, only a copy.
func NewRow(r Row, keys []string, summary []byte) Row {
	n := binary.MaxVarintLen32 * (1 + len(keys))
	for _, k := range keys {
		n += len(k)
	}
	b := binary.AppendUvarint(make([]byte, 0, n+len(summary)), uint64(len(keys)))
	for _, k := range keys {
		b = append(binary.AppendUvarint(b, uint64(len(k))), k...)
	}
	b = append(b, summary...)
	r.from, r.body, r.size, r.sum = nil, string(b), len(b), sum(0, b)
	return r
}

// Compare is the order of a table: falling order, equal orders by rising name, and behind them what is unfit.
func Compare(a, b *Row) int {
	if unfit := a.Flags & Unfit; unfit != b.Flags&Unfit {
		return int(unfit) - int(b.Flags&Unfit)
	}
	if c := cmp.Compare(b.Order, a.Order); c != 0 {
		return c
	}
	return strings.Compare(a.Name, b.Name)
}

// A State is what was known of the folder when the table was written.
type State struct {
	Folder  Stat
	Settled bool  // Folder was old enough that a later change of its names shows in its Stat
	Scanned int64 // when the names were listed, nanoseconds since 1970
	Full    int64 // when every row was last compared with its source, nanoseconds since 1970
}

// The endings of the files of a row table: the rows as they were when all were written, and what changed since.
const (
	rowsEnding = ".rows"
	moreEnding = ".more"
)

// A Table is an open row table: a file of rows and, when it is newer, a small one of what changed since. The second
// one spares writing megabytes for each new message; without it the first one is simply an older table, and as right.
type Table struct {
	base  *part
	more  *part
	state State
	gone  []uint32 // positions in base that no longer count, rising
}

// A part is one open file of rows.
type part struct {
	head
	state   State
	baseOf  uint64   // of a typeMore file: the nonce of the file that it continues
	gone    []uint32 // of a typeMore file
	loose   []uint32 // positions of rows with flags, rising
	count   uint32
	entries section
	names   section
	bodies  section
}

// entrySize is the size of a row without name and body:
// dev 8 · ino 8 · size 8 · mtime 8 · ctime 8 · order 8 · stored 8 · offset of body 8 · offset of name 4 · size of body 4 ·
// checksum of body 4 · size of name 2 · flags 2 · checksum of these and of the name 4
const entrySize = 84

// OpenTable opens the row table of that name. fs.ErrNotExist: there is none. ErrBad: throw it away.
func (d *Dir) OpenTable(name string, of Scope) (*Table, error) {
	base, err := d.openPart(name+rowsEnding, typeRows, of)
	if err != nil {
		return nil, err
	}
	t := &Table{base: base, state: base.state}
	more, err := d.openPart(name+moreEnding, typeMore, of)
	if err != nil {
		return t, nil // absent, or damaged: base is a table without it
	}
	if more.baseOf != base.nonce {
		more.close()
		return t, nil
	}
	t.more, t.state, t.gone = more, more.state, more.gone
	return t, nil
}

func (d *Dir) openPart(name string, kind uint16, of Scope) (*part, error) {
	fd, size, err := d.open(name)
	if err != nil {
		return nil, err
	}
	p, err := readPart(fd, size, kind, of)
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

func readPart(fd int, size int64, kind uint16, of Scope) (*part, error) {
	h, u, err := readHeader(fd, size, kind)
	if err != nil {
		return nil, err
	}
	if u.scope() != of {
		return nil, fmt.Errorf("%w: made for something else", ErrBad)
	}
	p := &part{head: h}
	p.state = State{Folder: u.stat(), Settled: u.flag(), Scanned: u.i64(), Full: u.i64()}
	p.baseOf, p.count = u.u64(), u.u32()
	names, bodies := u.i64(), u.i64()
	p.loose, p.gone = u.list(), u.list()
	entries := int64(p.count) * entrySize
	if u.bad || len(u.b) != 0 || names < 0 || bodies < 0 || size-h.start-entries-names != bodies {
		return nil, fmt.Errorf("%w: header makes no sense", ErrBad)
	}
	p.entries = section{fd: fd, start: h.start, size: entries}
	p.names = section{fd: fd, start: h.start + entries, size: names}
	p.bodies = section{fd: fd, start: h.start + entries + names, size: bodies}
	return p, nil
}

func (p *part) close() { unix.Close(p.entries.fd) }

// Close gives the handles back. Rows of the table then have no body any more.
func (t *Table) Close() {
	t.base.close()
	if t.more != nil {
		t.more.close()
	}
}

// State tells what was known of the folder.
func (t *Table) State() State { return t.state }

// Len returns the number of rows, the unfit among them.
func (t *Table) Len() int {
	n := int(t.base.count) - len(t.gone)
	if t.more != nil {
		n += int(t.more.count)
	}
	return n
}

// fill reads the row at a position, without its body.
func (p *part) fill(r *Row, pos uint32) error {
	e, err := p.entries.bytes(int64(pos)*entrySize, entrySize)
	if err != nil {
		return err
	}
	le := binary.LittleEndian
	at, size := int64(le.Uint32(e[64:])), int(le.Uint16(e[76:]))
	name, err := p.names.bytes(at, size)
	if err != nil {
		return err
	}
	if le.Uint32(e[80:]) != sum(sum(seedOf(p.nonce, int(pos)), e[:80]), name) {
		return fmt.Errorf("%w: row %d damaged", ErrBad, pos)
	}
	r.ID = Stat{
		Dev: le.Uint64(e), Ino: le.Uint64(e[8:]), Size: int64(le.Uint64(e[16:])),
		Mtime: int64(le.Uint64(e[24:])), Ctime: int64(le.Uint64(e[32:])),
	}
	r.Order, r.Stored, r.off = int64(le.Uint64(e[40:])), int64(le.Uint64(e[48:])), int64(le.Uint64(e[56:]))
	r.size, r.sum, r.Flags = int(le.Uint32(e[68:])), le.Uint32(e[72:]), Flags(le.Uint16(e[78:]))
	r.body, r.from, r.pos = "", p, pos
	r.Name, err = p.names.textAt(at, size)
	return err
}

// Same tells whether two rows have the same content, not only the same source.
func (r *Row) Same(o *Row) bool {
	return r.Name == o.Name && r.ID == o.ID && r.Flags == o.Flags && r.Order == o.Order && r.Stored == o.Stored &&
		r.size == o.size && r.sum == o.sum
}

// Loose returns the rows that have flags.
func (t *Table) Loose() ([]Row, error) {
	var rows []Row
	for _, p := range []*part{t.base, t.more} {
		if p == nil {
			continue
		}
		for _, pos := range p.loose {
			if p == t.base && t.isGone(pos) {
				continue
			}
			var r Row
			if err := p.fill(&r, pos); err != nil {
				return nil, err
			}
			rows = append(rows, r)
		}
	}
	return rows, nil
}

func (t *Table) isGone(pos uint32) bool {
	_, gone := slices.BinarySearch(t.gone, pos)
	return gone
}

// Rows yields all rows in their order, the unfit ones last. Taking the first n reads about n. An error ends it.
func (t *Table) Rows() iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		a, b := cursor{p: t.base, skip: t.gone}, cursor{p: t.more}
		for {
			ra, rb := a.peek(), b.peek()
			if err := cmp.Or(a.err, b.err); err != nil {
				yield(Row{}, err)
				return
			}
			next := &a
			switch {
			case ra == nil && rb == nil:
				return
			case ra == nil || rb != nil && Compare(rb, ra) < 0:
				next = &b
			}
			r := next.row
			next.row, next.has = Row{}, false
			if !yield(r, nil) {
				return
			}
		}
	}
}

// Upwards yields the rows from the lowest order up, the unfit ones left out. Taking the first n reads about n. An error ends it.
func (t *Table) Upwards() iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		a, b := climber{p: t.base, skip: t.gone}, climber{p: t.more}
		a.begin()
		b.begin()
		for {
			ra, rb := a.peek(), b.peek()
			if err := cmp.Or(a.err, b.err); err != nil {
				yield(Row{}, err)
				return
			}
			next := &a
			switch {
			case ra == nil && rb == nil:
				return
			case ra == nil || rb != nil && Compare(rb, ra) > 0:
				next = &b
			}
			r := *next.peek()
			next.rows = next.rows[:len(next.rows)-1]
			if !yield(r, nil) {
				return
			}
		}
	}
}

// A climber goes through one part from its last fit row to its first.
type climber struct {
	p    *part
	skip []uint32 // positions still to be left out, rising
	end  uint32   // what lies before has not been read
	rows []Row    // read and not taken yet, the next one last
	err  error
}

// climb is how many rows are read at once.
const climb = 64

// begin finds the end of the rows that are fit: those that are not come last.
func (c *climber) begin() {
	if c.p == nil {
		return
	}
	for low, high := uint32(0), c.p.count; ; {
		if c.end = low; low >= high {
			return
		}
		mid := low + (high-low)/2
		var r Row
		window := *c.p
		window.entries, window.names = c.p.entries.fresh(0), c.p.names.fresh(0)
		if c.err = window.fill(&r, mid); c.err != nil {
			return
		}
		if r.Flags&Unfit == 0 {
			low = mid + 1
		} else {
			high = mid
		}
	}
}

// peek returns the next row, nil at the end or after an error.
func (c *climber) peek() *Row {
	for len(c.rows) == 0 {
		if c.p == nil || c.err != nil || c.end == 0 {
			return nil
		}
		from := c.end - min(c.end, climb)
		window := *c.p // its own windows: these begin anew for each stretch
		window.entries, window.names = c.p.entries.fresh(climb*entrySize), c.p.names.fresh(climb*nameSize)
		for pos := from; pos < c.end; pos++ {
			if _, gone := slices.BinarySearch(c.skip, pos); gone {
				continue
			}
			var r Row
			if c.err = window.fill(&r, pos); c.err != nil {
				return nil
			}
			r.from = c.p
			c.rows = append(c.rows, r)
		}
		c.end = from
	}
	return &c.rows[len(c.rows)-1]
}

// All returns what Rows yields, without the bodies.
func (t *Table) All() ([]Row, error) { return t.AllInto(nil) }

// AllInto is All into the memory of rows, if that is enough.
func (t *Table) AllInto(rows []Row) ([]Row, error) {
	if n := t.Len(); cap(rows) < n {
		rows = make([]Row, n)
	} else {
		rows = rows[:n]
	}
	t.base.whole()
	if t.more != nil {
		t.more.whole()
	}
	if t.Whole() {
		for pos := range t.base.count {
			if err := t.base.fill(&rows[pos], pos); err != nil {
				return nil, err
			}
		}
		return rows, nil
	}
	n := 0
	for r, err := range t.Rows() {
		if err != nil {
			return nil, err
		}
		if n == len(rows) {
			return nil, fmt.Errorf("%w: it has more rows than it says", ErrBad)
		}
		rows[n] = r
		n++
	}
	return rows[:n], nil
}

// Whole tells whether no file continues the table: its rows then lie one behind the other.
func (t *Table) Whole() bool { return t.more == nil || t.more.count == 0 && len(t.gone) == 0 }

// Part fills rows with those of a plain table from a position on, without their bodies. It reads through windows of its own, so that
// several goroutines may call it at once, each for another part.
func (t *Table) Part(rows []Row, from int) error {
	p := *t.base
	p.entries, p.names = p.entries.fresh(len(rows)*entrySize), p.names.fresh(len(rows)*nameSize)
	for i := range rows {
		if err := p.fill(&rows[i], uint32(from+i)); err != nil {
			return err
		}
		rows[i].from = t.base
	}
	return nil
}

// nameSize is how long names are, about: what a window for them begins with.
const nameSize = 64

// whole has rows and names read in large windows from the first on, since all of them are needed.
func (p *part) whole() { p.entries.step, p.names.step = lastWindow, lastWindow }

// A cursor goes through one part, a row at a time.
type cursor struct {
	p    *part
	skip []uint32 // positions still to be left out, rising
	at   uint32   // the next position
	row  Row
	has  bool // row is there and not taken yet
	err  error
}

// peek returns the next row, nil at the end or after an error.
func (c *cursor) peek() *Row {
	if c.has {
		return &c.row
	}
	if c.p == nil || c.err != nil {
		return nil
	}
	for len(c.skip) > 0 && c.skip[0] == c.at {
		c.skip, c.at = c.skip[1:], c.at+1
	}
	if c.at >= c.p.count {
		return nil
	}
	if c.err = c.p.fill(&c.row, c.at); c.err != nil {
		return nil
	}
	c.at, c.has = c.at+1, true
	return &c.row
}
