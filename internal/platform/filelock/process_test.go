package filelock_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"tutti/internal/platform/filelock"
	"tutti/internal/platform/proc"
)

// The tests of this file run several processes: copies of the test binary that play one role each. A role is told its folder, and
// says on its output when it is where the test wants it.

func TestMain(m *testing.M) {
	if role := os.Getenv("TUTTI_TEST_ROLE"); role != "" {
		if err := play(role, os.Getenv("TUTTI_TEST_FOLDER")); err != nil {
			fmt.Fprintln(os.Stderr, role, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func play(role, dir string) error {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	f := folder{fd, dir}
	o := options()
	o.Timeout = 30 * time.Second
	switch role {
	case "ours":
		return repeat(f, sections, func() (func() error, error) {
			l, err := f.acquire(o)
			if err != nil {
				return nil, err
			}
			return func() error { return errors.Join(l.Check(), l.Release()) }, nil
		})
	case "pid", "lease":
		return repeat(f, sections, func() (func() error, error) { return original(f, role) })
	case "one":
		return repeat(f, 1, func() (func() error, error) {
			l, err := f.acquire(o)
			if err != nil {
				return nil, err
			}
			time.Sleep(2 * time.Millisecond) // long enough for another one to be seen inside
			return l.Release, nil
		})
	case "hold":
		o.Lease = 100 * time.Millisecond
		l, err := f.acquire(o)
		if err != nil {
			return err
		}
		fmt.Println("holding")
		if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
			return err
		}
		return errors.Join(l.Check(), l.Release())
	}
	return fmt.Errorf("no such role")
}

const sections = 200

// repeat enters critical sections in which a counter is read and written back without any lock of its own.
func repeat(f folder, times int, enter func() (leave func() error, err error)) error {
	for range times {
		leave, err := enter()
		if err != nil {
			return err
		}
		if err := bump(f.join("counter")); err != nil {
			return err
		}
		if err := leave(); err != nil {
			return err
		}
	}
	return nil
}

func bump(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(string(b))
	if err != nil {
		return fmt.Errorf("another process is inside: counter reads %q", b)
	}
	return os.WriteFile(path, []byte(strconv.Itoa(n+1)), 0o600)
}

// original locks as the foreign programs do: create exclusively, then write; delete. Their pause is 50 ms; a shorter one makes more
// meetings.
func original(f folder, mode string) (leave func() error, err error) {
	for until := time.Now().Add(30 * time.Second); time.Now().Before(until); time.Sleep(time.Millisecond) {
		h, err := os.OpenFile(f.join(record), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err == nil {
			content := pid(os.Getpid(), proc.Hostname(), time.Now())
			if mode == "lease" {
				content = leased(fmt.Sprint(proc.Hostname(), ":", os.Getpid()), time.Now(), 30*time.Second)
			}
			h.WriteString(content)
			h.Close()
			return func() error { return os.Remove(f.join(record)) }, nil
		}
		if !errors.Is(err, os.ErrExist) {
			return nil, err
		}
		b, err := os.ReadFile(f.join(record))
		if err != nil || mode == "lease" && len(b) == 0 {
			continue // gone, or just made by a fellow: two of them would rob each other here, and that is not our doing
		}
		j := filelock.Judge(filelock.Mode(mode), filelock.Observed{Content: b, Now: time.Now(), Host: proc.Hostname(), Proc: proc.StartTime})
		if j.Verdict != filelock.Wait {
			if again, err := os.ReadFile(f.join(record)); err != nil || string(again) != string(b) {
				continue // its owner has left between the two looks, perhaps for good
			}
			return nil, fmt.Errorf("an original would rob the record %q", b)
		}
	}
	return nil, errors.New("timeout")
}

type actor struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	err *strings.Builder
}

func start(t *testing.T, role string, f folder) *actor {
	t.Helper()
	a := &actor{Cmd: exec.Command(os.Args[0]), err: &strings.Builder{}}
	a.Env = append(os.Environ(), "TUTTI_TEST_ROLE="+role, "TUTTI_TEST_FOLDER="+f.path)
	a.Stderr = a.err
	in, err1 := a.StdinPipe()
	out, err2 := a.StdoutPipe()
	if err := errors.Join(err1, err2, a.Start()); err != nil {
		t.Fatal(err)
	}
	a.in, a.out = in, bufio.NewReader(out)
	t.Cleanup(func() { a.Process.Kill(); a.Wait() })
	return a
}

// says waits until the actor has said a line.
func (a *actor) says(t *testing.T, want string) {
	t.Helper()
	if line, err := a.out.ReadString('\n'); strings.TrimSpace(line) != want {
		t.Fatalf("actor says %q, %v, want %q; %s", line, err, want, a.err)
	}
}

// contend runs the roles in one folder and returns the counter.
func contend(t *testing.T, roles []string, prepare func(f folder)) int {
	t.Helper()
	f := open(t, t.TempDir())
	if err := os.WriteFile(f.join("counter"), []byte("0"), 0o600); err != nil {
		t.Fatal(err)
	}
	prepare(f)
	var actors []*actor
	for _, role := range roles {
		actors = append(actors, start(t, role, f))
	}
	var wg sync.WaitGroup
	for _, a := range actors {
		wg.Go(func() {
			if err := a.Wait(); err != nil {
				t.Errorf("%v: %s", err, a.err)
			}
		})
	}
	wg.Wait()
	b, err := os.ReadFile(f.join("counter"))
	if err != nil {
		t.Fatal(err)
	}
	n, _ := strconv.Atoi(string(b))
	if left, _ := filepath.Glob(f.join(".tutti-*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	if _, err := os.Lstat(f.join(record)); err == nil {
		t.Error("the record is still there")
	}
	return n
}

func times(n int, role string) (roles []string) {
	for range n {
		roles = append(roles, role)
	}
	return roles
}

func TestContention(t *testing.T) {
	for _, tt := range []struct {
		name  string
		roles []string
	}{
		{"eight of ours", times(8, "ours")},
		{"ours among programs that go by the pid", append(times(3, "ours"), times(3, "pid")...)},
		{"ours with one that counts leases", append(times(4, "ours"), "lease")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, want := contend(t, tt.roles, func(folder) {}), len(tt.roles)*sections; got != want {
				t.Errorf("counter is %d after %d sections", got, want)
			}
		})
	}
}

func TestManyStealOneStaleRecord(t *testing.T) {
	for range 5 {
		got := contend(t, times(10, "one"), func(f folder) {
			f.put(t, pid(noPID, proc.Hostname(), time.Now()), 0)
		})
		if got != 10 {
			t.Errorf("counter is %d after 10 sections on one stale record", got)
		}
	}
}

func TestKilledHolder(t *testing.T) {
	f := open(t, t.TempDir())
	a := start(t, "hold", f)
	a.says(t, "holding")
	waiting := make(chan error, 1)
	var since time.Time
	go func() {
		l, err := f.acquire(options())
		if err == nil {
			err = l.Release()
		}
		waiting <- err
	}()
	select {
	case err := <-waiting:
		t.Fatalf("got a lock that is held: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	since = time.Now()
	a.Process.Kill()
	if err := <-waiting; err != nil {
		t.Fatal(err)
	}
	if took := time.Since(since); took > 2*time.Second { // at once, on a machine that does other things as well
		t.Errorf("the next one got the lock %v after its holder was killed", took)
	}
}

func TestStoppedHolder(t *testing.T) {
	f := open(t, t.TempDir())
	a := start(t, "hold", f)
	a.says(t, "holding")
	if err := a.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(150 * time.Millisecond) // beyond its lease
	for _, kernel := range []string{".flock", ".another"} {
		o := options()
		o.Kernel, o.Timeout = kernel, 100*time.Millisecond // with another one the record alone has to hold us off
		if _, err := f.acquire(o); !errors.As(err, new(*filelock.HeldError)) {
			t.Errorf("kernel lock %s: a stopped holder was robbed: %v", kernel, err)
		}
	}
	if err := a.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(a.in)
	if err := a.Wait(); err != nil {
		t.Errorf("the holder, going on: %v: %s", err, a.err)
	}
	f.must(t, options()).Release()
}

// TestStoppedHolderLosesLock: a program that counts leases may take the lock of one of ours that was stopped. Ours must notice.
func TestStoppedHolderLosesLock(t *testing.T) {
	f := open(t, t.TempDir())
	a := start(t, "hold", f)
	a.says(t, "holding")
	theirs := leased("box2:1", time.Now(), time.Minute)
	if err := os.Remove(f.join(record)); err != nil {
		t.Fatal(err)
	}
	f.put(t, theirs, 0)
	fmt.Fprintln(a.in)
	if err := a.Wait(); err == nil || !strings.Contains(a.err.String(), filelock.ErrLost.Error()) {
		t.Errorf("the robbed holder ended with %v and said %q, want that its lock was taken away", err, a.err)
	}
	if b, err := os.ReadFile(f.join(record)); string(b) != theirs {
		t.Errorf("the robber's record is now %q, %v", b, err)
	}
}
