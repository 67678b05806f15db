package ssh

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A share is where the connections of a client lie that its calls use together.
type share struct {
	dir string // this user's alone

	mu    sync.Mutex
	paths map[string]string // of the sockets, by what makes a host another one
}

const (
	// sharedIdle is how long a shared connection outlives the last call when it is not ended explicitly, as when our process is
	// killed.
	sharedIdle = 15 * time.Second
	// maxSocketDir keeps the path of a socket below 104 bytes, the least that a system allows: 13 bytes of ours and 17 of ssh follow.
	maxSocketDir = 70
)

// Share returns a client like this one, whose calls to one host go through one connection: the first one makes it, which is most of the
// time of a call, and the others find it there. A connection that fails is not used again. The function that is returned
// ends the connections; the client must not be used after it.
func (c *Client) Share() (*Client, func(), error) {
	dir, err := socketDir()
	if err != nil {
		return nil, nil, fmt.Errorf("share connections: %w", err)
	}
	shared := &Client{
		SSH: c.SSH, Rsync: c.Rsync, ConnectTimeout: c.ConnectTimeout, Limit: c.Limit, Extra: c.Extra, Env: c.Env,
		share: &share{dir: dir, paths: map[string]string{}},
	}
	shared.plainPaths.Store(c.plainPaths.Load())
	return shared, shared.end, nil
}

// socketDir returns the folder of this user's sockets. It is one for all processes and stays: what ends without a word then leaves
// nothing behind but a socket, which goes with its connection. A folder that others made, or may write to, is not used.
func socketDir() (string, error) {
	top := os.TempDir()
	if len(top) > maxSocketDir-20 {
		top = "/tmp"
	}
	dir := filepath.Join(top, "tutti-ssh-"+strconv.Itoa(os.Getuid()))
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || info.Mode().Perm()&0o077 != 0 || !ok || int(owner.Uid) != os.Getuid() {
		return "", fmt.Errorf("%s is not a folder that only we can use", dir)
	}
	return dir, nil
}

// socket returns the path of the connection to a host.
func (s *share) socket(h Host) string {
	key := fmt.Sprintf("%q %q %d %q", h.Host, h.User, h.Port, h.Options)
	s.mu.Lock()
	defer s.mu.Unlock()
	path, ok := s.paths[key]
	if !ok {
		path = filepath.Join(s.dir, rand.Text()[:12])
		s.paths[key] = path
	}
	return path
}

// options make a call use the connection of its host, or make it.
func (s *share) options(h Host) []string {
	path := strings.ReplaceAll(s.socket(h), "%", "%%")
	return []string{
		"ControlMaster=auto", "ControlPath=" + path, "ControlPersist=" + strconv.Itoa(int(sharedIdle/time.Second)),
	}
}

// drop forgets a connection that has failed. Its holder notices by itself that the other side does not answer, or that the
// connection is no longer needed.
func (s *share) drop(h Host) { _ = os.Remove(s.socket(h)) } // there may be none

// end tells what holds the connections to go.
func (c *Client) end() {
	ctx, cancel := context.WithTimeout(context.Background(), DefaultConnect)
	defer cancel()
	program, err := find(c.SSH, "ssh")
	c.share.mu.Lock()
	defer c.share.mu.Unlock()
	for _, path := range c.share.paths {
		if _, missing := os.Lstat(path); missing != nil || err != nil {
			continue
		}
		args := append(append([]string(nil), c.Extra...), "-o", "ControlPath="+strings.ReplaceAll(path, "%", "%%"), "-O", "exit", "--", "x")
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Env, cmd.WaitDelay = c.Env, grace
		_ = cmd.Run() // if it fails, the connection ends when its time is over
	}
}
