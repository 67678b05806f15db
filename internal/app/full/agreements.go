package full

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"sort"
	"sync"

	"tutti/internal/app"
	"tutti/internal/governance/agreement"
	"tutti/internal/governance/journal"
	"tutti/internal/platform/atomicfile"
)

// Agreements are the negotiations of the bus. What was verified of a journal is remembered in the cache of this user, so that the
// next process reads only what came since.
func Agreements(w *app.World) *agreement.Bus {
	b := agreement.New(w.Store, w.Registry, journals(w))
	b.Persons = w.Pins
	return b
}

func journals(w *app.World) journal.Memory {
	cache, err := w.App.CacheDir()
	if err != nil {
		return &journal.InProcess{}
	}
	return &lazily{disk: &onDisk{dir: filepath.Join(cache, "journals"), root: app.Absolute(w.Root.Path)}}
}

// lazily is a memory in this process, of which what is far enough behind is written to disk: a file takes more than half as long as
// adding an entry does.
type lazily struct {
	disk journal.Memory
	here journal.InProcess

	mu   sync.Mutex
	kept map[string]int // how many entries what lies on the disk stands for
}

// behind is how many entries another process may have to read again. Reading one takes a thirtieth of writing the file, or a fifth
// when its signature has to be verified.
const behind = 8

// Recall is of [journal.Memory].
func (l *lazily) Recall(id string) []byte {
	if what := l.here.Recall(id); what != nil {
		return what
	}
	what := l.disk.Recall(id)
	if what != nil {
		l.here.Keep(id, what)
		l.note(id, journal.Known(what))
	}
	return what
}

// Keep is of [journal.Memory].
func (l *lazily) Keep(id string, what []byte) {
	l.here.Keep(id, what)
	n := journal.Known(what)
	l.mu.Lock()
	last, known := l.kept[id]
	l.mu.Unlock()
	if known && n >= last && n < last+behind {
		return
	}
	l.disk.Keep(id, what)
	l.note(id, n)
}

func (l *lazily) note(id string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kept == nil || len(l.kept) >= maxJournals {
		l.kept = map[string]int{} // who is not in it is written once more
	}
	l.kept[id] = n
}

// onDisk is a memory of journals that outlives the process. Each journal of each bus has a file. What cannot be read or written
// only costs time, so it is no error.
type onDisk struct{ dir, root string }

// sumLen is the length of what stands before the text in a file, and shows that it is whole.
const sumLen = 2*sha256.Size + 1

func sumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]) + "\n"
}

// name is that of the file of a journal.
func (d *onDisk) name(id string) string {
	sum := sha256.Sum256([]byte(d.root + "\n" + id))
	return hex.EncodeToString(sum[:16]) + ".json"
}

// Recall is of [journal.Memory].
func (d *onDisk) Recall(id string) []byte {
	dir, err := atomicfile.OpenDir(d.dir)
	if err != nil {
		return nil
	}
	defer dir.Close()
	if at, err := dir.Self(); err != nil || at.UID != uint32(os.Getuid()) || at.Mode&0o022 != 0 {
		return nil // somebody else could have us believe that a broken journal was found good
	}
	text, _, err := dir.Read(d.name(id), sumLen+journal.MaxRemembered)
	if err != nil || len(text) < sumLen || sumOf(text[sumLen:]) != string(text[:sumLen]) {
		return nil
	}
	return text[sumLen:]
}

// Keep is of [journal.Memory].
func (d *onDisk) Keep(id string, what []byte) {
	if len(what) > journal.MaxRemembered || os.MkdirAll(d.dir, 0o700) != nil {
		return
	}
	dir, err := atomicfile.OpenDir(d.dir)
	if err != nil {
		return
	}
	defer dir.Close()
	if _, err := dir.Stat(d.name(id)); err != nil {
		d.sweep(dir)
	}
	_ = dir.Replace(d.name(id), append([]byte(sumOf(what)), what...), 0o600, false) // without it, the next one reads the journal again
}

// maxJournals is of how many journals something is kept.
const maxJournals = 256

// sweep makes room for one more: of too many those go that were not written to for longest.
func (d *onDisk) sweep(dir *atomicfile.Dir) {
	names, err := dir.Names()
	if err != nil || len(names) < maxJournals {
		return
	}
	when := make(map[string]int64, len(names))
	for _, n := range names {
		if i, err := dir.Stat(n); err == nil {
			when[n] = i.Mtime
		}
	}
	sort.Slice(names, func(i, j int) bool { return when[names[i]] < when[names[j]] })
	for _, n := range names[:len(names)-maxJournals/2] {
		_ = dir.Remove(n)
	}
}
