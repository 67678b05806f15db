package server_test

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestByHand: a person who starts the server at a terminal learns what it waits for, and can end it.
func TestByHand(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatalf("a pseudo-terminal is needed: %v", err)
	}
	defer master.Close()
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	c := r.command("tutti-full", []string{"mcp-serve"})
	c.Stdin = slave
	errs, err := c.StderrPipe()
	if err == nil {
		err = c.Start()
	}
	slave.Close()
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(errs).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "h2a mcp-serve: ") || !strings.Contains(line, "terminal") || !strings.Contains(line, "tutti help mcp-serve") {
		t.Errorf("got %q, %v", line, err)
	}
	if _, err := master.WriteString("\x04"); err != nil { // end of input
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
}
