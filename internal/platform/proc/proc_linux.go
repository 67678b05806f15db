package proc

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ticksPerSecond is USER_HZ, which is 100 on every architecture that Go supports on Linux.
const ticksPerSecond = 100

// maxRead bounds what is read of a file in /proc: arguments may take 2 MiB.
const maxRead = 2 << 20

// read reads a file of /proc in as few calls as it takes: these files have no size, and most fit the first read. What does not fill the
// buffer is all there is.
func read(path string, buf []byte) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	n := 0
	for {
		m, err := unix.Read(fd, buf[n:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, &fs.PathError{Op: "read", Path: path, Err: err}
		}
		if n += m; m == 0 || n < len(buf) || len(buf) >= maxRead {
			return buf[:n], nil
		}
		if n == len(buf) {
			buf = append(buf, make([]byte, len(buf))...)
		}
	}
}

func path(pid int, file string) string { return "/proc/" + strconv.Itoa(pid) + "/" + file }

// gone turns the errors of a process without an entry in /proc into ErrGone.
func gone(pid int, err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		err = ErrGone
	}
	return fmt.Errorf("process %d: %w", pid, err)
}

func status(pid int) (stat, error) {
	if pid <= 0 {
		return stat{}, fmt.Errorf("process %d: %w", pid, ErrGone)
	}
	var buf [1024]byte
	b, err := read(path(pid, "stat"), buf[:])
	if err != nil {
		return stat{}, gone(pid, err)
	}
	st, err := parseStat(b)
	if err != nil {
		return stat{}, fmt.Errorf("process %d: %w", pid, err)
	}
	return st, nil
}

// Fields of /proc/PID/stat after the name, counted from the state as 0; proc(5) counts from 1 with the pid.
const (
	fieldState   = 3 - 3
	fieldParent  = 4 - 3
	fieldGroup   = 5 - 3
	fieldSession = 6 - 3
	fieldTTY     = 7 - 3
	fieldThreads = 20 - 3
	fieldStart   = 22 - 3
)

// parseStat reads the one line of /proc/PID/stat. The name stands in parentheses and may itself hold parentheses, spaces and line
// ends; what follows the last closing one are plain fields.
func parseStat(b []byte) (stat, error) {
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || end < open {
		return stat{}, fmt.Errorf("unreadable status %.60q", b)
	}
	st := stat{comm: string(b[open+1 : end])}
	var state byte
	var threads uint64
	rest := bytes.TrimLeft(b[end+1:], " ")
	for i := 0; i <= fieldStart; i++ {
		field, after, _ := bytes.Cut(rest, []byte(" "))
		rest = after
		var err error
		switch i {
		case fieldState:
			if len(field) == 1 {
				state = field[0]
			} else {
				err = strconv.ErrSyntax
			}
		case fieldParent:
			st.parent, err = strconv.Atoi(string(field))
		case fieldGroup:
			st.group, err = strconv.Atoi(string(field))
		case fieldSession:
			st.session, err = strconv.Atoi(string(field))
		case fieldTTY:
			st.tty, err = strconv.Atoi(string(field))
		case fieldThreads:
			threads, err = strconv.ParseUint(string(field), 10, 64)
		case fieldStart:
			st.start, err = strconv.ParseUint(string(field), 10, 64)
		}
		if err != nil {
			return stat{}, fmt.Errorf("unreadable status %.60q: field %d: %w", b, i+3, err)
		}
	}
	// The first thread of a program may end before the others; then it looks ended and the program still works.
	st.dead = state == 'X' || state == 'Z' && threads <= 1
	return st, nil
}

// wall: starts are counted by the clock that runs on while the machine sleeps.
func wall(start uint64) time.Time {
	var up unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &up); err != nil {
		return time.Time{}
	}
	boot := time.Now().Add(-time.Duration(up.Nano()))
	return boot.Add(time.Duration(start) * (time.Second / ticksPerSecond)).Round(0)
}

var space = sync.OnceValue(func() string {
	name, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return name
})

var bootID = sync.OnceValue(func() string {
	var buf [64]byte
	b, err := read("/proc/sys/kernel/random/boot_id", buf[:])
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(b))
})

// Exe returns the path of the program that a process runs. When the file was replaced since, it is the path that it had.
func Exe(pid int) (string, error) {
	exe, err := os.Readlink(path(pid, "exe"))
	if err != nil {
		return "", gone(pid, err)
	}
	return strings.TrimSuffix(exe, " (deleted)"), nil
}

// Cmdline returns the arguments of a process, the first being the name it was called by. It is empty for threads of the kernel and
// for an instant while a program starts, and a process can set it to anything.
func Cmdline(pid int) ([]string, error) {
	b, err := read(path(pid, "cmdline"), make([]byte, 4096))
	if err != nil {
		return nil, gone(pid, err)
	}
	b = bytes.TrimSuffix(b, []byte{0})
	if len(b) == 0 {
		return nil, nil
	}
	return strings.Split(string(b), "\x00"), nil
}

// Getenv returns a variable of the environment with which a process was started. What it has changed since is not seen. The error is
// ErrGone for a process that has ended, or is about to.
func Getenv(pid int, name string) (value string, ok bool, err error) {
	all, err := environ(pid)
	if err != nil {
		return "", false, gone(pid, err)
	}
	for entry := range bytes.SplitSeq(all, []byte{0}) {
		if rest, found := bytes.CutPrefix(entry, []byte(name+"=")); found {
			return string(rest), true, nil
		}
	}
	return "", false, nil
}

// environ reads an environment. That of a process is empty, and so are its arguments, for an instant while it starts a program, which
// is waited for, and when it ends. Only one that is found empty several times, beside arguments, is empty.
func environ(pid int) ([]byte, error) {
	for empty, tries := 0, 0; tries < 50; tries++ {
		all, err := read(path(pid, "environ"), make([]byte, 16<<10))
		if err != nil || len(all) > 0 || empty == 5 {
			return all, err
		}
		if args, _ := Cmdline(pid); len(args) > 0 {
			empty++
		} else if st, err := status(pid); err != nil || st.dead {
			break
		}
		time.Sleep(time.Millisecond)
	}
	return nil, ErrGone
}

// HighWater returns the most memory that this process has had resident.
func HighWater() (bytes int64, err error) {
	b, err := read("/proc/self/status", make([]byte, 4096))
	if err != nil {
		return 0, err
	}
	return parseHighWater(string(b))
}

func parseHighWater(status string) (int64, error) {
	for line := range strings.Lines(status) {
		if v, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(v), "kB")), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("read memory of this process: %w", err)
			}
			return kib << 10, nil
		}
	}
	return 0, fmt.Errorf("read memory of this process: %w", errors.ErrUnsupported)
}

// signal opens a handle on the process that has the pid and then asks which one that is. If it is the right process, the handle
// is on it: it had the pid all the time, being older than this call.
func signal(id ID, sig syscall.Signal) error {
	fd, err := unix.PidfdOpen(id.PID, 0)
	switch err {
	case nil:
		defer unix.Close(fd)
	case unix.ENOSYS, unix.EPERM: // before Linux 5.3, or filtered
		fd = -1
	default:
		return err
	}
	if !id.Alive() {
		return ErrGone
	}
	if fd >= 0 {
		if err := unix.PidfdSendSignal(fd, sig, nil, 0); err != unix.ENOSYS {
			return err
		}
	}
	return syscall.Kill(id.PID, sig)
}

// Written returns the paths of the files that a process has open for writing, devices among them. A file that was removed since has
// " (deleted)" behind its path.
func Written(id ID) ([]string, error) {
	if !id.Alive() {
		return nil, fmt.Errorf("files of process %d: %w", id.PID, ErrGone)
	}
	dir := path(id.PID, "fd")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, gone(id.PID, err)
	}
	var names []string
	for _, e := range entries {
		link := dir + "/" + e.Name()
		if info, err := os.Lstat(link); err != nil || info.Mode()&0o200 == 0 { // the rights of the link are those of the handle
			continue
		}
		if name, err := os.Readlink(link); err == nil && strings.HasPrefix(name, "/") {
			names = append(names, name)
		}
	}
	return names, nil
}
