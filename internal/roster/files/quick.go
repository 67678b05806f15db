package files

import (
	"context"
	"os"
	"time"

	"tutti/internal/atomicfile"
	"tutti/internal/filelock"
	"tutti/internal/roster"
)

// Quick makes the registry fast for a process that does one thing with it and ends. What is promised of the files stays, and so does
// the order in which they are written; the process waits for less of it:
//
//   - Change returns when the YAML has the row for good. The database follows under the same lock; the next call waits for that.
//   - The database stays open between calls, with no transaction in it: others read and write it. What others have not written since is
//     not read again. Its journal is emptied, and the cache written, by Close.
//   - Rows are taken from the cache as light programs take them, where it holds.
//
// Whoever calls it calls Close before the process ends.
func (r *Registry) Quick() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.quick = true
}

// Close waits until everything is written, and ends Quick.
func (r *Registry) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.due != nil {
		r.finish()
	}
	if r.idle != nil {
		r.idle.close()
		r.idle = nil
	}
	r.quick = false
	return nil
}

// keep leaves the end of a visit to Close, and its database open for the next call.
func (r *Registry) keep(v *visit) {
	r.idle, r.last, r.seen = v.db, v.merged.doc, nil
	r.due = &visit{r: r, merged: v.merged, aside: v.aside}
}

// finish does what is due, under the lock. Where somebody else has written since, or holds the lock, it is theirs to do.
func (r *Registry) finish() {
	v := r.due
	r.due = nil
	var err error
	if v.place, err = r.find(false); err != nil {
		return
	}
	defer v.place.dir.Close()
	ctx, cancel := context.WithTimeout(context.Background(), finishLimit)
	defer cancel()
	lock, err := filelock.Acquire(ctx, v.place.dir.FD(), v.place.dir.Path(), filelock.Options{Kernel: v.place.lock()})
	if err != nil {
		return
	}
	defer func() { _ = lock.Release() }() // it ends with the process in any case
	alone := r.idle != nil && r.idle.here() && r.idle.alone(ctx)
	if r.idle != nil {
		r.idle.close()
		r.idle = nil
	}
	r.step("closed")
	if alone {
		v.remember()
		r.step("remembered")
	}
}

// finishLimit is how long the lock is waited for by who only wants to leave everything as it is best for others.
const finishLimit = time.Second

// changeAhead is Change for who does not wait for the database. The lock of the registry, which is held, is given back at the end of all.
func (r *Registry) changeAhead(ctx context.Context, name string, f func(row *roster.Row, found bool) error) (roster.Row, error) {
	type outcome struct {
		row roster.Row
		err error
	}
	out := make(chan outcome, 2) // that the row is made, and the end
	go func() {
		defer r.mu.Unlock()
		row, err := r.change(ctx, name, f, func(row roster.Row) { out <- outcome{row: row} })
		out <- outcome{row, err}
	}()
	first := <-out
	return first.row, first.err
}

// cached returns the rows as light programs have them. What a change will need is made ready meanwhile.
func (r *Registry) cached() ([]roster.Row, bool) {
	if !r.quick || r.cache == "" {
		return nil, false
	}
	rows, ok := roster.Cached(r.path, r.cache)
	if ok && r.last == nil {
		go r.warm()
	}
	return rows, ok
}

// warm opens the database and reads the YAML, for a change that is to come. What goes wrong is found again, and said, by that.
func (r *Registry) warm() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.quick || r.last != nil || r.idle != nil {
		return
	}
	p, err := r.find(false)
	if err != nil {
		return
	}
	defer p.dir.Close()
	if roster.DatabaseInfo(p.dir, p.name) == (atomicfile.Info{}) {
		return // it is made under the lock
	}
	opened := make(chan *database, 1)
	go func() {
		db, err := openDatabase(context.Background(), p.db(), r.wait)
		if err != nil {
			db = nil
		}
		opened <- db
	}()
	if text, info, err := p.dir.Read(p.name, roster.MaxSize); err == nil && !info.Unstable {
		_, _ = r.parse(text)
	}
	r.idle = <-opened
}

// database opens the database. One that was left open is taken if it still is the file of that name.
func (r *Registry) database(ctx context.Context, path string) (*database, error) {
	d := r.idle
	r.idle = nil
	switch {
	case d == nil:
	case d.path == path && d.here():
		return d, nil
	default:
		d.close()
	}
	return openDatabase(ctx, path, r.wait)
}

// here tells whether the file that was opened still has its name.
func (d *database) here() bool {
	info, err := os.Lstat(d.path)
	return err == nil && d.is != nil && os.SameFile(info, d.is)
}
