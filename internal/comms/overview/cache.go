package overview

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"runtime/debug"
	"sync"

	"tutti/internal/store/index"
)

// A cache is the folder in which the tables of heads lie, one for each mailbox and one for each archive. The zero cache is none.
type cache struct{ dir *index.Dir }

// cacheFolder is the folder of the tables in the folder of caches.
const cacheFolder = "comms"

// openCache opens the folder, and makes it. A cache that is not to be had is none: all answers come from the mailboxes then.
func openCache(path string) cache {
	if path == "" {
		return cache{}
	}
	d, err := index.MakeDir(filepath.Join(path, cacheFolder))
	if err != nil {
		return cache{}
	}
	return cache{d}
}

func (c cache) close() {
	if c.dir != nil {
		c.dir.Close()
	}
}

// build is the version of the program: programs of one build share their tables.
var build = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return info.Main.Version + " " + info.GoVersion
})

// A shelf is where the table of one folder lies.
type shelf struct {
	dir  *index.Dir // nil: nowhere
	name string
	of   index.Scope
}

func (c cache) shelf(kind, path string) shelf {
	if c.dir == nil {
		return shelf{}
	}
	subject := kind + "\x00" + path
	id := sha256.Sum256([]byte(subject))
	return shelf{c.dir, kind + "-" + hex.EncodeToString(id[:10]), index.Scope{Build: build(), Subject: subject, Projection: "heads", Version: headVersion}}
}

// open returns the table, nil when there is none that can be used.
func (s shelf) open() *index.Table {
	if s.dir == nil {
		return nil
	}
	t, err := s.dir.OpenTable(s.name, s.of)
	if err != nil {
		return nil
	}
	return t
}
