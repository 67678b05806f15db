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
// that are unsettled or unfit; when they differ the names are listed, every row is looked at, and what is new is read. What a
// foreign program overwrites in place does not show in the times of the folder: Exact looks at every row, and so does every
// query when the last such look is a minute ago.
//
// Rows of a frozen projection are believed as long as the name is there, so that a folder in which every document is replaced
// all the time costs one listing.
//
// Kinds with a folder for each document do not show in the times of the folder above: there every query is exact.
//
// What is no document comes first, as *store.UnfitError, and is no row of the newest n.
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
		v.cache = s.cacheFor(v.of, p)
		defer v.cache.close()
		if err := v.answer(q); err != nil {
			yield(store.Row{}, err)
			return
		}
		v.yield(q.Newest, yield)
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

	now   time.Time    // before anything was looked at
	self  index.Stat   // of the folder, then
	tab   *index.Table // nil: none that can be used
	state index.State  // as it will be written

	drop []index.Row // rows of tab that do not hold
	add  []index.Row // rows that were read
	rows []index.Row // the answer
	errs map[string]error
}

// answer finds the rows. A table that turns out to be damaged is thrown away and everything is read.
func (v *view) answer(q store.Query) error {
	v.now = time.Now() // not the clock of the store: it is compared with that of the file system
	info, err := v.d.Self()
	if err != nil {
		return v.s.fail("view", v.of, err)
	}
	v.self = index.StatOf(info)
	if v.tab = v.cache.open(); v.tab != nil {
		defer v.tab.Close()
	}
	err = v.look(q)
	if errors.Is(err, index.ErrBad) {
		v.cache.discard()
		v.tab, v.drop, v.add, v.rows, v.errs = nil, nil, nil, nil, nil
		err = v.look(q)
	}
	if err != nil {
		return err
	}
	v.save()
	v.rows = append(v.rows, v.add...)
	slices.SortFunc(v.rows, index.Compare)
	return nil
}

// look chooses between looking at all rows and at few.
func (v *view) look(q store.Query) error {
	v.state = index.State{Folder: v.self, Settled: v.s.settled(v.self, v.now), Full: v.now.UnixNano()}
	if v.tab == nil {
		return v.all(false)
	}
	st := v.tab.State()
	same := !v.nested && st.Settled && st.Folder == v.self
	age := v.now.Sub(time.Unix(0, st.Full))
	if q.Exact || q.Newest <= 0 || !same || age < 0 || age >= fullPass {
		return v.all(same)
	}
	v.state.Full = st.Full
	return v.few(q.Newest)
}

// all looks at every row and reads what is new. With same the names are those of the table.
func (v *view) all(same bool) error {
	var names map[string]bool
	if !same {
		var err error
		if names, err = v.names(); err != nil {
			return err
		}
	}
	if v.tab != nil {
		for r, err := range v.tab.Rows() {
			if err := errors.Join(err, v.ctx.Err()); err != nil {
				return err
			}
			switch there := same || names[r.Name]; {
			case !there:
				v.drop = append(v.drop, r)
			case v.holds(&r):
				v.rows = append(v.rows, r)
			}
			delete(names, r.Name)
		}
	}
	for name := range names {
		if err := v.ctx.Err(); err != nil {
			return err
		}
		if r, ok := v.read(name); ok {
			v.add = append(v.add, r)
		}
	}
	return nil
}

// few looks at the rows that may have changed and at the first n. When one of these turns out changed or gone it goes on down
// the table, until n rows that hold, or were read just now, lie above the next one.
func (v *view) few(n int) error {
	for r, err := range v.tab.Rows() {
		if err := errors.Join(err, v.ctx.Err()); err != nil {
			return err
		}
		if r.Flags == 0 && above(v.rows, r)+above(v.add, r) >= n {
			break
		}
		if v.holds(&r) {
			v.rows = append(v.rows, r)
		}
	}
	return nil
}

// above counts the rows that come before r in a list.
func above(rows []index.Row, r index.Row) (n int) {
	for i := range rows {
		if index.Compare(rows[i], r) < 0 {
			n++
		}
	}
	return n
}

// names lists what may be documents.
func (v *view) names() (map[string]bool, error) {
	all, err := v.d.Names()
	if err != nil {
		return nil, v.s.fail("view", v.of, err)
	}
	names := make(map[string]bool, len(all))
	for _, name := range all {
		if _, ok := keyNamed(v.of.Kind, v.of.Owner, name); ok {
			names[name] = true
		}
	}
	return names, nil
}

// save keeps what was found. Whoever cannot write the cache folder reads a little more next time.
func (v *view) save() {
	if v.cache.dir == nil {
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
	if after, err := v.d.Self(); err != nil || index.StatOf(after) != v.self {
		v.state.Settled = false
	}
	err := v.cache.dir.SaveTable(v.cache.name, v.cache.of, v.state, v.tab, v.drop, v.add)
	if errors.Is(err, index.ErrBad) {
		v.cache.discard()
	}
}

// yield gives the answer: what is unfit by name, then the first n rows (0: all).
func (v *view) yield(n int, yield func(store.Row, error) bool) {
	fit := slices.IndexFunc(v.rows, func(r index.Row) bool { return r.Flags&index.Unfit != 0 })
	if fit < 0 {
		fit = len(v.rows)
	}
	bad := v.rows[fit:]
	slices.SortStableFunc(bad, func(a, b index.Row) int { return strings.Compare(a.Name, b.Name) })
	for i := range bad {
		k, _ := keyNamed(v.of.Kind, v.of.Owner, bad[i].Name)
		if !yield(store.Row{Key: k}, v.why(&bad[i], k)) {
			return
		}
	}
	if n > 0 {
		fit = min(n, fit)
	}
	for _, r := range v.rows[:fit] {
		if err := v.ctx.Err(); err != nil {
			yield(store.Row{}, err)
			return
		}
		k, _ := keyNamed(v.of.Kind, v.of.Owner, r.Name)
		row := store.Row{Key: k, Keys: r.Keys, Order: r.Order, Summary: r.Summary, Stored: time.Unix(0, r.Stored), Size: r.ID.Size}
		if !yield(row, nil) {
			return
		}
	}
}

// why is the error of an unfit row.
func (v *view) why(r *index.Row, k store.Key) error {
	if err := v.errs[r.Name]; err != nil {
		return err
	}
	return &store.UnfitError{Key: k, Where: v.s.where(k), Why: r.Summary}
}
