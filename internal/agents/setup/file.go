package setup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"tutti/internal/platform/atomicfile"
)

const (
	// maxFile is the size from which a settings file is not read; package settings has the same limit.
	maxFile = 8 << 20
	// The rights of what is new, less the user's mask: settings of a user can hold keys, those of a project are read by all.
	userPerm, projectPerm   = 0o600, 0o644
	userFolder, workFolders = 0o700, 0o755
)

// A Change is one settings file, as it is and as it should be.
type Change struct {
	Path   string // as its user knows it
	Before []byte // nil: there is no such file
	After  []byte // nil: it is to be removed
	Did    []string
	Backup string // where the former text is kept, once it was written

	real     string // where it lies, links followed
	perm     fs.FileMode
	uid, gid int
	folders  fs.FileMode // rights of folders that have to be made
	tmp      string      // staged, in dir
	dir      *atomicfile.Dir
	made     []string // folders that were made for it
	written  bool     // the new text has the name
	whole    bool     // all of it is ours: no former text is kept, and a folder that it leaves empty goes with it
}

// Changed tells whether there is something to be written.
func (c *Change) Changed() bool {
	return (c.Before == nil) != (c.After == nil) || !bytes.Equal(c.Before, c.After)
}

// readChange reads a settings file. Where within is not empty, the file has to lie below that folder.
func readChange(path, within string) (*Change, error) {
	real, err := resolve(path)
	if err != nil {
		return nil, err
	}
	c := &Change{Path: path, real: real, perm: userPerm, folders: userFolder, uid: -1, gid: -1}
	if within != "" {
		if top, err := resolve(within); err != nil || !below(real, top) {
			return nil, &StateError{Path: path, Reason: errors.New("a link leads out of the project"), Advice: "remove the link, or edit what it leads to by hand"}
		}
		c.perm, c.folders = projectPerm, workFolders
	}
	info, err := os.Lstat(real)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	c.perm = info.Mode().Perm()
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		c.uid, c.gid = int(st.Uid), int(st.Gid)
	}
	if c.Before, err = c.now(); err != nil {
		return nil, err
	}
	c.After = c.Before
	return c, nil
}

// resolve follows all links of a path, of which the end may be missing.
func resolve(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil || !errors.Is(err, fs.ErrNotExist) || path == filepath.Dir(path) {
		return real, err
	}
	if info, e := os.Lstat(path); e == nil {
		if info.Mode().Type() != fs.ModeSymlink { // another process has made it since
			return resolve(path)
		}
		return "", &StateError{Path: path, Reason: errors.New("a link that leads nowhere"), Advice: "make what it leads to, or remove it"}
	}
	dir, err := resolve(filepath.Dir(path))
	return filepath.Join(dir, filepath.Base(path)), err
}

func below(path, top string) bool {
	rel, err := filepath.Rel(top, path)
	return err == nil && filepath.IsLocal(rel)
}

// now reads the file as it is, nil when there is none.
func (c *Change) now() ([]byte, error) {
	d, err := atomicfile.OpenDir(filepath.Dir(c.real))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	text, info, err := d.Read(filepath.Base(c.real), maxFile)
	switch unfit, ok := errors.AsType[*atomicfile.UnfitError](err); {
	case ok:
		return nil, &StateError{Path: c.Path, Reason: errors.New(unfit.Why)}
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err == nil && info.Unstable: // another program writes it in place; the text read may be half of it
		return nil, c.changed()
	case err == nil && text == nil:
		text = []byte{}
	}
	return text, err
}

// A ReadOnlyError reports what must not be written to.
type ReadOnlyError struct{ Path string }

func (e *ReadOnlyError) Error() string { return e.Path + " is read-only" }

// Hint says what to do.
func (e *ReadOnlyError) Hint() string {
	return "make it writable, or print the change with --diff and have it made where these settings come from"
}

// stage writes the new text beside the old one, under a name that no program reads. What can fail for good fails here.
func (c *Change) stage() (err error) {
	if c.Before != nil && c.perm&0o200 == 0 {
		return &ReadOnlyError{c.Path} // a rename would not ask
	}
	folder := filepath.Dir(c.real)
	if err := c.makeFolders(folder); err != nil {
		return err
	}
	if c.dir, err = atomicfile.OpenDir(folder); err != nil {
		return err
	}
	if self, err := c.dir.Self(); err != nil || self.Mode&0o200 == 0 {
		return &ReadOnlyError{folder}
	}
	if c.After == nil {
		return nil
	}
	if c.tmp, err = c.dir.Stage(c.After, c.perm, true); err != nil {
		return readOnly(err, folder)
	}
	return c.own(c.tmp)
}

// own gives a file of ours in the folder the owner and the rights of the old one. A group that we are not in is given up. A new
// file keeps what it has, but one that root makes belongs to whose folder it is.
func (c *Change) own(name string) error {
	if c.Before == nil && c.uid < 0 {
		return nil
	}
	f, info, err := c.dir.Open(name, true, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := syscall.Fchown(f.FD(), c.uid, c.gid); err != nil && int(info.UID) != c.uid {
		return fmt.Errorf("keep the owner of %s: %w", c.Path, err)
	}
	if c.Before == nil {
		return nil
	}
	return syscall.Fchmod(f.FD(), uint32(c.perm)) // whatever the mask
}

// readOnly makes the several words of systems for a place that cannot be written to one.
func readOnly(err error, folder string) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return &ReadOnlyError{folder}
	}
	return err
}

func (c *Change) makeFolders(folder string) error {
	var missing []string
	for at := folder; ; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil {
			if st, ok := info.Sys().(*syscall.Stat_t); ok && c.Before == nil && c.uid < 0 && os.Geteuid() == 0 {
				c.uid, c.gid = int(st.Uid), int(st.Gid)
			}
			if info.IsDir() && info.Mode()&0o200 == 0 && len(missing) > 0 {
				return &ReadOnlyError{at}
			}
			break
		}
		missing = append(missing, at)
		if at == filepath.Dir(at) {
			break
		}
	}
	for _, at := range slices.Backward(missing) {
		switch err := os.Mkdir(at, c.folders); {
		case errors.Is(err, fs.ErrExist):
			continue // another process has just made it
		case err != nil:
			return readOnly(err, filepath.Dir(at))
		}
		c.made = append(c.made, at)
		if c.Before == nil && c.uid >= 0 {
			if err := os.Lchown(at, c.uid, c.gid); err != nil {
				return err
			}
		}
	}
	return nil
}

// unstage leaves nothing of a change that is given up.
func (c *Change) unstage() {
	if c.dir == nil {
		c.unmake()
		return
	}
	if c.tmp != "" {
		_ = c.dir.Remove(c.tmp)
		c.tmp = ""
	}
	_ = c.dir.Close()
	c.dir = nil
	c.unmake()
}

func (c *Change) unmake() {
	for _, at := range slices.Backward(c.made) {
		_ = os.Remove(at) // only while it is empty
	}
	c.made = nil
}

// keep writes the former text beside. What was ours alone is not kept.
func (q *Request) keep(c *Change) error {
	if ours, is := q.wrote[c.real]; c.Before == nil || c.After == nil || c.whole || is && ours == string(c.Before) {
		return nil
	}
	base := filepath.Base(c.real) + ".tutti-" + q.Now.Format("20060102-150405")
	name := base
	for n := 2; ; n++ {
		err := c.dir.Create(name, c.Before, c.perm, true)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("keep %s: %w", c.Path, err)
		}
		name = base + "-" + strconv.Itoa(n)
	}
	c.Backup = filepath.Join(filepath.Dir(c.real), name)
	return c.own(name)
}

// wasOurs reports whether we made a file that is empty now: there is no text without us beside it, kept when we came. A file
// behind a link was made by the author of the link.
func (c *Change) wasOurs() bool {
	if info, err := os.Lstat(c.Path); err != nil || !info.Mode().IsRegular() {
		return false
	}
	all, err := filepath.Glob(escapeGlob(c.real) + ".tutti-*")
	if err != nil {
		return false
	}
	for _, path := range all {
		before := Change{Path: path, real: path}
		if text, err := before.now(); err != nil || !bytes.Contains(text, []byte("tutti")) {
			return false
		}
	}
	return true
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// saysNothing: nothing of a person's is in it, not even a remark.
func saysNothing(text []byte) bool {
	t := bytes.TrimSpace(text)
	return len(t) == 0 || string(bytes.Join(bytes.Fields(t), nil)) == "{}"
}
