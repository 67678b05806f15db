package tmux

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// All returns the servers of this user that can be named and that answer: those with a socket in the folder where tmux has
// them. A server that was killed leaves its socket, which does not answer.
func All() []Server {
	dir := socketDir()
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var all []Server
	for _, e := range entries {
		s, err := Named(e.Name())
		if err == nil && e.Type() == os.ModeSocket && answers(filepath.Join(dir, e.Name())) {
			all = append(all, s)
		}
	}
	return all
}

// Among reports whether one of the servers is s: by name, or by the socket that the name stands for.
func (s Server) Among(all []Server) bool {
	return slices.ContainsFunc(all, func(o Server) bool { return o.path() == s.path() })
}

// path is where the socket lies.
func (s Server) path() string {
	path := s.socket
	if path == "" {
		path = filepath.Join(socketDir(), s.String())
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(dir, filepath.Base(path))
	}
	return path
}

// socketDir is the folder of the sockets, as tmux finds it.
func socketDir() string {
	base := os.Getenv("TMUX_TMPDIR")
	if info, err := os.Stat(base); base == "" || err != nil || !info.IsDir() {
		base = "/tmp"
	}
	return filepath.Join(base, "tmux-"+strconv.Itoa(os.Getuid()))
}

// answers reports whether a server listens on a socket. One that is too busy to answer counts.
func answers(path string) bool {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return true // it is not known
	}
	defer unix.Close(fd)
	unix.CloseOnExec(fd)
	if err := unix.SetNonblock(fd, true); err != nil {
		return true
	}
	switch err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err {
	case unix.ECONNREFUSED, unix.ENOENT:
		return false
	default:
		return true
	}
}
