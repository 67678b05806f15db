package storetest_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"tutti/internal/store"
	"tutti/internal/store/memstore"
	"tutti/internal/store/storetest"
)

// mutants are backends that break one sentence of the contract each, and the tests that have to say so. A suite that a
// broken backend passes promises nothing.
var mutants = []struct {
	name   string
	make   func(*memstore.Store) storetest.Store
	caught []string
}{
	{"create writes over", func(s *memstore.Store) storetest.Store { return createOver{s} }, []string{"Create", "CreateRace", "Random"}},
	{"create tells no revision found", func(s *memstore.Store) storetest.Store { return existsBare{s} }, []string{"Create", "Taken", "Random"}},
	{"create forgets the archive", func(s *memstore.Store) storetest.Store { return noArchive{s} }, []string{"Taken", "TakenRace", "Random"}},
	{"create keeps the caller's buffer", func(s *memstore.Store) storetest.Store { return &aliased{Store: s} }, []string{"Create"}},
	{"replace ignores the revision", func(s *memstore.Store) storetest.Store { return replaceAny{s} }, []string{"Replace", "ReplaceRace", "Random"}},
	{"replace deletes, then creates", func(s *memstore.Store) storetest.Store { return replaceGap{s} }, []string{"ReplaceWhole"}},
	{"replace of what is not there creates", func(s *memstore.Store) storetest.Store { return replaceNew{s} }, []string{"Replace", "Random"}},
	{"delete ignores the revision", func(s *memstore.Store) storetest.Store { return deleteAny{s} }, []string{"Delete", "Random"}},
	{"move copies, then deletes", func(s *memstore.Store) storetest.Store { return moveTwice{s} }, []string{"MoveRace"}},
	{"move writes over its target", func(s *memstore.Store) storetest.Store { return moveOver{s} }, []string{"Move", "Random"}},
	{"list leaves one out", func(s *memstore.Store) storetest.Store { return listLess{s} }, []string{"List", "Keys", "Random"}},
	{"names lose their case", func(s *memstore.Store) storetest.Store { return folded{s} }, []string{"Keys"}},
	{"append ignores the end", func(s *memstore.Store) storetest.Store { return appendAny{s} }, []string{"LogConflict", "LogUnique", "Random"}},
	{"append looks, then adds", func(s *memstore.Store) storetest.Store { return appendLate{s} }, []string{"LogUnique"}},
	{"read begins anew at an unknown position", func(s *memstore.Store) storetest.Store { return readAnew{s} }, []string{"LogConflict"}},
	{"a lease goes to all", func(s *memstore.Store) storetest.Store { return leaseAll{s} }, []string{"Lease", "LeaseRace", "Random"}},
	{"release frees another's lease", func(s *memstore.Store) storetest.Store { return releaseAny{s} }, []string{"Lease", "LeaseEnd", "Random"}},
	{"the context is not looked at", func(s *memstore.Store) storetest.Store { return deaf{s} }, []string{"Context"}},
	{"a watcher ends before its time", func(s *memstore.Store) storetest.Store { return shut{s} }, []string{"Watch"}},
	{"a view is kept for ever", func(s *memstore.Store) storetest.Store { return &stale{Store: s} }, []string{"View", "ViewChanges"}},
	{"a row of a frozen view outlives its document", func(s *memstore.Store) storetest.Store { return &stale{Store: s} }, []string{"ViewFrozen"}},
	{"the end of a log is any end", func(s *memstore.Store) storetest.Store { return endAny{s} }, []string{"End"}},
	{"find yields the first line only", func(s *memstore.Store) storetest.Store { return findOne{s} }, []string{"Find"}},
	{"a batch forgets errors", func(s *memstore.Store) storetest.Store { return batchDeaf{s} }, []string{"BatchError"}},
}

// endAny is a backend whose logs end wherever.
type endAny struct{ *memstore.Store }

func (endAny) End(context.Context, store.Key) (store.Pos, error) { return store.AnyEnd, nil }

// mutantVar names the mutant to a child of this test.
const mutantVar = "STORETEST_MUTANT"

// TestSuiteFindsFaults runs the suite on each mutant, in a child process because it has to fail there.
func TestSuiteFindsFaults(t *testing.T) {
	if os.Getenv(mutantVar) != "" {
		t.Skip("this is the child")
	}
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestMutant$/^("+strings.Join(m.caught, "|")+")$",
				"-test.v", "-rapid.nofailfile", "-rapid.shrinktime=1ms")
			cmd.Env = append(os.Environ(), mutantVar+"="+m.name, "TUTTI_SOAK=")
			out, _ := cmd.CombinedOutput()
			for _, test := range m.caught {
				if !bytes.Contains(out, []byte("--- FAIL: TestMutant/"+test+" ")) {
					t.Errorf("the test %s does not notice that %s", test, m.name)
				}
			}
			if t.Failed() {
				t.Logf("%s", out)
			}
		})
	}
}

// TestMutant is the child's part.
func TestMutant(t *testing.T) {
	name := os.Getenv(mutantVar)
	if name == "" {
		t.Skip("only for children of TestSuiteFindsFaults")
	}
	for _, m := range mutants {
		if m.name == name {
			storetest.Run(t, storetest.Backend{
				New:      func(testing.TB) storetest.Store { return m.make(memstore.New(memstore.Options{})) },
				MaxValue: memstore.MaxPayload,
			})
		}
	}
}

type createOver struct{ *memstore.Store }

func (s createOver) Create(ctx context.Context, k store.Key, data []byte) (store.Rev, error) {
	rev, err := s.Store.Create(ctx, k, data)
	if errors.Is(err, store.ErrExists) && s.Plant(k, data) == nil {
		d, err := s.Get(ctx, k)
		return d.Rev, err
	}
	return rev, err
}

type existsBare struct{ *memstore.Store }

func (s existsBare) Create(ctx context.Context, k store.Key, data []byte) (store.Rev, error) {
	rev, err := s.Store.Create(ctx, k, data)
	if errors.Is(err, store.ErrExists) {
		err = store.ErrExists
	}
	return rev, err
}

type noArchive struct{ *memstore.Store }

func (s noArchive) Create(ctx context.Context, k store.Key, data []byte) (store.Rev, error) {
	rev, err := s.Store.Create(ctx, k, data)
	if e, ok := errors.AsType[*store.ExistsError](err); ok && e.Key != k && s.Plant(k, data) == nil {
		d, err := s.Get(ctx, k)
		return d.Rev, err
	}
	return rev, err
}

type aliased struct {
	*memstore.Store
	last []byte
}

func (s *aliased) Create(ctx context.Context, k store.Key, data []byte) (store.Rev, error) {
	s.last = data
	return s.Store.Create(ctx, k, data)
}

func (s *aliased) Get(ctx context.Context, k store.Key) (store.Doc, error) {
	d, err := s.Store.Get(ctx, k)
	if k.Name == "buffer" {
		d.Data = s.last
	}
	return d, err
}

type replaceAny struct{ *memstore.Store }

func (s replaceAny) Replace(ctx context.Context, k store.Key, data []byte, old store.Rev) (store.Rev, error) {
	for {
		rev, err := s.Store.Replace(ctx, k, data, old)
		if !errors.Is(err, store.ErrConflict) {
			return rev, err
		}
		d, err := s.Get(ctx, k)
		if err != nil {
			return "", err
		}
		old = d.Rev
	}
}

type replaceGap struct{ *memstore.Store }

func (s replaceGap) Replace(ctx context.Context, k store.Key, data []byte, old store.Rev) (store.Rev, error) {
	if err := s.Delete(ctx, k, old); err != nil {
		return "", err
	}
	time.Sleep(time.Millisecond)
	return s.Create(ctx, k, data)
}

type replaceNew struct{ *memstore.Store }

func (s replaceNew) Replace(ctx context.Context, k store.Key, data []byte, old store.Rev) (store.Rev, error) {
	rev, err := s.Store.Replace(ctx, k, data, old)
	if errors.Is(err, store.ErrNotFound) {
		return s.Create(ctx, k, data)
	}
	return rev, err
}

type deleteAny struct{ *memstore.Store }

func (s deleteAny) Delete(ctx context.Context, k store.Key, old store.Rev) error {
	if d, err := s.Get(ctx, k); err == nil {
		old = d.Rev
	}
	return s.Store.Delete(ctx, k, old)
}

type moveTwice struct{ *memstore.Store }

func (s moveTwice) Move(ctx context.Context, from store.Key, old store.Rev, to store.Key) error {
	d, err := s.Get(ctx, from)
	if err != nil {
		return err
	}
	time.Sleep(time.Millisecond)
	if _, err := s.Create(ctx, to, d.Data); err != nil && !errors.Is(err, store.ErrExists) {
		return err
	}
	_ = s.Delete(ctx, from, old)
	return nil
}

type moveOver struct{ *memstore.Store }

func (s moveOver) Move(ctx context.Context, from store.Key, old store.Rev, to store.Key) error {
	err := s.Store.Move(ctx, from, old, to)
	if !errors.Is(err, store.ErrExists) {
		return err
	}
	d, _ := s.Get(ctx, from)
	_ = s.Plant(to, d.Data)
	return s.Delete(ctx, from, old)
}

type listLess struct{ *memstore.Store }

func (s listLess) List(ctx context.Context, kind store.Kind, owner string) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		first := true
		for e, err := range s.Store.List(ctx, kind, owner) {
			if (!first || err != nil) && !yield(e, err) {
				return
			}
			first = false
		}
	}
}

type folded struct{ *memstore.Store }

func (s folded) List(ctx context.Context, kind store.Kind, owner string) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for e, err := range s.Store.List(ctx, kind, owner) {
			e.Key.Name = strings.ToLower(e.Key.Name)
			if !yield(e, err) {
				return
			}
		}
	}
}

type appendAny struct{ *memstore.Store }

func (s appendAny) Append(ctx context.Context, k store.Key, _ store.Pos, line []byte) (store.Pos, error) {
	return s.Store.Append(ctx, k, store.AnyEnd, line)
}

type appendLate struct{ *memstore.Store }

func (s appendLate) Append(ctx context.Context, k store.Key, after store.Pos, line []byte) (store.Pos, error) {
	end := store.Pos("")
	for l, err := range s.Read(ctx, k, "") {
		if err != nil {
			return "", err
		}
		end = l.Next
	}
	if after != store.AnyEnd && after != end {
		return "", store.ErrConflict
	}
	time.Sleep(time.Millisecond)
	return s.Store.Append(ctx, k, store.AnyEnd, line)
}

type readAnew struct{ *memstore.Store }

func (s readAnew) Read(ctx context.Context, k store.Key, from store.Pos) iter.Seq2[store.Line, error] {
	for _, err := range s.Store.Read(ctx, k, from) {
		if errors.Is(err, store.ErrConflict) {
			from = ""
		}
		break
	}
	return s.Store.Read(ctx, k, from)
}

type leaseAll struct{ *memstore.Store }

func (s leaseAll) Acquire(ctx context.Context, name, holder string, ttl time.Duration) (store.Lease, error) {
	l, err := s.Store.Acquire(ctx, name, holder, ttl)
	if _, held := errors.AsType[*store.HeldError](err); held {
		return store.Lease{Name: name, Holder: holder, Until: time.Now().Add(ttl), Rev: "1"}, nil
	}
	return l, err
}

type releaseAny struct{ *memstore.Store }

func (s releaseAny) Release(ctx context.Context, l store.Lease) error {
	k := store.Key{Kind: store.NamedLease, Name: l.Name}
	if d, err := s.Get(ctx, k); err == nil {
		return s.Delete(ctx, k, d.Rev)
	}
	return s.Store.Release(ctx, l)
}

type deaf struct{ *memstore.Store }

func (s deaf) Append(ctx context.Context, k store.Key, after store.Pos, line []byte) (store.Pos, error) {
	return s.Store.Append(context.WithoutCancel(ctx), k, after, line)
}

type shut struct{ *memstore.Store }

func (s shut) Watch(context.Context, []store.Scope) (<-chan store.Change, error) {
	changes := make(chan store.Change)
	close(changes)
	return changes, nil
}

type stale struct {
	*memstore.Store
	mu   sync.Mutex // guards kept
	kept map[string][]store.Row
}

func (s *stale) View(ctx context.Context, kind store.Kind, owner string, p *store.Projection, q store.Query) iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		s.mu.Lock()
		rows, ok := s.kept[kind.String()+owner]
		s.mu.Unlock()
		if !ok {
			for row, err := range s.Store.View(ctx, kind, owner, p, store.Query{}) {
				if err != nil {
					yield(row, err)
					return
				}
				rows = append(rows, row)
			}
			s.mu.Lock()
			if s.kept == nil {
				s.kept = map[string][]store.Row{}
			}
			s.kept[kind.String()+owner] = rows
			s.mu.Unlock()
		}
		for i, row := range rows {
			if q.Newest > 0 && i >= q.Newest || !yield(row, nil) {
				return
			}
		}
	}
}

type findOne struct{ *memstore.Store }

func (s findOne) Find(ctx context.Context, log store.Key, p *store.Projection, key string) iter.Seq2[store.Line, error] {
	return func(yield func(store.Line, error) bool) {
		for line, err := range s.Store.Find(ctx, log, p, key) {
			yield(line, err)
			return
		}
	}
}

type batchDeaf struct{ *memstore.Store }

func (s batchDeaf) Batch(ctx context.Context, fn func(store.Writer) error) error {
	_ = s.Store.Batch(ctx, fn)
	return ctx.Err()
}
