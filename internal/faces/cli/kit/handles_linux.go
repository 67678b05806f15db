package kit

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// probeHandles has package os find out now, and not when it starts its first process, which handles of processes the system knows. It
// starts a process for that, in our memory and with our signal handlers, and leaves the signals open: an interrupt of the process group
// reaches that one, too. There the handler counts it a second time, and the second interrupt kills; or it finds that interrupts are no
// longer caught and ends the process in its midst, after which our thread takes itself for the one that handles signals ("fatal: morestack
// on gsignal"). What is started while they are blocked hears none. That takes 0.1 ms.
func probeHandles() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, before unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &all, &before); err != nil {
		return // the probe comes later, as in any other program
	}
	_, _ = os.FindProcess(os.Getpid()) // it exists
	_ = unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil)
}
