package halt

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tmpPrefix begins the names of the files in which a reason is prepared.
const tmpPrefix = ".HALT.tmp-"

// Raise halts this user's agents. The entry is made first, empty, because that alone must be enough
// on a full disk; the reason then replaces it whole, so that no reader sees half of one. Raising again
// with a reason refreshes it, without one keeps the old. Only the first line of reason is kept, at
// most 4 KiB of it, without control characters.
//
// An error means that no entry could be made; everything that went wrong besides is a warning. An
// entry that is not a regular file is left as it is: it halts as well. The state is what a reader
// sees afterwards.
func Raise(reason string) (State, []error, error) {
	p := locate()
	if p.halt == "" {
		s, _ := read()
		return s, nil, errors.New("halt: " + p.problem)
	}
	var r raising
	err := r.ensure(p)
	if err != nil {
		s, _ := read()
		return s, r.warnings, &fs.PathError{Op: "halt: create", Path: p.halt, Err: err}
	}
	text, whole := cleanReason(reason)
	if !whole {
		r.warn("halt: reason shortened to its first line, at most "+strconv.Itoa(maxReason)+" bytes, without control characters", nil)
	}
	if text != "" && r.regular {
		r.store(p, text)
	}
	r.sync(p)
	s, mark := read()
	if !s.Halted { // it was cleared meanwhile; that is allowed, and not a failure of ours
		return s, r.warnings, nil
	}
	if err := count(p, append(r.marks, mark)); err != nil {
		r.warn("halt: count this halt in "+p.state, err)
	}
	return s, r.warnings, nil
}

// A raising is one call of Raise under way.
type raising struct {
	regular  bool    // the entry is a regular file, so that a reason may replace it
	marks    []int64 // ctimes under which this halt may have been counted
	warnings []error
}

func (r *raising) warn(what string, err error) {
	if err != nil {
		what += ": " + err.Error()
	}
	r.warnings = append(r.warnings, errors.New(what))
}

// ensure makes the entry unless there is one.
func (r *raising) ensure(p *place) error {
	var err error
	for range 5 { // several: another process may clear, or remove the folder, at the same time
		if err = create(p.halt); err == nil || err == syscall.EEXIST {
			var st syscall.Stat_t
			if serr := lstat(p.halt, &st); serr != nil {
				err = serr
				continue
			}
			_, ctime := times(&st)
			r.marks = append(r.marks, ctime)
			kind := kindOf(&st)
			r.regular = kind == "a regular file"
			if !r.regular {
				r.warn("halt: "+p.halt+" is "+kind+" and was left as it is; it halts all the same", nil)
			}
			return nil
		}
		if err == syscall.ENOENT {
			if merr := os.MkdirAll(p.folder, 0o700); merr != nil {
				return merr
			}
		} else {
			return err
		}
	}
	return err
}

// create makes an empty file, exclusively.
func create(name string) error {
	fd, err := open(name, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_ = syscall.Close(fd) // nothing was written that closing could lose
	return nil
}

// sync sees to it that the halt outlives a power cut. It comes last, so that readers have the reason
// before the disk does.
func (r *raising) sync(p *place) {
	if r.regular {
		fd, err := open(p.halt, syscall.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err == nil {
			err = syscall.Fsync(fd)
			_ = syscall.Close(fd)
		}
		if err != nil && !absent(err) {
			r.warn("halt: sync "+p.halt, err)
		}
	}
	if err := syncFolder(p.folder); err != nil {
		r.warn("halt: sync "+p.folder, err)
	}
}

// store puts text into the entry by replacing it.
func (r *raising) store(p *place, text string) {
	tmp := p.folder + "/" + tmpPrefix + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	err := writeNew(tmp, text, false) // if it is empty after a power cut, it halts all the same
	if err == nil {
		err = syscall.Rename(tmp, p.halt)
	}
	if err != nil {
		_ = syscall.Unlink(tmp)
		r.warn("halt: store the reason (halted without it)", err)
	}
}

// writeNew makes the file name, which must not exist, with text as its content.
func writeNew(name, text string, sync bool) error {
	fd, err := open(name, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = writeAll(fd, text)
	if err == nil && sync {
		err = syscall.Fsync(fd)
	}
	if cerr := syscall.Close(fd); err == nil {
		err = cerr
	}
	return err
}

func writeAll(fd int, text string) error {
	for b := []byte(text); len(b) > 0; {
		n, err := syscall.Write(fd, b)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

func syncFolder(name string) error {
	fd, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	return syscall.Fsync(fd)
}

// Clear removes the switch and returns what it was, so that the caller can say what has ended; not Halted means that nothing
// was raised, which is not an error. An error says what to do by hand; the user is then still halted. A stopped agent does not
// go on by itself: see [Epoch].
//
// Callers check first that the user lifts it; [ClearBy] also records who did.
func Clear() (State, error) { return ClearBy(Lift{How: Unrecorded}) }

// ClearBy is [Clear], and records the lift. When that cannot be recorded, the halt counts as ended without a recorded lift.
func ClearBy(l Lift) (State, error) {
	p := locate()
	if p.halt == "" {
		s, _ := read()
		return s, errors.New("clear halt: " + p.problem + "; set HOME")
	}
	unlock, lockErr := lockCounter(p) // so that no process counts a halt that is being cleared
	if lockErr == nil {
		defer unlock()
	}
	s, mark := read()
	if s.Halted && lockErr == nil {
		// First counted, then removed: a crash in between must not make the halt forgotten.
		_ = countLocked(p, []int64{mark})
	}
	if s.Halted {
		if err := remove(p, s); err != nil {
			return s, err
		}
		_ = syncFolder(p.folder) // if it comes back after a power cut, that is the safe side
	}
	if lockErr == nil && (!s.Halted || l.recorded(p, &s)) {
		_ = closeEntry(p)
	}
	sweep(p.folder)
	return s, nil
}

// Repair is what to type where the switch is a folder, which no program of ours removes; "" where it is not.
func (s *State) Repair() string {
	if s.Problem != "is a directory" {
		return ""
	}
	return "rm -r '" + s.Path + "'"
}

// remove unlinks the switch. It does not empty a folder: the content is not ours.
func remove(p *place, s State) error {
	if fix := s.Repair(); fix != "" {
		return errors.New("clear halt: " + p.halt + " is a directory; remove it by hand: " + fix)
	}
	err := syscall.Unlink(p.halt)
	if absent(err) {
		if why := p.broken(err); why != "" {
			return errors.New("clear halt: " + why + "; repair that path by hand")
		}
	}
	switch {
	case err == nil, absent(err):
		return nil
	case err == syscall.EACCES:
		return errors.New("clear halt: remove " + p.halt + ": " + err.Error() +
			"; make the folder yours again (chmod 700 '" + p.folder + "'), then try again")
	}
	return errors.New("clear halt: remove " + p.halt + ": " + err.Error() + "; remove it by hand: rm -f '" + p.halt + "'")
}

// sweep removes what a crash in the middle of storing a reason has left behind. An hour is far longer
// than storing one takes.
func sweep(folder string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), tmpPrefix) {
			continue
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > time.Hour {
			_ = syscall.Unlink(folder + "/" + e.Name())
		}
	}
}
