package halt

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func itoa(n int) string { return strconv.Itoa(n) }

// TestMain lets the test program play other processes.
func TestMain(m *testing.M) {
	if args := os.Args[1:]; len(args) > 1 && args[0] == "child" {
		playChild(args[1], args[2:])
		return
	}
	os.Exit(m.Run())
}

func playChild(role string, args []string) {
	switch role {
	case "count":
		n, _ := strconv.Atoi(args[0])
		if err := countMany(n); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("counted")
	case "full":
		// Nothing may be written from here on: what a full disk does, and anybody can have it.
		signal.Ignore(syscall.SIGXFSZ)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{}); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		s, warnings, err := Raise("runaway loop")
		warned := false
		for _, w := range warnings {
			warned = warned || strings.Contains(w.Error(), "store the reason")
		}
		fmt.Fprintf(os.Stderr, "halted=%v reason=%q err=%v warned=%v\n", s.Halted, s.Reason, err, warned)
	case "syscalls":
		runtime.LockOSThread()
		var st syscall.Stat_t
		for range 1000 { // what the runtime does only once
			Check("warm up")
		}
		_ = syscall.Lstat("/begin-of-checks", &st)
		for range 100 {
			if Check("send") != nil {
				os.Exit(1)
			}
		}
		_ = syscall.Lstat("/end-of-checks", &st)
	case "path":
		fmt.Println(Path())
	}
}

// child runs the test program in a role, with a home of its own unless env names one.
func child(t *testing.T, env []string, role ...string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"child"}, role...)...)
	cmd.Env = append(append(os.Environ(), "HOME="+t.TempDir()), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("child %q: %v: %s", role, err, out)
	}
	return string(out)
}

// nobodysUID is a user that no other program runs as, for what root is always allowed to do.
const nobodysUID = 61184

// runAs runs the present test again as a user without rights.
func runAs(t *testing.T, what string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "halt-as-user")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Chown(dir, nobodysUID, nobodysUID))
	// Through /proc, because the folder of the test program is closed to others.
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "HOME="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobodysUID, Gid: nobodysUID}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%s as uid %d: %v\n%s", what, nobodysUID, err, out)
	}
}

func TestUnsetHomeInProcess(t *testing.T) {
	_, want := account(uint32(os.Geteuid()))
	if want == "" {
		t.Skip("SKIPPED: this user is not in " + passwdFile)
	}
	cmd := exec.Command(os.Args[0], "child", "path")
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "HOME=") {
			cmd.Env = append(cmd.Env, e)
		}
	}
	out, err := cmd.Output()
	if got := strings.TrimSpace(string(out)); err != nil || got != want+"/.config/cross-agent-comms/HALT" {
		t.Errorf("Path() without HOME = %q, %v; want it below %s", got, err, want)
	}
}

// While nothing is halted, asking costs exactly two system calls, for the switch and its folder, and no more of anything.
func TestCheckSystemCalls(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("SKIPPED: strace is not installed")
	}
	trace := filepath.Join(t.TempDir(), "trace")
	cmd := exec.Command(strace, "-f", "-o", trace, os.Args[0], "child", "syscalls")
	// The collector and preemption would add calls of the runtime's own.
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, ".config/cross-agent-comms"), 0o700))
	cmd.Env = append(os.Environ(), "HOME="+dir, "GOGC=off", "GODEBUG=asyncpreemptoff=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		if strings.Contains(string(out), "ptrace") {
			t.Skipf("SKIPPED: tracing is not allowed here: %s", out)
		}
		t.Fatalf("strace: %v: %s", err, out)
	}
	data, err := os.ReadFile(trace)
	must(t, err)
	call := regexp.MustCompile(`^(\d+) +(\w+)\(`)
	tid, looks, others := "", 0, []string(nil)
	for line := range strings.Lines(string(data)) {
		m := call.FindStringSubmatch(line)
		switch {
		case m == nil:
		case strings.Contains(line, `"/begin-of-checks"`):
			tid = m[1]
		case strings.Contains(line, `"/end-of-checks"`):
			if looks != 200 || len(others) > 0 {
				t.Errorf("100 checks made %d looks at the switch and these calls: %q", looks, others)
			}
			return
		case m[1] != tid, m[2] == "mmap", m[2] == "madvise", m[2] == "futex": // of another thread; the heap grows; the runtime's
			// own locks, when it took the processor away from a call that a busy machine was slow with
		case (strings.Contains(line, "/HALT\"") || strings.Contains(line, "/cross-agent-comms\"")) && strings.Contains(m[2], "stat"):
			looks++
		default:
			others = append(others, m[2])
		}
	}
	t.Errorf("the trace has no end mark:\n%.2000s", data)
}
