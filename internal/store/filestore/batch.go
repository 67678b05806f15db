package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"tutti/internal/atomicfile"
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
	b := &batch{s: s, dirs: map[string]*atomicfile.Dir{}, keys: map[store.Key]store.Rev{}}
	defer b.close()
	err := fn(b)
	b.end()
	if err == nil {
		err = b.sync()
	}
	if err != nil {
		return errors.Join(err, b.discard())
	}
	return b.publish(ctx)
}

// A batch is the Writer of one Batch.
type batch struct {
	s *Store

	mu     sync.Mutex                 // guards what follows; held while a document is written
	dirs   map[string]*atomicfile.Dir // open folders by their path below the root
	staged []staged
	keys   map[store.Key]store.Rev
	full   int // how many of the staged have to survive a power cut
	done   bool
}

// A staged document is written and has no name yet.
type staged struct {
	key store.Key
	rev store.Rev
	rel string
	tmp string
}

// errBatch is what the methods answer that a batch does not have.
var errBatch = errors.New("a batch is for Create only, and only until its function returns")

// Create writes a document that gets its name when the batch ends. What is taken already is told at once. A kind whose
// documents are created under a lock is created right away: a lock is not held for the length of a batch.
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
	if err := taken(b.s, k); err != nil {
		return err
	}
	rel, base := home(k)
	d, err := b.dir(rel)
	if err != nil {
		return err
	}
	if _, err := d.Stat(base); err == nil {
		if err := b.s.exists(k, d, base, rev); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	tmp, err := d.Stage(data, filePerm, false)
	if err != nil {
		return err
	}
	b.staged = append(b.staged, staged{k, rev, rel, tmp})
	b.keys[k] = rev
	if k.Kind.Spec().Durability == store.Full {
		b.full++
	}
	return nil
}

// dir opens a folder once a batch.
func (b *batch) dir(rel string) (*atomicfile.Dir, error) {
	if d, ok := b.dirs[rel]; ok {
		return d, nil
	}
	d, err := b.s.makeHome(rel)
	if err == nil {
		b.dirs[rel] = d
	}
	return d, err
}

// sync makes the bytes of all staged documents safe.
func (b *batch) sync() error {
	if b.full >= syncAllFrom && b.s.isLocal() {
		if ok, err := syncFS(b.s.root.FD()); ok {
			return err
		}
	}
	for _, g := range b.staged {
		if g.key.Kind.Spec().Durability != store.Full {
			continue
		}
		if err := syncFile(b.dirs[g.rel], g.tmp); err != nil {
			return err
		}
	}
	return nil
}

// syncAllFrom is from how many documents on one sync of the file system is cheaper than one for each: a sync a file took 50 to
// 260 µs on ext4, also after the writing back of all had been started; one of the whole took 8 to 40 ms for a thousand files,
// and at least as long as a few syncs. It also waits for what other programs have written meanwhile, which a few files must not.
const syncAllFrom = 16

func syncFile(d *atomicfile.Dir, name string) error {
	f, _, err := d.Open(name, false, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// publish gives the documents their names and makes the names safe.
func (b *batch) publish(ctx context.Context) error {
	var errs []error
	named := map[string]bool{} // folders that have to be synced
	for _, g := range b.staged {
		d := b.dirs[g.rel]
		_, base := home(g.key)
		err := taken(b.s, g.key)
		if err == nil {
			// A rename that does not replace is one step where a link takes two.
			err = d.Rename(g.tmp, d, base, false)
		}
		if errors.Is(err, fs.ErrExist) {
			err = b.s.exists(g.key, d, base, g.rev)
		}
		if err != nil {
			_ = d.Remove(g.tmp)
			errs = append(errs, b.s.failWrite("create", g.key, err))
			continue
		}
		if g.key.Kind.Spec().Durability == store.Full {
			named[g.rel] = true
		}
		b.s.sweep(g.rel, d)
	}
	for rel := range named {
		if err := b.dirs[rel].Sync(); err != nil {
			errs = append(errs, fmt.Errorf("batch: make names in %s safe: %w", rel, err))
		}
	}
	return errors.Join(errs...)
}

// discard removes what will not get a name.
func (b *batch) discard() error {
	var errs []error
	for _, g := range b.staged {
		if err := b.dirs[g.rel].Remove(g.tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
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
	b.end() // fn may have panicked
	for _, d := range b.dirs {
		d.Close()
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
