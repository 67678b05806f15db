// Package inventory remembers which buses and session registries this user has used on this machine, so that verbs can show
// all of them from any folder.
//
// It promises:
//
//   - [Note] costs one system call for a place that is known, and writes one small file for a new one.
//   - [All] returns only places that still are the folder that was noted: same path without links, same device and inode,
//     owned by this user, and not writable by every user. A place that is gone or was replaced is forgotten; the next use
//     notes it again.
//   - Being in the inventory says that this user has used a place ([Has]), and nothing about its content. Which bus is used, and which
//     commands of a registry run, is decided elsewhere.
//
// Callers decide what counts as use. A registry that came with a cloned repository is not used by standing in its folder.
//
// Each place has a file of its own below the user's state folder, so that two programs never lose each other's entry.
package inventory

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"syscall"
	"time"

	"tutti/internal/platform/atomicfile"
)

// A Kind says what a place holds.
type Kind string

// The kinds. A Bus is a folder; a Sessions place is the YAML file of a session registry.
const (
	Bus      Kind = "bus"
	Sessions Kind = "sessions"
)

// A Entry is a bus or a session registry that this user has used.
type Entry struct {
	Kind Kind `json:"kind"`
	// Path is absolute. Its folder has no links in it.
	Path string `json:"path"`
	// Dev and Ino are those of the bus, or of the folder that holds the registry.
	Dev uint64    `json:"dev"`
	Ino uint64    `json:"ino"`
	At  time.Time `json:"at"` // when it was first used
}

const (
	folder = "inventory"
	suffix = ".json"
	// maxPlace bounds an entry that is read, in bytes. Paths are at most 4 KiB, escaped at most 24 KiB.
	maxPlace = 32 << 10
	// maxPlaces bounds how many entries are read.
	maxPlaces = 10_000
)

// Folder is where the entries are, below the folder of state: it changes when a place is noted.
func Folder(state string) string { return filepath.Join(state, folder) }

func name(kind Kind, path string) string {
	sum := sha256.Sum256([]byte(path))
	return string(kind) + "-" + hex.EncodeToString(sum[:12]) + suffix
}

// dir is the folder whose identity is compared.
func (p *Entry) dir() string {
	if p.Kind == Sessions {
		return filepath.Dir(p.Path)
	}
	return p.Path
}

// Note remembers a place, absolute and without links, below the folder of state.
func Note(state string, kind Kind, path string) error {
	if Noted(state, kind, path) {
		return nil
	}
	var st syscall.Stat_t
	p := Entry{Kind: kind, Path: path, At: time.Now().UTC().Truncate(time.Second)}
	if real, err := filepath.EvalSymlinks(p.dir()); err != nil || real != p.dir() || !filepath.IsAbs(path) {
		return fmt.Errorf("note %.200q: it is not an absolute path without links", path)
	}
	if err := syscall.Lstat(p.dir(), &st); err != nil {
		return &fs.PathError{Op: "note", Path: path, Err: err}
	}
	if !fit(&st) {
		return fmt.Errorf("note %.200q: its folder belongs to another user, or every user can write it", path)
	}
	p.Dev, p.Ino = uint64(st.Dev), st.Ino
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	d, err := open(state)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(filepath.Join(state, folder), 0o700); err == nil {
			d, err = open(state)
		}
	}
	if err != nil {
		return fmt.Errorf("note %.200q: %w", path, err)
	}
	defer d.Close()
	return d.Replace(name(kind, path), append(data, '\n'), 0o600, false)
}

// Noted reports whether there is an entry for a path, whatever the path is now.
func Noted(state string, kind Kind, path string) bool {
	var st syscall.Stat_t
	return syscall.Lstat(filepath.Join(state, folder, name(kind, path)), &st) == nil
}

// Has tells whether a place was noted and still is what was noted.
func Has(state string, kind Kind, path string) bool {
	d, err := open(state)
	if err != nil {
		return false
	}
	defer d.Close()
	data, _, err := d.Read(name(kind, path), maxPlace)
	var p Entry
	if err != nil || json.Unmarshal(data, &p) != nil || p.Kind != kind || p.Path != path {
		return false
	}
	there, _ := p.there()
	return there
}

// Forget removes a place. One that is not there is no error.
func Forget(state string, kind Kind, path string) error {
	d, err := open(state)
	if err == nil {
		err = d.Remove(name(kind, path))
		d.Close()
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget %.200q: %w", path, err)
	}
	return nil
}

func open(state string) (*atomicfile.Dir, error) {
	return atomicfile.OpenDir(filepath.Join(state, folder))
}

// fit tells whether a folder is one that this user alone, or a group that they chose, can change.
func fit(st *syscall.Stat_t) bool {
	return st.Mode&syscall.S_IFMT == syscall.S_IFDIR && int(st.Uid) == os.Geteuid() && st.Mode&0o002 == 0
}

// All returns the places of one kind, sorted by path. An inventory that does not exist is empty.
func All(state string, kind Kind) ([]Entry, error) {
	d, err := open(state)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the inventory: %w", err)
	}
	defer d.Close()
	names, err := d.Names()
	if err != nil {
		return nil, fmt.Errorf("read the inventory: %w", err)
	}
	var all []Entry
	for i, n := range names {
		if i == maxPlaces {
			break
		}
		if filepath.Ext(n) != suffix || len(n) <= len(kind) || n[:len(kind)+1] != string(kind)+"-" {
			continue
		}
		data, _, err := d.Read(n, maxPlace)
		var p Entry
		if err != nil || json.Unmarshal(data, &p) != nil || p.Kind != kind || n != name(kind, p.Path) {
			continue // not an entry that Note wrote
		}
		switch there, sure := p.there(); {
		case there:
			all = append(all, p)
		case sure:
			_ = d.Remove(n) // a place that cannot be forgotten is checked again next time
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Path < all[j].Path })
	return all, nil
}

// there tells whether a place still is what was noted. sure: it certainly is not.
func (p *Entry) there() (there, sure bool) {
	real, err := filepath.EvalSymlinks(p.dir())
	if err != nil {
		return false, errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
	}
	var st syscall.Stat_t
	if real != p.dir() || syscall.Lstat(real, &st) != nil || st.Ino != p.Ino || uint64(st.Dev) != p.Dev {
		return false, true
	}
	if !fit(&st) {
		return false, false
	}
	if p.Kind == Sessions && syscall.Lstat(p.Path, &st) == nil &&
		(st.Mode&syscall.S_IFMT != syscall.S_IFREG || int(st.Uid) != os.Geteuid()) {
		return false, false // a link, or the file of another user
	}
	return true, false
}
