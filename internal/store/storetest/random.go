package storetest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tutti/internal/store"
	"tutti/internal/store/memstore"
)

// compareEvery is after how many operations all contents are compared.
const compareEvery = 8

// soakTimes is how many times longer the random operations of the long version last.
const soakTimes = 20

// testRandom runs random operations on the backend and on the model, and wants the same of both.
func testRandom(f *fixture) {
	budget := f.b.Budget
	if budget <= 0 {
		budget = 3 * time.Second
	}
	if os.Getenv("TUTTI_SOAK") != "" {
		budget *= soakTimes
		if err := flag.Set("rapid.checks", "100000"); err != nil { // as many as fit into the time
			f.Fatal(err)
		}
	}
	end := time.Now().Add(budget)
	failed := false
	rapid.Check(f.T, func(rt *rapid.T) {
		if time.Now().After(end) && !failed { // once it has failed, shorter sequences are looked for as long as that takes
			return
		}
		tb := &scope{TB: f.T}
		defer tb.end()
		defer func() { failed = failed || rt.Failed() }()
		m := newMachine(f, tb, rt)
		actions := map[string]func(*rapid.T){
			"":       m.compareSometimes,
			"create": m.create, "create again": m.create, "replace": m.replace, "delete": m.delete, "move": m.move,
			"append": m.append, "append after": m.append, "read": m.read,
			"acquire": m.acquire, "renew": m.renew, "release": m.release,
		}
		if f.b.Reopen != nil {
			actions["reopen"] = m.reopen
		}
		rt.Repeat(actions)
		m.compare()
	})
}

// A scope is a testing.TB whose end is that of one random sequence: hundreds of stores would not fit side by side.
type scope struct {
	testing.TB
	cleanups []func()
}

func (s *scope) Cleanup(fn func()) { s.cleanups = append(s.cleanups, fn) }

func (s *scope) TempDir() string {
	dir, err := os.MkdirTemp(s.TB.TempDir(), "")
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func (s *scope) end() {
	for _, fn := range slices.Backward(s.cleanups) {
		fn()
	}
}

// A twin is what the backend and the model call the same thing.
type twin[T any] struct{ real, model T }

// A machine is one random sequence.
type machine struct {
	rt          *rapid.T
	tb          testing.TB
	ctx         context.Context
	b           Backend
	real, model Store
	steps       int
	serial      int
	docs        []store.Key
	logs        []store.Key
	revs        map[store.Key][]twin[store.Rev] // all that each key ever had
	ends        map[store.Key][]twin[store.Pos] // the i-th is the end of i lines
	leases      []twin[store.Lease]
}

func newMachine(f *fixture, tb testing.TB, rt *rapid.T) *machine {
	m := &machine{
		rt: rt, tb: tb, ctx: f.ctx, b: f.b, real: f.b.New(tb), model: memstore.New(memstore.Options{LiveTTL: 1000 * time.Hour}),
		docs: []store.Key{
			key(store.Presence, "s1"), key(store.Presence, ".s 2"), key(store.Negotiation, "n"), key(store.Drumbeat, "d"),
			key(store.MirrorFence), key(store.Policy, "p"), key(store.FileLease, "a=b"),
		},
		logs: []store.Key{key(store.Instances), key(store.Aliases), key(store.Trail, "t"), key(store.Journal, "n")},
		revs: map[store.Key][]twin[store.Rev]{}, ends: map[store.Key][]twin[store.Pos]{},
	}
	for _, owner := range []string{"o1", "~o.2"} {
		for _, name := range []string{"m1", "m2"} {
			m.docs = append(m.docs, key(store.Inbox, owner, name), key(store.Archive, owner, name))
		}
	}
	m.docs = append(m.docs, key(store.Quarantine, "o1", "q"))
	for _, k := range m.logs {
		m.ends[k] = []twin[store.Pos]{{}}
	}
	return m
}

// data makes content: some of it comes again, so that a revision made of content does.
func (m *machine) data() []byte {
	if n := rapid.IntRange(0, 5).Draw(m.rt, "content"); n < 3 {
		return doc(n)
	}
	m.serial++
	return doc(fmt.Sprint("serial", m.serial))
}

func (m *machine) key(want func(*store.Spec) bool) store.Key {
	fit := slices.DeleteFunc(slices.Clone(m.docs), func(k store.Key) bool { return !want(k.Kind.Spec()) })
	return rapid.SampledFrom(fit).Draw(m.rt, "key")
}

func anySpec(*store.Spec) bool { return true }

// rev chooses a revision for a key: the present one, one of its past, one of another key, or none.
func (m *machine) rev(k store.Key) twin[store.Rev] {
	present := twin[store.Rev]{m.revOf(m.real, k), m.revOf(m.model, k)}
	from := k
	switch rapid.IntRange(0, 6).Draw(m.rt, "revision") {
	case 0:
		return twin[store.Rev]{}
	case 1:
		from = m.key(anySpec)
	case 2:
	default:
		return present
	}
	past := m.revs[from]
	if len(past) == 0 {
		return present
	}
	chosen := rapid.SampledFrom(past).Draw(m.rt, "past")
	if from != k && chosen.model != present.model && chosen.real != present.real {
		return twin[store.Rev]{chosen.real, "no such revision"} // the model counts: another key may come to the same number
	}
	// A revision may be made of the content: the same content again, here or elsewhere, then has the same one. So the
	// backend says whether it is the present one. That a past one of this key is it for the model alone cannot be.
	if chosen.real == present.real {
		chosen.model = present.model
	} else if chosen.model == present.model {
		if from == k {
			m.rt.Fatalf("%v: revision %q is no longer the present one, %q, though nothing was changed", k, chosen.real, present.real)
		}
		chosen.model = "no such revision"
	}
	return chosen
}

func (m *machine) revOf(s Store, k store.Key) store.Rev {
	d, err := s.Get(m.ctx, k)
	if err != nil {
		return ""
	}
	return d.Rev
}

// class is what a caller can branch on.
func class(err error) string {
	if err == nil {
		return "no error"
	}
	for _, e := range []error{store.ErrNotFound, store.ErrExists, store.ErrConflict, store.ErrLost, store.ErrReadOnly} {
		if errors.Is(err, e) {
			return e.Error()
		}
	}
	if h, ok := errors.AsType[*store.HeldError](err); ok {
		return "held by " + h.Holder
	}
	if store.IsUnfit(err) {
		return "unfit"
	}
	return "another error"
}

// agree wants the same answer of both.
func (m *machine) agree(what string, real, model error) {
	m.rt.Helper()
	if class(real) != class(model) {
		m.rt.Fatalf("%s:\nthe backend says %v\nthe model says   %v", what, real, model)
	}
	if class(real) != store.ErrExists.Error() {
		return
	}
	a, _ := errors.AsType[*store.ExistsError](real)
	b, _ := errors.AsType[*store.ExistsError](model)
	if a == nil || b == nil || a.Key != b.Key || a.Rev != m.revOf(m.real, a.Key) {
		m.rt.Fatalf("%s:\nthe backend says %#v\nthe model says   %#v", what, a, b)
	}
}

// wrote takes note of a new revision and checks that it is the present one.
func (m *machine) wrote(what string, k store.Key, rev twin[store.Rev]) {
	m.rt.Helper()
	if got := m.revOf(m.real, k); got != rev.real || got == "" {
		m.rt.Fatalf("%s: revision %q, then Get %q", what, rev.real, got)
	}
	m.revs[k] = append(m.revs[k], rev)
}

func (m *machine) create(*rapid.T) {
	k, data := m.key(anySpec), m.data()
	what := fmt.Sprintf("Create %v %s", k, data)
	var rev twin[store.Rev]
	var real, model error
	rev.real, real = m.real.Create(m.ctx, k, data)
	rev.model, model = m.model.Create(m.ctx, k, data)
	m.agree(what, real, model)
	if real == nil {
		m.wrote(what, k, rev)
	}
}

func (m *machine) replace(*rapid.T) {
	k, data := m.key(func(s *store.Spec) bool { return s.Class != store.Once }), m.data()
	old := m.rev(k)
	what := fmt.Sprintf("Replace %v at %q with %s", k, old.real, data)
	var rev twin[store.Rev]
	var real, model error
	rev.real, real = m.real.Replace(m.ctx, k, data, old.real)
	rev.model, model = m.model.Replace(m.ctx, k, data, old.model)
	m.agree(what, real, model)
	if real == nil {
		m.wrote(what, k, rev)
	}
}

func (m *machine) delete(*rapid.T) {
	k := m.key(anySpec)
	old := m.rev(k)
	real, model := m.real.Delete(m.ctx, k, old.real), m.model.Delete(m.ctx, k, old.model)
	m.agree(fmt.Sprintf("Delete %v at %q", k, old.real), real, model)
}

func (m *machine) move(*rapid.T) {
	from := m.key(func(s *store.Spec) bool { return s.Kind == store.Inbox || s.Kind == store.Presence })
	to := store.Key{Kind: store.Archive, Owner: from.Owner, Name: from.Name}
	if from.Kind != store.Inbox || rapid.Bool().Draw(m.rt, "elsewhere") {
		to = m.key(func(s *store.Spec) bool { return s.Kind == store.Archive || s.Kind == store.Quarantine })
	}
	old := m.rev(from)
	what := fmt.Sprintf("Move %v at %q to %v", from, old.real, to)
	real, model := m.real.Move(m.ctx, from, old.real, to), m.model.Move(m.ctx, from, old.model, to)
	m.agree(what, real, model)
	if real == nil {
		m.wrote(what, to, twin[store.Rev]{m.revOf(m.real, to), m.revOf(m.model, to)})
	}
}

func (m *machine) append(*rapid.T) {
	k, line := rapid.SampledFrom(m.logs).Draw(m.rt, "log"), m.data()
	ends := m.ends[k]
	after := ends[len(ends)-1]
	switch rapid.IntRange(0, 3).Draw(m.rt, "after") {
	case 0:
		after = twin[store.Pos]{store.AnyEnd, store.AnyEnd}
	case 1:
		after = rapid.SampledFrom(ends).Draw(m.rt, "end")
	}
	what := fmt.Sprintf("Append %s to %v after %q", line, k, after.real)
	var end twin[store.Pos]
	var real, model error
	end.real, real = m.real.Append(m.ctx, k, after.real, line)
	end.model, model = m.model.Append(m.ctx, k, after.model, line)
	m.agree(what, real, model)
	if real == nil {
		m.ends[k] = append(ends, end)
	}
}

func (m *machine) read(*rapid.T) {
	k := rapid.SampledFrom(m.logs).Draw(m.rt, "log")
	from := rapid.SampledFrom(m.ends[k]).Draw(m.rt, "from")
	m.compareLog(k, from)
}

var leaseNames, leaseHolders = []string{"watch", ".l=2"}, []string{"a", "b"}

func (m *machine) acquire(*rapid.T) {
	name, holder := rapid.SampledFrom(leaseNames).Draw(m.rt, "lease"), rapid.SampledFrom(leaseHolders).Draw(m.rt, "holder")
	var l twin[store.Lease]
	var real, model error
	l.real, real = m.real.Acquire(m.ctx, name, holder, time.Hour)
	l.model, model = m.model.Acquire(m.ctx, name, holder, time.Hour)
	m.agree(fmt.Sprintf("Acquire %s by %s", name, holder), real, model)
	if real == nil {
		m.leases = append(m.leases, l)
	}
}

// lease chooses one that was taken; renewing replaces it, so each stands for one time of holding.
func (m *machine) lease() *twin[store.Lease] {
	if len(m.leases) == 0 {
		m.rt.Skip("no lease was ever taken")
	}
	return &m.leases[rapid.IntRange(0, len(m.leases)-1).Draw(m.rt, "lease")]
}

func (m *machine) renew(*rapid.T) {
	l := m.lease()
	real, errReal := m.real.Renew(m.ctx, l.real, time.Hour)
	model, errModel := m.model.Renew(m.ctx, l.model, time.Hour)
	m.agree(fmt.Sprintf("Renew %+v", l.real), errReal, errModel)
	if errReal == nil {
		*l = twin[store.Lease]{real, model}
	}
}

func (m *machine) release(*rapid.T) {
	l := m.lease()
	m.agree(fmt.Sprintf("Release %+v", l.real), m.real.Release(m.ctx, l.real), m.model.Release(m.ctx, l.model))
}

func (m *machine) reopen(*rapid.T) {
	m.real = m.b.Reopen(m.tb, m.real)
}
