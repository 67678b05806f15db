package app

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"

	"tutti/internal/agreement"
	"tutti/internal/atomicfile"
	"tutti/internal/journal"
)

// Agreements are the negotiations of the bus. What was verified of a journal is remembered in the cache of this user, so that the
// next process reads only what came since.
func (w *World) Agreements() *agreement.Bus {
	return agreement.New(w.Store, w.Registry, w.journals())
}

func (w *World) journals() journal.Memory {
	cache, err := w.App.CacheDir()
	if err != nil {
		return &journal.InProcess{}
	}
	return &onDisk{dir: filepath.Join(cache, "journals"), root: absolute(w.Root.Path)}
}

// onDisk is a memory of journals that outlives the process. Each journal of each bus has a file. What cannot be read or written
// only costs time, so it is no error.
type onDisk struct{ dir, root string }

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
	text, _, err := dir.Read(d.name(id), journal.MaxRemembered)
	if err != nil {
		return nil
	}
	return text
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
	_ = dir.Replace(d.name(id), what, 0o600, false) // without it, the next one reads the journal again
}
