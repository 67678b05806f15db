package proc

import (
	"bytes"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// pids returns what /proc has entries of.
func pids() ([]int, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	all := make([]int, 0, len(names))
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		if pid, err := strconv.Atoi(name); err == nil {
			all = append(all, pid)
		}
	}
	return all, nil
}

func list() ([]Process, error) {
	numbers, err := pids()
	if err != nil {
		return nil, err
	}
	all := make([]Process, 0, len(numbers))
	for _, pid := range numbers {
		if st, err := status(pid); err == nil && !st.dead { // it may have ended since
			all = append(all, st.process(pid))
		}
	}
	return all, nil
}

// withEnv looks at the status of the process that carries the entry before and after it reads the environment again: only then
// both belong to one process.
func withEnv(entry []byte) (found []Process) {
	numbers, err := pids()
	if err != nil {
		return nil
	}
	buf := make([]byte, 16<<10)
	uid := os.Getuid()
	for _, pid := range numbers {
		if owner, err := Owner(pid); err != nil || owner != uid || !carries(pid, entry, buf) { // as nearly all
			continue
		}
		before, err := status(pid)
		if err != nil || before.dead || !carries(pid, entry, buf) {
			continue
		}
		if st, err := status(pid); err == nil && !st.dead && st.start == before.start {
			found = append(found, st.process(pid))
		}
	}
	return found
}

// carries reports whether the environment of the process that has that pid at this moment has an entry.
func carries(pid int, entry, buf []byte) bool {
	environ, err := read(path(pid, "environ"), buf)
	return err == nil && hasEntry(environ, entry)
}

// hasEntry reports whether an environment, whose entries end in NUL, has exactly this one.
func hasEntry(environ, entry []byte) bool {
	if !bytes.Contains(environ, entry) { // as of nearly all
		return false
	}
	for len(environ) > 0 {
		one, rest, _ := bytes.Cut(environ, []byte{0})
		if bytes.Equal(one, entry) {
			return true
		}
		environ = rest
	}
	return false
}

// wholeGroup makes a signal by handle one for the group of which the process is the leader: PIDFD_SIGNAL_PROCESS_GROUP, Linux 6.9.
const wholeGroup = 1 << 2

// signalGroup holds a handle while it asks who the leader is, as signal does. With a kernel that takes no groups by handle a moment
// remains in which the group could end and its number go to another group.
func signalGroup(leader ID, sig syscall.Signal) error {
	fd, err := unix.PidfdOpen(leader.PID, 0)
	switch err {
	case nil:
		defer unix.Close(fd)
	case unix.ENOSYS, unix.EPERM: // before Linux 5.3, or filtered
		fd = -1
	default:
		return err
	}
	if err := leads(leader); err != nil {
		return err
	}
	if fd >= 0 {
		err := unix.PidfdSendSignal(fd, sig, nil, wholeGroup)
		if err != unix.EINVAL && err != unix.ENOSYS {
			return err
		}
	}
	return syscall.Kill(-leader.PID, sig)
}
