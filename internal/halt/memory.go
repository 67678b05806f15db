package halt

import (
	"errors"
	"math"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// The counter is four lines of text in ~/.local/state/tutti/halts:
//
//	count 7                      halts seen so far
//	seen 2026-03-01T10:04:00Z    when the last of them was first met
//	mark 1772359440123456789     ctime of its HALT in nanoseconds, 0 if that could not be read
//	open yes                     no once it was cleared
//
// The last line also tells a whole file from one that was cut off. A HALT whose mark is not the one
// of the open entry is another halt: the old one was removed by hand and this one raised since. A
// second program that rewrites the file by hand is counted too, which is harmless: who was stopped is
// still stopped. halts.lock beside it is the kernel lock of the writers and holds a copy of the
// number, written first, from which a lost counter goes on.
const (
	counterName = "/halts"
	lockName    = "/halts.lock"
	counterTmp  = "/.halts.tmp" // one name is enough: writers hold the lock
	badPrefix   = "/halts.bad-"
)

// maxCount bounds the counter, so that every JSON reader keeps it exactly.
const maxCount = 1<<53 - 1

// lockWait bounds the wait for other writers of the counter. One write takes about a millisecond; a
// holder that was suspended must not keep anybody from halting.
const lockWait = time.Second

// UnknownEpoch is what [Epoch] returns when the counter cannot be read. It equals no counter value that was ever kept, so that
// no agent counts as re-engaged; do not keep it either.
const UnknownEpoch = math.MaxUint64

// highest is the largest count that this process has seen, in case the file is lost under it.
var highest atomic.Uint64

// An Entry is what is remembered of the last halt.
type Entry struct {
	Count uint64    // halts of this user so far; 0: none
	Seen  time.Time // UTC time at which a program of ours first met the last one
	Open  bool      // it was not cleared through Clear yet
	mark  int64
}

// Epoch returns the number of halts of this user so far, or [UnknownEpoch]. A session that keeps the
// number of the moment at which its user last engaged it was stopped since if [Engaged] says no.
//
// A HALT that came and went by hand while no program of ours looked leaves no trace here.
func Epoch() uint64 {
	e, err := Memory()
	if err != nil {
		return UnknownEpoch
	}
	return e.Count
}

// Engaged tells whether a session that was last engaged at epoch may go on by itself: there was no
// halt since. A number above the present one is from a counter that was lost, and counts as no.
func Engaged(epoch uint64) bool {
	now := Epoch()
	return now != UnknownEpoch && epoch == now
}

// Memory returns what is remembered of the last halt. A damaged file is read as far as a number can
// be had from it; an error means that nothing is known.
func Memory() (Entry, error) {
	p := locate()
	if p.state == "" {
		return Entry{}, errors.New("halt counter: " + p.problem)
	}
	e, _, err := loadEntry(p)
	if err == nil && e.Count > 0 && e.Seen.IsZero() {
		// Only the number is there: a damaged file, or one that is being written for the first halt. When that was is not known, so
		// nothing that is there now came after it.
		e.Seen = time.Now().UTC()
	}
	return e, err
}

// note counts the halt that was just met and has this mark.
func note(mark int64) error {
	p := locate()
	if p.state == "" {
		return errors.New("halt counter: " + p.problem)
	}
	if e, whole, err := loadEntry(p); err == nil && whole && e.Open && e.mark == mark {
		return nil // the usual case, without a lock
	}
	unlock, err := lockCounter(p)
	if err != nil {
		return err
	}
	defer unlock()
	// Looked at again under the lock: a halt that was cleared meanwhile must not be counted after it.
	s, mark := read()
	if !s.Halted {
		return nil
	}
	return countLocked(p, []int64{mark})
}

// count is [Note] for the one who raised: all marks are one and the same halt, the last one is valid.
func count(p *place, marks []int64) error {
	unlock, err := lockCounter(p)
	if err != nil {
		return err
	}
	defer unlock()
	if !present() {
		return nil
	}
	return countLocked(p, marks)
}

// countLocked opens an entry for the halt that has these marks, unless one of them is open.
func countLocked(p *place, marks []int64) error {
	e, whole, err := loadEntry(p)
	if err != nil {
		return err
	}
	if !whole {
		setAside(p)
	}
	last := marks[len(marks)-1]
	known := false
	for _, m := range marks {
		known = known || whole && e.Open && e.mark == m
	}
	switch {
	case known && e.mark == last:
		return nil
	case known:
		e.mark = last
	default:
		e = Entry{Count: min(e.Count+1, maxCount), Seen: time.Now().UTC(), Open: true, mark: last}
	}
	return saveEntry(p, e)
}

// closeEntry notes that the last halt was cleared. The lock must be held.
func closeEntry(p *place) error {
	e, whole, err := loadEntry(p)
	if err != nil || !whole || !e.Open {
		return err
	}
	e.Open = false
	return saveEntry(p, e)
}

// loadEntry reads the counter. whole is false when the file is damaged, or lost although a copy of its
// number is left; the entry then has the largest number that is known and is not open.
func loadEntry(p *place) (e Entry, whole bool, err error) {
	text, err := readSmall(p.state+counterName, maxReason)
	if err != nil && !absent(err) && err != errNotRegular && err != syscall.ELOOP {
		return Entry{}, false, err
	}
	if err == nil {
		if e, whole = parseEntry(string(text)); whole {
			remember(e.Count)
			return e, true, nil
		}
	}
	backup, _ := readSmall(p.state+lockName, 64)
	copied, _ := parseCount(strings.TrimRight(string(backup), " \n"))
	e = Entry{Count: max(e.Count, copied)}
	if len(text) > 0 || copied > 0 { // not simply a user who never halted
		e.Count = max(e.Count, highest.Load())
		remember(e.Count)
		return e, false, nil
	}
	return e, true, nil
}

// remember raises highest to n.
func remember(n uint64) {
	for old := highest.Load(); n > old && !highest.CompareAndSwap(old, n); old = highest.Load() {
	}
}

// parseEntry reads the four lines. Of a damaged file it returns the number, if that is left.
func parseEntry(text string) (e Entry, whole bool) {
	value := func(name string) string {
		line, rest, ended := strings.Cut(text, "\n")
		v, named := strings.CutPrefix(line, name+" ")
		if !named || !ended {
			return ""
		}
		text = rest
		return v
	}
	n, ok := parseCount(value("count"))
	if !ok {
		return Entry{}, false
	}
	seen, err1 := time.Parse(time.RFC3339Nano, value("seen"))
	mark, err2 := strconv.ParseInt(value("mark"), 10, 64)
	open := value("open")
	if err1 != nil || err2 != nil || open != "yes" && open != "no" {
		return Entry{Count: n}, false
	}
	return Entry{Count: n, Seen: seen.UTC(), Open: open == "yes", mark: mark}, true
}

func parseCount(s string) (uint64, bool) {
	n, err := strconv.ParseUint(s, 10, 64)
	return n, err == nil && n <= maxCount
}

// saveEntry replaces the counter. The lock must be held.
func saveEntry(p *place, e Entry) error {
	remember(e.Count)
	open := "no"
	if e.Open {
		open = "yes"
	}
	number := strconv.FormatUint(e.Count, 10)
	text := "count " + number +
		"\nseen " + e.Seen.Format(time.RFC3339Nano) +
		"\nmark " + strconv.FormatInt(e.mark, 10) +
		"\nopen " + open + "\n"
	if err := saveCopy(p, number); err != nil {
		return err
	}
	tmp := p.state + counterTmp
	_ = syscall.Unlink(tmp) // of a writer that crashed
	err := writeNew(tmp, text, true)
	if err == nil {
		err = syscall.Rename(tmp, p.state+counterName)
	}
	if err != nil {
		_ = syscall.Unlink(tmp)
		return err
	}
	return syncFolder(p.state)
}

// saveCopy writes the number into the lock file, padded so that it never needs to be cut: a crash in
// between leaves the old number or the new one.
func saveCopy(p *place, number string) error {
	fd, err := open(p.state+lockName, syscall.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	return writeAll(fd, number+strings.Repeat(" ", 20-len(number))+"\n")
}

// setAside keeps a damaged counter for people to look at.
func setAside(p *place) {
	_ = syscall.Rename(p.state+counterName, p.state+badPrefix+strconv.FormatInt(time.Now().UnixNano(), 10))
}

// errBusy is the answer when another writer of the counter does not finish.
var errBusy = errors.New("another program holds " + lockName[1:])

// lockCounter waits, at most lockWait, until no other process or goroutine writes the counter.
func lockCounter(p *place) (unlock func(), err error) {
	name := p.state + lockName
	fd, err := open(name, syscall.O_RDWR|syscall.O_CREAT, 0o600)
	if err == syscall.ENOENT {
		if err := os.MkdirAll(p.state, 0o700); err != nil {
			return nil, err
		}
		fd, err = open(name, syscall.O_RDWR|syscall.O_CREAT, 0o600)
	}
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(lockWait); ; time.Sleep(time.Millisecond) {
		err = syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() {
				// A child between fork and exec has the handle, too: closing ours alone would leave it the lock.
				_ = syscall.Flock(fd, syscall.LOCK_UN)
				syscall.Close(fd)
			}, nil
		}
		if err != syscall.EWOULDBLOCK && err != syscall.EINTR || time.Now().After(end) {
			break
		}
	}
	syscall.Close(fd)
	if err == syscall.EWOULDBLOCK {
		err = errBusy
	}
	return nil, err
}
