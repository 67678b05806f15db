//go:build !linux

package proc

import (
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func list() ([]Process, error) { return listed("kern.proc.all") }

// listed returns the processes that one question to the system is answered with.
func listed(question string, args ...int) ([]Process, error) {
	records, err := unix.SysctlKinfoProcSlice(question, args...)
	if err != nil {
		return nil, err
	}
	all := make([]Process, 0, len(records))
	for i := range records {
		pid := int(records[i].Proc.P_pid)
		st := known(&records[i])
		if st.dead || pid <= 0 {
			continue
		}
		if session, err := unix.Getsid(pid); err == nil {
			st.session = session
		}
		all = append(all, st.process(pid))
	}
	return all, nil
}

func withEnv(entry []byte) (found []Process) {
	all, err := listed("kern.proc.uid", os.Getuid())
	if err != nil {
		return nil
	}
	for _, p := range all {
		if hasEntry(p.PID, string(entry)) && p.Alive() {
			found = append(found, p)
		}
	}
	return found
}

// hasEntry looks behind the arguments of a process, where its environment lies up to an empty text.
func hasEntry(pid int, entry string) bool {
	_, _, environ, err := started(pid)
	if err != nil {
		return false
	}
	for one := range strings.SplitSeq(environ, "\x00") {
		if one == entry {
			return true
		}
		if one == "" {
			return false
		}
	}
	return false
}

// signalGroup: between the look and the signal the group may end, and only a number that is given anew within that instant would be hit.
func signalGroup(leader ID, sig syscall.Signal) error {
	if err := leads(leader); err != nil {
		return err
	}
	return syscall.Kill(-leader.PID, sig)
}
