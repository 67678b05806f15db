package filestore

import (
	"slices"

	"tutti/internal/store"
	"tutti/internal/store/index"
)

const (
	// crowd is from how many rows on a query for the oldest looks at these alone: to look at so many takes some 10 ms.
	crowd = 4096
	// throng is from how many rows on it does not list the names either: to list so many takes as long.
	throng = 20_000
	// sampled is how many documents are read of a throng of which there is no table. To read all would take a minute for a
	// million.
	sampled = 256
	// fewChanges is below how many changes a query that has not listed the names leaves the table as it is.
	fewChanges = 256
)

// oldest looks at the n rows with the lowest order. In a throng the names are not listed: what came since the last listing is
// younger, as a rule, than what waits. When the table has too few rows that hold, all are looked at.
func (v *view) oldest(same bool, st index.State, q store.Query) error {
	listed := same || v.tab.Len() < v.s.throng
	switch {
	case !listed:
		v.partial, v.state = true, st
	case !same:
		names, rows, err := v.listing(false)
		if err != nil {
			return err
		}
		v.compare(names, rows)
		if err := v.readNew(names); err != nil {
			return err
		}
		fallthrough
	default:
		v.state.Full = st.Full
		if err := v.lookAtLoose(); err != nil {
			return err
		}
	}
	index.Sort(v.add)
	byOrder := func(a, b index.Row) int { return index.Compare(&a, &b) }
	enough := false
	for r, err := range v.tab.Upwards() {
		if err == nil {
			err = v.ctx.Err()
		}
		if err != nil {
			return err
		}
		above, _ := slices.BinarySearchFunc(v.add, r, byOrder)
		if enough = len(v.kept)+len(v.fit(v.add))-above >= q.Oldest; enough {
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
	if !enough && !listed {
		return v.look(store.Query{Exact: true})
	}
	slices.Reverse(v.kept)
	v.pick(index.Merge(v.kept, v.add), 0)
	v.cut(enough, q)
	return nil
}

// fit are the sorted rows without those that are unfit, which are last.
func (v *view) fit(rows []index.Row) []index.Row {
	for n := len(rows); n > 0; n-- {
		if rows[n-1].Flags&index.Unfit == 0 {
			return rows[:n]
		}
	}
	return nil
}

// cut leaves the n oldest rows of an answer that is only a part.
func (v *view) cut(part bool, q store.Query) {
	if part {
		v.rows = v.rows[max(0, len(v.rows)-q.Oldest):]
	}
	if q.Part != nil {
		*q.Part = part
	}
}

// sample answers for a throng without a table: from as many documents as it takes, whichever the listing names first. False: it
// is none, or there are too few.
func (v *view) sample(q store.Query) (bool, error) {
	names, err := v.names(v.s.throng)
	if err != nil || len(names) < v.s.throng {
		return false, err
	}
	for name := range names {
		if err := v.ctx.Err(); err != nil {
			return false, err
		}
		if r, ok := v.read(name); ok && r.Flags&index.Unfit == 0 {
			v.add = append(v.add, r)
		}
		if len(v.add) >= max(q.Oldest, sampled) {
			break
		}
	}
	if len(v.add) < q.Oldest {
		v.add = nil
		return false, nil
	}
	index.Sort(v.add)
	v.pick(v.add, 0)
	v.cut(true, q)
	v.add, v.partial = nil, true // it is not kept
	return true, nil
}
