package index

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"golang.org/x/sys/unix"
)

// A file begins with a prefix of fixed size that says how long the header is and how long the whole file; then comes the
// header, which ends in its own checksum; then the pieces, each with its own. Numbers are little-endian.
//
//	magic 8 · format 2 · type 2 · length of prefix and header 4 · nonce 8 · length of the file 8 · checksum of these 4
const (
	magic      = "tutti-ix"
	format     = 1 // of the bytes; another number is ErrBad
	prefixSize = 8 + 2 + 2 + 4 + 8 + 8 + 4
	maxHeader  = 64 << 20 // a limit on what is allocated, far above any list of rows that a header holds
)

// The types of files.
const (
	typeRows = iota + 1 // a row table
	typeMore            // what has changed since a row table was written
	typeKeys            // a key table
)

// firstRead is what is read of a file before its header length is known. Most headers are shorter.
const firstRead = 4 << 10

// A pack builds a header.
type pack struct{ b []byte }

func (p *pack) u32(v uint32) { p.b = binary.LittleEndian.AppendUint32(p.b, v) }
func (p *pack) u64(v uint64) { p.b = binary.LittleEndian.AppendUint64(p.b, v) }
func (p *pack) i64(v int64)  { p.u64(uint64(v)) }
func (p *pack) str(s string) { p.u32(uint32(len(s))); p.b = append(p.b, s...) }
func (p *pack) flag(v bool) {
	if v {
		p.b = append(p.b, 1)
	} else {
		p.b = append(p.b, 0)
	}
}

func (p *pack) list(v []uint32) {
	p.u32(uint32(len(v)))
	for _, n := range v {
		p.u32(n)
	}
}

func (p *pack) stat(s Stat) {
	p.u64(s.Dev)
	p.u64(s.Ino)
	p.i64(s.Size)
	p.i64(s.Mtime)
	p.i64(s.Ctime)
}

func (p *pack) scope(s Scope) {
	p.str(s.Build)
	p.str(s.Subject)
	p.str(s.Projection)
	p.i64(int64(s.Version))
}

// newNonce makes the number that tells one file from every other that had its name.
func newNonce() uint64 { return rand.Uint64() }

// newHeader begins a header; its prefix is filled in by seal.
func newHeader() *pack { return &pack{b: make([]byte, prefixSize, 512)} }

// seal completes prefix and header for a file with rest bytes after them and returns its whole size.
func (p *pack) seal(kind uint16, nonce uint64, rest int64) (size int64) {
	b := p.b
	size = int64(len(b)) + 4 + rest
	copy(b, magic)
	binary.LittleEndian.PutUint16(b[8:], format)
	binary.LittleEndian.PutUint16(b[10:], kind)
	binary.LittleEndian.PutUint32(b[12:], uint32(len(b)+4))
	binary.LittleEndian.PutUint64(b[16:], nonce)
	binary.LittleEndian.PutUint64(b[24:], uint64(size))
	binary.LittleEndian.PutUint32(b[32:], sum(0, b[:32]))
	p.u32(sum(seedOf(nonce, -1), b[prefixSize:]))
	return size
}

// An unpack reads a header. After a read beyond its end bad is set and everything is zero.
type unpack struct {
	b   []byte
	bad bool
}

func (u *unpack) take(n int) []byte {
	if n < 0 || n > len(u.b) {
		u.bad, u.b = true, nil
		return make([]byte, min(max(n, 0), 8))
	}
	b := u.b[:n]
	u.b = u.b[n:]
	return b
}

func (u *unpack) u32() uint32 { return binary.LittleEndian.Uint32(u.take(4)) }
func (u *unpack) u64() uint64 { return binary.LittleEndian.Uint64(u.take(8)) }
func (u *unpack) i64() int64  { return int64(u.u64()) }
func (u *unpack) str() string { return string(u.take(int(u.u32()))) }
func (u *unpack) flag() bool  { return u.take(1)[0] != 0 }

func (u *unpack) list() []uint32 {
	n := int(u.u32())
	if n > len(u.b)/4 {
		u.bad = true
		return nil
	}
	v := make([]uint32, n)
	for i := range v {
		v[i] = u.u32()
	}
	return v
}

func (u *unpack) stat() Stat {
	return Stat{Dev: u.u64(), Ino: u.u64(), Size: u.i64(), Mtime: u.i64(), Ctime: u.i64()}
}

func (u *unpack) scope() Scope {
	return Scope{Build: u.str(), Subject: u.str(), Projection: u.str(), Version: int(u.i64())}
}

// head is what the prefix says, and where the pieces begin.
type head struct {
	nonce uint64
	start int64 // of the pieces
	size  int64 // of the file
}

// readHeader reads and checks prefix and header of an open file of the given size.
func readHeader(fd int, size int64, kind uint16) (head, *unpack, error) {
	b, err := readAt(fd, 0, int(min(size, firstRead)))
	if err != nil || len(b) < prefixSize+4 {
		return head{}, nil, fmt.Errorf("%w: too short", ErrBad)
	}
	h := head{nonce: binary.LittleEndian.Uint64(b[16:]), size: int64(binary.LittleEndian.Uint64(b[24:]))}
	n := int(binary.LittleEndian.Uint32(b[12:]))
	switch {
	case binary.LittleEndian.Uint32(b[32:]) != sum(0, b[:32]):
		return head{}, nil, fmt.Errorf("%w: prefix damaged", ErrBad)
	case string(b[:8]) != magic || binary.LittleEndian.Uint16(b[8:]) != format || binary.LittleEndian.Uint16(b[10:]) != kind:
		return head{}, nil, fmt.Errorf("%w: another format", ErrBad)
	case h.size != size || n < prefixSize+4 || int64(n) > size || n > maxHeader:
		return head{}, nil, fmt.Errorf("%w: cut or extended", ErrBad)
	}
	if n > len(b) {
		if b, err = readAt(fd, 0, n); err != nil {
			return head{}, nil, err
		}
	}
	body := b[prefixSize : n-4]
	if binary.LittleEndian.Uint32(b[n-4:]) != sum(seedOf(h.nonce, -1), body) {
		return head{}, nil, fmt.Errorf("%w: header damaged", ErrBad)
	}
	h.start = int64(n)
	return h, &unpack{b: body}, nil
}

// readAt reads exactly n bytes; less is ErrBad.
func readAt(fd int, off int64, n int) ([]byte, error) {
	b := make([]byte, n)
	return b, readInto(fd, off, b)
}

func readInto(fd int, off int64, b []byte) error {
	for len(b) > 0 {
		n, err := unix.Pread(fd, b, off)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return fmt.Errorf("%w: read at %d: %v", ErrBad, off, err)
		}
		b, off = b[n:], off+int64(n)
	}
	return nil
}
