package fswatch

import (
	"io/fs"
	"os"
	"time"
)

// settled is how old a folder's time must be before an unchanged one proves that no name came or
// went: twice the coarsest step in which file systems in use keep times.
const settled = 4 * time.Second

// A listing is what a folder looked like. The zero value is a folder that is not there.
type listing struct {
	folder fs.FileInfo            // nil: not there, or it cannot be looked at
	names  map[string]fs.FileInfo // nil infos when writes are not asked for
	dirs   map[string]bool
	at     time.Time
}

// next lists the folder again. What was listed before is used where it must still be true.
func (l listing) next(path string, o *Options) listing {
	now := listing{at: time.Now()}
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return now
	}
	writes := o.Ops == 0 || o.Ops&Written != 0
	if l.folder != nil && !writes && os.SameFile(l.folder, info) && l.folder.ModTime().Equal(info.ModTime()) &&
		l.at.Sub(info.ModTime()) > settled {
		l.at = now.at
		return l
	}
	f, err := os.Open(path)
	if err != nil {
		return now
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	if err != nil {
		return now
	}
	now.folder = info
	now.names = make(map[string]fs.FileInfo, len(entries))
	now.dirs = make(map[string]bool)
	for _, e := range entries {
		if o.Names != nil && !o.Names(e.Name()) {
			continue
		}
		var entry fs.FileInfo
		if writes {
			if entry, err = e.Info(); err != nil { // gone since
				continue
			}
		}
		now.names[e.Name()] = entry
		if e.IsDir() {
			now.dirs[e.Name()] = true
		}
	}
	return now
}

// compare reports what is different in now. A folder that came, went or was replaced is reported
// alone, because its subscriber looks at everything then.
func (l listing) compare(now listing, report func(op Op, name string, dir bool)) {
	if l.folder == nil && now.folder == nil {
		return
	}
	if l.folder == nil || now.folder == nil || !os.SameFile(l.folder, now.folder) {
		report(Self, "", false)
		return
	}
	for name, entry := range now.names {
		old, there := l.names[name]
		switch {
		case !there:
			report(Created|Written, name, now.dirs[name])
		case entry == nil || old == nil:
		case !os.SameFile(old, entry): // replaced by another file of the name
			report(Created|Written, name, now.dirs[name])
		case old.Size() != entry.Size() || !old.ModTime().Equal(entry.ModTime()):
			if !now.dirs[name] { // what happens inside a folder is not the folder being written
				report(Written, name, false)
			}
		}
	}
	for name := range l.names {
		if _, there := now.names[name]; !there {
			report(Gone, name, l.dirs[name])
		}
	}
}

// poll lists the folder every so often until s ends.
func (s *Sub) poll(last listing, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-s.done:
			return
		case <-tick.C:
		}
		now := last.next(s.abs, &s.o)
		last.compare(now, s.offer)
		last = now
	}
}
