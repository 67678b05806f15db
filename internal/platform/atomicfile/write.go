package atomicfile

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Temporary names: ".tutti-<pid>-<start>-<n>.tmp", all numbers in base 36. Start is random and drawn once a process, because
// machines and containers that share a folder may have equal pids; n counts. The longest has 49 bytes.
const (
	tempPrefix = ".tutti-"
	tempSuffix = ".tmp"
)

var (
	tempStart = rand.Uint64()
	tempPID   = uint64(os.Getpid())
	tempCount atomic.Uint64
)

func tempName() string {
	b := make([]byte, 0, 64)
	b = append(b, tempPrefix...)
	b = strconv.AppendUint(b, tempPID, 36)
	b = append(b, '-')
	b = strconv.AppendUint(b, tempStart, 36)
	b = append(b, '-')
	b = strconv.AppendUint(b, tempCount.Add(1), 36)
	return string(append(b, tempSuffix...))
}

// IsTemp reports whether name is one of ours for a file that is not published yet.
func IsTemp(name string) bool {
	middle, ok := strings.CutPrefix(name, tempPrefix)
	if !ok {
		return false
	}
	if middle, ok = strings.CutSuffix(middle, tempSuffix); !ok {
		return false
	}
	return strings.Count(middle, "-") == 2
}

// Stage writes data to a new temporary file in d and returns its name, for [Dir.Publish], [Dir.Exchange] or [Dir.Rename]. Perm is
// reduced by the umask. With sync the content survives a power cut once the name does. On an error nothing is left.
func (d *Dir) Stage(data []byte, perm fs.FileMode, sync bool) (tmp string, err error) {
	if err := d.enter(); err != nil {
		return "", err
	}
	defer d.leave()
	tmp, err = stage(d.fd, data, perm, sync)
	if err != nil {
		return "", &fs.PathError{Op: "write temporary file in", Path: d.path, Err: err}
	}
	return tmp, nil
}

// StageAs is [Dir.Stage] for folders where other programs know a temporary file by a form of name of their own: the caller
// chooses the name, one step, and a taken one is fs.ErrExist. [Dir.Sweep] does not remove such files.
func (d *Dir) StageAs(name string, data []byte, perm fs.FileMode, sync bool) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	err := check(name)
	if err == nil && strings.IndexByte(name, '/') >= 0 {
		err = fs.ErrInvalid
	}
	if err == nil {
		err = stageAs(d.fd, name, data, perm, sync)
	}
	if err != nil {
		return &fs.PathError{Op: "write", Path: d.join(name), Err: err}
	}
	return nil
}

func stage(at int, data []byte, perm fs.FileMode, sync bool) (tmp string, err error) {
	for {
		tmp = tempName()
		switch err := stageAs(at, tmp, data, perm, sync); err {
		case nil:
			return tmp, nil
		case unix.EEXIST:
		default:
			return "", err
		}
	}
}

func stageAs(at int, tmp string, data []byte, perm fs.FileMode, sync bool) error {
	const flags = unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW
	fd, err := openAt(at, tmp, flags, uint32(perm.Perm()))
	if err != nil {
		return err
	}
	err = fill(fd, data, sync)
	if cerr := unix.Close(fd); err == nil {
		err = cerr // some network file systems report a full disk only here
	}
	if err != nil {
		unix.Unlinkat(at, tmp, 0)
	}
	return err
}

func fill(fd int, data []byte, sync bool) error {
	if err := writeAll(fd, data); err != nil || !sync {
		return err
	}
	return syncFile(fd)
}

// Publish gives a staged file its name in to, in one step that fails with fs.ErrExist when the name is taken; the temporary
// file is then removed. On any other error it stays, for another attempt or for [Dir.Remove]. The folder is not synced.
func (d *Dir) Publish(tmp string, to *Dir, name string) error {
	return d.two("publish", tmp, to, name, func(from int, tmp string, at int, base string) error {
		err := publish(from, tmp, at, base)
		if err == unix.EEXIST {
			unix.Unlinkat(from, tmp, 0)
		}
		return err
	})
}

func publish(from int, tmp string, at int, name string) error {
	err := unix.Linkat(from, tmp, at, name, 0)
	switch err {
	case nil:
	case unix.EEXIST:
		// A network file system may repeat a link whose answer was lost, and then finds our own.
		if !linked(from, tmp, at, name) {
			return err
		}
	case unix.EPERM, unix.ENOTSUP, unix.ENOSYS, unix.EMLINK:
		return renameNew(from, tmp, at, name) // no links here
	default:
		return err
	}
	unix.Unlinkat(from, tmp, 0) // the file has its name; one that cannot lose the other is left to Sweep
	return nil
}

func linked(from int, tmp string, at int, name string) bool {
	a, err := lstatAt(from, tmp)
	if err != nil || a.Nlink < 2 {
		return false
	}
	b, err := lstatAt(at, name)
	return err == nil && a.Dev == b.Dev && a.Ino == b.Ino
}

// Exchange swaps the two files in one step: readers of name see the old bytes or the new, and the old ones are then found under
// tmp. A missing name is fs.ErrNotExist. Where the system cannot do it the error is errors.ErrUnsupported and nothing changed.
func (d *Dir) Exchange(tmp string, to *Dir, name string) error {
	return d.two("exchange", tmp, to, name, func(from int, tmp string, at int, base string) error {
		return unsupported(swap(from, tmp, at, base))
	})
}

// Rename moves the file from, a slash path below d, to a slash path below to. Without replace it fails with fs.ErrExist when the name is taken, and of many
// callers that move the same file one gets nil and the others fs.ErrNotExist. No folder is synced.
func (d *Dir) Rename(from string, to *Dir, name string, replace bool) error {
	step := renameOrLink
	if replace {
		step = unix.Renameat
	}
	return d.two("rename", from, to, name, step)
}

func renameOrLink(from int, old string, at int, name string) error {
	err := renameNew(from, old, at, name)
	if err != errors.ErrUnsupported {
		return err
	}
	if err := unix.Linkat(from, old, at, name, 0); err != nil {
		return err
	}
	return unix.Unlinkat(from, old, 0)
}

// renameNew is a rename that refuses to replace.
func renameNew(from int, old string, at int, name string) error {
	return unsupported(renameExcl(from, old, at, name))
}

// unsupported gives the one name to what systems say of a flag that they or their file system do not know.
func unsupported(err error) error {
	switch err {
	case unix.EINVAL, unix.ENOSYS, unix.ENOTSUP:
		return errors.ErrUnsupported
	}
	return err
}

// two runs step with both folders held open and with both names split into folder and last step.
func (d *Dir) two(op, from string, to *Dir, name string, step func(int, string, int, string) error) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	if err := to.enter(); err != nil {
		return err
	}
	defer to.leave()
	a, abase, adone, err := d.at(from)
	if err != nil {
		return d.fail(op, from, err)
	}
	defer adone()
	b, bbase, bdone, err := to.at(name)
	if err != nil {
		return to.fail(op, name, err)
	}
	defer bdone()
	if err := step(a, abase, b, bbase); err != nil {
		return &fs.PathError{Op: op, Path: to.join(name), Err: err}
	}
	return nil
}

// Create makes the file name, a slash path below d, with data as its content, or fails with fs.ErrExist when the name is taken.
// With sync it survives a power cut when nil comes back. An error after the name was given, that of the last sync, leaves the file.
//
// Where the system can, the file has no name at all until it is whole: nothing is left by a crash, watchers of the folder see
// two events instead of four (CREATE of the name, then CLOSE_WRITE of a "#" and an inode number), and it is cheaper (BenchmarkCreate). [Dir.Stage] cannot do that, for it would hold a handle per file.
func (d *Dir) Create(name string, data []byte, perm fs.FileMode, sync bool) error {
	return d.write("create", name, sync, func(at int, base string) (kept bool, err error) {
		if !d.needNames.Load() {
			kept, err := createNameless(at, base, data, uint32(perm.Perm()), sync)
			if err != errors.ErrUnsupported {
				return kept, err
			}
			d.needNames.Store(true)
		}
		return false, stageAnd(publish, at, base, data, perm, sync)
	})
}

// Replace makes data the content of name, a slash path below d, whether the name was taken or not. Readers see the old bytes or
// the new. With sync the new ones survive a power cut when nil comes back.
func (d *Dir) Replace(name string, data []byte, perm fs.FileMode, sync bool) error {
	return d.write("replace", name, sync, func(at int, base string) (kept bool, err error) {
		step := unix.Renameat
		if sync {
			step = replaceSafely
		}
		return sync, stageAnd(step, at, base, data, perm, sync)
	})
}

// Supplant gives a staged file the name of another one, or a free one, and returns when the name is safe. Until then the file
// that had the name is kept: a rename would leave it without a name at once, and where no journal ties the two together a power
// cut could find it deleted and its name still there.
func (d *Dir) Supplant(tmp string, to *Dir, name string) error {
	return d.two("replace", tmp, to, name, replaceSafely)
}

func replaceSafely(from int, tmp string, at int, name string) error {
	err := error(unix.ENOENT)
	if i, lerr := lstatAt(at, name); lerr == nil && i.Regular() { // a folder would be moved away where a rename refuses
		err = swap(from, tmp, at, name)
	}
	if err == nil {
		if err := syncFolder(at); err != nil {
			return err
		}
		unix.Unlinkat(from, tmp, 0)
		return nil
	}
	if err != unix.ENOENT && unsupported(err) != errors.ErrUnsupported {
		return err
	}
	if err := unix.Renameat(from, tmp, at, name); err != nil {
		return err
	}
	return syncFolder(at)
}

// write runs put in the folder of name, and syncs that folder if wanted and if put has not kept the name safe by itself.
func (d *Dir) write(op, name string, sync bool, put func(at int, base string) (kept bool, err error)) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	at, base, done, err := d.at(name)
	if err != nil {
		return d.fail(op, name, err)
	}
	defer done()
	kept, err := put(at, base)
	if err == nil && sync && !kept {
		err = syncFolder(at)
	}
	if err != nil {
		return &fs.PathError{Op: op, Path: d.join(name), Err: err}
	}
	return nil
}

// stageAnd writes a temporary file and has give turn it into the final one.
func stageAnd(give func(int, string, int, string) error, at int, name string, data []byte, perm fs.FileMode, sync bool) error {
	tmp, err := stage(at, data, perm, sync)
	if err != nil {
		return err
	}
	if err := give(at, tmp, at, name); err != nil {
		unix.Unlinkat(at, tmp, 0)
		return err
	}
	return nil
}

// Sweep removes temporary files of ours in d that were last written before olderThan, and says how many.
func (d *Dir) Sweep(olderThan time.Time) (n int, err error) {
	names, err := d.Names()
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		if !IsTemp(name) {
			continue
		}
		i, err := d.Stat(name)
		if err != nil || !i.Regular() || i.Mtime >= olderThan.UnixNano() {
			continue // published or removed since the listing, or too young
		}
		switch err := d.Remove(name); {
		case err == nil:
			n++
		case !errors.Is(err, fs.ErrNotExist):
			return n, err
		}
	}
	return n, nil
}

// WriteFile makes data the content of the file at path, which must be a path of our own: links in its folder are followed.
// When nil comes back it survives a power cut.
func WriteFile(path string, data []byte, perm fs.FileMode) error {
	d, err := OpenDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Replace(filepath.Base(path), data, perm, true)
}
