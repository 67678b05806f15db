package filestore

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"tutti/internal/platform/atomicfile"
	"tutti/internal/store"
	"tutti/internal/store/index"
)

var _ store.Viewer = (*Store)(nil)

// fullPass is how old the last look at every row may be. What was overwritten in place, without a change of the folder and
// outside of the newest rows, is noticed after this time at the latest.
const fullPass = time.Minute

// View answers from a table of rows in the cache folder, each of which is believed only as long as its source has the
// identity that it had when it was read.
//
// The times of a folder tell of names that came and went. As long as they are equal the newest n rows are looked at, and those
// that are unsettled or unfit; when they differ the names are listed, and what is new is read. What a foreign program
// overwrites in place, or removes and makes again under the same inode number, shows in neither: Exact looks at every
// row, and so does every query when the last such look is a minute ago.
//
// Rows of a frozen projection are believed as long as the name is there, so that a folder in which every document is replaced
// all the time costs one listing.
//
// Kinds that are replaced give inode numbers back and forth, and those with a folder for each document do not show in the
// times of the folder above: there every query is exact.
//
// Anything that is not a document comes first, as *store.UnfitError, and is not one of the newest n.
func (s *Store) View(ctx context.Context, kind store.Kind, owner string, p *store.Projection, q store.Query) iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		if err := checkOwner(ctx, kind, owner); err != nil {
			yield(store.Row{}, err)
			return
		}
		d, err := s.folder(kind, owner)
		if errors.Is(err, store.ErrNotFound) {
			return
		}
		if err != nil {
			yield(store.Row{}, err)
			return
		}
		defer d.Close()
		v := &view{s: s, ctx: ctx, d: d, of: store.Key{Kind: kind, Owner: owner}, p: p, nested: nested(kind)}
		// The name of a nested document is that of its folder, which stays when the document goes.
		v.frozen = p.Frozen && !q.Exact && !v.nested
		v.bare = q.Bare
		v.cache = s.cacheFor(v.of, p)
		defer v.close()
		if err := v.answer(q); err != nil {
			yield(store.Row{}, err)
			return
		}
		v.yield(yield)
	}
}

// A view is one query at work.
type view struct {
	s     *Store
	ctx   context.Context
	d     *atomicfile.Dir
	of    store.Key // kind and owner
	p     *store.Projection
	cache cacheFile

	nested bool // each document has a folder of its own
	frozen bool // rows hold as long as their names are there
	bare   bool // rows need no keys

	partial bool // the names were not all listed

	now   time.Time    // before anything was looked at
	self  index.Stat   // of the folder, then
	tab   *index.Table // nil: none that can be used
	state index.State  // as it will be written

	checked map[string]bool // rows of tab that were looked at: true for those that hold
	kept    []index.Row     // rows of tab that hold, sorted
	drop    []index.Row     // rows of tab that do not
	add     []index.Row     // rows that were read, in no order
	errs    map[string]error

	rows []index.Row // the answer
	bad  []index.Row // unfit, by name
}

func (v *view) close() {
	if v.tab != nil {
		v.tab.Close()
	}
	v.cache.close()
}

// answer finds the rows. A table that turns out to be damaged is thrown away and everything is read.
func (v *view) answer(q store.Query) error {
	if err := v.begin(); err != nil {
		return err
	}
	err := v.look(q)
	if v.tab != nil && errors.Is(err, index.ErrBad) {
		v.tab.Close()
		v.tab = nil
		v.cache.discard()
		err = v.look(q)
	}
	if err != nil {
		return err
	}
	v.save()
	return nil
}

func (v *view) begin() error {
	v.now = time.Now() // not the clock of the store: it is compared with that of the file system
	info, err := v.d.Self()
	if err != nil {
		return v.s.fail("view", v.of, err)
	}
	v.self = statOf(info)
	if v.cache.dir == nil {
		return nil
	}
	v.tab, err = v.cache.dir.OpenTable(v.cache.name, v.cache.of)
	if errors.Is(err, index.ErrBad) {
		v.cache.discard()
	}
	return nil
}

// look chooses between looking at all rows and at few.
func (v *view) look(q store.Query) error {
	v.checked, v.errs = map[string]bool{}, nil
	v.kept, v.drop, v.add, v.bad, v.partial = nil, nil, nil, nil, false
	v.state = index.State{Folder: v.self, Settled: v.s.settled(v.self, v.now), Scanned: v.now.UnixNano(), Full: v.now.UnixNano()}
	if v.tab == nil && q.Oldest > 0 && !v.nested {
		if done, err := v.sample(q); done || err != nil {
			return err
		}
	}
	if v.tab == nil {
		return v.all(false, q.Newest)
	}
	st := v.tab.State()
	flat := !v.nested
	same := flat && st.Settled && st.Folder == v.self
	if same {
		v.state.Scanned = st.Scanned
	}
	byInode := flat && listsInodes && v.of.Kind.Spec().Class == store.Once
	mine := st.Folder.Dev == v.self.Dev && st.Folder.Ino == v.self.Ino
	age := v.now.Sub(time.Unix(0, st.Full))
	if crowd := v.tab.Len(); q.Oldest > 0 && mine && byInode && crowd >= v.s.crowd && (age >= 0 && age < fullPass || crowd >= v.s.throng) {
		return v.oldest(same, st, q)
	}
	switch {
	case q.Exact || q.Newest <= 0, age < 0 || age >= fullPass, !mine, !same && !byInode:
		return v.all(same, q.Newest)
	}
	v.state.Full = st.Full
	return v.few(same, q.Newest)
}

// save keeps the result. A process that cannot write the cache folder reads a little more next time.
func (v *view) save() {
	if v.cache.dir == nil || v.partial && len(v.drop)+len(v.add) < fewChanges {
		return
	}
	if v.tab != nil && len(v.drop) == 0 && len(v.add) == 0 {
		st := v.tab.State()
		if v.frozen {
			return // the folder changes with every heartbeat, and the rows do not
		}
		// The time of a full look alone is worth a write when a good part of its minute is over.
		if st.Folder == v.state.Folder && st.Settled == v.state.Settled && v.state.Full-st.Full < int64(fullPass/2) {
			return
		}
	}
	if after, err := v.d.Self(); err != nil || statOf(after) != v.self {
		v.state.Settled = false
	}
	err := v.cache.dir.SaveTable(v.cache.name, v.cache.of, v.state, v.tab, v.drop, v.add)
	if errors.Is(err, index.ErrBad) {
		v.cache.discard()
	}
}

// yield gives the answer: what is unfit, then the rows.
func (v *view) yield(yield func(store.Row, error) bool) {
	for i := range v.bad {
		r := &v.bad[i]
		k, _ := keyNamed(v.of.Kind, v.of.Owner, r.Name)
		if !yield(store.Row{Key: k}, v.why(r, k)) {
			return
		}
	}
	for i := range v.rows {
		if err := v.ctx.Err(); err != nil {
			yield(store.Row{}, err)
			return
		}
		row, ok, err := v.row(&v.rows[i])
		if (ok || err != nil) && !yield(row, err) {
			return
		}
	}
}

// why is the error of an unfit row.
func (v *view) why(r *index.Row, k store.Key) error {
	if err := v.errs[r.Name]; err != nil {
		return err
	}
	_, why, err := r.Body()
	if err != nil {
		v.cache.discard()
		why = "is not a document"
	}
	return &store.UnfitError{Key: k, Where: v.s.where(k), Why: why}
}

// row completes a row. One whose body is damaged in the table is read from its source again.
func (v *view) row(r *index.Row) (store.Row, bool, error) {
	k, _ := keyNamed(v.of.Kind, v.of.Owner, r.Name)
	keys, summary, err := v.body(r)
	if err != nil {
		v.cache.discard()
		fresh, ok := v.read(r.Name)
		if !ok {
			return store.Row{}, false, nil
		}
		if fresh.Flags&index.Unfit != 0 {
			return store.Row{Key: k}, true, v.why(&fresh, k)
		}
		if keys, summary, err = v.body(&fresh); err != nil {
			return store.Row{Key: k}, true, err
		}
		r = &fresh
	}
	return store.Row{Key: k, Keys: keys, Order: r.Order, Summary: summary, Stored: time.Unix(0, r.Stored), Size: r.ID.Size}, true, nil
}

func (v *view) body(r *index.Row) (keys []string, summary string, err error) {
	if v.bare {
		summary, err = r.Summary()
		return nil, summary, err
	}
	return r.Body()
}

// pick makes the answer of sorted rows: the unfit, which are last, apart, and of the others the first n (0: all).
func (v *view) pick(rows []index.Row, n int) {
	fit := slices.IndexFunc(rows, func(r index.Row) bool { return r.Flags&index.Unfit != 0 })
	if fit < 0 {
		fit = len(rows)
	}
	v.bad = append(v.bad, rows[fit:]...)
	if v.rows = rows[:fit]; n > 0 && n < fit {
		v.rows = rows[:n]
	}
	slices.SortStableFunc(v.bad, func(a, b index.Row) int { return strings.Compare(a.Name, b.Name) })
}
