package registry

import (
	"path/filepath"
	"strings"

	"tutti/internal/platform/atomicfile"
)

// MaxSize is the largest registry that is read, in bytes: 400 rows with a full screen each.
const MaxSize = 8 << 20

// Database returns the path of the database that belongs to a registry.
func Database(yamlPath string) string {
	return strings.TrimSuffix(yamlPath, filepath.Ext(yamlPath)) + ".db"
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
