package fswatch_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tutti/internal/halt"
	"tutti/internal/platform/fswatch"
	"tutti/internal/test/hometest"
)

// Users that no other program runs as. The kernel counts watchers per user, so that tests which use
// them all up take none from the programs that run beside.
const (
	crowdUID = 61185
	greedUID = 61186
	plainUID = 61187
)

// TestMain lets the test program play other processes.
func TestMain(m *testing.M) {
	switch os.Getenv("FSWATCH_TEST_ROLE") {
	case "wait":
		playWaiting()
	case "greedy":
		playGreedy()
	default:
		os.Exit(m.Run())
	}
}

// playWaiting waits for a halt, as every long action of ours does, and tells when it was noticed. Before that it tells when its standard
// input had ended and the switch was looked at once, which is the least that noticing can cost.
func playWaiting() {
	look, stop, err := fswatch.Notify(filepath.Dir(halt.Path()), filepath.Base(halt.Path()))
	defer stop()
	ctx, cancel := halt.Context(context.Background(), look)
	defer cancel()
	fmt.Println("ready", err == nil)
	_, _ = io.Copy(io.Discard, os.Stdin)
	halt.Read()
	fmt.Println("woken", time.Now().UnixNano())
	<-ctx.Done()
	fmt.Println("halted", time.Now().UnixNano())
}

// playGreedy takes all watchers of its user and tells what is answered then.
func playGreedy() {
	for range 1000 {
		w, err := fswatch.Start()
		if err == nil {
			defer w.Close()
			continue
		}
		s := fswatch.Watch(os.TempDir(), fswatch.Options{})
		look, stop, nerr := fswatch.Notify(os.TempDir(), "x")
		fmt.Printf("%v\nis=%v polled=%v reason=%v look=%v err=%v\n", err, errors.Is(err, fswatch.ErrNoWatcher),
			s.Polled(), errors.Is(s.Reason(), fswatch.ErrNoWatcher), look != nil, errors.Is(nerr, fswatch.ErrNoWatcher))
		stop()
		s.Close()
		return
	}
	fmt.Println("no limit was met")
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// open makes a folder below the temporary one in which every user may live.
func open(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "fswatch")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	return dir
}

// child is the test program in a role, as another user if this one is root.
func child(role, home string, uid uint32) *exec.Cmd {
	// Through /proc, because the folder of the test program is closed to other users.
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "FSWATCH_TEST_ROLE="+role, "HOME="+home)
	cmd.Dir = "/"
	cmd.Stderr = os.Stderr
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	}
	return cmd
}

// The promise: whatever appears under the name, and whatever was done to the folder before, an action
// in hand ends within 100 ms. On a machine that is busy with other things a single try may be late by
// the scheduler's fault, so one of five must be in time, and all of them must be noticed.
func TestHaltIsNoticed(t *testing.T) {
	const promise = 100 * time.Millisecond
	folder := func() string { return filepath.Dir(halt.Path()) }
	raise := func(t *testing.T) { must(t, os.WriteFile(halt.Path(), nil, 0o600)) }
	cases := []struct {
		name   string
		before func(t *testing.T) // with the folder there, before anything watches
		during func(t *testing.T) // after the context is made
		raise  func(t *testing.T)
	}{
		{"file", nil, nil, raise},
		{"raised", nil, nil, func(t *testing.T) { halt.Raise("enough") }},
		{"dangling link", nil, nil, func(t *testing.T) { must(t, os.Symlink("nowhere", halt.Path())) }},
		{"folder", nil, nil, func(t *testing.T) { must(t, os.Mkdir(halt.Path(), 0o700)) }},
		{"pipe", nil, nil, func(t *testing.T) { must(t, syscall.Mkfifo(halt.Path(), 0o600)) }},
		{
			"moved in", func(t *testing.T) { must(t, os.WriteFile(folder()+"/x", nil, 0o600)) }, nil,
			func(t *testing.T) { must(t, os.Rename(folder()+"/x", halt.Path())) },
		},
		{"folder moved away and made again", nil, func(t *testing.T) {
			must(t, os.Rename(folder(), folder()+".old"))
			must(t, os.Mkdir(folder(), 0o700))
		}, raise},
		{"parent moved away and made again", nil, func(t *testing.T) {
			must(t, os.Rename(filepath.Dir(folder()), filepath.Dir(folder())+".old"))
			must(t, os.MkdirAll(folder(), 0o700))
		}, raise},
		{"folder with a halt in it moved in", func(t *testing.T) {
			raise(t)
			must(t, os.Rename(filepath.Dir(folder()), filepath.Dir(folder())+".old"))
		}, nil, func(t *testing.T) { must(t, os.Rename(filepath.Dir(folder())+".old", filepath.Dir(folder()))) }},
		{
			"folder missing, made step by step", func(t *testing.T) { must(t, os.RemoveAll(filepath.Dir(folder()))) },
			func(t *testing.T) {
				must(t, os.Mkdir(filepath.Dir(folder()), 0o700))
				time.Sleep(10 * time.Millisecond) // so that the watcher follows each step
				must(t, os.Mkdir(folder(), 0o700))
				time.Sleep(10 * time.Millisecond)
			}, raise,
		},
		{
			"folder missing, made at once", func(t *testing.T) { must(t, os.RemoveAll(filepath.Dir(folder()))) }, nil,
			func(t *testing.T) {
				must(t, os.MkdirAll(folder(), 0o700))
				raise(t)
			},
		},
		{
			"circle of links in the way", func(t *testing.T) { must(t, os.RemoveAll(folder())) }, nil,
			func(t *testing.T) { must(t, os.Symlink(folder(), folder())) },
		},
	}
	for _, look := range []bool{true, false} {
		for _, c := range cases {
			t.Run(fmt.Sprintf("%s, watcher %v", c.name, look), func(t *testing.T) {
				best := time.Hour
				for try := 0; try < 5 && best > promise; try++ {
					t.Setenv("HOME", hometest.Dir(t))
					must(t, os.MkdirAll(folder(), 0o700))
					if c.before != nil {
						c.before(t)
					}
					best = min(best, noticed(t, look, func() {
						if c.during != nil {
							c.during(t)
						}
					}, func() { c.raise(t) }))
				}
				if best > promise {
					t.Errorf("noticed after %v at best, want at most %v", best, promise)
				}
				t.Logf("noticed after %v", best)
			})
		}
	}
}

// noticed returns the time from raising the halt to the end of a context.
func noticed(t *testing.T, watched bool, during, raise func()) time.Duration {
	t.Helper()
	var look <-chan struct{}
	if watched {
		l, stop, err := fswatch.Notify(filepath.Dir(halt.Path()), filepath.Base(halt.Path()))
		must(t, err)
		defer stop()
		look = l
	}
	ctx, cancel := halt.Context(context.Background(), look)
	defer cancel()
	during()
	if ctx.Err() != nil {
		t.Fatalf("context ended before the halt: %v", context.Cause(ctx))
	}
	start := time.Now()
	raise()
	select {
	case <-ctx.Done():
	case <-time.After(20 * time.Second):
		t.Fatal("halt was never noticed")
	}
	took := time.Since(start)
	var e *halt.Error
	if err := context.Cause(ctx); !errors.As(err, &e) {
		t.Errorf("cause = %v (%T), want *halt.Error", err, err)
	}
	return took
}

// TestUnreadableIsNoticed: an unreadable or unsearchable path halts too. Root may do everything, so another user tries it.
func TestUnreadableIsNoticed(t *testing.T) {
	if os.Geteuid() == 0 {
		dir := open(t)
		must(t, os.Chown(dir, plainUID, plainUID))
		cmd := child("", dir, plainUID)
		cmd.Args = append(cmd.Args, "-test.run=^TestUnreadableIsNoticed$", "-test.v")
		cmd.Env, cmd.Stderr = append(cmd.Env, "TMPDIR="+dir), nil
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: TestUnreadableIsNoticed") {
			t.Errorf("as uid %d: %v\n%s", plainUID, err, out)
		}
		return
	}
	for _, c := range []struct {
		name  string
		raise func() error
	}{
		{"file", func() error {
			fd, err := syscall.Open(halt.Path(), syscall.O_CREAT|syscall.O_WRONLY, 0)
			syscall.Close(fd)
			return err
		}},
		{"folder", func() error { return os.Chmod(filepath.Dir(halt.Path()), 0) }},
	} {
		t.Setenv("HOME", hometest.Dir(t))
		must(t, os.MkdirAll(filepath.Dir(halt.Path()), 0o700))
		took := noticed(t, true, func() {}, func() { must(t, c.raise()) })
		if s := halt.Read(); !s.Unreadable {
			t.Errorf("%s: %+v, want unreadable", c.name, s)
		}
		must(t, os.Chmod(filepath.Dir(halt.Path()), 0o700))
		t.Logf("%s: noticed after %v", c.name, took)
	}
}

func TestWatcherLimitReached(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("running as an ordinary user: other programs of this user find no watcher for a moment")
	}
	out, err := child("greedy", open(t), greedUID).Output()
	text := string(out)
	if err != nil || !strings.Contains(text, "fs.inotify.max_user_instances = ") ||
		!strings.Contains(text, "is=true polled=true reason=true look=false err=true") {
		t.Errorf("without watchers: %v\n%s", err, text)
	}
}

// A crowd is more processes than the kernel has watchers for. All of them must notice.
func TestHaltBeyondWatcherLimit(t *testing.T) {
	const size = 200
	home := open(t)
	t.Setenv("HOME", home)
	must(t, os.MkdirAll(filepath.Dir(halt.Path()), 0o755))
	must(t, os.Chmod(filepath.Dir(filepath.Dir(halt.Path())), 0o755))
	type member struct {
		cmd *exec.Cmd
		out *bufio.Reader
	}
	var crowd []member
	watched := 0
	end, wake, err := os.Pipe()
	must(t, err)
	defer end.Close()
	defer wake.Close()
	defer func() {
		for _, m := range crowd {
			m.cmd.Process.Kill()
			m.cmd.Wait()
		}
	}()
	for range size {
		cmd := child("wait", home, crowdUID)
		cmd.Env = append(cmd.Env, "GOMAXPROCS=1")
		cmd.Stdin = end
		pipe, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		crowd = append(crowd, member{cmd, bufio.NewReader(pipe)})
	}
	for _, m := range crowd {
		line, err := m.out.ReadString('\n')
		if err != nil || !strings.HasPrefix(line, "ready") {
			t.Fatalf("child said %q, %v", line, err)
		}
		if strings.Contains(line, "true") {
			watched++
		}
	}
	// took reads what each of them says, and returns how long they took for it, the fastest first.
	took := func(start time.Time, word string) (all []time.Duration) {
		for _, m := range crowd {
			line, err := m.out.ReadString('\n')
			ns, perr := strconv.ParseInt(strings.TrimSpace(strings.TrimPrefix(line, word)), 10, 64)
			if err != nil || perr != nil {
				t.Fatalf("child said %q: %v %v", line, err, perr)
			}
			all = append(all, time.Unix(0, ns).Sub(start))
		}
		slices.Sort(all)
		return all
	}
	start := time.Now()
	must(t, wake.Close())
	floor := took(start, "woken ")
	start = time.Now()
	must(t, os.WriteFile(halt.Path(), nil, 0o644))
	noticed := took(start, "halted ")
	t.Logf("%d processes, %d with a watcher: half noticed within %v, nine of ten within %v, all within %v; of the end of a pipe half heard within %v, all within %v",
		size, watched, noticed[size/2], noticed[size*9/10], noticed[size-1], floor[size/2], floor[size-1])
	if os.Geteuid() == 0 && watched >= size {
		t.Errorf("%d of %d had a watcher; the case without one was not tried", watched, size)
	}
	// 200 processes that wake up at once share the machine's processors with whatever else runs; so did they for the floor.
	if half, last := 100*time.Millisecond+5*floor[size/2], time.Second+5*floor[size-1]; noticed[size/2] > half || noticed[size-1] > last {
		t.Errorf("half noticed within %v, all within %v; want %v, and %v for the last in the queue for a processor",
			noticed[size/2], noticed[size-1], half, last)
	}
}

// With a watcher a waiting process does nothing at all while nothing happens.
func TestWaitingCostsNoWakeups(t *testing.T) {
	span := 10 * time.Second
	if os.Getenv("TUTTI_SOAK") == "1" {
		span = 30 * time.Second
	}
	if testing.Short() {
		t.Skip("SKIPPED: takes " + span.String())
	}
	t.Parallel()
	home := hometest.Dir(t)
	must(t, os.MkdirAll(filepath.Join(home, ".config", "cross-agent-comms"), 0o700))
	cmd := child("wait", home, 0)
	in, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	defer func() {
		cmd.Process.Kill()
		io.Copy(io.Discard, in)
		cmd.Wait()
	}()
	if line, _ := bufio.NewReader(in).ReadString('\n'); line != "ready true\n" {
		t.Fatalf("child said %q", line)
	}
	time.Sleep(time.Second) // the runtime's own threads come to rest
	before := switches(t, cmd.Process.Pid)
	time.Sleep(span)
	after := switches(t, cmd.Process.Pid)
	for tid, n := range after {
		if n != before[tid] {
			t.Errorf("thread %s made %d voluntary context switches in %v, want none", tid, n-before[tid], span)
		}
	}
}

// switches returns the voluntary context switches of each thread of a process.
func switches(t *testing.T, pid int) map[string]int {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	must(t, err)
	all := map[string]int{}
	for _, name := range files {
		data, err := os.ReadFile(name)
		must(t, err)
		for line := range strings.Lines(string(data)) {
			if v, ok := strings.CutPrefix(line, "voluntary_ctxt_switches:"); ok {
				n, err := strconv.Atoi(strings.TrimSpace(v))
				must(t, err)
				all[strings.Split(name, "/")[4]] = n
			}
		}
	}
	if len(all) == 0 {
		t.Fatalf("no threads of process %d found", pid)
	}
	return all
}
