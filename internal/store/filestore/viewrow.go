package filestore

import (
	"errors"
	"io/fs"

	"tutti/internal/platform/atomicfile"
	"tutti/internal/store"
	"tutti/internal/store/index"
)

// holds tells whether a row of the table still says what its source says. If not, the row is dropped and what is there now
// is added.
func (v *view) holds(r *index.Row) bool { return v.stands(r) || v.renew(r) }

// stands tells whether a row can be believed without reading its source. It changes nothing.
func (v *view) stands(r *index.Row) bool {
	if v.frozen && r.Flags&index.Unfit == 0 {
		return true
	}
	if r.Flags&index.Unsettled != 0 {
		return false
	}
	k, _ := keyNamed(v.of.Kind, v.of.Owner, r.Name)
	info, err := v.d.Stat(fileName(k))
	return err == nil && index.StatOf(info) == r.ID
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
// began: a write after that shows, so that nobody needs to look again.
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
	r := index.Row{Name: name, Flags: v.age(info), Stored: stored.UnixNano(), ID: index.StatOf(info)}
	keys, order, summary, err := v.p.Make(data, stored)
	if err != nil {
		r.Flags |= index.Unfit
		r.Summary = err.Error()
		return r, true
	}
	r.Order, r.Keys, r.Summary = order, keys, string(summary)
	return r, true
}

func (v *view) age(info atomicfile.Info) index.Flags {
	if info.Unstable || !v.s.settled(index.StatOf(info), v.now) {
		return index.Unsettled
	}
	return 0
}

// unfit makes the row of what is no document. With err it is one that we could not read: that is said as it is, and tried
// again each time.
func (v *view) unfit(k store.Key, name, why string, err error) (index.Row, bool) {
	info, statErr := v.d.Stat(fileName(k))
	if errors.Is(statErr, fs.ErrNotExist) {
		return index.Row{}, false
	}
	r := index.Row{Name: name, Flags: index.Unfit, ID: index.StatOf(info), Summary: why}
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
	return r, true
}
