package index

import (
	"encoding/binary"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// A table is written anew when what changed since outgrows a sixteenth of it. Writing 10,000 rows takes 4 to 12 ms, reading
// and writing the changes grows with their number; at a sixteenth both come to some 20 µs for each new row. A table of less
// than 256 rows takes no longer to write than two files take to open, and is always written whole.
const (
	moreShare = 16
	moreFrom  = 256
)

// SaveTable writes the rows of old (nil: none) without those of drop, which come from it, and with those of add.
// A row that changed is in both. add is sorted on the way. old must not have been ErrBad anywhere, or the new table would be.
func (d *Dir) SaveTable(name string, of Scope, st State, old *Table, drop, add []Row) error {
	Sort(add)
	if old == nil {
		return d.saveBase(name, of, st, add)
	}
	gone := slices.Clone(old.gone)
	dropped := make(map[uint32]bool) // positions in old.more
	for _, r := range drop {
		switch r.from {
		case old.base:
			gone = append(gone, r.pos)
		case old.more:
			dropped[r.pos] = true
		}
	}
	slices.Sort(gone)
	gone = slices.Compact(gone)
	rows := add
	if old.more != nil {
		kept, err := collect(cursor{p: old.more}, dropped, len(add))
		if err != nil {
			return err
		}
		rows = Merge(kept, add)
	}
	if old.base.count >= moreFrom && len(gone)+len(rows) <= int(old.base.count)/moreShare {
		return d.savePart(name+moreEnding, of, st, rows, &part{baseOf: old.base.nonce, gone: gone})
	}
	kept, err := collect(cursor{p: old.base, skip: gone}, nil, 0)
	if err != nil {
		return err
	}
	return d.saveBase(name, of, st, Merge(kept, rows))
}

func (d *Dir) saveBase(name string, of Scope, st State, rows []Row) error {
	if err := d.savePart(name+rowsEnding, of, st, rows, nil); err != nil {
		return err
	}
	// What continued the file before this one is of no use now. Should another program have continued the new one
	// already, that costs it a look at the folder.
	unix.Unlinkat(d.fd, name+moreEnding, 0)
	if len(rows) >= moreFrom {
		d.sweep()
	}
	return nil
}

func collect(c cursor, dropped map[uint32]bool, room int) ([]Row, error) {
	rows := make([]Row, 0, int(c.p.count)+room)
	for r := c.peek(); r != nil; r = c.peek() {
		if !dropped[r.pos] {
			rows = append(rows, *r)
		}
		c.has = false
	}
	return rows, c.err
}

// Sort brings rows into the order of a table.
func Sort(rows []Row) {
	if slices.IsSortedFunc(rows, func(a, b Row) int { return Compare(&a, &b) }) {
		return
	}
	sorted := make([]*Row, len(rows)) // to sort these moves a twentieth of the memory, with code that all lists of pointers share
	for i, old := 0, slices.Clone(rows); i < len(old); i++ {
		sorted[i] = &old[i]
	}
	slices.SortFunc(sorted, Compare)
	for i, r := range sorted {
		rows[i] = *r
	}
}

// Merge makes one sorted list of two.
func Merge(a, b []Row) []Row {
	if len(b) == 0 {
		return a
	}
	rows := make([]Row, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if Compare(&b[0], &a[0]) < 0 {
			rows, b = append(rows, b[0]), b[1:]
		} else {
			rows, a = append(rows, a[0]), a[1:]
		}
	}
	return append(append(rows, a...), b...)
}

// savePart writes one file of rows; cont is nil for a table and says for a continuation what it continues.
func (d *Dir) savePart(name string, of Scope, st State, rows []Row, cont *part) error {
	nonce, p := newNonce(), newHeader()
	var names, bodies int64
	var loose []uint32
	for i := range rows {
		r := &rows[i]
		if len(r.Name) > 1<<16-1 || names > 1<<32-1 {
			return fmt.Errorf("write index %s: names too long", name)
		}
		names, bodies = names+int64(len(r.Name)), bodies+int64(r.size)
		if r.Flags != 0 {
			loose = append(loose, uint32(i))
		}
	}
	p.scope(of)
	p.stat(st.Folder)
	p.flag(st.Settled)
	p.i64(st.Scanned)
	p.i64(st.Full)
	kind := uint16(typeMore)
	if cont == nil {
		kind, cont = typeRows, &part{}
	}
	p.u64(cont.baseOf)
	p.u32(uint32(len(rows)))
	p.i64(names)
	p.i64(bodies)
	p.list(loose)
	p.list(cont.gone)
	size := p.seal(kind, nonce, int64(len(rows))*entrySize+names+bodies)
	s := d.create(size)
	s.add(p.b)
	s.addRows(rows, nonce)
	return s.commit(name, size)
}

// addRows writes the three sections.
func (s *sink) addRows(rows []Row, nonce uint64) {
	var nameAt, bodyAt int64
	e := pack{b: make([]byte, 0, entrySize)}
	var name []byte
	for i := range rows {
		r := &rows[i]
		e.b, name = e.b[:0], append(name[:0], r.Name...)
		e.stat(r.ID)
		e.i64(r.Order)
		e.i64(r.Stored)
		e.i64(bodyAt)
		e.u32(uint32(nameAt))
		e.u32(uint32(r.size))
		e.u32(r.sum)
		e.b = binary.LittleEndian.AppendUint16(e.b, uint16(len(r.Name)))
		e.b = binary.LittleEndian.AppendUint16(e.b, uint16(r.Flags))
		e.u32(sum(sum(seedOf(nonce, i), e.b), name))
		s.add(e.b)
		nameAt, bodyAt = nameAt+int64(len(r.Name)), bodyAt+int64(r.size)
	}
	for i := range rows {
		name = append(name[:0], rows[i].Name...)
		s.add(name)
	}
	for i := range rows {
		r := &rows[i]
		if r.body != "" || r.from == nil {
			name = append(name[:0], r.body...)
			s.add(name)
			continue
		}
		b, err := r.read(&r.from.bodies)
		if err != nil && s.err == nil {
			s.err = err
		}
		s.add(b)
	}
}
