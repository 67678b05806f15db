package overview

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tutti/internal/comms/protocol"
	"tutti/internal/core/orgfile"
	"tutti/internal/platform/atomicfile"
	"tutti/internal/store/index"
)

// grain is how young a file or a folder may be so that a change that follows need not show in its times: the clock of a file system
// ticks in 1 to 10 ms, that of a server of a network file system in seconds.
const grain = 2 * time.Second

// A folder is a mailbox or an archive while it is looked at.
type folder struct {
	dir     *atomicfile.Dir
	glance  atomicfile.Glance // at dir, while its messages are looked at
	archive bool
	shelf   shelf
	now     time.Time // before anything was looked at
	grain   time.Duration

	self    index.Stat
	table   *index.Table
	heads   []head   // one for each slot, and after scan of those that are there
	foreign []string // names of no message

	drop, add []index.Row
	flat      bool // the names are those of the table

	*scratch

	mu sync.Mutex // guards the windows of the table
}

// A scratch is memory that one mailbox after the other is looked at in: to get fresh pages for each takes a fifth of the time.
type scratch struct {
	slots  []slot // one for each message, sorted by the name of the file
	rows   []index.Row
	items  []protocol.Item
	came   []arrival
	events []protocol.Event
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// sized is a slice of n elements in the memory of s, if that is enough. What is in them is of before.
func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// A slot is a message while its head is looked for.
type slot struct {
	file     string
	unsigned bool
	old      *index.Row // of the table, nil: none

	id   index.Stat
	gone bool // there is none by that name any more, or it is a folder
	read bool // head was read from the file, or differs from the row
}

// chunk is how many messages one worker takes at a time.
const chunk = 256

// scan looks at all messages of a folder.
func (f *folder) scan() error {
	f.scratch = scratches.Get().(*scratch)
	defer func() {
		clear(f.slots)
		clear(f.rows)
		f.slots = f.slots[:0]
		scratches.Put(f.scratch)
	}()
	self, err := f.dir.Self()
	if err != nil {
		return err
	}
	f.self = statOf(self)
	rows, bodies := f.known()
	if f.table != nil {
		defer f.table.Close()
	}
	if f.flat {
		f.fromRows(rows)
	} else if err := f.list(rows); err != nil {
		return err
	}
	f.heads = make([]head, len(f.slots))
	if f.glance, err = f.dir.Glance(); err != nil {
		return err
	}
	defer f.glance.Close()
	parts := (len(f.slots) + chunk - 1) / chunk
	parallel(parts, func(i int) {
		var buf []byte
		for j := i * chunk; j < min((i+1)*chunk, len(f.slots)); j++ {
			buf = f.look(&f.slots[j], &f.heads[j], bodies, buf)
		}
	})
	f.save()
	kept := f.heads[:0]
	for i := range f.slots {
		if !f.slots[i].gone {
			if len(kept) < i {
				f.heads[len(kept)] = f.heads[i]
			}
			kept = f.heads[:len(kept)+1]
		}
	}
	f.heads = kept
	return nil
}

// known opens the table and returns its rows by name. Where it is damaged, or of another time than it says, there is none.
func (f *folder) known() ([]index.Row, *index.Bodies) {
	if f.table = f.shelf.open(); f.table == nil {
		return nil, nil
	}
	rows, err := f.allRows()
	if err != nil {
		f.table.Close()
		f.table = nil
		return nil, nil
	}
	f.rows = rows
	st := f.table.State()
	f.flat = st.Settled && st.Folder == f.self
	return rows, f.table.Bodies()
}

// allRows reads the rows of the table, in parts when it is a plain one.
func (f *folder) allRows() ([]index.Row, error) {
	if !f.table.Whole() || f.table.Len() <= chunk {
		return f.table.AllInto(f.rows)
	}
	rows := sized(f.rows, f.table.Len())
	var bad atomic.Pointer[error]
	parallel((len(rows)+chunk-1)/chunk, func(i int) {
		if err := f.table.Part(rows[i*chunk:min((i+1)*chunk, len(rows))], i*chunk); err != nil {
			bad.Store(&err)
		}
	})
	if err := bad.Load(); err != nil {
		return nil, *err
	}
	return rows, nil
}

// fromRows takes the names from the table: nothing was made, moved or removed in the folder since they were listed.
func (f *folder) fromRows(rows []index.Row) {
	f.slots = sized(f.slots, len(rows))
	n := 0
	for i := range rows {
		if rows[i].Flags&index.Unfit != 0 {
			f.foreign = append(f.foreign, rows[i].Name)
			continue
		}
		f.slots[n].file, f.slots[n].old = rows[i].Name, &rows[i]
		n++
	}
	f.slots = f.slots[:n]
}

// list reads the names of the folder and puts the rows of the table beside them.
func (f *folder) list(rows []index.Row) error {
	names, err := f.dir.Names()
	if err != nil {
		return err
	}
	slices.Sort(names)
	var signed []string
	for i, name := range names {
		if i > 0 && name == names[i-1] { // a listing of a folder in motion may name a file twice
			continue
		}
		switch f.classify(name) {
		case protocol.MessageEntry:
			f.slots = append(f.slots, slot{file: name})
		case protocol.SignatureEntry:
			signed = append(signed, name)
		case protocol.ForeignEntry:
			if info, err := f.dir.Stat(name); err == nil && !info.Folder() {
				f.foreign = append(f.foreign, name)
			}
		}
	}
	f.match(signed)
	f.join(rows)
	return nil
}

// classify is conversation.Classify for a mailbox; in an archive all Org files are messages, and nothing is foreign.
func (f *folder) classify(name string) protocol.EntryKind {
	if !f.archive {
		return protocol.Classify(name, false)
	}
	switch {
	case strings.HasPrefix(name, "."):
	case strings.HasSuffix(name, ".org"):
		return protocol.MessageEntry
	case strings.HasSuffix(name, ".org.asc"):
		return protocol.SignatureEntry
	}
	return protocol.HiddenEntry
}

// match marks the messages beside which no signature lies. A listing is not of one moment: it may name a message that came while
// it was made and not the signature, which came before. So one that it lacks is looked for by name.
func (f *folder) match(signed []string) {
	for i := range f.slots {
		s := &f.slots[i]
		for len(signed) > 0 && len(signed[0]) > 4 && signed[0][:len(signed[0])-4] < s.file {
			signed = signed[1:]
		}
		if len(signed) > 0 && strings.TrimSuffix(signed[0], ".asc") == s.file {
			continue
		}
		_, err := f.dir.Stat(protocol.SignatureName(s.file))
		s.unsigned = err != nil
	}
}

// join gives each slot its row. Rows of names that are gone, and those of foreign files that are others now, leave the table.
func (f *folder) join(rows []index.Row) {
	i := 0
	var foreign []string
	for r := range rows {
		row := &rows[r]
		if row.Flags&index.Unfit != 0 {
			foreign = append(foreign, row.Name)
			continue
		}
		for i < len(f.slots) && f.slots[i].file < row.Name {
			i++
		}
		if i < len(f.slots) && f.slots[i].file == row.Name {
			f.slots[i].old = row
		} else {
			f.drop = append(f.drop, *row)
		}
	}
	if slices.Equal(foreign, f.foreign) {
		return
	}
	for r := range rows {
		if rows[r].Flags&index.Unfit != 0 {
			f.drop = append(f.drop, rows[r])
		}
	}
	for _, name := range f.foreign {
		f.add = append(f.add, index.NewRow(index.Row{Name: name, Flags: index.Unfit}, nil, nil))
	}
}

// look finds the head of a message: in its row, if the file is the one that the row was made of, else in the file. Buf is nil until a
// file has to be read.
func (f *folder) look(s *slot, h *head, bodies *index.Bodies, buf []byte) []byte {
	if s.old != nil && f.believe(s, h, bodies) {
		return buf
	}
	if buf == nil {
		buf = make([]byte, orgfile.MaxHeader)
	}
	read, id, ok := readHead(f.dir, s.file, f.archive, buf)
	*h = read
	h.unsigned = s.unsigned
	s.id, s.gone, s.read = id, !ok, true
	return buf
}

// believe takes the head from the row if that is as good as the file.
func (f *folder) believe(s *slot, h *head, bodies *index.Bodies) bool {
	info, err := f.glance.Stat(s.file)
	if err != nil || statOf(info) != s.old.ID {
		return f.unsign(s)
	}
	if !f.kept(s, h, bodies) {
		return f.unsign(s)
	}
	if f.flat {
		s.unsigned = h.unsigned
	}
	if s.old.Flags&index.Unsettled != 0 {
		return false
	}
	s.id, s.read = s.old.ID, h.unsigned != s.unsigned
	h.unsigned = s.unsigned
	return true
}

// kept puts what the row says of a message into h.
func (f *folder) kept(s *slot, h *head, bodies *index.Bodies) bool {
	bodies.Hold(s.old)
	f.mu.Lock() // a body that could not be held is read through a window of the table
	text, err := s.old.Summary()
	f.mu.Unlock()
	return err == nil && h.unpack(s.file, text)
}

// unsign looks for the signature of a message whose row is not believed: that it has one was known from the row only.
func (f *folder) unsign(s *slot) bool {
	if f.flat {
		_, err := f.dir.Stat(protocol.SignatureName(s.file))
		s.unsigned = err != nil
	}
	return false
}

// save writes the table when it does not say what was seen. That it cannot be written costs the next survey some time and nothing
// else.
func (f *folder) save() {
	if f.shelf.dir == nil {
		return
	}
	for i := range f.slots {
		s := &f.slots[i]
		if !s.read {
			continue
		}
		if s.old != nil {
			f.drop = append(f.drop, *s.old)
		}
		if !s.gone {
			row := index.Row{Name: s.file, ID: s.id}
			if !f.settled(s.id) {
				row.Flags = index.Unsettled
			}
			f.add = append(f.add, index.NewRow(row, nil, f.heads[i].pack(s.file)))
		}
	}
	st := index.State{Folder: f.self, Settled: f.settled(f.self), Scanned: f.now.UnixNano(), Full: f.now.UnixNano()}
	if f.table != nil && len(f.drop) == 0 && len(f.add) == 0 && (f.flat || f.table.State().Folder == f.self && !st.Settled) {
		return
	}
	_ = f.shelf.dir.SaveTable(f.shelf.name, f.shelf.of, st, f.table, f.drop, f.add)
}

func (f *folder) settled(id index.Stat) bool {
	return max(id.Mtime, id.Ctime) <= f.now.Add(-f.grain).UnixNano()
}

// openFolder opens a folder below that of a project, following no link.
func openFolder(top, rel string) (*atomicfile.Dir, error) {
	d, err := atomicfile.OpenDir(top)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	sub, err := d.Sub(rel)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", rel, err)
	}
	return sub, nil
}
