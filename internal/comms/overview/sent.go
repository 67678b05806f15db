package overview

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"tutti/internal/comms/exchange"
	"tutti/internal/comms/protocol"
	"tutti/internal/platform/atomicfile"
	"tutti/internal/store/index"
)

// smallRecord is the size of a record of sends that is taken apart sooner than a table is opened: about a hundred messages.
const smallRecord = 32 << 10

// sent returns what a project has sent, oldest first, as heads whose host is the slug of the receiver. No record is no error.
func (w *worker) sent(p exchange.Project) ([]head, error) {
	record, now := w.Office.Sent(p), time.Now()
	d, err := atomicfile.OpenDir(filepath.Dir(record.Path()))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	info, err := d.Stat(filepath.Base(record.Path()))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var s shelf
	if info.Size > smallRecord {
		s = w.cache.shelf("sent", record.Path())
	}
	f := &folder{self: statOf(info), shelf: s, now: now, grain: w.grain}
	if list, ok := f.remembered(); ok {
		return list, nil
	}
	entries, err := record.Entries("")
	if err != nil {
		return nil, err
	}
	list := make([]head, len(entries))
	for i := range entries {
		list[i] = sentHead(&entries[i], p.Slug())
	}
	f.remember(list)
	return list, nil
}

func sentHead(e *exchange.SentEntry, self string) head {
	h := head{
		name: e.Name, conv: e.Conversation, sender: self, title: e.Title, sequence: e.Sequence, reply: e.InReplyTo,
		release: e.ReleaseStatus, response: e.Pushback,
	}
	if kind := protocol.Type(e.Type); kind.Valid() {
		h.kind = kind
	}
	h.at, _ = protocol.ParseTime(e.Timestamp)
	if a, ok := protocol.ParseAddress(e.To); ok {
		if h.host, _ = protocol.Slugify(a.Project); h.host == self {
			h.host = a.Machine + "." + self // one of our name, elsewhere
		}
	}
	return h
}

// remembered returns the heads of the table of a record, if that has not changed since.
func (f *folder) remembered() ([]head, bool) {
	if f.table = f.shelf.open(); f.table == nil {
		return nil, false
	}
	defer f.table.Close()
	if st := f.table.State(); !st.Settled || st.Folder != f.self {
		return nil, false
	}
	rows, err := f.table.All()
	if err != nil {
		return nil, false
	}
	bodies, list := f.table.Bodies(), make([]head, len(rows))
	for i := range rows {
		if !f.kept(&slot{old: &rows[i]}, &list[i], bodies) {
			return nil, false
		}
	}
	return list, true
}

// remember writes the table of a record. While that is young it would not be believed.
func (f *folder) remember(list []head) {
	if f.shelf.dir == nil || !f.settled(f.self) {
		return
	}
	rows := make([]index.Row, len(list))
	for i := range list {
		rows[i] = index.NewRow(index.Row{Name: fmt.Sprintf("%09d", i)}, nil, list[i].pack("")) // in the order of the record
	}
	st := index.State{Folder: f.self, Settled: true, Scanned: f.now.UnixNano(), Full: f.now.UnixNano()}
	_ = f.shelf.dir.SaveTable(f.shelf.name, f.shelf.of, st, nil, nil, rows)
}
