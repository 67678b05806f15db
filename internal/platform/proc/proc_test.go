package proc

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

// child starts a copy of this test binary that waits until its input closes. It says when it runs: for a moment after Start the
// kernel has no arguments of the new program yet.
func child(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "TUTTI_TEST_CHILD=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatalf("the child does not run: %v", err)
	}
	return cmd
}

func TestMain(m *testing.M) {
	switch os.Getenv("TUTTI_TEST_CHILD") {
	case "1":
		os.Stdout.Write([]byte{'r'})
		os.Stdin.Read(make([]byte, 1))
		os.Exit(0)
	case "wrap", "leave":
		os.Exit(beget(os.Getenv("TUTTI_TEST_CHILD") == "leave"))
	}
	os.Exit(m.Run())
}

func TestIdentity(t *testing.T) {
	me := Self()
	if me.PID != os.Getpid() || me.Start == 0 || me.Boot == "" || !me.Alive() {
		t.Fatalf("Self() = %+v, alive %v", me, me.Alive())
	}
	if again, err := Of(os.Getpid()); again != me || err != nil {
		t.Errorf("Of(own pid) = %+v, %v, want %+v", again, err, me)
	}
	for name, id := range map[string]ID{
		"zero":         {},
		"other start":  {me.PID, me.Start + 1, me.Boot},
		"other boot":   {me.PID, me.Start, "another"},
		"negative":     {-me.PID, me.Start, me.Boot},
		"no such pid":  {1 << 30, me.Start, me.Boot},
		"without boot": {me.PID, me.Start, ""},
	} {
		if id.Alive() {
			t.Errorf("%s: %+v is alive", name, id)
		}
		if err := Signal(id, 0); !errors.Is(err, ErrGone) {
			t.Errorf("%s: Signal(%+v) = %v, want ErrGone", name, id, err)
		}
	}
}

func TestLifeAndDeath(t *testing.T) {
	before := time.Now()
	cmd := child(t)
	after := time.Now()
	id, err := Of(cmd.Process.Pid)
	if err != nil || !id.Alive() {
		t.Fatalf("Of(child) = %+v, %v, alive %v", id, err, id.Alive())
	}
	at, ok := StartTime(id.PID)
	const grain = 50 * time.Millisecond // a tick, and the two clocks are not read in the same instant
	if !ok || at.Before(before.Add(-grain)) || at.After(after.Add(grain)) {
		t.Errorf("StartTime(child) = %v, %v, want between %v and %v", at, ok, before, after)
	}
	if err := Signal(id, 0); err != nil {
		t.Errorf("Signal(child, 0) = %v", err)
	}
	if err := Signal(id, syscall.SIGSTOP); err != nil || !id.Alive() {
		t.Errorf("after SIGSTOP (%v) the child is alive: %v, want true", err, id.Alive())
	}
	if err := Signal(id, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	// It has ended, and keeps its pid until it is waited for.
	for until := time.Now().Add(time.Minute); id.Alive() && time.Now().Before(until); {
		time.Sleep(time.Millisecond)
	}
	if id.Alive() {
		t.Errorf("a killed child that was not waited for counts as alive")
	}
	if _, ok := StartTime(id.PID); ok {
		t.Errorf("StartTime knows a child that has ended")
	}
	if err := Signal(id, syscall.SIGTERM); !errors.Is(err, ErrGone) {
		t.Errorf("Signal(ended) = %v, want ErrGone", err)
	}
	cmd.Wait()
	if _, err := Of(id.PID); !errors.Is(err, ErrGone) {
		t.Errorf("Of(ended) = %v, want ErrGone", err)
	}
}

func TestFamily(t *testing.T) {
	cmd := child(t, "a b", "c)")
	pid := cmd.Process.Pid
	if ppid, err := Parent(pid); ppid != os.Getpid() || err != nil {
		t.Errorf("Parent(child) = %d, %v, want %d", ppid, err, os.Getpid())
	}
	var line []ID
	for id, comm := range Ancestors(pid) {
		if line = append(line, id); comm == "" {
			t.Errorf("%v has no name", id)
		}
	}
	if len(line) < 2 || line[0] != Self() || line[1].PID != os.Getppid() {
		t.Errorf("Ancestors(child) = %+v, want %+v, then %d", line, Self(), os.Getppid())
	}
	if slices.Contains(line, ID{}) || line[len(line)-1].PID != 1 && os.Getpid() != 1 {
		t.Logf("the line does not end at the first process: %+v", line) // so in some containers
	}
	for range Ancestors(pid) {
		break
	}
	for range Ancestors(1 << 30) {
		t.Error("a process that does not exist has an ancestor")
	}
	want, err := filepath.EvalSymlinks(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if exe, err := Exe(pid); exe != want || err != nil {
		t.Errorf("Exe(child) = %q, %v, want %q", exe, err, want)
	}
	if args, err := Cmdline(pid); !slices.Equal(args, cmd.Args) || err != nil {
		t.Errorf("Cmdline(child) = %q, %v, want %q", args, err, cmd.Args)
	}
	if comm, err := Comm(pid); comm == "" || err != nil || comm != filepath.Base(os.Args[0])[:min(len(comm), 15)] {
		t.Errorf("Comm(child) = %q, %v, want the beginning of %q", comm, err, filepath.Base(os.Args[0]))
	}
	if _, err := Exe(1 << 30); err == nil {
		t.Error("Exe of a missing process gave no error")
	}
}

func TestHighWater(t *testing.T) {
	before, err := HighWater()
	if err != nil || before < 1<<20 {
		t.Fatalf("HighWater() = %d, %v, want above 1 MiB", before, err)
	}
	block := make([]byte, before+64<<20)
	for i := 0; i < len(block); i += 4096 {
		block[i] = 1
	}
	after, err := HighWater()
	if err != nil || after < before+60<<20 {
		t.Errorf("HighWater() after touching %d bytes = %d, %v, before %d", len(block), after, err, before)
	}
}

func TestHostname(t *testing.T) {
	want, err := os.Hostname()
	if got := Hostname(); got != want || err != nil {
		t.Errorf("Hostname() = %q, want %q, %v", got, want, err)
	}
}
