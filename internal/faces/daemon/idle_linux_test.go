package daemon

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tutti/internal/app"
	"tutti/internal/app/full"
	"tutti/internal/test/boundtest"
)

// childVariable makes the test binary the program itself, with that folder as its bus.
const childVariable = "TUTTI_TEST_UP"

func TestMain(m *testing.M) {
	root := os.Getenv(childVariable)
	if root == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	a := app.New(app.Settings{Root: root})
	err := Serve(ctx, full.Service{App: a, Out: os.Stdout, Err: os.Stderr, Version: "test", Open: openRegistry})
	if err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(130)
}

// TestIdle: while nothing happens no thread of the program wakes up, and it is small; at an interrupt it is gone within a second,
// and so is the record of it.
func TestIdle(t *testing.T) {
	t.Parallel()
	s, _ := service(t)
	root, err := s.App.Root()
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Dir(root.Path)
	c := exec.Command("/proc/self/exe")
	c.Env = []string{"HOME=" + home, childVariable + "=" + root.Path, "PATH=/usr/bin:/bin", "DBUS_SESSION_BUS_ADDRESS=disabled:"}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	defer func() {
		if !ended {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	}()
	lines := bufio.NewScanner(out)
	for range 1 + len(parts) { // its own, and one of each part
		if !lines.Scan() || !strings.Contains(lines.Text(), " up: ") {
			t.Fatalf("at the start it says %q", lines.Text())
		}
	}
	if app.RunningUp(s.App, root.Path) == nil {
		t.Error("it is not on record")
	}
	quiet := false
	for range 12 { // the runtime tidies up after the start, and the machine may be busy
		before := switches(t, c.Process.Pid)
		time.Sleep(1200 * time.Millisecond) // longer than any of the timers that might be there
		if quiet = switches(t, c.Process.Pid) == before; quiet {
			break
		}
	}
	if !quiet {
		t.Error("it wakes up again and again while nothing happens")
	}
	// The detector's own memory is larger than the program's.
	if kb := field(t, c.Process.Pid, "VmHWM:"); kb > 24<<10 && !boundtest.Race {
		t.Errorf("it took %d KiB of memory, want at most 24 MiB", kb)
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
		t.Errorf("at the end it says %q", lines.Text())
	}
	_ = c.Wait()
	ended = true
	if code := c.ProcessState.ExitCode(); code != 130 {
		t.Errorf("it ended with %d, want 130", code)
	}
	if left, _ := filepath.Glob(filepath.Join(home, ".local/state/tutti/up/*.json")); len(left) != 0 {
		t.Errorf("it has left %q", left)
	}
}

// switches adds up the voluntary context switches of all threads of a process.
func switches(t *testing.T, pid int) (sum int) {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil || len(files) == 0 {
		t.Fatalf("no threads of process %d: %v", pid, err)
	}
	for _, name := range files {
		sum += fieldOf(t, name, "voluntary_ctxt_switches:")
	}
	return sum
}

func field(t *testing.T, pid int, name string) int {
	t.Helper()
	return fieldOf(t, fmt.Sprintf("/proc/%d/status", pid), name)
}

func fieldOf(t *testing.T, file, name string) int {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			n, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("%s has no %s", file, name)
	return 0
}
