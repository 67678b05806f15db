package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"time"

	"tutti/internal/core/canonjson"
	"tutti/internal/platform/atomicfile"
	"tutti/internal/platform/filelock"
	"tutti/internal/store"
)

// tidyRoot is the folder of tidied documents. It is ours: the existing programs do not know it, and no kind is stored in it, so
// no listing, view or search of the store shows its content.
const tidyRoot = "tidied"

// TidyKinds are the kinds that Tidy takes: documents that no agent waits for any more.
var TidyKinds = [...]store.Kind{store.Archive, store.Outbox}

// A Tidied says what became of the documents of one owner that arrived in one month.
type Tidied struct {
	Kind   store.Kind
	Owner  string
	Month  string // of the arrival, UTC: "2026-08"
	Docs   int    // that are in the file now and no longer beside it; in a dry run: that would be
	Size   int64  // of these documents, in bytes
	File   string // below the root
	Packed int64  // size of the file; 0 in a dry run
}

// Tidy packs the documents of TidyKinds that arrived before a time into one compressed file for each owner and month, below the
// folder tidied, and removes them. It yields each month as it is done; anything that is not a document is yielded as
// *store.UnfitError and stays where it is. With dry nothing is written and each month is yielded as it would be.
//
// No document is removed before the file that holds it was written, synced, read back, compared by hash, and has got its name.
// Where a run was cut off, the next one goes on: a document that the file has already is only removed. One run at a time: a
// second one is a *store.HeldError.
//
// What was tidied away is gone for the store. A message taken long ago that is sent again under its old id then counts as new.
func (s *Store) Tidy(ctx context.Context, before time.Time, dry bool) iter.Seq2[Tidied, error] {
	return func(yield func(Tidied, error) bool) {
		if err := s.tidy(ctx, before, dry, yield); err != nil && !errors.Is(err, errEnough) {
			yield(Tidied{}, fmt.Errorf("tidy: %w", err))
		}
	}
}

// errEnough says that the caller wants to see no more.
var errEnough = errors.New("enough")

func (s *Store) tidy(ctx context.Context, before time.Time, dry bool, yield func(Tidied, error) bool) error {
	if s.readOnly && !dry {
		return store.ErrReadOnly
	}
	t := tidying{s: s, dry: dry, yield: yield}
	defer t.unlock()
	for _, kind := range TidyKinds {
		for owner, err := range s.Owners(ctx, kind) {
			if err == nil {
				t.kind, t.owner = kind, owner
				err = t.all(ctx, before)
			}
			if err = pass(yield, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// lock makes this the only run, before it writes for the first time: one that finds nothing to do leaves no folder.
func (t *tidying) lock(ctx context.Context) error {
	if t.held != nil {
		return nil
	}
	var err error
	if t.home, err = t.s.makeHome(tidyRoot); err != nil {
		return err
	}
	t.held, err = filelock.Acquire(ctx, t.home.FD(), t.home.Path(), filelock.Options{Kernel: kernelLock, Timeout: -1})
	if err != nil {
		return lockError(ctx, err)
	}
	return nil
}

func (t *tidying) unlock() {
	if t.held != nil {
		_ = t.held.Release() // a kernel lock, which ends with the process at the latest
	}
	if t.home != nil {
		t.home.Close()
	}
}

// pass hands what is unfit to the caller and every other error back.
func pass(yield func(Tidied, error) bool, err error) error {
	if u, ok := errors.AsType[*store.UnfitError](err); ok {
		if !yield(Tidied{}, u) {
			return errEnough
		}
		return nil
	}
	return err
}

// A tidying is one run. It works on the documents of one owner after the other.
type tidying struct {
	s     *Store
	kind  store.Kind
	owner string
	dry   bool
	yield func(Tidied, error) bool

	home *atomicfile.Dir // of all that was tidied away, from the first write on
	held *filelock.Lock  // in it
}

// all finds the months and works on one after the other, the oldest first.
func (t *tidying) all(ctx context.Context, before time.Time) error {
	months := map[string][]store.Entry{}
	for e, err := range t.s.List(ctx, t.kind, t.owner) {
		if err = pass(t.yield, err); err != nil {
			return err
		}
		if e.Size > 0 && e.Stored.Before(before) {
			m := e.Stored.UTC().Format("2006-01")
			months[m] = append(months[m], e)
		}
	}
	var names []string
	for m := range months {
		names = append(names, m)
	}
	slices.Sort(names)
	for _, m := range names {
		done, err := t.month(ctx, m, months[m])
		if err = pass(t.yield, err); err != nil {
			return err
		}
		if done.Docs > 0 && !t.yield(done, nil) {
			return errEnough
		}
	}
	return nil
}

// folder is where the files of this owner lie, below the root.
func (t *tidying) folder() string { return tidyRoot + "/" + folderPath(t.kind, t.owner) }

// month packs and removes the documents of one month.
func (t *tidying) month(ctx context.Context, month string, found []store.Entry) (Tidied, error) {
	name := month + tidySuffix
	done := Tidied{Kind: t.kind, Owner: t.owner, Month: month, File: t.folder() + "/" + name}
	if t.dry {
		for _, e := range found {
			done.Docs++
			done.Size += e.Size
		}
		return done, nil
	}
	if err := t.lock(ctx); err != nil {
		return done, err
	}
	to, err := t.s.makeHome(t.folder())
	if err != nil {
		return done, err
	}
	defer to.Close()
	if _, err := to.Sweep(t.s.now()); err != nil { // of a run that was cut off: ours is the only one
		return done, err
	}
	from, err := t.s.folder(t.kind, t.owner)
	if err != nil {
		return done, err
	}
	defer from.Close()

	p := packing{t: t, to: to, from: from, name: name}
	if err := p.pack(ctx, found); err != nil {
		return done, err
	}
	done.Packed = p.size
	done.Docs, done.Size, err = p.removeAll(ctx)
	return done, err
}

// A packing makes one file and then removes the documents that are in it.
type packing struct {
	t        *tidying
	to, from *atomicfile.Dir
	name     string
	size     int64 // of the file
	held     map[string]hash
	packed   []original
}

// An original is a document as it was when it was read, and what its bytes were.
type original struct {
	key  store.Key
	info atomicfile.Info
	sum  hash
}

// pack writes the file if it lacks any of the documents. When it returns nil, the file holds all of p.packed, durably.
func (p *packing) pack(ctx context.Context, found []store.Entry) error {
	var err error
	if p.held, err = p.contents(ctx, p.name); err != nil {
		return err
	}
	w := p.writer()
	defer w.discard()
	for _, e := range found {
		if err := ctx.Err(); err != nil {
			return err
		}
		data, info, err := p.t.s.readFile(p.from, e.Key)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err == nil && !canonjson.Valid(data) {
			err = &store.UnfitError{Key: e.Key, Where: p.t.s.where(e.Key), Why: "is not valid JSON"}
		}
		if err != nil || info.Unstable {
			if err = pass(p.t.yield, err); err != nil {
				return err
			}
			continue
		}
		o := original{e.Key, info, hashOf(data)}
		if p.held[e.Key.Name] != o.sum {
			if err := w.add(e.Key.Name, storedAt(info), data, o.sum); err != nil {
				return err
			}
		}
		p.packed = append(p.packed, o)
	}
	return p.publish(ctx, w)
}

// publish reads back what was written, compares it, and gives it its name.
func (p *packing) publish(ctx context.Context, w *tidyWriter) error {
	if w.tmp == "" { // nothing new: a run before this one wrote the file and was cut off
		info, err := p.to.Stat(p.name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			p.size, err = info.Size, p.to.Sync()
		}
		return err
	}
	if err := w.finish(); err != nil {
		return err
	}
	p.size = w.at
	read, err := p.contents(ctx, w.tmp)
	if err != nil {
		return fmt.Errorf("read back: %w", err)
	}
	for _, o := range p.packed {
		if read[o.key.Name] != o.sum {
			return fmt.Errorf("read back %s: %s is another one than was written", p.name, o.key.Name)
		}
	}
	for name, sum := range p.held {
		if _, ok := read[name]; !ok {
			return fmt.Errorf("read back %s: %s (%x) has got lost", p.name, name, sum[:4])
		}
	}
	if err := p.to.Rename(w.tmp, p.to, p.name, true); err != nil {
		return err
	}
	w.tmp = ""
	return p.to.Sync()
}

// removeAll removes the documents that are in the file, unless they have changed since they were read.
func (p *packing) removeAll(ctx context.Context) (docs int, size int64, err error) {
	for _, o := range p.packed {
		if err := ctx.Err(); err != nil {
			return docs, size, err
		}
		file := fileName(o.key)
		now, err := p.from.Stat(file)
		if errors.Is(err, fs.ErrNotExist) || err == nil && statOf(now) != statOf(o.info) {
			continue
		}
		if err == nil {
			err = p.from.Remove(file)
		}
		if err != nil {
			return docs, size, err
		}
		docs++
		size += o.info.Size
	}
	return docs, size, nil
}

// contents is what the file of that name holds: of each document the hash of its bytes, of several under one name that of the
// last one. A file that is not there holds nothing.
func (p *packing) contents(ctx context.Context, name string) (map[string]hash, error) {
	all := map[string]hash{}
	for doc, err := range p.t.s.readTidied(ctx, p.to, name, p.t.kind, p.t.owner) {
		if err != nil {
			return nil, err
		}
		all[doc.Key.Name] = hashOf(doc.Data)
	}
	return all, nil
}

// Tidied yields the documents of one owner that were tidied away, byte for byte as they were, the months in order. Rev and
// Stored are those of the document before. A file that cannot be read is yielded as *store.UnfitError.
func (s *Store) Tidied(ctx context.Context, kind store.Kind, owner string) iter.Seq2[store.Doc, error] {
	return func(yield func(store.Doc, error) bool) {
		if err := checkOwner(ctx, kind, owner); err != nil {
			yield(store.Doc{}, err)
			return
		}
		t := tidying{s: s, kind: kind, owner: owner}
		d, err := s.root.Sub(t.folder())
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(store.Doc{}, s.fail("read tidied", store.Key{Kind: kind, Owner: owner}, err))
			return
		}
		defer d.Close()
		names, err := d.Names()
		if err != nil {
			yield(store.Doc{}, err)
			return
		}
		slices.Sort(names)
		for _, name := range names {
			if !isTidyFile(name) {
				continue
			}
			for doc, err := range s.readTidied(ctx, d, name, kind, owner) {
				if !yield(doc, err) {
					return
				}
			}
		}
	}
}
