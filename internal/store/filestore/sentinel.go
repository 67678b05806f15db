package filestore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"tutti/internal/core/canonjson"
	"tutti/internal/platform/atomicfile"
	"tutti/internal/store"
)

// schemaVersion is the one that the existing programs write; they compare it as a string.
const schemaVersion = "1"

// folders are those that the existing programs make at the start and expect; all others are made on first use.
var folders = [...]string{"registry", "contracts", "policies", "engagements", "artifacts", "negotiations", "inbox", "outbox"}

// makeRoot makes the folder of a store and what lies above it.
func makeRoot(path string) (*atomicfile.Dir, error) {
	path = filepath.Clean(path)
	if err := os.MkdirAll(filepath.Dir(path), dirPerm); err != nil {
		return nil, err
	}
	if err := os.Mkdir(path, dirPerm); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	above, err := atomicfile.OpenDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer above.Close()
	if err := above.Sync(); err != nil {
		return nil, err
	}
	return atomicfile.OpenDir(path)
}

// checkSchema looks at the sentinel. Without one, a folder with a registry is a store of a program that has not written it
// yet; any other is none, and is made into one when the caller asked for that.
func (s *Store) checkSchema(o Options) error {
	found, err := s.schemaVersion()
	switch {
	case err == nil:
		if found != schemaVersion && !o.AllowVersionMismatch {
			return &SchemaError{Path: s.path, Found: found, Want: schemaVersion}
		}
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("open store %s: %w", s.path, err)
	case o.Create && !o.ReadOnly:
		return s.initialise(o.CreatedBy)
	}
	if i, err := s.root.Stat("registry"); err != nil || !i.Folder() {
		return &NotStoreError{s.path}
	}
	return nil
}

// schemaVersion reads the version with three system calls: what else could be told about the file does not matter here,
// because anything that is not a small JSON object is "unparseable".
func (s *Store) schemaVersion() (string, error) {
	spec := store.Schema.Spec()
	const flags = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	fd, err := ignoringEINTR(func() (int, error) { return unix.Openat(s.root.FD(), spec.Path, flags, 0) })
	if err == unix.ELOOP || err == unix.ENXIO {
		return "unparseable", nil
	}
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	buf := make([]byte, spec.ReadLimit+1)
	n, err := ignoringEINTR(func() (int, error) { return unix.Read(fd, buf) })
	if err != nil || int64(n) > spec.ReadLimit || !canonjson.Valid(buf[:n]) || !canonjson.IsObject(buf[:n]) {
		return "unparseable", nil
	}
	raw, _ := canonjson.Get(buf[:n], "version")
	version, ok := canonjson.String(raw)
	if !ok {
		return "missing", nil
	}
	return version, nil
}

func ignoringEINTR(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if err != unix.EINTR {
			return n, err
		}
	}
}

// initialise makes what the existing programs make. The sentinel comes last: who finds it finds the rest. Two that do it at
// once do not disturb each other, because nothing is replaced.
func (s *Store) initialise(createdBy string) error {
	for _, name := range folders {
		d, err := s.root.MakeSub(name, dirPerm)
		if err != nil {
			return fmt.Errorf("make store %s: %w", s.path, err)
		}
		d.Close()
	}
	for _, f := range []struct {
		key  store.Key
		data []byte
	}{
		{store.Key{Kind: store.Instances}, nil},
		{store.Key{Kind: store.Schema}, s.sentinel(createdBy)},
	} {
		err := s.root.Create(f.key.Path(), f.data, filePerm, true)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("make store %s: %w", s.path, err)
		}
	}
	return nil
}

// sentinel is the text of .h2a-schema.json: members in this order, indented by two, with a line feed.
func (s *Store) sentinel(createdBy string) []byte {
	if createdBy == "" {
		createdBy = "tutti@devel"
	}
	var o canonjson.Object
	o.Str("version", schemaVersion)
	o.Str("createdAt", s.now().UTC().Format(timeFormat))
	o.Str("createdBy", createdBy)
	return append(canonjson.Indent(o.Bytes()), '\n')
}

// timeFormat is what the existing programs write: UTC to the millisecond.
const timeFormat = "2006-01-02T15:04:05.000Z"
