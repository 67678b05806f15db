package filestore

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"tutti/internal/platform/atomicfile"
	"tutti/internal/store"
	"tutti/internal/store/index"
)

// The clock with which a file system stamps files ticks in 1 to 10 ms and lags behind ours (4 ms measured), so two writes within
// a tick leave the same times. A source that is younger than this when it is looked at is unsettled: what was read of it
// is looked at again until it has settled. Servers of network file systems have clocks of their own, and coarser ones.
const (
	grainLocal  = 50 * time.Millisecond
	grainRemote = 2 * time.Second
)

// settled tells whether a source that changes after now (taken before it was looked at) will show it in its Stat.
func (s *Store) settled(id index.Stat, now time.Time) bool {
	grain := grainRemote
	if s.isLocal() {
		grain = grainLocal
	}
	return max(id.Mtime, id.Ctime) <= now.Add(-grain).UnixNano()
}

// statOf is the identity of a source.
func statOf(i atomicfile.Info) index.Stat {
	return index.Stat{Dev: i.Dev, Ino: i.Ino, Size: i.Size, Mtime: i.Mtime, Ctime: i.Ctime}
}

// buildName is the version of the program. The programs of one build share their tables. What a build from changed
// sources computes otherwise shows in the version of the projection.
var buildName = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return info.Main.Version + " " + info.GoVersion
})

// A cacheFile is where the table of one source and projection lies. Its folder is nil when there is no usable one:
// everything then works without, from the sources alone.
type cacheFile struct {
	dir  *index.Dir
	name string
	of   index.Scope
}

// cacheFor opens the cache folder of this root for a document folder (a key without name) or a log.
func (s *Store) cacheFor(k store.Key, p *store.Projection) cacheFile {
	if s.cacheDir == "" {
		return cacheFile{}
	}
	root, ok := s.cacheName()
	if !ok {
		return cacheFile{}
	}
	dir, err := index.MakeDir(filepath.Join(s.cacheDir, root))
	if err != nil {
		return cacheFile{}
	}
	subject := k.Kind.String() + "\x00" + k.Owner + "\x00" + k.Name
	id := sha256.Sum256([]byte(subject + "\x00" + p.Name))
	return cacheFile{
		dir:  dir,
		name: k.Kind.String() + "-" + hex.EncodeToString(id[:10]),
		of:   index.Scope{Build: buildName(), Subject: subject, Projection: p.Name, Version: p.Version},
	}
}

// cacheName is the folder of this root in the cache folder: a hash of real path, device and inode. Two paths to one root,
// one of them through a link, share it; a root that was moved begins a new one.
func (s *Store) cacheName() (string, bool) {
	self, err := s.root.Self()
	if err != nil {
		return "", false
	}
	real := s.path
	if abs, err := filepath.Abs(real); err == nil {
		real = abs
	}
	// A path that leads nowhere by now is a name as good as any: rows are believed by the identity of their sources.
	if to, err := filepath.EvalSymlinks(real); err == nil {
		real = to
	}
	b := binary.LittleEndian.AppendUint64(nil, self.Dev)
	b = binary.LittleEndian.AppendUint64(b, self.Ino)
	id := sha256.Sum256(append(b, real...))
	return hex.EncodeToString(id[:16]), true
}

// discard throws the table away.
func (c cacheFile) discard() {
	if c.dir != nil {
		c.dir.Remove(c.name)
	}
}

func (c cacheFile) close() {
	if c.dir != nil {
		c.dir.Close()
	}
}
