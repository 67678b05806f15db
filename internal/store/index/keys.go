package index

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"math/bits"
	"math/rand/v2"
	"slices"

	"golang.org/x/sys/unix"
)

const keysEnding = ".keys"

// A LogState is what was known of the log when the table was written. A log that has the same inode, is not shorter than
// Parsed and has the same Ends is taken to have only grown.
type LogState struct {
	ID      Stat
	Settled bool  // ID was old enough that a later write of the same length shows in it
	Parsed  int64 // bytes whose lines are in the table; the end of a line
	Ends    Ends  // of these bytes
}

// Ends is a hash of the first and one of the last 4 KiB of a stretch of a log.
type Ends struct{ First, Last [sha256.Size]byte }

// endSize is how much of each end is hashed.
const endSize = 4 << 10

// EndsOf hashes the ends of the first n bytes of r, which has them.
func EndsOf(r io.ReaderAt, n int64) (Ends, error) {
	var b [endSize]byte
	part := b[:min(n, endSize)]
	if err := readEnd(r, part, 0); err != nil {
		return Ends{}, err
	}
	e := Ends{First: sha256.Sum256(part)}
	if n <= endSize {
		e.Last = e.First
		return e, nil
	}
	if err := readEnd(r, part, n-endSize); err != nil {
		return Ends{}, err
	}
	e.Last = sha256.Sum256(part)
	return e, nil
}

// readEnd fills b. An error beside a full b is the end of the file and none of ours.
func readEnd(r io.ReaderAt, b []byte, off int64) error {
	n, err := r.ReadAt(b, off)
	switch {
	case n == len(b):
		return nil
	case err == nil:
		return io.ErrUnexpectedEOF
	}
	return err
}

// A RowRef is where a line lies whose keys include one with this hash. Different keys can have the same hash, so the line
// itself must be asked.
type RowRef struct {
	Hash uint64
	At   int64
	Size uint32 // without the line feed
}

// Blocks have the size of a page, and each its own checksum, so that a search believes what it has read and reads little:
// checksum 4 · up to 204 places of 20 (hash 8, offset 8, size 4) · zeros.
const (
	blockSize = 4 << 10
	placeSize = 20
	perBlock  = (blockSize - 4) / placeSize
)

// Keys is an open key table: places sorted by hash, those of one hash as they lie in the log.
type Keys struct {
	head
	fd     int
	state  LogState
	seed   uint64
	count  int64 // of places
	block  []byte
	loaded int64 // number of the block in block, -1: none
}

// OpenKeys opens the key table of that name. fs.ErrNotExist: there is none. ErrBad: throw it away.
func (d *Dir) OpenKeys(name string, of Scope) (*Keys, error) {
	fd, size, err := d.open(name + keysEnding)
	if err != nil {
		return nil, err
	}
	k, err := readKeys(fd, size, of)
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("%s: %w", name+keysEnding, err)
	}
	return k, nil
}

func readKeys(fd int, size int64, of Scope) (*Keys, error) {
	h, u, err := readHeader(fd, size, typeKeys)
	if err != nil {
		return nil, err
	}
	if u.scope() != of {
		return nil, fmt.Errorf("%w: made for something else", ErrBad)
	}
	k := &Keys{head: h, fd: fd, loaded: -1}
	k.state = LogState{ID: u.stat(), Settled: u.flag(), Parsed: u.i64()}
	copy(k.state.Ends.First[:], u.take(sha256.Size))
	copy(k.state.Ends.Last[:], u.take(sha256.Size))
	k.seed, k.count = u.u64(), u.i64()
	if u.bad || len(u.b) != 0 || k.count < 0 || k.count > size || size-h.start != k.blocks()*blockSize {
		return nil, fmt.Errorf("%w: header makes no sense", ErrBad)
	}
	return k, nil
}

// Close gives the handle back.
func (k *Keys) Close() { unix.Close(k.fd) }

// State tells what was known of the log.
func (k *Keys) State() LogState { return k.state }

// Len returns the number of places.
func (k *Keys) Len() int { return int(k.count) }

// Seed is what [Hash] needs for this table and for tables that continue it.
func (k *Keys) Seed() uint64 { return k.seed }

// NewSeed makes the seed of a table that begins anew. It is random, so that no attacker can write a log whose keys share a
// hash.
func NewSeed() uint64 { return rand.Uint64() }

// Hash is FNV-1a from a seeded start, and mixed at the end so that all bits serve the search.
func Hash(seed uint64, key string) uint64 {
	h := seed ^ 0xcbf29ce484222325
	for i := 0; i < len(key); i++ {
		h = (h ^ uint64(key[i])) * 0x100000001b3
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd // the finish of MurmurHash3
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

func (k *Keys) blocks() int64 { return (k.count + perBlock - 1) / perBlock }

// load reads block n and returns how many places it has.
func (k *Keys) load(n int64) (int, error) {
	have := int(min(k.count-n*perBlock, perBlock))
	if k.loaded == n {
		return have, nil
	}
	if k.block == nil {
		k.block = make([]byte, blockSize)
	}
	k.loaded = -1
	if err := readInto(k.fd, k.start+n*blockSize, k.block); err != nil {
		return 0, err
	}
	if binary.LittleEndian.Uint32(k.block) != sum(seedOf(k.nonce, int(n)), k.block[4:]) {
		return 0, fmt.Errorf("%w: block %d damaged", ErrBad, n)
	}
	k.loaded = n
	return have, nil
}

// place returns a place of the loaded block.
func (k *Keys) place(i int) RowRef {
	b := k.block[4+i*placeSize:]
	return RowRef{binary.LittleEndian.Uint64(b), int64(binary.LittleEndian.Uint64(b[8:])), binary.LittleEndian.Uint32(b[16:])}
}

// guesses is how often a search trusts that hashes are spread evenly. Two hit the block of a million places nearly always;
// where many lines share a key it halves from then on.
const guesses = 4

// find returns the first block that ends at or above h: if h is in the table, its first place is there.
func (k *Keys) find(h uint64) (int64, error) {
	lo, hi := int64(0), k.blocks() // the blocks before lo end below h, those from hi on do not
	low, high := uint64(0), ^uint64(0)
	for try := 0; lo < hi; try++ {
		mid := lo + (hi-lo)/2
		if try < guesses && h >= low && h < high {
			up, down := bits.Mul64(h-low, uint64(hi-lo))
			q, _ := bits.Div64(up, down, high-low)
			mid = min(lo+int64(q), hi-1)
		}
		n, err := k.load(mid)
		if err != nil {
			return 0, err
		}
		first, last := k.place(0).Hash, k.place(n-1).Hash
		switch {
		case last < h:
			lo, low = mid+1, last
		case first < h:
			return mid, nil
		default:
			hi, high = mid, first
		}
	}
	return lo, nil
}

// Find yields the places of a hash as they lie in the log. An error ends it.
func (k *Keys) Find(h uint64) iter.Seq2[RowRef, error] {
	return func(yield func(RowRef, error) bool) {
		at, err := k.find(h)
		for ; err == nil && at < k.blocks(); at++ {
			var n int
			if n, err = k.load(at); err != nil {
				break
			}
			for i := range n {
				// The block may have been replaced by another search of the caller's.
				if _, err = k.load(at); err != nil {
					yield(RowRef{}, err)
					return
				}
				if p := k.place(i); p.Hash > h || p.Hash == h && !yield(p, nil) {
					return
				}
			}
		}
		if err != nil {
			yield(RowRef{}, err)
		}
	}
}

// SaveKeys writes the places of old (nil: none) and those of add, which lie behind them in the log and were hashed with
// the same seed.
func (d *Dir) SaveKeys(name string, of Scope, st LogState, seed uint64, old *Keys, add []RowRef) error {
	slices.SortFunc(add, comparePlaces)
	count := int64(len(add))
	if old != nil {
		count += old.count
	}
	nonce, p := newNonce(), newHeader()
	p.scope(of)
	p.stat(st.ID)
	p.flag(st.Settled)
	p.i64(st.Parsed)
	p.b = append(append(p.b, st.Ends.First[:]...), st.Ends.Last[:]...)
	p.u64(seed)
	p.i64(count)
	size := p.seal(typeKeys, nonce, (&Keys{count: count}).blocks()*blockSize)
	s := d.create(size)
	s.add(p.b)
	w := blockWriter{s: s, nonce: nonce}
	if err := mergePlaces(old, add, w.add); err != nil && s.err == nil {
		s.err = err
	}
	w.finish()
	err := s.commit(name+keysEnding, size)
	if err == nil && count >= moreFrom {
		d.sweep()
	}
	return err
}

func comparePlaces(a, b RowRef) int {
	if a.Hash != b.Hash {
		return cmp.Compare(a.Hash, b.Hash)
	}
	return cmp.Compare(a.At, b.At)
}

// mergePlaces gives the places of both to take, sorted.
func mergePlaces(old *Keys, add []RowRef, take func(RowRef)) error {
	for b := int64(0); old != nil && b < old.blocks(); b++ {
		n, err := old.load(b)
		if err != nil {
			return err
		}
		for i := range n {
			p := old.place(i)
			for len(add) > 0 && comparePlaces(add[0], p) < 0 {
				take(add[0])
				add = add[1:]
			}
			take(p)
		}
	}
	for _, p := range add {
		take(p)
	}
	return nil
}

// A blockWriter fills blocks.
type blockWriter struct {
	s     *sink
	nonce uint64
	n     int // number of the block
	b     []byte
}

func (w *blockWriter) add(p RowRef) {
	if len(w.b) == 0 {
		w.b = append(w.b, 0, 0, 0, 0)
	}
	w.b = binary.LittleEndian.AppendUint64(w.b, p.Hash)
	w.b = binary.LittleEndian.AppendUint64(w.b, uint64(p.At))
	w.b = binary.LittleEndian.AppendUint32(w.b, p.Size)
	if len(w.b)+placeSize > blockSize {
		w.finish()
	}
}

// finish writes the block that was begun.
func (w *blockWriter) finish() {
	if len(w.b) == 0 {
		return
	}
	w.b = append(w.b, make([]byte, blockSize-len(w.b))...)
	binary.LittleEndian.PutUint32(w.b, sum(seedOf(w.nonce, w.n), w.b[4:]))
	w.s.add(w.b)
	w.b, w.n = w.b[:0], w.n+1
}
