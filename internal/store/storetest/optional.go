package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tutti/internal/store"
)

// testBatch: all that was created in a batch is there afterwards.
func testBatch(f *fixture) {
	b, ok := f.s.(store.Batcher)
	if !ok {
		f.Skip("the backend has no batches")
	}
	var want []string
	revs := map[string]store.Rev{}
	err := b.Batch(f.ctx, func(w store.Writer) error {
		for i := range 50 {
			name := fmt.Sprintf("m%02d", i)
			rev, err := w.Create(f.ctx, key(store.Inbox, "a", name), doc(i))
			if err != nil {
				return err
			}
			want, revs[name] = append(want, name), rev
		}
		_, err := w.Create(f.ctx, key(store.Policy, "p"), doc("p")) // another folder, another kind
		return err
	})
	if err != nil {
		f.Fatalf("Batch: %v", err)
	}
	f.wantList(store.Inbox, "a", want...)
	for i, name := range want {
		f.wantDoc(key(store.Inbox, "a", name), revs[name], doc(i))
	}
	f.wantList(store.Policy, "", "p")
	if err := b.Batch(f.ctx, func(store.Writer) error { return nil }); err != nil {
		f.Errorf("Batch of nothing: %v", err)
	}
}

// testBatchError: an error inside is returned outside, and a batch is for Create only.
func testBatchError(f *fixture) {
	b, ok := f.s.(store.Batcher)
	if !ok {
		f.Skip("the backend has no batches")
	}
	mine := errors.New("mine")
	f.wantErr("Batch whose function fails", b.Batch(f.ctx, func(store.Writer) error { return mine }), mine)

	taken := key(store.Inbox, "a", "taken")
	rev := f.create(taken, doc("first"))
	err := b.Batch(f.ctx, func(w store.Writer) error {
		_, err := w.Create(f.ctx, taken, doc("second"))
		return err
	})
	f.wantErr("Batch that creates what is there", err, store.ErrExists)
	f.wantDoc(taken, rev, doc("first"))

	k := key(store.Presence, "p")
	rev = f.create(k, doc("first"))
	var replace, del, move, large error
	err = b.Batch(f.ctx, func(w store.Writer) error {
		_, replace = w.Replace(f.ctx, k, doc("second"), rev)
		del = w.Delete(f.ctx, k, rev)
		move = w.Move(f.ctx, k, rev, key(store.Quarantine, "a", "p"))
		_, large = w.Create(f.ctx, key(store.Presence, "large"), docOf(store.Presence.Spec().WriteLimit+1, "x"))
		return nil
	})
	for what, err := range map[string]error{"Replace": replace, "Delete": del, "Move": move} {
		f.wantRefused(what+" in a batch", err)
	}
	f.wantRefused("Create of too much in a batch", errors.Join(large, err))
	f.wantDoc(k, rev, doc("first"))
}

// testContext: a context that is done is honoured at the door of every method, and nothing is changed.
func testContext(f *fixture) {
	k, free, log := key(store.Presence, "p"), key(store.Inbox, "a", "m"), key(store.Instances)
	rev := f.create(k, doc("first"))
	f.append(log, "", doc(1))
	l := f.acquire("watch", "a", time.Minute)
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	for what, err := range f.everything(ctx, f.s, k, rev, free, log, l, true) {
		f.wantErr(what+" with a context that is done", err, context.Canceled)
	}
	f.wantDoc(k, rev, doc("first"))
	f.wantNone(free)
	f.wantLines(log, doc(1))
	f.wantHeld("Acquire after a Release that was not done", "watch", "b", l)
}

// everything calls every method of a store and returns what each said; reads only when asked.
func (f *fixture) everything(ctx context.Context, s Store, k store.Key, rev store.Rev, free, log store.Key, l store.Lease, reads bool) map[string]error {
	errs := map[string]error{}
	_, errs["Create"] = s.Create(ctx, free, doc("x"))
	_, errs["Replace"] = s.Replace(ctx, k, doc("x"), rev)
	errs["Delete"] = s.Delete(ctx, k, rev)
	errs["Move"] = s.Move(ctx, k, rev, free)
	_, errs["Append"] = s.Append(ctx, log, store.AnyEnd, doc("x"))
	_, _, errs["Extend"] = store.ExtendWith(ctx, s, log, store.AnyEnd, [][]byte{doc("x")})
	_, errs["Acquire"] = s.Acquire(ctx, "free", "a", time.Minute)
	_, errs["Renew"] = s.Renew(ctx, l, time.Minute)
	errs["Release"] = s.Release(ctx, l)
	if b, ok := s.(store.Batcher); ok {
		errs["Batch"] = b.Batch(ctx, func(w store.Writer) error {
			_, err := w.Create(ctx, free, doc("x"))
			return err
		})
	}
	if !reads {
		return errs
	}
	_, errs["Get"] = s.Get(ctx, k)
	errs["Read"] = f.readErr(ctx, s, log, "")
	_, errs["End"] = store.EndOf(ctx, s, log)
	errs["List"], errs["Owners"] = nil, nil
	if l, ok := s.(store.Logger); ok {
		errs["Logs"] = nil
		for _, err := range l.Logs(ctx, store.Journal) {
			errs["Logs"] = err
		}
	}
	for _, err := range s.List(ctx, k.Kind, k.Owner) {
		errs["List"] = err
	}
	for _, err := range s.Owners(ctx, free.Kind) {
		errs["Owners"] = err
	}
	if v, ok := s.(store.Viewer); ok {
		errs["View"], errs["Find"] = nil, nil
		for _, err := range v.View(ctx, k.Kind, k.Owner, testProjection(1), store.Query{}) {
			errs["View"] = err
		}
		for _, err := range v.Find(ctx, log, testProjection(1), "k") {
			errs["Find"] = err
		}
	}
	return errs
}

// testReadOnly: everything can be read, nothing written.
func testReadOnly(f *fixture) {
	if f.b.ReadOnly == nil {
		f.Skip("the backend has no store for reading only")
	}
	k, free, log := key(store.Presence, "p"), key(store.Inbox, "a", "m"), key(store.Instances)
	empty := f.b.ReadOnly(f, f.b.New(f))
	if _, err := empty.Create(f.ctx, free, doc("x")); !errors.Is(err, store.ErrReadOnly) {
		f.Errorf("Create in an empty store for reading: %v", err)
	}
	rev := f.create(k, doc("first"))
	f.append(log, "", doc(1))
	l := f.acquire("watch", "a", time.Minute)
	writable := f.s
	f.s = f.b.ReadOnly(f, writable)
	for what, err := range f.everything(f.ctx, f.s, k, rev, free, log, l, false) {
		f.wantErr(what+" in a store for reading", err, store.ErrReadOnly)
	}
	f.wantDoc(k, rev, doc("first"))
	f.wantNone(free)
	f.wantLines(log, doc(1))
	f.wantList(store.Presence, "", "p")
	f.s = writable
	f.wantHeld("Acquire after a Release that was refused", "watch", "b", l)
	if _, err := f.s.Replace(f.ctx, k, doc("second"), rev); err != nil {
		f.Errorf("Replace in the store for writing, beside one for reading: %v", err)
	}
}

// testReopen: a restart forgets nothing: revisions, positions and leases are still those.
func testReopen(f *fixture) {
	if f.b.Reopen == nil {
		f.Skip("the backend cannot be opened again")
	}
	k, log := key(store.Negotiation, "n"), key(store.Journal, "n")
	rev := f.create(k, doc("first"))
	end := f.append(log, "", doc(1))
	l := f.acquire("watch", "a", time.Minute)
	in := key(store.Inbox, "a", "m")
	mail := f.create(in, doc("mail"))

	f.s = f.b.Reopen(f, f.s)
	f.wantDoc(k, rev, doc("first"))
	if _, err := f.s.Replace(f.ctx, k, doc("second"), rev); err != nil {
		f.Errorf("Replace at a revision from before the restart: %v", err)
	}
	f.append(log, end, doc(2))
	f.wantLines(log, doc(1), doc(2))
	f.wantHeld("Acquire after the restart", "watch", "b", l)
	if _, err := f.s.Renew(f.ctx, l, time.Minute); err != nil {
		f.Errorf("Renew a lease from before the restart: %v", err)
	}
	if err := f.s.Move(f.ctx, in, mail, key(store.Archive, "a", "m")); err != nil {
		f.Errorf("Move at a revision from before the restart: %v", err)
	}
	f.s = f.b.Reopen(f, f.s)
	_, err := f.s.Create(f.ctx, in, doc("mail"))
	f.wantErr("Create what was taken before the restart", err, store.ErrExists)
}

// watch starts a watcher and returns what waits for a hint about a key.
func (f *fixture) watch(w store.Watcher, of ...store.Scope) (expect func(what string, k store.Key)) {
	f.Helper()
	changes, err := w.Watch(f.ctx, of)
	if err != nil {
		f.Fatalf("Watch %v: %v", of, err)
	}
	return func(what string, k store.Key) {
		f.Helper()
		timeout := time.After(patience)
		for {
			select {
			case c, open := <-changes:
				if !open {
					f.Fatalf("%s: the channel was closed", what)
				}
				parts := c.Key.Kind == k.Kind && c.Key.Owner == k.Owner && (c.Key.Name == k.Name || c.Key.Name == "")
				if c.Rescan || parts {
					settle(changes)
					return
				}
			case <-timeout:
				f.Fatalf("%s: no hint about %v in %s", what, k, patience)
			}
		}
	}
}

// settle takes the repetitions of a hint, so that they do not pass for the next one.
func settle(changes <-chan store.Change) {
	for {
		select {
		case <-changes:
		case <-time.After(30 * time.Millisecond):
			return
		}
	}
}

// testWatch: each kind of change brings a hint, also for owners and logs that were not there.
func testWatch(f *fixture) {
	w, ok := f.s.(store.Watcher)
	if !ok {
		f.Skip("the backend does not watch")
	}
	p, in, kept := key(store.Presence, "p"), key(store.Inbox, "new", "m"), key(store.Archive, "new", "m")
	presence := f.watch(w, store.Scope{Kind: store.Presence})
	rev := f.create(p, doc(1))
	presence("Create", p)
	rev, err := f.s.Replace(f.ctx, p, doc(2), rev)
	if err != nil {
		f.Fatalf("Replace %v: %v", p, err)
	}
	presence("Replace", p)
	if err := f.s.Delete(f.ctx, p, rev); err != nil {
		f.Fatalf("Delete %v: %v", p, err)
	}
	presence("Delete", p)

	one := f.watch(w, store.Scope{Kind: store.Inbox, Owner: "new"})
	all := f.watch(w, store.Scope{Kind: store.Archive}, store.Scope{Kind: store.Inbox})
	rev = f.create(in, doc(1))
	one("Create for an owner that was not there", in)
	all("Create, seen by a watcher of all owners", in)
	if err := f.s.Move(f.ctx, in, rev, kept); err != nil {
		f.Fatalf("Move %v: %v", in, err)
	}
	one("Move away", in)
	all("Move to", kept)

	logs := f.watch(w, store.Scope{Kind: store.Instances}, store.Scope{Kind: store.Trail, Name: "box"})
	for i := range 2 {
		f.append(key(store.Instances), store.AnyEnd, doc(i))
		logs("Append", key(store.Instances))
		f.append(key(store.Trail, "box"), store.AnyEnd, doc(i))
		logs("Append to a log with a name", key(store.Trail, "box"))
	}
	if f.b.PlantDoc != nil {
		foreign := key(store.Inbox, "newer", "f")
		f.b.PlantDoc(f, f.s, foreign, doc("foreign"))
		all("a foreign document", foreign)
	}
}

// testWatchEnd: the channel is closed when the context is done, also while hints wait in it.
func testWatchEnd(f *fixture) {
	w, ok := f.s.(store.Watcher)
	if !ok {
		f.Skip("the backend does not watch")
	}
	ctx, cancel := context.WithCancel(f.ctx)
	changes, err := w.Watch(ctx, []store.Scope{{Kind: store.Presence}})
	if err != nil {
		f.Fatalf("Watch: %v", err)
	}
	for i := range 300 { // never read: writers must not wait
		f.create(key(store.Presence, fmt.Sprint(i)), doc(i))
	}
	cancel()
	timeout := time.After(patience)
	for open := true; open; {
		select {
		case _, open = <-changes:
		case <-timeout:
			f.Fatalf("the channel is open %s after its context was done", patience)
		}
	}
	if changes, err := w.Watch(ctx, []store.Scope{{Kind: store.Presence}}); err == nil {
		select {
		case _, open := <-changes:
			if open {
				f.Error("Watch with a context that is done yields a change")
			}
		case <-time.After(patience):
			f.Error("Watch with a context that is done stays open")
		}
	}
	if names, _ := f.list(store.Presence, ""); len(names) != 300 || slices.Contains(names, "") {
		f.Errorf("300 documents beside a watcher that is never read: %d", len(names))
	}
}
