package crashtest

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"tutti/internal/store"
	"tutti/internal/store/filestore"
	"tutti/internal/test/boundtest"
)

func init() { runtime.LockOSThread() } // the operation must stay on the first thread: strace counts calls by thread

// The environment of a process that does one operation: its name and the root. It writes acked to standard output after
// the operation has returned nil, in a write call that the trace shows.
const (
	opEnv   = "CRASHTEST_OP"
	rootEnv = "CRASHTEST_ROOT"
	longEnv = "TUTTI_SOAK"
	began   = "began\n"
	acked   = "acked\n"
)

func TestMain(m *testing.M) {
	name := os.Getenv(opEnv)
	if name == "" {
		os.Exit(m.Run())
	}
	for _, o := range ops {
		if o.name != name {
			continue
		}
		s, err := filestore.Open(os.Getenv(rootEnv), filestore.Options{})
		if err == nil {
			os.Stdout.WriteString(began)
			err = o.do(context.Background(), s)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Stdout.WriteString(acked)
		os.Exit(0)
	}
	os.Exit(2)
}

const calls = "openat,openat2,open,close,write,pwrite64,writev,pwritev,ftruncate,truncate,fallocate,fsync,fdatasync,syncfs," +
	"mkdirat,mkdir,unlinkat,unlink,linkat,link,symlinkat,renameat,renameat2,rename,copy_file_range,sendfile,creat"

// under runs the operation in a process of its own under strace with more options, and returns the trace.
func under(t *testing.T, o op, root string, more ...string) ([]event, error) {
	t.Helper()
	trace := filepath.Join(t.TempDir(), "trace")
	args := append([]string{"-f", "-x", "-s", "1000000", "-o", trace, "-e", "trace=" + calls}, more...)
	cmd := exec.Command("strace", append(args, "/proc/self/exe")...)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Args[len(cmd.Args)-1] = exe
	cmd.Env = append(os.Environ(), opEnv+"="+o.name, rootEnv+"="+root, "GOMAXPROCS=1")
	out, err := cmd.CombinedOutput()
	events, terr := readTrace(trace)
	if terr != nil {
		t.Fatalf("trace: %v\n%s", terr, out)
	}
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return events, err
}

// prepare makes a root with what the operation finds.
func prepare(t *testing.T, o op, place string) string {
	t.Helper()
	root := filepath.Join(place, "bus")
	s, err := filestore.Open(root, filestore.Options{Create: true, CreatedBy: "crashtest"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if o.setup != nil {
		if err := o.setup(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// split returns the calls of the operation itself and where in them it was acknowledged (their number when never).
func split(events []event) (during []event, ack int) {
	for i, e := range events {
		if e.name != "write" || e.num(0) != 1 {
			continue
		}
		switch e.str(1) {
		case began:
			during = events[i+1:]
		case acked:
			n := i - (len(events) - len(during))
			return during, n
		}
	}
	return during, len(during)
}

func needStrace(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("strace"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("strace is not installed; make test installs it")
		}
		t.Skip("strace is not installed: crashes are NOT tested; make test installs it")
	}
}

// TestPowerCut records each operation where temporary files lie and, if there is one, on a file system in memory: what the
// store does to make a name safe depends on what is known of the file system.
func TestPowerCut(t *testing.T) {
	if boundtest.Race {
		t.Skip("one process after the other, watched call by call: the detector makes it slow and has nothing to see")
	}
	needStrace(t)
	t.Run("disk", func(t *testing.T) { powerCut(t, func(t *testing.T) string { return t.TempDir() }) })
	t.Run("memory", func(t *testing.T) {
		powerCut(t, func(t *testing.T) string {
			dir, err := os.MkdirTemp("/dev/shm", "crashtest-")
			if err != nil {
				t.Skip("no file system in memory:", err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			return dir
		})
	})
}

func powerCut(t *testing.T, place func(*testing.T) string) {
	for _, o := range ops {
		t.Run(strings.ReplaceAll(o.name, " ", "_"), func(t *testing.T) {
			if o.long && os.Getenv(longEnv) == "" {
				t.Skip("takes minutes; set " + longEnv + " to try it. That it may be killed at any step is tried without")
			}
			root := prepare(t, o, place(t))
			start, err := load(root)
			if err != nil {
				t.Fatal(err)
			}
			start.follows = followsNames(root)
			events, err := under(t, o, root)
			if err != nil {
				t.Fatal(err)
			}
			during, ack := split(events)
			if len(during) == 0 || ack == len(during) {
				t.Fatalf("the trace has no beginning or no end: %v", events)
			}
			opening := events[:len(events)-len(during)]
			cuts, states := 0, 0
			for cut := 0; cut <= ack; cut++ {
				d := *start
				fresh, err := reload(&d, root, start)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range opening {
					fresh.run(e)
				}
				for _, e := range during[:cut] {
					fresh.run(e)
				}
				if cut > 0 && !changes(during[cut-1]) && cut != ack {
					continue
				}
				cuts++
				fresh.states(func(tr tree) {
					states++
					if err := judge(t, o, tr, cut == ack); err != nil {
						t.Fatalf("power cut after call %d of %d, %v:\n%v\nstate:\n%v\ncalls:\n%v",
							cut, ack, last(during, cut), err, tr, list(during[:ack]))
					}
				})
			}
			t.Logf("%d cuts, %d states", cuts, states)
			if ack > 0 && cuts < 2 {
				t.Errorf("only %d cuts: the recording misses the operation", cuts)
			}
		})
	}
}

func changes(e event) bool {
	switch e.name {
	case "close":
		return false
	case "openat", "openat2":
		return strings.Contains(strings.Join(e.args, " "), "O_CREAT")
	}
	return e.ret >= 0
}

func last(events []event, n int) string {
	if n == 0 {
		return "nothing"
	}
	return events[n-1].String()
}

func list(events []event) string {
	var b strings.Builder
	for i, e := range events {
		s := e.String()
		fmt.Fprintf(&b, "%3d %.160s\n", i+1, s)
	}
	return b.String()
}

// reload makes a model of the state that start was made of; nodes change as calls run, so each cut needs its own.
func reload(d *disk, root string, start *disk) (*disk, error) {
	t := tree{}
	flatten(t, start.before, start.root, "", 1, false)
	d.before, d.root = entries{}, onDisk(node{dir: true})
	d.before[d.root] = map[string]*node{}
	for p := range t {
		at := d.root
		parts := strings.Split(strings.TrimSuffix(p, "/"), "/")
		for i, part := range parts {
			n := d.before[at][part]
			if n == nil {
				n = onDisk(node{dir: true})
				if i == len(parts)-1 && !strings.HasSuffix(p, "/") {
					n = onDisk(node{data: []byte(t[p])})
				} else {
					d.before[n] = map[string]*node{}
				}
				d.before[at][part] = n
			}
			at = n
		}
	}
	d.base, d.now = root, d.before.clone()
	d.steps, d.fds, d.pos, d.app = nil, map[int]*node{}, map[int]int{}, map[int]bool{}
	return d, nil
}

// judge lays a state out, old enough that what is left of locks counts as left, and lets the operation's check look at it.
func judge(t *testing.T, o op, tr tree, acked bool) error {
	dir, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	old := time.Now().Add(-2 * time.Minute)
	for p, c := range tr {
		full := filepath.Join(dir, p)
		if strings.HasSuffix(p, "/") {
			err = os.MkdirAll(full, 0o700)
		} else if err = os.MkdirAll(filepath.Dir(full), 0o700); err == nil {
			if err = os.WriteFile(full, []byte(c), 0o600); err == nil {
				err = os.Chtimes(full, old, old)
			}
		}
		if err != nil {
			return err
		}
	}
	return checkRoot(t, o, dir, acked)
}

func checkRoot(t *testing.T, o op, root string, acked bool) error {
	s, err := filestore.Open(root, filestore.Options{})
	if err != nil {
		return fmt.Errorf("open after the crash: %w", err)
	}
	defer s.Close()
	return o.check(t.Context(), s, acked)
}

// TestKilled stops the process with SIGKILL at each call that changes something. What the kernel was given stays, so the
// check is that of a reader who comes right after, locks of the dead included.
func TestKilled(t *testing.T) {
	if boundtest.Race {
		t.Skip("one process after the other, watched call by call: the detector makes it slow and has nothing to see")
	}
	needStrace(t)
	for _, o := range ops {
		t.Run(strings.ReplaceAll(o.name, " ", "_"), func(t *testing.T) {
			events, err := under(t, o, prepare(t, o, t.TempDir()))
			if err != nil {
				t.Fatal(err)
			}
			during, ack := split(events)
			main := events[0].tid
			killed, steps := 0, 0
			for i, e := range during[:ack] {
				if !changes(e) || e.tid != main {
					continue
				}
				steps++
				root := prepare(t, o, t.TempDir())
				got, err := under(t, o, root, "-e", fmt.Sprintf("inject=%s:signal=SIGKILL:when=%d", e.name, e.nth))
				if err == nil {
					continue // it made fewer calls this time
				}
				killed++
				_, at := split(got)
				gotDuring, _ := split(got)
				if err := checkRoot(t, o, root, at < len(gotDuring)); err != nil {
					t.Fatalf("killed at call %d, %v: %v", i+1, e, err)
				}
			}
			t.Logf("killed at %d of %d steps", killed, steps)
			if killed == 0 || killed*10 < steps*8 {
				t.Errorf("only %d of %d kills arrived", killed, steps)
			}
		})
	}
}

// readFile reads a log as a foreign program would: the file itself.
func readFile(s *filestore.Store, k store.Key) ([]byte, error) {
	return os.ReadFile(filepath.Join(s.Path(), filepath.FromSlash(k.Path())))
}

// tear lets a foreign writer stop in the middle of a line.
func tear(k store.Key) func(context.Context, *filestore.Store) error {
	return func(_ context.Context, s *filestore.Store) error {
		f, err := os.OpenFile(filepath.Join(s.Path(), filepath.FromSlash(k.Path())), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.WriteString(torn)
		return err
	}
}

// tornIsSomewhere: the torn tail was cut off, never destroyed.
func tornIsSomewhere(_ context.Context, s *filestore.Store, _ bool) error {
	found := false
	err := filepath.WalkDir(s.Path(), func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		found = found || strings.Contains(string(data), torn)
		return err
	})
	if err == nil && !found {
		err = fmt.Errorf("the torn line is gone from log and quarantine")
	}
	return err
}
