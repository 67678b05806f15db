package wake

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A SocketDir is where the sockets of a user lie.
type SocketDir struct {
	Home string                   // absolute; "" where there is none
	Env  func(name string) string // nil: an empty environment
}

// folders are where sockets may lie, the one to make them in first. A server may lack the variable that a hook has, because
// some programs start their servers without it; so who looks for a server looks into both.
func (p SocketDir) folders() []string {
	var all []string
	if p.Env != nil {
		if run := p.Env("XDG_RUNTIME_DIR"); filepath.IsAbs(run) {
			all = append(all, filepath.Join(run, "tutti"))
		}
	}
	if filepath.IsAbs(p.Home) {
		all = append(all, filepath.Join(p.Home, ".local/state/tutti/run"))
	}
	return all
}

var errNoFolder = errors.New("there is neither XDG_RUNTIME_DIR nor a home folder")

// open opens the folder in which sockets are made, and makes it.
func (p SocketDir) open() (*os.File, error) {
	err := errNoFolder
	for n, path := range p.folders() {
		var f *os.File
		if f, err = makeFolder(path, n == 0 && len(p.folders()) > 1); err == nil {
			return f, nil
		}
	}
	return nil, err
}

// makeFolder makes a folder for this user alone. The runtime folder itself is the system's to make.
func makeFolder(path string, runtime bool) (*os.File, error) {
	var err error
	if runtime {
		err = os.Mkdir(path, 0o700)
	} else {
		err = os.MkdirAll(path, 0o700)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return openFolder(path)
}

// openFolder opens a folder that belongs to this user and is closed to all others.
func openFolder(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, errors.Join(&fs.PathError{Op: "look at", Path: path, Err: err}, f.Close())
	}
	if int(st.Uid) != os.Geteuid() {
		return nil, errors.Join(fmt.Errorf("the folder %s belongs to another user (uid %d)", path, st.Uid), f.Close())
	}
	if st.Mode&0o077 != 0 {
		if err := unix.Fchmod(fd, 0o700); err != nil {
			return nil, errors.Join(&fs.PathError{Op: "close to others", Path: path, Err: err}, f.Close())
		}
	}
	return f, nil
}

// key names what a socket is for: a conversation, or an agent where the server does not know its conversation. It is short,
// because the path of a socket may have a hundred bytes, and shows nothing to other readers of the folder.
func key(host, whose string) string {
	sum := sha256.Sum256([]byte(host + "\x00" + whose))
	return hex.EncodeToString(sum[:8])
}

const (
	prefix = "wake-"
	suffix = ".sock"
)

// A tag is what the name of a socket says. Two servers can have the same key: a conversation was taken up twice.
type tag struct {
	host, key string
	pid       int // of the server
}

func (t tag) String() string {
	return prefix + t.host + "-" + t.key + "-" + strconv.Itoa(t.pid) + suffix
}

// tagFor is that of a server. A host that is spelled like none of the known programs has no name here.
func tagFor(host, whose string, pid int) tag { return tag{word(host), key(host, whose), pid} }

func word(host string) string {
	if len(host) > 16 || strings.Trim(host, "abcdefghijklmnopqrstuvwxyz") != "" {
		return ""
	}
	return host
}

// parse reads a name.
func parse(name string) (t tag, ok bool) {
	rest, begins := strings.CutPrefix(name, prefix)
	rest, ends := strings.CutSuffix(rest, suffix)
	part := strings.Split(rest, "-")
	if !begins || !ends || len(part) != 3 {
		return tag{}, false
	}
	pid, err := strconv.Atoi(part[2])
	return tag{part[0], part[1], pid}, err == nil && pid > 1
}

// maxSockets is how many entries of the folder are looked at.
const maxSockets = 1024

// names are the entries of the folder.
func names(folder *os.File) ([]string, error) {
	f, err := openFolder(folder.Name()) // reading moves the place in what is open
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all, err := f.Readdirnames(maxSockets)
	if len(all) > 0 {
		err = nil
	}
	return all, ignoreEOF(err)
}
