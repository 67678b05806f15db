// Package keyring holds the private keys of this user's agents: a pair of PEM files for each, below the folder "keys" of a
// bus. Which public keys an agent is registered with is package registry's knowledge, and whether one is trusted package
// trust's.
//
// A private key is written once: exclusively, synced before it has its name, readable by its owner only. It is never
// replaced unless that is asked for, because messages signed with a lost key cannot be told from forged ones by those who
// pinned it. A key file that others could read is refused, with the command that closes it.
//
// The names of the files lose a distinction: a:b and a-b have the same (see address.KeyName), and so the same key.
package keyring

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"syscall"

	"tutti/internal/core/address"
	"tutti/internal/core/signature"
	"tutti/internal/platform/atomicfile"
)

const (
	folder = "keys"
	// maxFile is the longest key file that is read: PEM texts have 113 and 119 bytes.
	maxFile = 4096

	privatePerm fs.FileMode = 0o600
	publicPerm  fs.FileMode = 0o644
	folderPerm  fs.FileMode = 0o700
)

var (
	// ErrNoKey reports that there is no key file for an agent.
	ErrNoKey = errors.New("no key")
	// ErrKeyExists reports a private key that Generate would have had to replace.
	ErrKeyExists = errors.New("a private key exists already")
	// ErrExposed is what an ExposedError is.
	ErrExposed = errors.New("the private key is not private")
)

// An ExposedError reports a private key that is not used because other users may have read or written it.
type ExposedError struct {
	Path string
	Mode fs.FileMode // permissions of the file
	UID  int         // its owner, when that is not us; else -1
}

func (e *ExposedError) Error() string {
	if e.UID >= 0 {
		return fmt.Sprintf("load key %s: %v: it belongs to user %d", e.Path, ErrExposed, e.UID)
	}
	return fmt.Sprintf("load key %s: %v: its mode is %04o", e.Path, ErrExposed, e.Mode)
}

// Is lets errors.Is find ErrExposed.
func (e *ExposedError) Is(target error) bool { return target == ErrExposed }

// Hint returns what to do, "" when there is nothing that helps. A key that others could read is not to be used again.
func (e *ExposedError) Hint() string {
	if e.UID >= 0 {
		return ""
	}
	return "others may know this key: make a new one with \"tutti keys generate --force --instance AGENT\", and register it with \"tutti keys add\""
}

// A Ring is the keys below one bus. What it says is what the files say now. It is safe for concurrent use.
type Ring struct {
	root string

	mu   sync.Mutex // guards what follows
	text []byte     // of the private key that was read last
	key  *signature.Private
}

// Open returns the ring below root, which need not exist yet.
func Open(root string) *Ring { return &Ring{root: root} }

// KeyFiles is a pair of keys on the disk.
type KeyFiles struct {
	Private string // path
	Public  string // path
	Key     *signature.Private
}

// paths returns the two key files of an agent, below the folder of keys.
func (r *Ring) paths(i address.Instance) (private, public string, err error) {
	private, public, err = address.KeyFiles(string(i))
	if err != nil {
		return "", "", fmt.Errorf("key of %s: %w", i, err)
	}
	return private, public, nil
}

func (r *Ring) path(name string) string { return filepath.Join(r.root, folder, name) }

// Files returns where the keys of an agent lie or would lie.
func (r *Ring) Files(i address.Instance) (private, public string, err error) {
	private, public, err = r.paths(i)
	if err != nil {
		return "", "", err
	}
	return r.path(private), r.path(public), nil
}

// Has reports whether there is a private key for an agent, usable or not.
func (r *Ring) Has(i address.Instance) bool {
	private, _, err := r.paths(i)
	if err != nil {
		return false
	}
	var st syscall.Stat_t
	return syscall.Lstat(r.path(private), &st) == nil
}

// Load returns the private key of an agent: ErrNoKey when there is none, an *ExposedError when it is not ours alone.
func (r *Ring) Load(i address.Instance) (*signature.Private, error) {
	private, _, err := r.paths(i)
	if err != nil {
		return nil, err
	}
	path := r.path(private)
	data, st, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("load key of %s: %w in %s", i, ErrNoKey, path)
	}
	if err != nil {
		return nil, fmt.Errorf("load key of %s: %w", i, err)
	}
	exposed := &ExposedError{Path: path, Mode: fs.FileMode(st.Mode) & 0o777, UID: -1}
	if uid := int(st.Uid); uid != syscall.Geteuid() {
		exposed.UID = uid
		return nil, exposed
	}
	if exposed.Mode&0o077 != 0 {
		return nil, exposed
	}
	key, err := r.parse(data)
	if err != nil {
		return nil, fmt.Errorf("load key of %s from %s: %w", i, path, err)
	}
	return key, nil
}

// parse remembers the last key: to work out its public half takes five times as long as to read the file, and a program that
// stays up signs as one agent most of the time.
func (r *Ring) parse(text []byte) (*signature.Private, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.key != nil && bytes.Equal(text, r.text) {
		return r.key, nil
	}
	key, err := signature.ParsePrivate(text)
	if err == nil {
		r.text, r.key = text, key
	}
	return key, err
}

// Public returns the public key of an agent from its file, which anybody who can write the bus may have changed: use it to
// show or register a key, not to trust one. ErrNoKey when there is none.
func (r *Ring) Public(i address.Instance) (signature.Public, error) {
	_, public, err := r.paths(i)
	if err != nil {
		return signature.Public{}, err
	}
	data, _, err := read(r.path(public))
	if errors.Is(err, fs.ErrNotExist) {
		// A crash between the two writes of Generate leaves the private key alone.
		key, err := r.Load(i)
		if err != nil {
			return signature.Public{}, err
		}
		return key.Public(), nil
	}
	if err != nil {
		return signature.Public{}, fmt.Errorf("public key of %s: %w", i, err)
	}
	p, err := signature.ParsePublic(string(data))
	if err != nil {
		return p, fmt.Errorf("public key of %s from %s: %w", i, r.path(public), err)
	}
	return p, nil
}

// Generate makes a pair of keys for an agent and stores it; both files survive a power cut when nil comes back. It does not
// register the key. Without force an existing private key is ErrKeyExists, and of several callers at once one succeeds.
func (r *Ring) Generate(i address.Instance, force bool) (KeyFiles, error) {
	private, public, err := r.paths(i)
	if err != nil {
		return KeyFiles{}, err
	}
	root, err := atomicfile.OpenDir(r.root)
	if err != nil {
		return KeyFiles{}, fmt.Errorf("generate key of %s: %w", i, err)
	}
	defer root.Close()
	dir, err := root.MakeSub(folder, folderPerm)
	if err != nil {
		return KeyFiles{}, fmt.Errorf("generate key of %s: %w", i, err)
	}
	defer dir.Close()
	made := KeyFiles{Private: r.path(private), Public: r.path(public), Key: signature.Generate()}
	write := dir.Create
	if force {
		write = dir.Replace
	}
	err = write(private, made.Key.PEM(), privatePerm, true)
	if errors.Is(err, fs.ErrExist) {
		return KeyFiles{}, fmt.Errorf("generate key of %s: %w: %s", i, ErrKeyExists, made.Private)
	}
	if err == nil {
		err = dir.Replace(public, []byte(made.Key.Public().PEM()), publicPerm, true)
	}
	if err != nil {
		return KeyFiles{}, fmt.Errorf("generate key of %s: %w", i, err)
	}
	return made, nil
}

// read reads a small plain file in four system calls: signing is part of every send. It follows no link in the last step and
// does not block on a pipe.
func read(path string) ([]byte, *syscall.Stat_t, error) {
	fd, err := open(path)
	if err != nil {
		if errors.Is(err, syscall.ELOOP) {
			return nil, nil, fmt.Errorf("%s is a link", path)
		}
		return nil, nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer syscall.Close(fd)
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return nil, nil, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	if st.Mode&syscall.S_IFMT != syscall.S_IFREG || st.Size > maxFile {
		return nil, nil, fmt.Errorf("%s is not a key file", path)
	}
	data := make([]byte, st.Size+1)
	n, err := 0, error(nil)
	for n < int(st.Size) {
		var m int
		if m, err = syscall.Read(fd, data[n:]); errors.Is(err, syscall.EINTR) {
			continue
		}
		if m <= 0 || err != nil {
			break
		}
		n += m
	}
	if err != nil {
		return nil, nil, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	return data[:n], &st, nil
}

func open(path string) (int, error) {
	for {
		fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
		if err != syscall.EINTR {
			return fd, err
		}
	}
}
