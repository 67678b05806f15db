package filestore

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"tutti/internal/platform/atomicfile"
	"tutti/internal/store"
)

const (
	// maxReaders is how many goroutines read a folder in bulk. The calls of the system, which are two thirds of the cost, do
	// not wait for each other; beyond a few processors they wait for the folder.
	maxReaders = 4
	// share is how many documents a reader takes at a time, and below how many nobody helps it.
	share = 64
)

// GetAll reads all documents of one owner, faster than List and Get of each: the folder is opened once, and several
// processors read. The documents are numbered by rising name. begin is told how many numbers there are before anything is
// read; then each is called for every number, by several goroutines at the same time, with the document or with why there is
// none: store.ErrNotFound for what went away meanwhile, *store.UnfitError for what is no document.
//
// The documents have no Rev, which costs as much as the reading of them. Their Data may share memory, so that one which is
// kept keeps its neighbours.
func (s *Store) GetAll(ctx context.Context, kind store.Kind, owner string, begin func(n int), each func(i int, d store.Doc, err error)) error {
	if err := checkOwner(ctx, kind, owner); err != nil {
		return err
	}
	d, err := s.folder(kind, owner)
	if errors.Is(err, store.ErrNotFound) {
		begin(0)
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
	names, err := d.Names()
	if err != nil {
		return s.fail("list", store.Key{Kind: kind, Owner: owner}, err)
	}
	s.noteTemps(folderPath(kind, owner), names)
	keys := make([]store.Key, 0, len(names))
	for _, name := range names {
		if k, ok := keyNamed(kind, owner, name); ok {
			keys = append(keys, k)
		}
	}
	slices.SortStableFunc(keys, func(a, b store.Key) int { return strings.Compare(a.Name, b.Name) })
	begin(len(keys))
	inShares(ctx, len(keys), func() func(i int) {
		var room arena
		return func(i int) {
			doc, err := s.docAt(d, keys[i], &room)
			each(i, doc, err)
		}
	})
	return ctx.Err()
}

// docAt reads one document of a listing, without its revision. For nested kinds a folder without the document, or a plain
// file among the folders, is store.ErrNotFound.
func (s *Store) docAt(d *atomicfile.Dir, k store.Key, room *arena) (store.Doc, error) {
	if err := k.Check(); err != nil {
		return store.Doc{}, &store.UnfitError{Key: k, Where: s.where(k), Why: err.Error()}
	}
	if nested(k.Kind) {
		if _, err := s.entry(d, k, fileName(k)); err != nil {
			return store.Doc{}, s.fail("get", k, err)
		}
	}
	data, info, err := d.ReadInto(fileName(k), k.Kind.Spec().ReadLimit, room.take)
	if err != nil {
		return store.Doc{}, s.fail("read", k, err)
	}
	if !s.trusted(info.UID) {
		return store.Doc{}, &store.UnfitError{Key: k, Where: s.where(k), Why: "belongs to another user"}
	}
	if s.halfMoved(k, info) {
		return store.Doc{}, s.fail("get", k, store.ErrNotFound)
	}
	return store.Doc{Key: k, Data: data, Stored: storedAt(info)}, nil
}

// inShares calls what worker returns for each number below n, in as many goroutines as are worth it, and returns when all have
// ended. worker is called once by each of them. When the context ends numbers are left out.
func inShares(ctx context.Context, n int, worker func() func(i int)) {
	var next atomic.Int64
	run := func() {
		do := worker()
		for ctx.Err() == nil {
			from := int(next.Add(share)) - share
			if from >= n {
				return
			}
			for i := from; i < min(from+share, n); i++ {
				do(i)
			}
		}
	}
	var others sync.WaitGroup
	for range min(maxReaders, runtime.GOMAXPROCS(0), n/share) - 1 {
		others.Go(run)
	}
	run()
	others.Wait()
}

// An arena gives memory for many small files in few pieces.
type arena struct{ free []byte }

// Pieces are small against what a folder that is worth it holds; files above a quarter of one get memory of their own.
const piece = 64 << 10

func (a *arena) take(n int) []byte {
	if n > piece/4 {
		return make([]byte, n)
	}
	if n > len(a.free) {
		a.free = make([]byte, piece)
	}
	b := a.free[:n:n]
	a.free = a.free[n:]
	return b
}
