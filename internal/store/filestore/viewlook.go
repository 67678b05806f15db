package filestore

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"tutti/internal/platform/atomicfile"
	"tutti/internal/store"
	"tutti/internal/store/index"
)

// all looks at every row and reads what is new. With same the names are those of the table.
func (v *view) all(same bool, n int) error {
	var bodies *index.Bodies
	var reading sync.WaitGroup
	defer reading.Wait() // the table is closed afterwards
	if v.tab != nil && v.bare && n <= 0 && v.tab.Len() >= leastShared {
		reading.Go(func() { bodies = v.tab.Bodies() })
	}
	names, rows, err := v.listing(same)
	if err != nil {
		return err
	}
	reading.Wait()
	if v.tab != nil {
		if !same {
			rows = v.there(rows, names)
		}
		if err := v.keep(rows, bodies); err != nil {
			return err
		}
	}
	if err := v.readNew(names); err != nil {
		return err
	}
	index.Sort(v.add)
	v.pick(index.Merge(v.kept, v.add), n)
	return nil
}

// leastShared is from how many rows on it pays to have them read by another goroutine: to wake one takes as long as to read a
// hundred.
const leastShared = 500

// there drops the rows whose names are gone, and leaves the new ones in names.
func (v *view) there(rows []index.Row, names map[string]uint64) []index.Row {
	left := rows[:0]
	for _, r := range rows {
		if _, there := names[r.Name]; !there {
			v.drop = append(v.drop, r)
			continue
		}
		delete(names, r.Name)
		left = append(left, r)
	}
	return left
}

// keep looks at all rows. What does not hold is read again when the others have been looked at, by one goroutine. With bodies
// the rows that hold have theirs with them: to check these is as much work as to look, and shared as well.
func (v *view) keep(rows []index.Row, bodies *index.Bodies) error {
	same := make([]bool, len(rows))
	inShares(v.ctx, len(rows), func() func(int) {
		identify := identifier(v.d)
		return func(i int) {
			if same[i] = v.stands(&rows[i], identify); same[i] && bodies != nil {
				bodies.Hold(&rows[i])
			}
		}
	})
	v.kept = rows[:0]
	for i := range rows {
		if err := v.ctx.Err(); err != nil {
			return err
		}
		if r := rows[i]; same[i] || v.renew(&r) {
			v.kept = append(v.kept, r)
		}
	}
	return nil
}

// few looks at what may have changed and at the first n rows. When one of these turns out changed or gone it goes on down
// the table, until n rows that hold, or were read just now, lie above the next one.
func (v *view) few(same bool, n int) error {
	if !same {
		names, rows, err := v.listing(false)
		if err != nil {
			return err
		}
		v.compare(names, rows)
		if err := v.readNew(names); err != nil {
			return err
		}
	}
	if err := v.lookAtLoose(); err != nil {
		return err
	}
	byOrder := func(a, b index.Row) int { return index.Compare(&a, &b) }
	index.Sort(v.add)
	for r, err := range v.tab.Rows() {
		if err == nil {
			err = v.ctx.Err()
		}
		if err != nil {
			return err
		}
		above, _ := slices.BinarySearchFunc(v.add, r, byOrder)
		if r.Flags&index.Unfit != 0 || len(v.kept)+above >= n {
			break
		}
		holds, done := v.checked[r.Name]
		if !done {
			added := len(v.add)
			holds = v.holds(&r)
			if len(v.add) > added {
				index.Sort(v.add)
			}
		}
		if holds {
			v.kept = append(v.kept, r)
		}
	}
	v.pick(index.Merge(v.kept, v.add), n)
	return nil
}

// lookAtLoose looks at the rows that are unsettled or unfit. Unfit ones that hold are part of the answer.
func (v *view) lookAtLoose() error {
	loose, err := v.tab.Loose()
	if err != nil {
		return err
	}
	for i := range loose {
		r := &loose[i]
		if err := v.ctx.Err(); err != nil {
			return err
		}
		holds, done := v.checked[r.Name]
		if !done {
			holds = v.holds(r)
			v.checked[r.Name] = holds
		}
		if holds && r.Flags&index.Unfit != 0 {
			v.bad = append(v.bad, *r)
		}
	}
	return nil
}

// listing returns what may be documents, with their inodes, and the rows of the table. Where the table has the names there
// is no listing, and without a table there are no rows. To get either takes as long as the other, so they are got at once.
func (v *view) listing(same bool) (names map[string]uint64, rows []index.Row, err error) {
	var bad error
	var table sync.WaitGroup
	if v.tab != nil {
		get := func() { rows, bad = v.tab.All() }
		if same || v.tab.Len() < leastShared {
			get()
		} else {
			table.Go(get)
		}
	}
	if !same {
		names, err = v.names(0)
	}
	table.Wait()
	return names, rows, cmp.Or(err, bad)
}

// names lists what may be documents, with their inodes; with a limit it stops when it has so many.
func (v *view) names(limit int) (map[string]uint64, error) {
	n := 64
	if v.tab != nil {
		n += v.tab.Len()
	}
	all, err := inodesOf(v.d, n, limit, func(name string) bool {
		_, ok := keyNamed(v.of.Kind, v.of.Owner, name)
		return ok
	})
	if err != nil {
		return nil, v.s.fail("view", v.of, err)
	}
	return all, nil
}

// compare drops the rows whose names are gone, looks at those whose names lead to another inode than they did, and leaves the
// new ones in names.
func (v *view) compare(names map[string]uint64, rows []index.Row) {
	for i := range rows {
		r := &rows[i]
		ino, there := names[r.Name]
		if !there {
			v.checked[r.Name] = false
			v.drop = append(v.drop, *r)
			continue
		}
		delete(names, r.Name)
		if ino != r.ID.Ino {
			v.checked[r.Name] = v.holds(r)
		}
	}
}

func (v *view) readNew(names map[string]uint64) error {
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

// holds tells whether a row of the table still says what its source says. If not, the row is dropped and what is there now
// is added.
func (v *view) holds(r *index.Row) bool { return v.stands(r, identifier(v.d)) || v.renew(r) }

// stands tells whether a row can be believed without reading its source. It changes nothing. identify is for the names of plain
// files in the folder.
func (v *view) stands(r *index.Row, identify func(name string) (index.Stat, bool)) bool {
	if v.frozen && r.Flags&index.Unfit == 0 {
		return true
	}
	if r.Flags&index.Unsettled != 0 {
		return false
	}
	if !v.nested {
		id, there := identify(r.Name)
		return there && id == r.ID
	}
	k, _ := keyNamed(v.of.Kind, v.of.Owner, r.Name)
	info, err := v.d.Stat(fileName(k))
	return err == nil && statOf(info) == r.ID
}

// renew reads the source of a row again and tells whether the row is as it would be made now.
func (v *view) renew(r *index.Row) bool {
	fresh, ok := v.read(r.Name)
	if ok && fresh.Same(r) {
		return true
	}
	v.drop = append(v.drop, *r)
	if ok {
		v.add = append(v.add, fresh)
	}
	return false
}

// read makes the row of a document, false when there is none. Whether it is settled is judged by the time at which the query
// began: a write after that shows, so no second look is needed.
func (v *view) read(name string) (index.Row, bool) {
	k, _ := keyNamed(v.of.Kind, v.of.Owner, name)
	if nested(k.Kind) {
		if _, err := v.s.entry(v.d, k, fileName(k)); errors.Is(err, fs.ErrNotExist) {
			return index.Row{}, false
		}
	}
	if err := k.Check(); err != nil {
		return v.unfit(k, name, err.Error(), nil)
	}
	data, info, err := v.s.readFile(v.d, k)
	if errors.Is(err, store.ErrNotFound) {
		return index.Row{}, false
	}
	if u, ok := errors.AsType[*store.UnfitError](err); ok {
		return v.unfit(k, name, u.Why, nil)
	}
	if err != nil {
		return v.unfit(k, name, "", err)
	}
	stored := storedAt(info)
	r := index.Row{Name: name, Flags: v.age(info), Stored: stored.UnixNano(), ID: statOf(info)}
	keys, order, summary, err := v.p.Make(data, stored)
	if err != nil {
		r.Flags |= index.Unfit
		return index.NewRow(r, nil, []byte(err.Error())), true
	}
	r.Order = order
	return index.NewRow(r, keys, summary), true
}

func (v *view) age(info atomicfile.Info) index.Flags {
	if info.Unstable || !v.s.settled(statOf(info), v.now) {
		return index.Unsettled
	}
	return 0
}

// unfit makes the row of something that is not a document.
func (v *view) unfit(k store.Key, name, why string, err error) (index.Row, bool) {
	info, statErr := v.d.Stat(fileName(k))
	if errors.Is(statErr, fs.ErrNotExist) {
		return index.Row{}, false
	}
	r := index.Row{Name: name, Flags: index.Unfit, ID: statOf(info)}
	if err != nil {
		if v.errs == nil {
			v.errs = map[string]error{}
		}
		v.errs[name] = err
	}
	if err != nil || statErr != nil {
		r.Flags |= index.Unsettled
	} else {
		r.Flags |= v.age(info)
	}
	return index.NewRow(r, nil, []byte(why)), true
}

const (
	// maxReaders is how many goroutines look at the rows of a folder. The calls of the system, which are two thirds of the cost, do
	// not wait for each other; beyond a few processors they wait for the folder.
	maxReaders = 4
	// share is how many rows one goroutine takes at a time, and the count below which it works alone.
	share = 64
)

// inShares calls what worker returns for each number below n, in as many goroutines as are worth it, and returns when all have
// ended. worker is called once by each of them. When the context ends numbers are left out.
func inShares(ctx context.Context, n int, worker func() func(i int)) {
	var next atomic.Int64
	run := func() {
		do := worker()
		for ctx.Err() == nil {
			from := int(next.Add(share)) - share
			if from >= n {
				return
			}
			for i := from; i < min(from+share, n); i++ {
				do(i)
			}
		}
	}
	var others sync.WaitGroup
	for range min(maxReaders, runtime.GOMAXPROCS(0), n/share) - 1 {
		others.Go(run)
	}
	run()
	others.Wait()
}
