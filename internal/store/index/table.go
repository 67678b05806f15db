package index

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"iter"
	"math"
	"slices"

	"tutti/internal/platform/atomicfile"
)

// A file is a header and the rows: first those that have flags, which have to be looked at again, then the others, each part
// in the order of Compare. Header and rows are records: a length, so many bytes, and their checksum. A checksum is continued
// from the record before, so that rows that were moved, or are of another file, do not pass. Numbers are little-endian.
const magic = "tutti-rows-2"

// firstRead is what is read of a file to begin with: the header and some dozen rows. Who wants more gets all the rest.
const firstRead = 32 << 10

// A Table is an open file of rows.
type Table struct {
	file  *atomicfile.File
	size  int64
	data  []byte // the file from its start on, as far as it was read
	rows  int    // where they begin in data
	sum   uint32 // of the header
	state State
	count int
}

// Close gives the handle back. Rows stay valid.
func (t *Table) Close() { t.file.Close() }

// State tells what was known of the folder.
func (t *Table) State() State { return t.state }

// Len returns the number of rows, the unfit among them.
func (t *Table) Len() int { return t.count }

// All returns all rows in the order of Compare.
func (t *Table) All() ([]Row, error) {
	rows := make([]Row, 0, t.count)
	for r, err := range t.Rows() {
		if err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	slices.SortFunc(rows, Compare)
	return rows, nil
}

// Rows yields the rows that have flags, then the others in the order of Compare. Taking the first n reads about n. An error
// ends it.
func (t *Table) Rows() iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		at, sum := t.rows, t.sum
		for range t.count {
			body, next, err := t.record(at, &sum)
			if err != nil {
				yield(Row{}, err)
				return
			}
			at = next
			u := unpack{s: string(body)}
			r := u.row()
			if u.bad || u.s != "" {
				yield(Row{}, fmt.Errorf("%w: row makes no sense", ErrBad))
				return
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

// record returns the bytes of the record at an offset, checked, and where the next one begins. sum is that of the record
// before, and becomes that of this one.
func (t *Table) record(at int, sum *uint32) (body []byte, next int, err error) {
	const frame = 4 + 4
	if at+frame > len(t.data) || at+frame+int(binary.LittleEndian.Uint32(t.data[at:])) > len(t.data) {
		if err := t.read(t.size); err != nil {
			return nil, 0, err
		}
		if at+frame > len(t.data) {
			return nil, 0, fmt.Errorf("%w: cut", ErrBad)
		}
	}
	size := int(binary.LittleEndian.Uint32(t.data[at:]))
	if size > len(t.data)-at-frame {
		return nil, 0, fmt.Errorf("%w: cut", ErrBad)
	}
	body, next = t.data[at+4:][:size], at+frame+size
	*sum = crc32.Update(*sum, crc32.IEEETable, body)
	if binary.LittleEndian.Uint32(t.data[next-4:]) != *sum {
		return nil, 0, fmt.Errorf("%w: damaged", ErrBad)
	}
	return body, next, nil
}

// read makes data the first bytes of the file, or what there is of them.
func (t *Table) read(want int64) error {
	have := int64(len(t.data))
	t.data = append(t.data, make([]byte, max(0, min(want, t.size)-have))...)
	n, err := t.file.Pread(t.data[have:], have)
	t.data = t.data[:have+int64(n)]
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBad, err)
	}
	return nil
}

func (t *Table) readHeader(of Scope) error {
	if err := t.read(firstRead); err != nil {
		return err
	}
	body, rows, err := t.record(0, &t.sum)
	if err != nil {
		return err
	}
	u := unpack{s: string(body)}
	if u.str() != magic {
		return fmt.Errorf("%w: another format", ErrBad)
	}
	size, found := u.i64(), u.scope()
	t.state = State{Folder: u.stat(), Settled: u.i64() != 0, Full: u.i64()}
	t.count, t.rows = int(u.u32()), rows
	switch {
	case u.bad || u.s != "" || size != t.size-int64(rows) || int64(t.count) > size:
		return fmt.Errorf("%w: header makes no sense", ErrBad)
	case found != of:
		return fmt.Errorf("%w: made for something else", ErrBad)
	}
	return nil
}

// encode makes the file of a table. It sorts rows.
func encode(of Scope, st State, rows []Row) []byte {
	slices.SortFunc(rows, func(a, b Row) int {
		if loose := a.Flags != 0; loose != (b.Flags != 0) {
			if loose {
				return -1
			}
			return 1
		}
		return Compare(a, b)
	})
	bodies := make([]pack, len(rows))
	size := 0
	for i := range rows {
		bodies[i].row(&rows[i])
		size += len(bodies[i]) + 8
	}
	var h pack
	h.str(magic)
	h.i64(int64(size))
	h.scope(of)
	h.stat(st.Folder)
	settled := int64(0)
	if st.Settled {
		settled = 1
	}
	h.i64(settled)
	h.i64(st.Full)
	h.u32(uint32(len(rows)))
	out, sum := make(pack, 0, len(h)+8+size), uint32(0)
	out.record(h, &sum)
	for _, body := range bodies {
		out.record(body, &sum)
	}
	return out
}

// A pack builds records.
type pack []byte

func (p *pack) u32(v uint32) { *p = binary.LittleEndian.AppendUint32(*p, v) }
func (p *pack) i64(v int64)  { *p = binary.LittleEndian.AppendUint64(*p, uint64(v)) }
func (p *pack) str(s string) { p.u32(uint32(len(s))); *p = append(*p, s...) }

func (p *pack) record(body pack, sum *uint32) {
	*sum = crc32.Update(*sum, crc32.IEEETable, body)
	p.u32(uint32(len(body)))
	*p = append(*p, body...)
	p.u32(*sum)
}

func (p *pack) stat(s Stat) {
	for _, v := range [...]int64{int64(s.Dev), int64(s.Ino), s.Size, s.Mtime, s.Ctime} {
		p.i64(v)
	}
}

func (p *pack) scope(s Scope) {
	p.str(s.Build)
	p.str(s.Subject)
	p.str(s.Projection)
	p.i64(int64(s.Version))
}

func (p *pack) row(r *Row) {
	p.stat(r.ID)
	p.i64(int64(r.Flags))
	p.i64(r.Order)
	p.i64(r.Stored)
	p.str(r.Name)
	p.str(r.Summary)
	p.u32(uint32(len(r.Keys)))
	for _, k := range r.Keys {
		p.str(k)
	}
}

// An unpack reads a record. After a read beyond its end bad is set and everything is zero.
type unpack struct {
	s   string
	bad bool
}

func (u *unpack) take(n int) string {
	if n < 0 || n > len(u.s) {
		u.s, u.bad = "", true
		return ""
	}
	s := u.s[:n]
	u.s = u.s[n:]
	return s
}

func (u *unpack) number(size int) (v uint64) {
	for i, b := range []byte(u.take(size)) {
		v |= uint64(b) << (8 * i)
	}
	return v
}

func (u *unpack) u32() uint32 { return uint32(u.number(4)) }
func (u *unpack) i64() int64  { return int64(u.number(8)) }
func (u *unpack) str() string { return u.take(int(min(u.u32(), math.MaxInt32))) }

func (u *unpack) stat() Stat {
	return Stat{Dev: u.number(8), Ino: u.number(8), Size: u.i64(), Mtime: u.i64(), Ctime: u.i64()}
}

func (u *unpack) scope() Scope {
	return Scope{Build: u.str(), Subject: u.str(), Projection: u.str(), Version: int(u.i64())}
}

func (u *unpack) row() Row {
	r := Row{ID: u.stat(), Flags: Flags(u.i64()), Order: u.i64(), Stored: u.i64(), Name: u.str(), Summary: u.str()}
	for n := u.u32(); n > 0 && !u.bad; n-- {
		r.Keys = append(r.Keys, u.str())
	}
	return r
}
