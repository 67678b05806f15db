package filelock_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"tutti/internal/platform/filelock"
	"tutti/internal/platform/proc"
)

const record = ".lock"

// folder is an open folder to lock in.
type folder struct {
	fd   int
	path string
}

func open(t testing.TB, path string) folder {
	t.Helper()
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return folder{fd, path}
}

func options() filelock.Options {
	return filelock.Options{
		Kernel: ".flock", Record: record, Timeout: 10 * time.Second,
		Host: proc.Hostname(), BootID: proc.BootID(), Proc: proc.StartTime,
	}
}

func (f folder) acquire(o filelock.Options) (*filelock.Lock, error) {
	return filelock.Acquire(context.Background(), f.fd, f.path, o)
}

func (f folder) must(t testing.TB, o filelock.Options) *filelock.Lock {
	t.Helper()
	l, err := f.acquire(o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (f folder) join(name string) string { return filepath.Join(f.path, name) }

// put lays a record of somebody else there, last written age ago.
func (f folder) put(t testing.TB, content string, age time.Duration) {
	t.Helper()
	if err := os.WriteFile(f.join(record), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	then := time.Now().Add(-age)
	if err := os.Chtimes(f.join(record), then, then); err != nil {
		t.Fatal(err)
	}
}

// pid is a record as programs write it that go by the pid.
func pid(pid int, host string, started time.Time) string {
	return fmt.Sprintf(`{"pid":%d,"hostname":%q,"startedAt":%q}`, pid, host, started.UTC().Format("2006-01-02T15:04:05.000Z"))
}

// leased is a record as programs write it that count leases.
func leased(holder string, renewed time.Time, length time.Duration) string {
	return fmt.Sprintf(`{"holder":%q,"nonce":"0123456789abcdef","acquiredAt":%[2]q,"renewedAt":%[2]q,"leaseMs":%d,"fencingToken":7}`,
		holder, renewed.UTC().Format("2006-01-02T15:04:05.000Z"), length.Milliseconds())
}

// noPID is a pid that no process has.
const noPID = 1 << 22

func TestAcquireAndRelease(t *testing.T) {
	f := open(t, t.TempDir())
	l := f.must(t, options())
	b, err := os.ReadFile(f.join(record))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		fmt.Sprintf(`{"pid":%d,"hostname":%q,"startedAt":"2`, os.Getpid(), proc.Hostname()),
		fmt.Sprintf(`"holder":"%s:%d","nonce":"`, proc.Hostname(), os.Getpid()),
		`"leaseMs":30000,"fencingToken":1,"bootId":"` + proc.BootID() + `","processStart":`,
	} {
		if !strings.Contains(string(b), part) {
			t.Errorf("record %s lacks %s", b, part)
		}
	}
	if err := l.Check(); err != nil {
		t.Errorf("Check: %v", err)
	}
	for range 2 {
		if err := l.Release(); err != nil {
			t.Errorf("Release: %v", err)
		}
	}
	entries, err := os.ReadDir(f.path)
	if err != nil || len(entries) != 1 || entries[0].Name() != ".flock" {
		t.Errorf("after Release the folder holds %v, %v, want only .flock", entries, err)
	}
}

func TestForeignRecords(t *testing.T) {
	now := time.Now()
	here, start := proc.Hostname(), time.Now()
	for _, tt := range []struct {
		name    string
		content string
		age     time.Duration
		token   string // of our record when we get it, "" when we must wait
		holder  string // named when we must wait
	}{
		{"live pid", pid(os.Getpid(), here, start), time.Hour, "", here + ":"},
		{"dead pid", pid(noPID, here, now), 0, "1", ""},
		{"pid that is another's now", pid(os.Getpid(), here, now.Add(-time.Hour)), 0, "1", ""},
		{"pid of another machine", pid(noPID, "box2", now), time.Hour, "", "box2:"},
		{"lease of another machine", leased("box2:1", now, time.Minute), 0, "", "box2:1"},
		{"lease of another machine over", leased("box2:1", now.Add(-time.Minute), time.Second), 0, "8", ""},
		{"lease over, but the process lives", leased(fmt.Sprint(here, ":", os.Getpid()), now, 0), time.Hour, "", here + ":"},
		{"lease of a dead process", leased(fmt.Sprint(here, ":", noPID), now, time.Minute), 0, "8", ""},
		{"empty", "", 0, "", "an unnamed holder"},
		{"empty for a minute", "", 61 * time.Second, "1", ""},
		{"torn", pid(noPID, here, now)[:20], 59 * time.Second, "", "an unnamed holder"},
		{"torn for a minute", pid(noPID, here, now)[:20], 61 * time.Second, "1", ""},
		{"too long", pid(noPID, here, now) + strings.Repeat(" ", 5000), 0, "", "an unnamed holder"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := open(t, t.TempDir())
			f.put(t, tt.content, tt.age)
			o := options()
			o.Timeout = -1
			l, err := f.acquire(o)
			if tt.token == "" {
				var held *filelock.HeldError
				if !errors.As(err, &held) || held.Path != f.join(record) || !strings.Contains(err.Error(), tt.holder) {
					t.Errorf("Acquire = %v, want a HeldError that names %s and %s", err, f.join(record), tt.holder)
				}
				if b, err := os.ReadFile(f.join(record)); string(b) != tt.content {
					t.Errorf("the record that stands is now %q, %v", b, err)
				}
				return
			}
			if err != nil {
				t.Fatalf("Acquire: %v", err)
			}
			defer l.Release()
			if b, _ := os.ReadFile(f.join(record)); !strings.Contains(string(b), `"fencingToken":`+tt.token+",") {
				t.Errorf("our record %s, want token %s", b, tt.token)
			}
			if names, _ := os.ReadDir(f.path); len(names) != 2 {
				t.Errorf("the folder holds %v, want the two locks only", names)
			}
		})
	}
}

func TestLockPathNotAFile(t *testing.T) {
	for name, lay := range map[string]func(path string) error{
		"dangling link": func(p string) error { return os.Symlink("nowhere", p) },
		"link to a record": func(p string) error {
			os.WriteFile(p+"2", []byte(pid(noPID, proc.Hostname(), time.Now())), 0o600)
			return os.Symlink(p+"2", p)
		},
		"FIFO":   func(p string) error { return unix.Mkfifo(p, 0o600) },
		"folder": func(p string) error { return os.Mkdir(p, 0o700) },
	} {
		f := open(t, t.TempDir())
		if err := lay(f.join(record)); err != nil {
			t.Fatal(err)
		}
		before, _ := os.Lstat(f.join(record))
		o := options()
		o.Timeout = 20 * time.Millisecond
		if _, err := f.acquire(o); !errors.As(err, new(*filelock.HeldError)) || !strings.Contains(err.Error(), "not a plain file") {
			t.Errorf("%s as a record: %v, want a HeldError that says so", name, err)
		}
		if after, err := os.Lstat(f.join(record)); err != nil || !os.SameFile(before, after) {
			t.Errorf("%s as a record was touched: %v", name, err)
		}
		if err := os.Rename(f.join(record), f.join(".flock2")); err != nil {
			t.Fatal(err)
		}
		o.Kernel = ".flock2"
		if _, err := f.acquire(o); err == nil || errors.As(err, new(*filelock.HeldError)) {
			t.Errorf("%s as the kernel lock: %v, want an error that is not a HeldError", name, err)
		}
	}
}

func TestWaitsForAForeignRelease(t *testing.T) {
	f := open(t, t.TempDir())
	f.put(t, pid(os.Getpid(), proc.Hostname(), time.Now()), 0)
	var gone atomic.Bool
	time.AfterFunc(80*time.Millisecond, func() {
		gone.Store(true)
		os.Remove(f.join(record))
	})
	l := f.must(t, options())
	defer l.Release()
	if !gone.Load() {
		t.Error("got the lock before its holder had removed the record")
	}
}

func TestQueueInOneProcess(t *testing.T) {
	f := open(t, t.TempDir())
	for _, rec := range []string{record, ""} {
		o := options()
		o.Record = rec
		inside, most, count := atomic.Int32{}, atomic.Int32{}, 0
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				for range 10 {
					l, err := f.acquire(o)
					if err != nil {
						t.Error(err)
						return
					}
					most.Store(max(most.Load(), inside.Add(1)))
					count++ // the race detector watches this, too
					inside.Add(-1)
					if err := l.Release(); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if most.Load() != 1 || count != 500 {
			t.Errorf("record %q: %d at a time, %d in all, want 1 and 500", rec, most.Load(), count)
		}
	}
}

func TestTimeoutAndCancel(t *testing.T) {
	f := open(t, t.TempDir())
	first := f.must(t, options())
	o := options()
	o.Timeout = 30 * time.Millisecond
	var held *filelock.HeldError
	for range 20 { // each leaves at most the one waiter that they share
		if _, err := f.acquire(o); !errors.As(err, &held) || !strings.Contains(held.Holder, fmt.Sprint(os.Getpid())) {
			t.Fatalf("Acquire of a held lock = %v, want a HeldError that names us", err)
		}
	}
	cause := errors.New("user left")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	if _, err := filelock.Acquire(ctx, f.fd, f.path, options()); !errors.Is(err, cause) {
		t.Errorf("Acquire with an ended context = %v, want its cause", err)
	}
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	l := f.must(t, options()) // the abandoned wait has passed its turn on
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
}

func TestLost(t *testing.T) {
	f := open(t, t.TempDir())
	l := f.must(t, options())
	os.Remove(f.join(record))
	if err := l.Check(); !errors.Is(err, filelock.ErrLost) {
		t.Errorf("Check after the record was removed: %v, want ErrLost", err)
	}
	theirs := leased("box2:1", time.Now(), time.Minute)
	f.put(t, theirs, 0)
	if err := l.Check(); !errors.Is(err, filelock.ErrLost) {
		t.Errorf("Check after the record was replaced: %v, want ErrLost", err)
	}
	if err := l.Release(); !errors.Is(err, filelock.ErrLost) {
		t.Errorf("Release after the record was replaced: %v, want ErrLost", err)
	}
	if b, err := os.ReadFile(f.join(record)); string(b) != theirs {
		t.Errorf("Release left %q, %v, want their record", b, err)
	}
	os.Remove(f.join(record))
	f.must(t, options()).Release() // the kernel lock was given back all the same
}

func TestKernelFileRemoved(t *testing.T) {
	f := open(t, t.TempDir())
	o := options()
	o.Record = ""
	first := f.must(t, o)
	got := make(chan error)
	go func() { // waits on the file that is removed now, and must then lock the one that others see
		l, err := f.acquire(o)
		if err == nil {
			defer l.Release()
		}
		got <- err
	}()
	time.Sleep(20 * time.Millisecond)
	if err := os.Remove(f.join(".flock")); err != nil {
		t.Fatal(err)
	}
	second := f.must(t, o)
	first.Release()
	select {
	case err := <-got:
		t.Errorf("a waiter on the removed file got in (%v) beside the holder of the new one", err)
	case <-time.After(50 * time.Millisecond):
		second.Release()
		if err := <-got; err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(f.join(".flock")); errors.Is(err, fs.ErrNotExist) {
		t.Error("the kernel lock file is gone")
	}
}

func BenchmarkUncontended(b *testing.B) {
	for _, rec := range []string{"", record} {
		b.Run("record="+rec, func(b *testing.B) {
			f := open(b, b.TempDir())
			o := options()
			o.Record = rec
			for b.Loop() {
				l := f.must(b, o)
				if err := l.Check(); err != nil {
					b.Fatal(err)
				}
				if err := l.Release(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
