package kit

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// probingVariable is set for a process that is TestProbeIgnoresSignals's.
const probingVariable = "TUTTI_TEST_PROBING"

// A process of our own runs a verb that catches signals and then makes package os look for handles of processes. It is traced, and the
// process that package os starts for that, which shares its memory, must not be able to get a signal: there is no later moment at which
// an interrupt would be certain to hit it.
func TestProbeIgnoresSignals(t *testing.T) {
	if _, ok := os.LookupEnv(probingVariable); ok {
		probing(t)
		return
	}
	t.Parallel()
	masks := make(chan []uint64)
	go func() {
		runtime.LockOSThread() // the tracer is a thread; it ends with this function
		masks <- traceForks(t)
	}()
	blocked := <-masks
	if len(blocked) != 1 {
		t.Fatalf("%d processes were started in our memory, want that of package os alone", len(blocked))
	}
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if blocked[0]>>(sig-1)&1 == 0 {
			t.Errorf("%v is open in the process that package os starts (blocked: %x)", sig, blocked[0])
		}
	}
}

// probing is the traced process.
func probing(t *testing.T) {
	c := &Call{Input: &Input{Verb: &Verb{Name: "probing", Waits: true}}}
	c.room()
	err := c.call(func(context.Context, *Call) error {
		_, err := os.FindProcess(os.Getpid())
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// traceForks runs the traced process and returns which signals were blocked in each process that it started in its own memory.
func traceForks(t *testing.T) (blocked []uint64) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Error(err)
		return nil
	}
	defer null.Close()
	pid, err := syscall.ForkExec("/proc/self/exe", []string{"probing", "-test.run=^TestProbeIgnoresSignals$"}, &syscall.ProcAttr{
		Env: append(os.Environ(), probingVariable+"=1"), Files: []uintptr{null.Fd(), null.Fd(), os.Stderr.Fd()},
		Sys: &syscall.SysProcAttr{Ptrace: true},
	})
	if err != nil {
		t.Errorf("start a process to trace: %v", err)
		return nil
	}
	var status unix.WaitStatus
	if _, err = unix.Wait4(pid, &status, 0, nil); err == nil {
		err = unix.PtraceSetOptions(pid, unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_TRACEVFORK|unix.PTRACE_O_EXITKILL)
	}
	if err == nil {
		err = unix.PtraceCont(pid, 0)
	}
	if err != nil {
		t.Errorf("trace: %v", err)
		_ = unix.Kill(pid, unix.SIGKILL)
		return nil
	}
	const ofThisThread = unix.WALL | unix.WNOHANG | unix.WNOTHREAD // the children of other threads are those of other tests
	for limit := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Microsecond) {
		if time.Now().After(limit) {
			t.Error("the traced process does not end")
			_ = unix.Kill(pid, unix.SIGKILL)
			return nil
		}
		for {
			tid, _ := unix.Wait4(-1, &status, ofThisThread, nil) // a thread that ends before its beginning was told has to be waited for, too
			if tid <= 0 {
				break
			}
			if !status.Stopped() {
				if tid == pid && status.ExitStatus() != 0 {
					t.Errorf("the traced process ended with %d", status.ExitStatus())
				}
				if tid == pid {
					return blocked
				}
				continue
			}
			pass := int(status.StopSignal())
			switch cause := status.TrapCause(); {
			case cause == unix.PTRACE_EVENT_VFORK:
				made, err := unix.PtraceGetEventMsg(tid)
				if err != nil {
					t.Errorf("ask whom it started: %v", err)
				}
				blocked = append(blocked, blockedIn(t, int(made)))
				pass = 0
			case cause == unix.PTRACE_EVENT_CLONE || pass == int(unix.SIGTRAP) || pass == int(unix.SIGSTOP): // of the tracing
				pass = 0
			}
			_ = unix.PtraceCont(tid, pass) // it may have been killed
		}
	}
}

// blockedIn are the signals that are blocked in a process.
func blockedIn(t *testing.T, pid int) uint64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, ok := strings.Cut(string(data), "\nSigBlk:\t")
	line, _, _ := strings.Cut(rest, "\n")
	mask, e := strconv.ParseUint(line, 16, 64)
	if err != nil || !ok || e != nil {
		t.Errorf("which signals are blocked in %d: %v, %v in\n%s", pid, err, e, data)
	}
	return mask
}
