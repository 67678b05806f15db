package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tutti/internal/store"
)

// testCreate: a free key is filled and read back; a taken one is reported, with its revision.
func testCreate(f *fixture) {
	for _, kind := range docKinds() {
		k := anyKey(kind)
		first := doc(kind)
		f.wantNone(k)
		rev := f.create(k, first)
		if rev == "" {
			f.Errorf("Create %v: the zero revision, which means that nothing is there", k)
		}
		f.wantDoc(k, rev, first)

		_, err := f.s.Create(f.ctx, k, doc("other"))
		f.wantExists(fmt.Sprintf("Create %v again", k), err, k, rev)
		_, err = f.s.Create(f.ctx, k, first)
		f.wantExists(fmt.Sprintf("Create %v again with the same bytes", k), err, k, rev)
		f.wantDoc(k, rev, first)
	}
	// What the caller does with its buffer afterwards is its own business, and what a reader does with Data too.
	buf := doc("mine")
	k := key(store.Policy, "buffer")
	rev := f.create(k, buf)
	buf[0] = 'X'
	f.get(k).Data[1] = 'Y'
	f.wantDoc(k, rev, doc("mine"))
}

// testCreateRace: of many callers one wins, and the others get the winner's revision.
func testCreateRace(f *fixture) {
	for round := range 5 {
		for _, kind := range []store.Kind{store.Inbox, store.DriveReplay, store.Negotiation, store.Presence} {
			k := anyKey(kind)
			k.Name = fmt.Sprint("race", round)
			const n = 16
			var revs [n]store.Rev
			var errs [n]error
			together(n, func(i int) { revs[i], errs[i] = f.s.Create(f.ctx, k, doc(i)) })
			winner := slices.Index(errs[:], nil)
			if winner < 0 {
				f.Fatalf("Create %v by %d: none won: %v", k, n, errs)
			}
			for i, err := range errs {
				if i != winner {
					f.wantExists(fmt.Sprintf("Create %v by %d, won by %d", k, i, winner), err, k, revs[winner])
				}
			}
			f.wantDoc(k, revs[winner], doc(winner))
		}
	}
}

// testTaken: a message that was taken from the inbox does not come again while the archive holds it.
func testTaken(f *fixture) {
	in, kept := key(store.Inbox, "a", "m"), key(store.Archive, "a", "m")
	rev := f.create(in, doc("mail"))
	if err := f.s.Move(f.ctx, in, rev, kept); err != nil {
		f.Fatalf("Move %v to %v: %v", in, kept, err)
	}
	_, err := f.s.Create(f.ctx, in, doc("mail"))
	f.wantExists("Create a message that was taken", err, kept, f.get(kept).Rev)
	f.wantNone(in)
	f.wantList(store.Inbox, "a")

	f.create(key(store.Inbox, "b", "m"), doc("mail"))  // another mailbox
	f.create(key(store.Inbox, "a", "m2"), doc("mail")) // another message
	f.create(key(store.Outbox, "a", "m"), doc("mail")) // another box
	if err := f.s.Delete(f.ctx, kept, f.get(kept).Rev); err != nil {
		f.Fatalf("Delete %v: %v", kept, err)
	}
	f.create(in, doc("mail")) // forgotten with its archive
}

// testTakenRace: a message that comes again while it is being taken is not there twice, and no caller learns that it was stored
// anew.
func testTakenRace(f *fixture) {
	for round := range 8 {
		in, kept := key(store.Inbox, "a", fmt.Sprint(round)), key(store.Archive, "a", fmt.Sprint(round))
		rev := f.create(in, doc("mail"))
		var taken atomic.Bool
		together(6, func(i int) {
			if i == 0 {
				defer taken.Store(true)
				if err := f.s.Move(f.ctx, in, rev, kept); err != nil {
					f.Errorf("Move %v while others send it again: %v", in, err)
				}
				return
			}
			for tries := 0; tries < 20; {
				if taken.Load() {
					tries++ // some more: a copy that another process is taking back may still be met
				}
				_, err := f.s.Create(f.ctx, in, doc("mail"))
				e, ok := errors.AsType[*store.ExistsError](err)
				if !ok {
					f.Errorf("Create %v while it is taken: error %v, want ErrExists", in, err)
				}
				if !ok || e.Key == kept {
					return
				}
			}
			f.Errorf("Create %v after it was taken: never told so", in)
		})
		f.wantNone(in)
		f.wantDoc(kept, f.get(kept).Rev, doc("mail"))
	}
}

// testGet: a document tells its arrival and its size, and nothing of one key shows under another.
func testGet(f *fixture) {
	before := time.Now()
	k := key(store.Presence, "s1")
	rev := f.create(k, doc("here"))
	after := time.Now()
	d := f.get(k)
	if d.Stored.IsZero() {
		f.Errorf("Get %v: no arrival", k)
	}
	if f.b.Advance == nil { // then the store's clock is that of the system, or a file system's beside it
		if d.Stored.Before(before.Add(-3*time.Second)) || d.Stored.After(after.Add(3*time.Second)) {
			f.Errorf("Get %v: arrival %v, want between %v and %v", k, d.Stored, before, after)
		}
	}
	for e, err := range f.s.List(f.ctx, store.Presence, "") {
		if err != nil || e.Key != k || e.Size != int64(len(d.Data)) || !e.Stored.Equal(d.Stored) {
			f.Errorf("List: %+v, error %v; want %v, %d bytes, arrived %v", e, err, k, len(d.Data), d.Stored)
		}
	}
	f.wantNone(key(store.Presence, "s2"))
	f.wantNone(key(store.Drumbeat, "s1"))
	f.wantNone(key(store.Inbox, "s1", "s1"))
	f.wantDoc(k, rev, doc("here"))
}

// rewritten are the kinds that Replace is for.
func rewritten() []store.Kind {
	return slices.DeleteFunc(docKinds(), func(k store.Kind) bool { return k.Spec().Class == store.Once })
}

// testReplace: compare and set, one caller at a time.
func testReplace(f *fixture) {
	for _, kind := range rewritten() {
		k := anyKey(kind)
		_, err := f.s.Replace(f.ctx, k, doc(1), "")
		f.wantErr(fmt.Sprintf("Replace %v, which is not there, at no revision", k), err, store.ErrNotFound)
		first := f.create(k, doc(1))
		_, err = f.s.Replace(f.ctx, k, doc(2), "")
		f.wantErr(fmt.Sprintf("Replace %v at no revision", k), err, store.ErrConflict)

		second, err := f.s.Replace(f.ctx, k, docOf(3000, "x"), first)
		if err != nil {
			f.Fatalf("Replace %v: %v", k, err)
		}
		if second == first || second == "" {
			f.Errorf("Replace %v: revision %q after %q", k, second, first)
		}
		f.wantDoc(k, second, docOf(3000, "x"))
		_, err = f.s.Replace(f.ctx, k, doc(3), first)
		f.wantErr(fmt.Sprintf("Replace %v at an old revision", k), err, store.ErrConflict)
		f.wantDoc(k, second, docOf(3000, "x"))

		if err := f.s.Delete(f.ctx, k, second); err != nil {
			f.Fatalf("Delete %v: %v", k, err)
		}
		_, err = f.s.Replace(f.ctx, k, doc(3), second)
		f.wantErr(fmt.Sprintf("Replace %v, which was deleted", k), err, store.ErrNotFound)
		f.wantNone(k)
	}
}

// testReplaceRace: for kinds of class Locked no change is lost among our own callers.
func testReplaceRace(f *fixture) {
	const writers, each = 4, 8
	for _, k := range []store.Key{key(store.Negotiation, "n"), key(store.MirrorFence)} {
		f.create(k, []byte("0"))
		var conflicts atomic.Int64
		wait := meeting(writers)
		together(writers, func(int) {
			wait := sync.OnceFunc(wait)
			defer wait()
			for done := 0; done < each; {
				d, err := f.s.Get(f.ctx, k)
				if err != nil {
					f.Errorf("Get %v: %v", k, err)
					return
				}
				var n int
				fmt.Sscan(string(d.Data), &n)
				wait() // so that all of them have seen the first content before any has changed it
				switch _, err = f.s.Replace(f.ctx, k, fmt.Append(nil, n+1), d.Rev); {
				case err == nil:
					done++
				case errors.Is(err, store.ErrConflict):
					conflicts.Add(1)
				default:
					f.Errorf("Replace %v: %v", k, err)
					return
				}
			}
		})
		if got := string(f.get(k).Data); got != fmt.Sprint(writers*each) {
			f.Errorf("%d writers that add 1 %d times to %v: %s (%d conflicts)", writers, each, k, got, conflicts.Load())
		}
	}
}

// testReplaceWhole: readers see one whole content or another, and always one.
func testReplaceWhole(f *fixture) {
	for _, kind := range rewritten() {
		k := anyKey(kind)
		size := min(kind.Spec().WriteLimit, 60_000)
		contents := [][]byte{docOf(size, "a"), docOf(size/3, "b"), docOf(size-7, "c")}
		rev := f.create(k, contents[0])
		done := make(chan struct{})
		together(4, func(i int) {
			if i == 0 {
				defer close(done)
				for n := range 30 {
					var err error
					if rev, err = f.s.Replace(f.ctx, k, contents[(n+1)%3], rev); err != nil {
						f.Errorf("Replace %v: %v", k, err)
						return
					}
				}
				return
			}
			for open := true; open; {
				select {
				case <-done:
					open = false
				default:
				}
				d, err := f.s.Get(f.ctx, k)
				if err != nil {
					f.Errorf("Get %v beside a writer: %v", k, err)
					return
				}
				if !slices.ContainsFunc(contents, func(c []byte) bool { return bytes.Equal(c, d.Data) }) {
					f.Errorf("Get %v beside a writer: torn: %s", k, short(d.Data))
					return
				}
			}
		})
	}
}

// testOnce: documents of class Once are never rewritten.
func testOnce(f *fixture) {
	for _, kind := range docKinds() {
		if kind.Spec().Class != store.Once {
			continue
		}
		k := anyKey(kind)
		rev := f.create(k, doc("first"))
		_, err := f.s.Replace(f.ctx, k, doc("second"), rev)
		f.wantRefused(fmt.Sprintf("Replace %v", k), err)
		f.wantDoc(k, rev, doc("first"))
	}
}

// testDelete: only what the caller has seen is deleted, and the key is free afterwards.
func testDelete(f *fixture) {
	for _, kind := range docKinds() {
		k := anyKey(kind)
		for _, rev := range []store.Rev{"", "no such revision"} {
			f.wantErr(fmt.Sprintf("Delete %v, which is not there", k), f.s.Delete(f.ctx, k, rev), store.ErrNotFound)
		}
		first := f.create(k, doc(1))
		for _, rev := range []store.Rev{"", "no such revision"} {
			f.wantErr(fmt.Sprintf("Delete %v at %q", k, rev), f.s.Delete(f.ctx, k, rev), store.ErrConflict)
		}
		f.wantDoc(k, first, doc(1))
		if err := f.s.Delete(f.ctx, k, first); err != nil {
			f.Errorf("Delete %v: %v", k, err)
		}
		f.wantNone(k)
		f.wantList(kind, k.Owner)
		f.wantErr(fmt.Sprintf("Delete %v twice", k), f.s.Delete(f.ctx, k, first), store.ErrNotFound)

		second := f.create(k, doc(2))
		f.wantErr(fmt.Sprintf("Delete %v at an old revision", k), f.s.Delete(f.ctx, k, first), store.ErrConflict)
		f.wantDoc(k, second, doc(2))
	}
}

// testDeleteRace: one caller deletes, the others find nothing.
func testDeleteRace(f *fixture) {
	for _, kind := range []store.Kind{store.Inbox, store.Presence, store.Negotiation} {
		k := anyKey(kind)
		rev := f.create(k, doc("it"))
		f.oneWinner(fmt.Sprintf("Delete %v", k), func(int) error { return f.s.Delete(f.ctx, k, rev) })
		f.wantNone(k)
	}
}

// oneWinner runs fn 16 times at once: exactly one may succeed, the others get ErrNotFound. It returns the winner.
func (f *fixture) oneWinner(what string, fn func(i int) error) int {
	f.Helper()
	var errs [16]error
	together(len(errs), func(i int) { errs[i] = fn(i) })
	winner := -1
	for i, err := range errs {
		switch {
		case err != nil:
			f.wantErr(fmt.Sprintf("%s, by %d of %d", what, i, len(errs)), err, store.ErrNotFound)
		case winner >= 0:
			f.Errorf("%s: both %d and %d won", what, winner, i)
		default:
			winner = i
		}
	}
	if winner < 0 {
		f.Fatalf("%s: no caller won: %v", what, errs)
	}
	return winner
}

// testMove: the document is at the target and nowhere else, or where it was.
func testMove(f *fixture) {
	from, to := key(store.Inbox, "a", "m"), key(store.Archive, "a", "m")
	f.wantErr("Move what is not there", f.s.Move(f.ctx, from, "", to), store.ErrNotFound)
	rev := f.create(from, doc("mail"))
	f.wantErr("Move at no revision", f.s.Move(f.ctx, from, "", to), store.ErrConflict)
	f.wantErr("Move at another revision", f.s.Move(f.ctx, from, "no such revision", to), store.ErrConflict)
	f.wantNone(to)
	f.wantDoc(from, rev, doc("mail"))
	if err := f.s.Move(f.ctx, from, rev, to); err != nil {
		f.Fatalf("Move %v to %v: %v", from, to, err)
	}
	f.wantNone(from)
	f.wantList(store.Inbox, "a")
	f.wantDoc(to, f.get(to).Rev, doc("mail"))
	f.wantList(store.Archive, "a", "m")
	f.wantErr("Move twice", f.s.Move(f.ctx, from, rev, to), store.ErrNotFound)

	// A target that is taken: with other bytes, and with the same.
	for i, data := range [][]byte{doc("there"), doc("mail")} {
		from, to := key(store.Outbox, "a", fmt.Sprint(i)), key(store.Quarantine, "b", fmt.Sprint(i))
		rev, there := f.create(from, doc("mail")), f.create(to, data)
		f.wantExists(fmt.Sprintf("Move %v onto %v", from, to), f.s.Move(f.ctx, from, rev, to), to, there)
		f.wantDoc(from, rev, doc("mail"))
		f.wantDoc(to, there, data)
		f.wantErr("Move onto itself", f.s.Move(f.ctx, from, rev, from), store.ErrExists)
		f.wantDoc(from, rev, doc("mail"))
	}
	// Both the inbox and the archive hold it, and no move of ours was cut short.
	in, kept := key(store.Inbox, "a", "both"), key(store.Archive, "a", "both")
	rev = f.create(in, doc("mail"))
	there := f.create(kept, doc("mail"))
	f.wantExists("Move onto a copy", f.s.Move(f.ctx, in, rev, kept), kept, there)
	f.wantDoc(in, rev, doc("mail"))
}

// testMoveRace: of 16 who take one message one gets it, whether they agree on the target or not.
func testMoveRace(f *fixture) {
	for round := range 4 {
		name := fmt.Sprint("m", round)
		from, to := key(store.Inbox, "a", name), key(store.Archive, "a", name)
		rev := f.create(from, doc(name))
		f.oneWinner("Move to one target", func(int) error { return f.s.Move(f.ctx, from, rev, to) })
		f.wantNone(from)
		f.wantDoc(to, f.get(to).Rev, doc(name))

		from = key(store.Outbox, "a", name)
		target := func(i int) store.Key { return key(store.Quarantine, name, fmt.Sprint(i)) }
		rev = f.create(from, doc(name))
		winner := f.oneWinner("Move to many targets", func(i int) error { return f.s.Move(f.ctx, from, rev, target(i)) })
		f.wantNone(from)
		f.wantList(store.Quarantine, name, fmt.Sprint(winner))
		f.wantDoc(target(winner), f.get(target(winner)).Rev, doc(name))
	}
}
