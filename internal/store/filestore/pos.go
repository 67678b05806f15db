package filestore

import (
	"encoding/binary"
	"strconv"
	"strings"

	"tutti/internal/platform/atomicfile"
	"tutti/internal/store"
)

// A position is "<inode>-<offset>-<hash>", inode and hash in hex. The hash is taken over the up to 256 bytes before the offset.
// Another file under the name has another inode, or, when the file system gave the old number away again, other bytes there;
// so has a log that was cut and grew back. Only a log that was rewritten with the same bytes goes unnoticed, and for that the
// position is still right.
type position struct {
	ino  uint64
	off  int64
	hash uint32
}

// window is how many bytes before a position its hash covers: more than one line of any log that we write by itself.
const window = 256

func (p position) pos() store.Pos {
	b := make([]byte, 0, 48)
	b = strconv.AppendUint(b, p.ino, 16)
	b = append(b, '-')
	b = strconv.AppendInt(b, p.off, 10)
	b = append(b, '-')
	const digits = "0123456789abcdef"
	for shift := 28; shift >= 0; shift -= 4 {
		b = append(b, digits[p.hash>>shift&15])
	}
	return store.Pos(b)
}

// parsePos reads a position; false for what is none of ours.
func parsePos(p store.Pos) (position, bool) {
	ino, rest, ok1 := strings.Cut(string(p), "-")
	off, hash, ok2 := strings.Cut(rest, "-")
	i, err1 := strconv.ParseUint(ino, 16, 64)
	o, err2 := strconv.ParseInt(off, 10, 64)
	h, err3 := strconv.ParseUint(hash, 16, 32)
	ok := ok1 && ok2 && err1 == nil && err2 == nil && err3 == nil && o >= 0 && len(hash) == 8
	return position{i, o, uint32(h)}, ok
}

// hashTail is the hash of the last window bytes of b. It tells versions of a log apart, it does not withstand an attacker;
// who may write the log may write anything. Eight bytes a step, because it runs once a line.
func hashTail(b []byte) uint32 {
	if len(b) > window {
		b = b[len(b)-window:]
	}
	const prime = 0x9e3779b97f4a7c15 // 2^64 / golden ratio, odd: multiplying by it loses nothing
	h := uint64(len(b)) * prime
	for ; len(b) >= 8; b = b[8:] {
		h = (h ^ binary.LittleEndian.Uint64(b)) * prime
		h ^= h >> 29
	}
	for _, c := range b {
		h = (h ^ uint64(c)) * prime
		h ^= h >> 29
	}
	return uint32(h >> 32)
}

// posAt makes the position of an offset of an open log, from what lies before it.
func posAt(f *atomicfile.File, ino uint64, off int64) (store.Pos, error) {
	before, err := readWindow(f, off)
	if err != nil {
		return "", err
	}
	return position{ino, off, hashTail(before)}.pos(), nil
}

// readWindow reads the up to 256 bytes before an offset. Fewer than there should be means that the log ends earlier.
func readWindow(f *atomicfile.File, off int64) ([]byte, error) {
	var buf [window]byte
	b := buf[:min(off, window)]
	n, err := f.Pread(b, off-int64(len(b)))
	return b[:n], err
}

// holds tells whether an open log still has a position, and what lies before it.
func (p position) holds(f *atomicfile.File, info atomicfile.Info) (before []byte, ok bool, err error) {
	if p.ino != info.Ino || p.off > info.Size {
		return nil, false, nil
	}
	before, err = readWindow(f, p.off)
	return before, err == nil && int64(len(before)) == min(p.off, window) && hashTail(before) == p.hash, err
}
