package terminal

import (
	"encoding/binary"
	"os"

	"golang.org/x/sys/unix"
)

// New returns a watcher of no terminal yet. An error says that the kernel grants none: then the caller has to look by itself.
func New() (*Watcher, error) {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("inotify_init1", err)
	}
	signal := make(chan struct{}, 1)
	w := &Watcher{C: signal, file: os.NewFile(uintptr(fd), "inotify")}
	go w.read(signal)
	return w, nil
}

// read signals writes until the watcher is closed.
func (w *Watcher) read(signal chan<- struct{}) {
	buf := make([]byte, 16*unix.SizeofInotifyEvent) // events of a file itself have no name
	for {
		n, err := w.file.Read(buf)
		if err != nil {
			return
		}
		for at := 0; at+unix.SizeofInotifyEvent <= n; at += unix.SizeofInotifyEvent {
			if binary.NativeEndian.Uint32(buf[at+4:])&unix.IN_MODIFY == 0 {
				continue // the watch has ended, as it does after each event
			}
			select {
			case signal <- struct{}{}:
			default:
			}
		}
	}
}

// Arm waits for the next write to a terminal. A caller arms first and reads the screen then: so it misses nothing.
func (w *Watcher) Arm(path string) error {
	raw, err := w.file.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		_, failed = unix.InotifyAddWatch(int(fd), path, unix.IN_MODIFY|unix.IN_ONESHOT)
	})
	if err == nil {
		err = os.NewSyscallError("inotify_add_watch", failed)
	}
	return err
}
