//go:build !linux

package proc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// zombie is the state SZOMB of sys/proc.h.
const zombie = 5

func status(pid int) (stat, error) {
	if pid <= 0 {
		return stat{}, fmt.Errorf("process %d: %w", pid, ErrGone)
	}
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(k.Proc.P_pid) != pid {
		// For a pid that no process has, the system answers with nothing, and the library with EIO.
		if err == nil || err == unix.EIO || err == unix.ESRCH {
			err = ErrGone
		}
		return stat{}, fmt.Errorf("process %d: %w", pid, err)
	}
	return known(k), nil
}

// known is what the record of a process says. Its session is a number only for callers that ask for it.
func known(k *unix.KinfoProc) stat {
	comm, _, _ := bytes.Cut(k.Proc.P_comm[:], []byte{0})
	at := k.Proc.P_starttime
	return stat{
		comm:   string(comm),
		parent: int(k.Eproc.Ppid),
		start:  uint64(at.Sec)*1e6 + uint64(at.Usec),
		dead:   k.Proc.P_stat == zombie,
		group:  int(k.Eproc.Pgid),
		tty:    int(k.Eproc.Tdev),
	}
}

func wall(start uint64) time.Time { return time.UnixMicro(int64(start)) }

// space: there are no containers here.
func space() string { return "host" }

var bootID = sync.OnceValue(func() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
})

// started returns with what a process was started: the path of the program, its arguments, and the entries of its environment, each
// ended by NUL.
func started(pid int) (exe string, args []string, environ string, err error) {
	b, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil {
		return "", nil, "", fmt.Errorf("process %d: %w", pid, err)
	}
	if len(b) < 4 {
		return "", nil, "", fmt.Errorf("process %d: %w", pid, errors.ErrUnsupported)
	}
	n := int(binary.NativeEndian.Uint32(b))
	exe, rest, _ := strings.Cut(string(b[4:]), "\x00")
	rest = strings.TrimLeft(rest, "\x00") // the path is filled up to a word
	for range n {
		var arg string
		var more bool
		arg, rest, more = strings.Cut(rest, "\x00")
		args = append(args, arg)
		if !more {
			break
		}
	}
	return exe, args, rest, nil
}

// Exe returns the path by which the program of a process was started.
func Exe(pid int) (string, error) {
	exe, _, _, err := started(pid)
	return exe, err
}

// Cmdline returns the arguments of a process, the first being the name it was called by. A process can set it to anything.
func Cmdline(pid int) ([]string, error) {
	_, args, _, err := started(pid)
	return args, err
}

// Getenv would return a variable of the environment with which a process was started.
func Getenv(int, string) (value string, ok bool, err error) { return "", false, errors.ErrUnsupported }

// HighWater returns the most memory that this process has had resident.
func HighWater() (bytes int64, err error) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("read memory of this process: %w", err)
	}
	return u.Maxrss, nil
}

// signal: between the look and the signal the process may end, and only a pid that is given anew within that instant would be hit.
func signal(id ID, sig syscall.Signal) error {
	if !id.Alive() {
		return ErrGone
	}
	return syscall.Kill(id.PID, sig)
}

// Written would return the paths of the files that a process has open for writing.
func Written(ID) ([]string, error) { return nil, errors.ErrUnsupported }
