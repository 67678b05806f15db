package registry

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tutti/internal/core/canonjson"
	"tutti/internal/platform/atomicfile"
)

// MaxSize is the largest registry that is read, in bytes: 400 rows with a full screen each.
const MaxSize = 8 << 20

// A file whose last change lies this far back when it is read cannot be changed again without its times telling: the coarsest
// clock of a file system in use has steps of two seconds.
const settled = 2500 * time.Millisecond

// cacheVersion is part of every cache; one with another version is not used.
const cacheVersion = 2

// A Snapshot is what a cache says: the rows, and of which file.
type Snapshot struct {
	File   atomicfile.Info // of the YAML, taken before it was read
	SHA256 string          // of the YAML, in hexadecimal
	Read   time.Time       // when File was taken
	DB     atomicfile.Info // of the database; zero when there is none
	Rows   [][]byte        // compact JSON objects, all of them valid rows
}

// Database returns the path of the database that belongs to a registry.
func Database(yamlPath string) string {
	return strings.TrimSuffix(yamlPath, filepath.Ext(yamlPath)) + ".db"
}

// Cached returns the rows as they were last read, if the registry has not changed since: the YAML is the very file, and nobody has
// written to the database. It reads no YAML and takes no lock. ok is false when that cannot be said; the rows then have to be asked
// of a [Registry].
func Cached(yamlPath, cacheDir string) (rows []Row, ok bool) {
	data, err := os.ReadFile(cachePath(yamlPath, cacheDir))
	if err != nil {
		return nil, false
	}
	sum, text, _ := bytes.Cut(data, []byte("\n"))
	head, body, found := bytes.Cut(text, []byte("\n"))
	if !found || string(sum) != checksum(text) {
		return nil, false
	}
	var got [len(cacheNames)][]byte
	if !canonjson.Pick(head, cacheNames[:], got[:]) || string(got[0]) != strconv.Itoa(cacheVersion) || !canonjson.Is(got[1], yamlPath) ||
		!sameFiles(yamlPath, got[2], got[3], got[4], got[5]) {
		return nil, false
	}
	rows = make([]Row, bytes.Count(body, []byte("\n")))
	all, room := value{body, string(body)}, newRoom(len(rows))
	from := 0
	for i := range rows {
		to := from + bytes.IndexByte(body[from:], '\n')
		room.furnish(&rows[i])
		if _, pane := rows[i].read(all.cut(from, to)); !pane {
			return nil, false
		}
		from = to + 1
	}
	return rows, true
}

var cacheNames = [...]string{"version", "path", "file", "database", "read", "sha256"}

// sameFiles compares the files with what a cache says of them.
func sameFiles(yamlPath string, file, db, read, sum []byte) bool {
	path, err := filepath.EvalSymlinks(yamlPath)
	if err != nil {
		return false
	}
	dir, err := atomicfile.OpenDir(filepath.Dir(path))
	if err != nil {
		return false
	}
	defer dir.Close()
	name := filepath.Base(path)
	info, err := dir.Stat(name)
	if err != nil || !canonjson.Is(file, identity(info)) || !canonjson.Is(db, identity(DatabaseInfo(dir, name))) {
		return false
	}
	at, ok := canonjson.String(read)
	when, err := strconv.ParseInt(at, 10, 64)
	if !ok || err != nil {
		return false
	}
	if when-max(info.Ctime, info.Mtime) > int64(settled) {
		return true
	}
	// Another write in the same step of the file system's clock would not show in the times.
	text, now, err := dir.Read(name, MaxSize)
	if err != nil || now.Unstable || identity(now) != identity(info) {
		return false
	}
	have := sha256.Sum256(text)
	return canonjson.Is(sum, hex.EncodeToString(have[:]))
}

// DatabaseInfo tells of the database beside a registry: zero when there is none, and never twice the same while somebody's changes
// wait in its journal.
func DatabaseInfo(dir *atomicfile.Dir, yamlName string) atomicfile.Info {
	db := Database(yamlName)
	info, err := dir.Stat(db)
	if err != nil {
		return atomicfile.Info{}
	}
	if wal, err := dir.Stat(db + "-wal"); err == nil && wal.Size > 0 {
		info.Size, info.Mtime = wal.Size, -wal.Mtime
		info.Unstable = true
	}
	return info
}

func identity(i atomicfile.Info) string {
	if i.Unstable {
		return "unsettled"
	}
	return fmt.Sprintf("%d %d %d %d %d", i.Dev, i.Ino, i.Size, i.Mtime, i.Ctime)
}

// checksum tells a cache that was read while it was written, or that a crash left incomplete: it is written in place, and not synced. The
// tables of the Castagnoli polynomial would take a fifth of a millisecond to make, in every process.
func checksum(text []byte) string { return strconv.FormatUint(uint64(crc32.ChecksumIEEE(text)), 16) }

// WriteCache makes a snapshot what Cached returns. It is called under the lock of the registry. A registry with problems has no
// cache, because Cached could not tell them.
func WriteCache(yamlPath, cacheDir string, s Snapshot) error {
	if s.File.Unstable || s.DB.Unstable {
		return DropCache(yamlPath, cacheDir)
	}
	body := bytes.Join(s.Rows, []byte("\n"))
	if len(body) > 0 {
		body = append(body, '\n')
	}
	var head canonjson.Object
	head.Int("version", cacheVersion)
	head.Str("path", yamlPath)
	head.Str("file", identity(s.File))
	head.Str("database", identity(s.DB))
	head.Str("read", strconv.FormatInt(s.Read.UnixNano(), 10))
	head.Str("sha256", s.SHA256)
	if err := os.MkdirAll(cacheDir, 0o700); err != nil {
		return err
	}
	dir, err := atomicfile.OpenDir(cacheDir)
	if err != nil {
		return err
	}
	defer dir.Close()
	text := append(append(head.Bytes(), '\n'), body...)
	return put(dir, filepath.Base(cachePath(yamlPath, cacheDir)), append([]byte(checksum(text)+"\n"), text...))
}

// put writes a file in place, if it is there and nobody else's: a new one in its place, and the end of the old one, would take longer than
// all the rest of writing a cache.
func put(dir *atomicfile.Dir, name string, data []byte) error {
	f, info, err := dir.Open(name, true, 0)
	if err == nil {
		ours := info.Nlink == 1 && info.Mode&0o077 == 0
		if ours {
			if _, err = f.Pwrite(data, 0); err == nil && info.Size > int64(len(data)) {
				err = f.Truncate(int64(len(data)))
			}
		}
		if e := f.Close(); ours {
			return errors.Join(err, e)
		}
	}
	return dir.Replace(name, data, 0o600, false)
}

// DropCache makes Cached say that it does not know.
func DropCache(yamlPath, cacheDir string) error {
	if err := os.Remove(cachePath(yamlPath, cacheDir)); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}

// cachePath names the cache of a registry: a checksum of all that follows, then lines of JSON, the first about the files, then one for
// each row.
func cachePath(yamlPath, cacheDir string) string {
	sum := sha256.Sum256([]byte(yamlPath))
	return filepath.Join(cacheDir, "sessions-"+hex.EncodeToString(sum[:8])+".jsonl")
}
