package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"tutti/internal/atomicfile"
	"tutti/internal/store"
)

// Copies are the documents that come after a batch. A copy costs as much as the document that it is of, and while one processor
// gives the batch its names the others have nothing to do. So they write copies then, as files that have no name: what the batch
// creates is safe before anybody can find the first of its copies, and a batch that fails leaves none. While the batch is synced
// nothing is written, because the sync would take longer by more than that is worth.
type copies struct {
	s      *Store
	places map[string]*place // by their paths; not those of the batch, which closes them earlier
	list   []laterOn

	most int // of list, to be written ahead

	next    atomic.Int64 // of list, for whoever writes
	over    atomic.Bool  // no more is to be written ahead
	writing sync.WaitGroup
}

// laterOn is a document that has no name yet, and perhaps no file.
type laterOn struct {
	key  store.Key
	at   *place
	base string
	data []byte
	file *atomicfile.Nameless
}

const (
	// maxAhead is how many files may be open at once, if half of what the process may open are not fewer.
	maxAhead = 4096
	// makeRoomAt is how many copies show that there will be many.
	makeRoomAt = 64
)

var _ store.Copier = (*batch)(nil)

// Copy takes a document for Finish.
func (b *batch) Copy(ctx context.Context, k store.Key, data []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done {
		return errBatch
	}
	err := b.s.checkWrite(ctx, "copy", k)
	if err == nil {
		err = b.s.checkSize(k, data)
	}
	if spec := k.Kind.Spec(); err == nil && (spec.Class != store.Once || spec.Durability != store.None) {
		err = fmt.Errorf("copy %s: its kind is no one for copies", k)
	}
	if err != nil {
		return err
	}
	rel, base := home(k)
	p, err := b.copies.place(b.s, rel)
	if err != nil {
		return b.s.failWrite("copy", k, err)
	}
	b.copies.list = append(b.copies.list, laterOn{key: k, at: p, base: base, data: data})
	if len(b.copies.list) == makeRoomAt {
		b.copies.makeRoom()
	}
	return nil
}

// makeRoom has the system make its table of open files as large as it will have to be. When it does that by itself, each time the
// table is full, whoever opens a file waits some 5 ms until no other processor can be reading the old table.
func (c *copies) makeRoom() {
	c.most = maxAhead
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil {
		c.most = min(c.most, int(limit.Cur/2))
	}
	root, most := c.s.root, c.most
	c.writing.Go(func() {
		if fd, err := unix.FcntlInt(uintptr(root.FD()), unix.F_DUPFD_CLOEXEC, most); err == nil {
			unix.Close(fd)
		}
	})
}

func (c *copies) place(s *Store, rel string) (*place, error) {
	if p, ok := c.places[rel]; ok {
		return p, nil
	}
	d, err := s.makeHome(rel)
	if err != nil {
		return nil, err
	}
	if c.places == nil {
		c.s, c.places = s, map[string]*place{}
	}
	p := &place{Dir: d, rel: rel}
	c.places[rel] = p
	return p, nil
}

// begin has other processors write files ahead.
func (c *copies) begin() {
	for range runtime.GOMAXPROCS(0) - 1 {
		c.writing.Go(func() {
			for !c.over.Load() && c.writeOne() {
			}
		})
	}
}

func (c *copies) writeOne() bool {
	n := c.next.Add(1) - 1
	if n >= int64(min(len(c.list), c.most)) {
		return false
	}
	l := &c.list[n]
	var err error
	l.file, err = l.at.Nameless(l.data, filePerm)
	return err == nil // else there are no such files here, or too many are open
}

func (c *copies) end() {
	c.over.Store(true)
	c.writing.Wait()
}

// Finish gives the copies their names.
func (b *batch) Finish() {
	if !b.failed {
		b.copies.finish()
	}
}

func (c *copies) finish() {
	c.end()
	c.next.Store(0)
	for range min(len(c.list), runtime.GOMAXPROCS(0)) {
		c.writing.Go(func() {
			for n := c.next.Add(1) - 1; n < int64(len(c.list)); n = c.next.Add(1) - 1 {
				c.create(&c.list[n])
			}
		})
	}
	c.writing.Wait()
	for _, l := range c.list {
		l.at.made++
	}
	for _, p := range c.places {
		c.s.sweepMany(p.made, p.rel, p.Dir)
		p.Close()
	}
	c.list, c.places = nil, nil
}

func (c *copies) create(l *laterOn) {
	var err error
	if l.file != nil {
		err = l.file.Name(l.base)
	} else {
		err = l.at.Create(l.base, l.data, filePerm, false)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) { // the folder may have gone meanwhile, or /proc is not there to link by
		_, _ = c.s.Create(context.Background(), l.key, l.data)
	}
}

// drop forgets all.
func (c *copies) drop() {
	c.end()
	for _, l := range c.list {
		if l.file != nil {
			l.file.Close()
		}
	}
	for _, p := range c.places {
		p.Close()
	}
	c.list, c.places = nil, nil
}
