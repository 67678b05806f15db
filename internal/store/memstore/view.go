package memstore

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"

	"tutti/internal/store"
)

// View reads every document: there is no index here, so every query is exact.
func (s *Store) View(ctx context.Context, kind store.Kind, owner string, p *store.Projection, q store.Query) iter.Seq2[store.Row, error] {
	// The struct hides that s is a Viewer, or ViewOf would ask s again.
	return store.ViewOf(ctx, struct{ store.Reader }{s}, kind, owner, p, q)
}

// Find reads the whole log.
func (s *Store) Find(ctx context.Context, log store.Key, p *store.Projection, key string) iter.Seq2[store.Line, error] {
	return store.FindIn(ctx, struct{ store.Log }{s}, log, p, key)
}

// Batch runs fn with a Writer that can only create. Each document is there at once: a server acknowledges each by itself.
func (s *Store) Batch(ctx context.Context, fn func(store.Writer) error) error {
	if err := s.usable(ctx, true); err != nil {
		return err
	}
	w := &batch{s: s}
	defer w.over.Store(true)
	return fn(w)
}

// A batch is a Writer that is for Create only, while its function runs.
type batch struct {
	s    *Store
	over atomic.Bool
}

var (
	errBatchOver = errors.New("the batch is over")
	errOnlyMake  = errors.New("a batch can only create")
)

// Create stores a document.
func (b *batch) Create(ctx context.Context, k store.Key, data []byte) (store.Rev, error) {
	if b.over.Load() {
		return "", fail("create", k, errBatchOver)
	}
	return b.s.Create(ctx, k, data)
}

// Replace refuses.
func (b *batch) Replace(_ context.Context, k store.Key, _ []byte, _ store.Rev) (store.Rev, error) {
	return "", fail("replace", k, errOnlyMake)
}

// Delete refuses.
func (b *batch) Delete(_ context.Context, k store.Key, _ store.Rev) error {
	return fail("delete", k, errOnlyMake)
}

// Move refuses.
func (b *batch) Move(_ context.Context, from store.Key, _ store.Rev, _ store.Key) error {
	return fail("move", from, errOnlyMake)
}
