// Package index is the file format of derived tables, which let a list be answered without reading every source again.
//
// A [Table] has one row for each document of a folder, best first, so that the first n rows cost reading n rows. It lives in
// a cache folder ([Dir]) that is ours alone, may be deleted at any time, and is never written in place: a reader sees an old
// table or a new one.
//
// Every byte of a file is covered by a checksum that is checked before the byte is believed. A table that is damaged, or was
// made by another program build, of another subject or for another projection, gives [ErrBad] and never a wrong or a missing
// row. The answer to ErrBad is always the same: throw the table away and build it from its source. Checksums are no
// signatures: whoever can write the cache folder can forge a table, which is why the folder is checked.
//
// Whether a row still tells the truth about its source, when to look and what to keep are questions of the callers.
// Nothing here is synced to disk: a power cut costs the table, not an answer.
//
// A [Dir] is safe for concurrent use, a [Table] belongs to one goroutine at a time. Writers do not lock: of two at once the
// last rename wins, and what each of them wrote is right.
package index

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"tutti/internal/platform/atomicfile"
)

// ErrBad reports a table that cannot be used: damaged, of another format, or of something else than was asked for.
var ErrBad = errors.New("index is not usable")

// ErrUnsafe reports a cache folder that others could have written: not ours, or open to group or world.
var ErrUnsafe = errors.New("cache folder is not private")

// A Scope says what a table is derived from and by what. A table with another scope is ErrBad.
type Scope struct {
	Build      string // the program that made the table; another build may compute something else
	Subject    string // the source: kind and owner
	Projection string
	Version    int // of the projection
}

// A Stat is the identity of a source: as long as it is equal nobody has written there, within the grain of the clock of
// the file system. Times are nanoseconds since 1970.
type Stat struct {
	Dev, Ino     uint64
	Size         int64
	Mtime, Ctime int64
}

// StatOf is the identity of a file or a folder.
func StatOf(i atomicfile.Info) Stat {
	return Stat{Dev: i.Dev, Ino: i.Ino, Size: i.Size, Mtime: i.Mtime, Ctime: i.Ctime}
}

// A State is what a table says of its folder as a whole.
type State struct {
	Folder  Stat  // before its names were listed
	Settled bool  // a later change of the folder shows in Folder
	Full    int64 // when every row was last looked at, nanoseconds since 1970
}

// Flags of a row.
type Flags uint16

const (
	// Unsettled: the source was so young when it was read that a later write need not show in its Stat.
	Unsettled Flags = 1 << iota
	// Unfit: the source is no document. The summary says why; the row has no place in the order.
	Unfit
)

// A Row is what a table knows of one document.
type Row struct {
	Name    string
	ID      Stat
	Flags   Flags
	Order   int64
	Stored  int64 // nanoseconds since 1970
	Keys    []string
	Summary string
}

// Same tells whether two rows have the same content.
func (r *Row) Same(o *Row) bool {
	return r.Name == o.Name && r.ID == o.ID && r.Flags == o.Flags && r.Order == o.Order && r.Stored == o.Stored &&
		slices.Equal(r.Keys, o.Keys) && r.Summary == o.Summary
}

// Compare is the order of a list: falling order, equal orders by rising name, and behind them what is unfit.
func Compare(a, b Row) int {
	return cmp.Or(
		cmp.Compare(a.Flags&Unfit, b.Flags&Unfit),
		cmp.Compare(b.Order, a.Order),
		strings.Compare(a.Name, b.Name),
	)
}
