package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"golang.org/x/sys/unix"

	"tutti/internal/platform/atomicfile"
	"tutti/internal/store"
)

// Batch creates many documents for the price of few syncs: all are written under temporary names, then synced together, then
// get their names, then the folders are synced. Readers see whole documents, in no order; a crash in between leaves some of
// them, whole, and temporary files. An error of one document is reported and the others go on, but when fn itself fails
// none of them is stored.
//
// Documents of one batch are visible when Batch returns, not before: fn does not find them with Get.
func (s *Store) Batch(ctx context.Context, fn func(store.Writer) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.readOnly {
		return fmt.Errorf("batch: %w", store.ErrReadOnly)
	}
	b := &batch{s: s, places: map[store.Key]*place{}, keys: map[store.Key]store.Rev{}}
	defer b.close()
	err := fn(b)
	b.end()
	if err == nil {
		err = b.sync()
	}
	if err != nil {
		return errors.Join(err, b.discard())
	}
	return b.publish()
}

// A batch is the Writer of one Batch.
type batch struct {
	s *Store

	mu     sync.Mutex           // guards what follows; held while a document is written
	places map[store.Key]*place // by keys without a name
	order  []*place             // the same, as they came
	staged []staged
	keys   map[store.Key]store.Rev
	full   int // how many of the staged have to survive a power cut
	done   bool
}

// A place is the open folder of the documents of one kind and owner.
type place struct {
	*atomicfile.Dir
	kind store.Kind
	rel  string // path below the root
	twin string // path of the archive that is asked first, with a slash at its end; "" for all but messages
	made int    // how many documents the batch has created there
	// apart: it lies on another file system than the root, and what makes that safe says nothing of it.
	apart bool
}

// A staged document is written and has no name yet.
type staged struct {
	key  store.Key
	rev  store.Rev
	at   *place
	base string
	tmp  string
}

// errBatch is what the methods answer that a batch does not have.
var errBatch = errors.New("a batch is for Create only, and only until its function returns")

// Create writes a document that gets its name when the batch ends. A name that is taken already is reported at once. A kind
// whose documents are created under a lock is created right away: a lock is not held for the length of a batch.
func (b *batch) Create(ctx context.Context, k store.Key, data []byte) (store.Rev, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done {
		return "", errBatch
	}
	err := b.s.checkWrite(ctx, "create", k)
	if err == nil {
		err = b.s.checkSize(k, data)
	}
	if err != nil {
		return "", err
	}
	if k.Kind.Spec().Class == store.Locked {
		return b.s.Create(ctx, k, data)
	}
	if rev, ok := b.keys[k]; ok {
		return "", &store.ExistsError{Key: k, Rev: rev}
	}
	rev := revOf(data)
	if err := b.stage(k, data, rev); err != nil {
		return "", b.s.failWrite("create", k, err)
	}
	return rev, nil
}

func (b *batch) stage(k store.Key, data []byte, rev store.Rev) error {
	g := staged{key: k, rev: rev}
	var err error
	if g.at, g.base, err = b.place(k); err != nil {
		return err
	}
	if err := b.taken(&g); err != nil {
		return err
	}
	if modeOf(g.at.Dir, g.base) != 0 {
		if err := b.s.exists(k, g.at.Dir, g.base, rev); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if g.tmp, err = g.at.Stage(data, filePerm, false); err != nil {
		return err
	}
	b.staged = append(b.staged, g)
	b.keys[k] = rev
	if k.Kind.Spec().Durability == store.Full {
		b.full++
	}
	return nil
}

// place opens the folder of a document, once a batch for each, and says what the document is called there.
func (b *batch) place(k store.Key) (*place, string, error) {
	if nested(k.Kind) { // a folder for each
		rel, base := home(k)
		p, err := b.open(store.Key{Kind: k.Kind, Owner: rel}, rel)
		return p, base, err
	}
	owner := store.Key{Kind: k.Kind, Owner: k.Owner}
	base := fileName(k)
	if p, ok := b.places[owner]; ok {
		return p, base, nil
	}
	p, err := b.open(owner, folderPath(k.Kind, k.Owner))
	if err == nil && k.Kind == store.Inbox {
		p.twin = folderPath(store.Archive, k.Owner) + "/"
	}
	return p, base, err
}

func (b *batch) open(owner store.Key, rel string) (*place, error) {
	if p, ok := b.places[owner]; ok {
		return p, nil
	}
	d, err := b.s.makeHome(rel)
	if err != nil {
		return nil, err
	}
	i, err1 := d.Self()
	root, err2 := b.s.self()
	p := &place{Dir: d, kind: owner.Kind, rel: rel, apart: err1 != nil || err2 != nil || i.Dev != root.Dev}
	b.places[owner] = p
	b.order = append(b.order, p)
	return p, nil
}

// taken is that of the store, with as few words.
func (b *batch) taken(g *staged) error {
	if g.at.twin == "" || modeOf(b.s.root, g.at.twin+g.base)&unix.S_IFMT != unix.S_IFREG {
		return nil
	}
	return taken(b.s, g.key)
}

// modeOf is the mode of what lies at a path below an open folder, 0 when nothing does. It puts no error into words, because that
// nothing is there is what a batch hears of each of its names.
func modeOf(d *atomicfile.Dir, path string) uint32 {
	var st unix.Stat_t
	if unix.Fstatat(d.FD(), path, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return 0
	}
	return uint32(st.Mode)
}

// sync makes the bytes of all staged documents safe.
func (b *batch) sync() error {
	together := false
	if b.full >= syncAllFrom && b.s.isLocal() {
		ok, err := syncFS(b.s.root.FD())
		if together = ok; err != nil {
			return err
		}
	}
	for _, g := range b.staged {
		if g.key.Kind.Spec().Durability != store.Full || together && !g.at.apart {
			continue
		}
		if err := syncFile(g.at.Dir, g.tmp); err != nil {
			return err
		}
	}
	return nil
}

// syncAllFrom is from how many documents on one sync of the file system is cheaper than one for each: a sync a file took 50 to
// 260 µs on ext4, also after the writing back of all had been started; one of the whole took 8 to 40 ms for a thousand files,
// and at least as long as a few syncs, 1 ms for 16 or 32. It also waits for what other programs have written meanwhile, which a few files must not.
const syncAllFrom = 8

func syncFile(d *atomicfile.Dir, name string) error {
	f, _, err := d.Open(name, false, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// publish gives the documents their names, and makes the names safe.
func (b *batch) publish() error {
	errs := b.name()
	for _, p := range b.order {
		if p.made == 0 {
			continue
		}
		if p.kind.Spec().Durability == store.Full {
			if err := p.Sync(); err != nil {
				errs = append(errs, fmt.Errorf("batch: make names in %s safe: %w", p.rel, err))
			}
		}
		b.s.sweepMany(p.made, p.rel, p.Dir)
	}
	return errors.Join(errs...)
}

// name gives the documents their names, and says of which it could not.
func (b *batch) name() (errs []error) {
	for n := range b.staged {
		g := &b.staged[n]
		err := b.taken(g)
		if err == nil {
			// A rename that does not replace is one step where a link takes two.
			err = g.at.Rename(g.tmp, g.at.Dir, g.base, false)
		}
		if errors.Is(err, fs.ErrExist) {
			err = b.s.exists(g.key, g.at.Dir, g.base, g.rev)
		}
		if err != nil {
			_ = g.at.Remove(g.tmp)
			errs = append(errs, b.s.failWrite("create", g.key, err))
			continue
		}
		g.at.made++
	}
	return errs
}

// discard removes what will not get a name.
func (b *batch) discard() error {
	var errs []error
	for _, g := range b.staged {
		if err := g.at.Remove(g.tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (b *batch) end() {
	b.mu.Lock()
	b.done = true
	b.mu.Unlock()
}

func (b *batch) close() {
	if !b.done {
		b.end() // fn has panicked
		_ = b.discard()
	}
	for _, p := range b.order {
		p.Close()
	}
}

// Replace is refused.
func (b *batch) Replace(context.Context, store.Key, []byte, store.Rev) (store.Rev, error) {
	return "", errBatch
}

// Delete is refused.
func (b *batch) Delete(context.Context, store.Key, store.Rev) error { return errBatch }

// Move is refused.
func (b *batch) Move(context.Context, store.Key, store.Rev, store.Key) error { return errBatch }
