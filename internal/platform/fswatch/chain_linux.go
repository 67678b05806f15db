package fswatch

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A chain is one watched path with everything on it that is watched for its sake: each folder and
// link from the root down, for being moved or removed, and the last folder that exists, for what
// happens in it. Folders above the last one are not watched for what happens in them, because a
// process would then wake up for every file that comes and goes in a home folder.
type chain struct {
	path   string // absolute and clean
	subs   []*Sub
	nodes  []*node
	target *node // the folder itself; nil while it is missing
	dirty  bool  // is to be followed again
}

// A node is one watch of the kernel. There is one for each file or folder, shared by all its watchers.
type node struct {
	wd   int
	path string // by which it was reached last, without links
	mask uint32 // what the kernel reports
	uses []use
	gone bool // the kernel has dropped it
}

// A use says what a chain wants to know of a node.
type use struct {
	c      *chain
	mask   uint32
	next   string // an event of this name means that the path has to be followed again
	target bool   // events are for the subscribers
}

// mask returns what the kernel has to report of the folder for all subscribers of c.
func (c *chain) mask() uint32 {
	m := uint32(selfMask | unix.IN_EXCL_UNLINK)
	for _, s := range c.subs {
		ops := s.o.Ops
		if ops == 0 {
			ops = Created | Written | Gone
		}
		if ops&Created != 0 {
			m |= unix.IN_CREATE | unix.IN_MOVED_TO
		}
		if ops&Written != 0 {
			m |= unix.IN_CLOSE_WRITE | unix.IN_MOVED_TO
		}
		if ops&Gone != 0 {
			m |= unix.IN_DELETE | unix.IN_MOVED_FROM
		}
		if s.attributes {
			m |= unix.IN_ATTRIB
		}
	}
	return m
}

// deliver gives an event of the folder to the subscribers.
func (c *chain) deliver(mask uint32, name string) {
	var op Op
	if mask&(unix.IN_CREATE|unix.IN_MOVED_TO) != 0 {
		op |= Created
	}
	if mask&(unix.IN_CLOSE_WRITE|unix.IN_MOVED_TO) != 0 {
		op |= Written
	}
	if mask&(unix.IN_DELETE|unix.IN_MOVED_FROM) != 0 {
		op |= Gone
	}
	dir := mask&unix.IN_ISDIR != 0
	for _, s := range c.subs {
		if op != 0 {
			s.offer(op, name, dir)
		} else if mask&unix.IN_ATTRIB != 0 && s.attributes && (name == "" || s.o.Names(name)) {
			s.tell()
		}
	}
}

// errMoved says that the path led elsewhere while it was being followed.
var errMoved = errors.New("path keeps changing")

// arm follows the path of c and watches what is found on it. On an error c is as it was before.
func (w *Watcher) arm(c *chain) error {
	t := tour{w: w, c: c}
	var err error
	for range 20 { // each new try means that a folder was moved in these microseconds
		t.steps, t.target = nil, nil
		if err = t.walk(); err != errMoved {
			break
		}
	}
	if err != nil {
		w.settle(t.touched...)
		return fmt.Errorf("watch %s: %w", c.path, err)
	}
	old := c.nodes
	c.drop()
	for _, s := range t.steps {
		s.n.uses = append(s.n.uses, s.u)
		if !slices.Contains(c.nodes, s.n) {
			c.nodes = append(c.nodes, s.n)
		}
	}
	c.target = t.target
	w.settle(old...)
	w.settle(t.touched...)
	return nil
}

// disarm gives back all watches that only c needs.
func (w *Watcher) disarm(c *chain) {
	old := c.nodes
	c.drop()
	w.settle(old...)
}

// drop forgets what c uses, without telling the kernel.
func (c *chain) drop() {
	for _, n := range c.nodes {
		n.uses = slices.DeleteFunc(n.uses, func(u use) bool { return u.c == c })
	}
	c.nodes, c.target = nil, nil
}

// A tour is one walk down a path. Everything is watched before it is looked at, so that a change that
// the look does not see is reported later.
type tour struct {
	w       *Watcher
	c       *chain
	steps   []step // of this try
	target  *node
	touched []*node // of all tries
}

type step struct {
	n *node
	u use
}

// maxLinks is how many links a path may lead through: the kernel's own limit.
const maxLinks = 40

// walk goes down the path, through links, to the folder or to the last one above it that exists.
func (t *tour) walk() error {
	cur, rest, links := "/", split(t.c.path), 0
	for len(rest) > 0 {
		name := rest[0]
		if name == ".." { // from a link; cur has none, so its parent is the one above it
			cur, rest = filepath.Dir(cur), rest[1:]
			continue
		}
		full := filepath.Join(cur, name)
		missing, err := t.watchStep(full)
		if err != nil {
			return err
		}
		var st unix.Stat_t
		err = lstat(full, &st)
		switch {
		case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
			return t.await(cur, name)
		case errors.Is(err, unix.ELOOP): // there was no link in cur when it was looked at
			return errMoved
		case err != nil:
			return fmt.Errorf("look at %s: %w", full, err)
		case missing: // it appeared in between and is not watched
			return errMoved
		}
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFDIR:
			cur, rest = full, rest[1:]
		case unix.S_IFLNK:
			if links++; links > maxLinks {
				return nil // a circle: every link of it is watched, and only they can break it
			}
			to, err := readlink(full)
			if err != nil {
				return errMoved
			}
			if strings.HasPrefix(to, "/") {
				cur = "/"
			}
			rest = append(split(to), rest[1:]...)
		default: // a file is in the way
			return t.await(cur, name)
		}
	}
	n, err := t.watchLast(cur, use{mask: t.c.mask(), target: true})
	t.target = n
	return err
}

// await watches the last folder that exists for the name that is missing in it.
func (t *tour) await(dir, name string) error {
	if _, err := t.watchLast(dir, use{mask: selfMask | unix.IN_CREATE | unix.IN_MOVED_TO, next: name}); err != nil {
		return err
	}
	var st unix.Stat_t // it may have appeared before the watch was there
	if lstat(filepath.Join(dir, name), &st) == nil {
		if kind := st.Mode & unix.S_IFMT; kind == unix.S_IFDIR || kind == unix.S_IFLNK {
			return errMoved
		}
	}
	return nil
}

// elsewhere tells the errors of a path that leads elsewhere than a moment ago.
func elsewhere(err error) bool {
	return err == unix.ENOENT || err == unix.ENOTDIR || err == unix.ELOOP
}

// watchStep watches a folder or link on the way for being moved or removed.
func (t *tour) watchStep(full string) (missing bool, err error) {
	n, err := t.w.watch(full, selfMask)
	switch err {
	case nil:
		t.add(n, use{mask: selfMask})
		return false, nil
	case unix.ENOENT, unix.ENOTDIR:
		return true, nil
	case unix.ELOOP:
		return false, errMoved
	case unix.EACCES: // may be passed but not read, as other people's homes; it stays unwatched
		return false, nil
	}
	return false, noWatch(full, err)
}

// watchLast watches the last folder of the walk for what u says, and the one above it for its removal: as long as a process has
// a removed folder open, the kernel does not report that of the folder itself.
func (t *tour) watchLast(dir string, u use) (*node, error) {
	if dir != "/" {
		n, err := t.w.watch(filepath.Dir(dir), unix.IN_DELETE|unix.IN_ONLYDIR)
		if err == nil {
			t.add(n, use{mask: unix.IN_DELETE, next: filepath.Base(dir)})
		} else if err != unix.EACCES && !elsewhere(err) {
			return nil, noWatch(filepath.Dir(dir), err)
		}
	}
	n, err := t.w.watch(dir, u.mask|unix.IN_ONLYDIR)
	if elsewhere(err) {
		return nil, errMoved
	}
	if err != nil {
		return nil, noWatch(dir, err)
	}
	t.add(n, u)
	return n, nil
}

func (t *tour) add(n *node, u use) {
	u.c = t.c
	t.steps = append(t.steps, step{n, u})
	t.touched = append(t.touched, n)
}

// noWatch says why the kernel does not watch path.
func noWatch(path string, err error) error {
	if err == unix.ENOSPC {
		const name = "fs.inotify.max_user_watches"
		return fmt.Errorf("%w for %s: all watches of this user are taken (%s%s)", ErrNoWatcher, path, name, limit(name))
	}
	return fmt.Errorf("%w for %s: %w", ErrNoWatcher, path, err)
}

// watch adds mask to what the kernel reports of path, which is not followed if it is a link.
func (w *Watcher) watch(path string, mask uint32) (*node, error) {
	wd, err := inotifyAdd(w.fd, path, mask|unix.IN_MASK_ADD|unix.IN_DONT_FOLLOW)
	if err != nil {
		return nil, err
	}
	n := w.nodes[wd]
	if n == nil {
		n = &node{wd: wd}
		w.nodes[wd] = n
	}
	n.path, n.mask = path, n.mask|mask&^unix.IN_ONLYDIR
	return n, nil
}

// settle makes the kernel report of each node what is still wanted, and nothing else.
func (w *Watcher) settle(nodes ...*node) {
	for _, n := range nodes {
		w.settleOne(n)
	}
}

func (w *Watcher) settleOne(n *node) {
	var want uint32
	for _, u := range n.uses {
		want |= u.mask
	}
	if n.gone || want == n.mask || w.closed {
		return
	}
	if want == 0 {
		n.gone = true
		delete(w.nodes, n.wd)
		_, _ = unix.InotifyRmWatch(w.fd, uint32(n.wd)) // fails when the kernel has dropped it already
		return
	}
	w.narrow(n, want)
}

// narrow makes the kernel report less of n. It takes a path and replaces the mask of what is there, which may be something else
// by now whose mask must not be lost. So the thing is held, proved to be n by adding to its mask only, and then addressed
// through the handle. Where that fails n reports more than necessary, which costs a wake-up now and then and no more.
func (w *Watcher) narrow(n *node, want uint32) {
	fd, err := unix.Open(n.path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	held := "/proc/self/fd/" + strconv.Itoa(fd)
	wd, err := inotifyAdd(w.fd, held, want|unix.IN_MASK_ADD)
	switch other := w.nodes[wd]; {
	case err != nil:
	case wd == n.wd:
		if _, err = inotifyAdd(w.fd, held, want); err == nil {
			n.mask = want
		}
	case other == nil:
		_, _ = unix.InotifyRmWatch(w.fd, uint32(wd))
	default:
		other.mask |= want
	}
}

func inotifyAdd(fd int, path string, mask uint32) (int, error) {
	for {
		wd, err := unix.InotifyAddWatch(fd, path, mask)
		if err != unix.EINTR {
			return wd, err
		}
	}
}

func lstat(path string, st *unix.Stat_t) error {
	for {
		if err := unix.Lstat(path, st); err != unix.EINTR {
			return err
		}
	}
}

func readlink(path string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlink(path, buf)
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// split returns the steps of a path, without empty ones and those that lead nowhere.
func split(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/"), func(s string) bool { return s == "" || s == "." })
}
