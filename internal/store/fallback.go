package store

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"sort"
	"strings"
	"time"
)

// ViewOf answers a view from any Reader: through its own Viewer when it has one, else by List and Get of every document.
// Without an index each call reads everything, so q.Exact is always kept then. Errors come before the rows.
func ViewOf(ctx context.Context, r Reader, kind Kind, owner string, p *Projection, q Query) iter.Seq2[Row, error] {
	if v, ok := r.(Viewer); ok {
		return v.View(ctx, kind, owner, p, q)
	}
	return func(yield func(Row, error) bool) {
		var rows []Row
		for e, err := range r.List(ctx, kind, owner) {
			var row Row
			if err == nil {
				row, err = project(ctx, r, e, p)
			}
			switch {
			case err == nil:
				rows = append(rows, row)
			case errors.Is(err, ErrNotFound): // it went away between the listing and the reading
			case !yield(Row{Key: e.Key}, err):
				return
			}
		}
		sort.Slice(rows, func(i, j int) bool { return compareRows(rows[i], rows[j]) < 0 })
		if q.Newest > 0 && q.Newest < len(rows) {
			rows = rows[:q.Newest]
		}
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}
}

// project reads one document and makes its row.
func project(ctx context.Context, r Reader, e Entry, p *Projection) (Row, error) {
	d, err := r.Get(ctx, e.Key)
	if err != nil {
		return Row{}, err
	}
	keys, order, summary, err := p.Make(d.Data, d.Stored)
	if err != nil {
		return Row{}, &UnfitError{Key: e.Key, Where: e.Key.String(), Why: err.Error()}
	}
	return Row{Key: d.Key, Keys: keys, Order: order, Summary: string(summary), Stored: d.Stored, Size: int64(len(d.Data))}, nil
}

// compareRows is the order of a view: falling order, equal orders by rising name.
func compareRows(a, b Row) int {
	return cmp.Or(cmp.Compare(b.Order, a.Order), strings.Compare(a.Key.Name, b.Key.Name))
}

// FindIn answers a search from any Log: through its own Viewer when it has one, else by reading the whole log.
func FindIn(ctx context.Context, l Log, log Key, p *Projection, key string) iter.Seq2[Line, error] {
	if v, ok := l.(Viewer); ok {
		return v.Find(ctx, log, p, key)
	}
	return func(yield func(Line, error) bool) {
		for line, err := range l.Read(ctx, log, "") {
			if err != nil {
				if _, unfit := errors.AsType[*UnfitError](err); unfit {
					continue // it has no keys
				}
				yield(line, err)
				return
			}
			if has(p, line.Data, key) && !yield(line, nil) {
				return
			}
		}
	}
}

// has tells whether key is among the keys of a line.
func has(p *Projection, line []byte, key string) bool {
	keys, _, _, err := p.Make(line, time.Time{})
	return err == nil && slices.Contains(keys, key)
}

// EndOf tells where any Log ends: through its own Ender when it has one, else by reading the whole log. Bad lines count.
func EndOf(ctx context.Context, l Log, log Key) (Pos, error) {
	if e, ok := l.(Ender); ok {
		return e.End(ctx, log)
	}
	var end Pos
	for line, err := range l.Read(ctx, log, "") {
		if _, unfit := errors.AsType[*UnfitError](err); err != nil && !unfit {
			return "", err
		}
		end = line.Next
	}
	return end, nil
}

// ExtendWith appends lines to any Log: through its own Extender when it has one, else one by one, and then those before the one
// that fails stay. It returns how many were added and where the last of them ends.
func ExtendWith(ctx context.Context, l Log, k Key, after Pos, lines [][]byte) (added int, end Pos, err error) {
	if e, ok := l.(Extender); ok {
		if end, err = e.Extend(ctx, k, after, lines); err != nil {
			return 0, after, err
		}
		return len(lines), end, nil
	}
	end = after
	for n, line := range lines {
		next, err := l.Append(ctx, k, after, line)
		if err != nil {
			return n, end, err
		}
		end = next
		if after != AnyEnd {
			after = next
		}
	}
	return len(lines), end, nil
}
