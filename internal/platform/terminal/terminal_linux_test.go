package terminal

import (
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pair opens a terminal: the side of tmux and the side of a program.
func pair(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close() })
	return master, slave
}

// TestWritten: a write of the program is reported once, typed keys are not, and after Arm the next write is.
func TestWritten(t *testing.T) {
	master, slave := pair(t)
	w, err := New()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	write := func(f *os.File) {
		t.Helper()
		if _, err := f.WriteString("x"); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := w.Arm(slave.Name()); err != nil {
			t.Fatal(err)
		}
		write(master)
		select {
		case <-w.C:
			t.Fatal("typed keys count as a write")
		case <-time.After(50 * time.Millisecond):
		}
		write(slave)
		select {
		case <-w.C:
		case <-time.After(20 * time.Second):
			t.Fatal("a write was not reported")
		}
		write(slave)
		select {
		case <-w.C:
			t.Fatal("a second write was reported although nothing waits for it")
		case <-time.After(50 * time.Millisecond):
		}
	}
	if err := w.Arm("/dev/pts/none"); err == nil {
		t.Error("a terminal that is not there is no error")
	}
}
