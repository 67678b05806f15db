// Package storetest states the contract of package store as tests.
//
// Every backend runs [Run] in a test of its own. What the suite asks of all of them is only what the contract says: the
// tests use no path, no format of a revision or a position, and no order that is not promised. What a backend may leave
// out (watching, views, batches) is tested when its store has it; what a test needs beyond the contract (a foreign
// program, a clock, a restart) is a hook that a backend may leave nil.
//
// The last test is a random one: a sequence of operations runs on the backend and on the model of package memstore, and
// every answer and all contents have to agree.
package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tutti/internal/store"
)

// A Store is what every backend has.
type Store interface {
	store.Docs
	store.Log
	store.Leases
}

// A Backend is what the suite knows of one. Only New is needed.
type Backend struct {
	// New returns a store that lives until the end of t, empty but for its schema.
	New func(t testing.TB) Store
	// Reopen plays a restart: s is used no more, the store returned finds what was stored.
	Reopen func(t testing.TB, s Store) Store
	// ReadOnly returns a store that shows what is in s and refuses all writes.
	ReadOnly func(t testing.TB, s Store) Store
	// PlantDoc stores a document as a foreign program does that knows no rule: over any content, whatever its size.
	PlantDoc func(t testing.TB, s Store, k store.Key, data []byte)
	// PlantLine adds a line and its line feed as such a program does: it may be no JSON.
	PlantLine func(t testing.TB, s Store, k store.Key, line []byte)
	// Recreate puts another log in the place of one.
	Recreate func(t testing.TB, s Store, k store.Key, lines ...[]byte)
	// Advance moves the store's clock on. Without it the suite waits for the ends of short leases.
	Advance func(t testing.TB, s Store, d time.Duration)
	// MaxValue is the largest value in bytes whatever the kind allows, 0 for no such limit.
	MaxValue int64
	// Budget is the longest time for the random test, after which no new sequence begins: 3 s when zero.
	Budget time.Duration
}

// patience is how long a test waits for what has to happen at once, on a machine that is busy with other things.
const patience = 10 * time.Second

// suite is the list of tests, in the order of the contract.
var suite = []struct {
	name string
	run  func(f *fixture)
}{
	{"Create", testCreate},
	{"CreateRace", testCreateRace},
	{"Taken", testTaken},
	{"TakenRace", testTakenRace},
	{"Get", testGet},
	{"Replace", testReplace},
	{"ReplaceRace", testReplaceRace},
	{"ReplaceWhole", testReplaceWhole},
	{"Once", testOnce},
	{"Delete", testDelete},
	{"DeleteRace", testDeleteRace},
	{"Move", testMove},
	{"MoveRace", testMoveRace},
	{"List", testList},
	{"ListWhileChanging", testListWhileChanging},
	{"Keys", testKeys},
	{"KeysOfLogs", testKeysOfLogs},
	{"IllegalKeys", testIllegalKeys},
	{"WrongKind", testWrongKind},
	{"Limits", testLimits},
	{"LimitsOfLines", testLimitsOfLines},
	{"ForeignDocs", testForeignDocs},
	{"Log", testLog},
	{"LogConflict", testLogConflict},
	{"LogLines", testLogLines},
	{"LogUnique", testLogUnique},
	{"LogAppenders", testLogAppenders},
	{"LogForeign", testLogForeign},
	{"LogReplaced", testLogReplaced},
	{"Logs", testLogs},
	{"Lease", testLease},
	{"LeaseEnd", testLeaseEnd},
	{"LeaseRace", testLeaseRace},
	{"Watch", testWatch},
	{"WatchEnd", testWatchEnd},
	{"View", testView},
	{"ViewUnfit", testViewUnfit},
	{"ViewChanges", testViewChanges},
	{"ViewFrozen", testViewFrozen},
	{"Find", testFind},
	{"End", testEnd},
	{"Shrink", testShrink},
	{"Extend", testExtend},
	{"Batch", testBatch},
	{"BatchError", testBatchError},
	{"Context", testContext},
	{"ReadOnly", testReadOnly},
	{"Reopen", testReopen},
	{"Random", testRandom},
}

// Run runs the suite. Its tests run beside each other, each in a store of its own.
func Run(t *testing.T, b Backend) {
	for _, test := range suite {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(&fixture{T: t, b: b, s: b.New(t), ctx: t.Context()})
		})
	}
}

// A fixture is one test with its store. Its helpers end the test when something that the test only builds upon fails.
type fixture struct {
	*testing.T
	b   Backend
	s   Store
	ctx context.Context
}

// key makes a key of a kind, with as many parts as the kind has.
func key(kind store.Kind, parts ...string) store.Key {
	k := store.Key{Kind: kind}
	switch len(parts) {
	case 1:
		k.Name = parts[0]
	case 2:
		k.Owner, k.Name = parts[0], parts[1]
	}
	return k
}

// anyKey is a good key of a kind.
func anyKey(kind store.Kind) store.Key {
	k := store.Key{Kind: kind}
	if kind.Spec().HasOwner() {
		k.Owner = "owner"
	}
	if kind.Spec().HasName() {
		k.Name = "name"
	}
	return k
}

// docKinds are the kinds of documents that the tests make. The schema is left out, because a backend may have made it
// itself, and named leases are, because they belong to the methods of store.Leases.
func docKinds() []store.Kind {
	return slices.DeleteFunc(store.Kinds(), func(k store.Kind) bool {
		return k.Spec().IsLog() || k == store.Schema || k == store.NamedLease
	})
}

func logKinds() []store.Kind {
	return slices.DeleteFunc(store.Kinds(), func(k store.Kind) bool { return !k.Spec().IsLog() })
}

// doc is a small document that says what.
func doc(what any) []byte { return fmt.Appendf(nil, `{"what":"%v"}`, what) }

// docOf is a document of exactly n bytes, all fill inside, at least 10.
func docOf(n int64, fill string) []byte {
	const head, tail = `{"pad":"`, `"}`
	return []byte(head + strings.Repeat(fill, int(n)-len(head)-len(tail)) + tail)
}

func (f *fixture) create(k store.Key, data []byte) store.Rev {
	f.Helper()
	rev, err := f.s.Create(f.ctx, k, data)
	if err != nil {
		f.Fatalf("Create %v of %s: %v", k, short(data), err)
	}
	return rev
}

func (f *fixture) get(k store.Key) store.Doc {
	f.Helper()
	d, err := f.s.Get(f.ctx, k)
	if err != nil {
		f.Fatalf("Get %v: %v", k, err)
	}
	return d
}

// wantDoc checks the document of a key.
func (f *fixture) wantDoc(k store.Key, rev store.Rev, data []byte) {
	f.Helper()
	d, err := f.s.Get(f.ctx, k)
	if err != nil {
		f.Errorf("Get %v: %v, want %s", k, err, short(data))
		return
	}
	if d.Key != k || d.Rev != rev || !bytes.Equal(d.Data, data) {
		f.Errorf("Get %v: %v, revision %q, %s; want revision %q, %s", k, d.Key, d.Rev, short(d.Data), rev, short(data))
	}
}

// wantNone checks that a key is empty.
func (f *fixture) wantNone(k store.Key) {
	f.Helper()
	d, err := f.s.Get(f.ctx, k)
	f.wantErr("Get "+k.String()+" "+short(d.Data), err, store.ErrNotFound)
}

// wantErr checks that an operation failed in one way.
func (f *fixture) wantErr(what string, err, want error) {
	f.Helper()
	if !errors.Is(err, want) {
		f.Errorf("%s: error %v, want %v", what, err, want)
	}
}

// wantRefused checks that an operation was refused for what it asked, not for what lay there.
func (f *fixture) wantRefused(what string, err error) {
	f.Helper()
	if err == nil {
		f.Errorf("%s: accepted, want it refused", what)
		return
	}
	for _, other := range []error{store.ErrNotFound, store.ErrExists, store.ErrConflict, store.ErrLost, store.ErrReadOnly} {
		if errors.Is(err, other) {
			f.Errorf("%s: error %v, want one that is not %q", what, err, other)
		}
	}
}

// wantExists checks that a key was taken, and that the error tells where and by what.
func (f *fixture) wantExists(what string, err error, k store.Key, rev store.Rev) {
	f.Helper()
	f.wantErr(what, err, store.ErrExists)
	e, ok := errors.AsType[*store.ExistsError](err)
	if !ok {
		f.Errorf("%s: error %v is not an ExistsError", what, err)
		return
	}
	if e.Key != k || e.Rev != rev {
		f.Errorf("%s: taken by %v at revision %q, want %v at %q", what, e.Key, e.Rev, k, rev)
	}
}

// list returns what List yields, the names of the fit documents sorted.
func (f *fixture) list(kind store.Kind, owner string) (names []string, unfit []error) {
	f.Helper()
	for e, err := range f.s.List(f.ctx, kind, owner) {
		if err != nil {
			unfit = append(unfit, err)
			continue
		}
		if e.Key.Kind != kind || e.Key.Owner != owner {
			f.Errorf("List %v of %q yields %v", kind, owner, e.Key)
		}
		names = append(names, e.Key.Name)
	}
	slices.Sort(names)
	return names, unfit
}

// owners returns what Owners yields, sorted.
func (f *fixture) owners(kind store.Kind) []string {
	f.Helper()
	var all []string
	for owner, err := range f.s.Owners(f.ctx, kind) {
		if err != nil {
			f.Fatalf("Owners of %v: %v", kind, err)
		}
		all = append(all, owner)
	}
	slices.Sort(all)
	return all
}

// wantList checks the documents of one owner.
func (f *fixture) wantList(kind store.Kind, owner string, want ...string) {
	f.Helper()
	got, unfit := f.list(kind, owner)
	if len(unfit) > 0 {
		f.Errorf("List %v of %q: %v", kind, owner, unfit)
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		f.Errorf("List %v of %q: %q, want %q", kind, owner, got, want)
	}
}

// lines reads a log, whose lines are all good, from a position on.
func (f *fixture) lines(k store.Key, from store.Pos) []store.Line {
	f.Helper()
	var all []store.Line
	for line, err := range f.s.Read(f.ctx, k, from) {
		if err != nil {
			f.Fatalf("Read %v from %q: %v", k, from, err)
		}
		line.Data = bytes.Clone(line.Data)
		all = append(all, line)
	}
	return all
}

// readErr returns the error that Read yields first.
func (f *fixture) readErr(ctx context.Context, s store.Log, k store.Key, from store.Pos) error {
	for _, err := range s.Read(ctx, k, from) {
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *fixture) append(k store.Key, after store.Pos, line []byte) store.Pos {
	f.Helper()
	pos, err := f.s.Append(f.ctx, k, after, line)
	if err != nil {
		f.Fatalf("Append %s to %v after %q: %v", short(line), k, after, err)
	}
	return pos
}

// wantLines checks all lines of a log.
func (f *fixture) wantLines(k store.Key, want ...[]byte) {
	f.Helper()
	got := f.lines(k, "")
	if !slices.EqualFunc(got, want, func(l store.Line, data []byte) bool { return bytes.Equal(l.Data, data) }) {
		f.Errorf("Read %v: %s, want %s", k, lineData(got), want)
	}
}

func lineData(lines []store.Line) []string {
	var all []string
	for _, l := range lines {
		all = append(all, short(l.Data))
	}
	return all
}

// short shows data of any size in a message.
func short(data []byte) string {
	if len(data) <= 60 {
		return fmt.Sprintf("%q", data)
	}
	return fmt.Sprintf("%d bytes %q…", len(data), data[:40])
}

// meeting returns a function that returns once n have called it.
func meeting(n int) (wait func()) {
	var all sync.WaitGroup
	all.Add(n)
	return func() {
		all.Done()
		all.Wait()
	}
}

// together runs fn n times at once and waits for all.
func together(n int, fn func(i int)) {
	start, done := make(chan struct{}), make(chan struct{})
	for i := range n {
		go func() {
			<-start
			defer func() { done <- struct{}{} }()
			fn(i)
		}()
	}
	close(start)
	for range n {
		<-done
	}
}
