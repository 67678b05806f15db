package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tutti/internal/platform/atomicfile"
)

// A place of the tests: a registry with a cache of what a row of it says.
type cached struct {
	yaml, cache string
	rows        [][]byte
}

func newCached(t testing.TB, rows int) *cached {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := &cached{yaml: filepath.Join(dir, "agent-sessions.yaml"), cache: filepath.Join(dir, "cache")}
	for i := range rows {
		c.rows = append(c.rows, []byte(strings.Replace(full, "api", fmt.Sprintf("api%d", i), 1)))
	}
	if err := os.WriteFile(c.yaml, []byte("tmux_sessions: 12345\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(Database(c.yaml), []byte("db"), 0o600); err != nil {
		t.Fatal(err)
	}
	return c
}

// write makes the cache; later is how long after the last change of the file it claims to have been read.
func (c *cached) write(t testing.TB, later time.Duration) {
	t.Helper()
	dir, err := atomicfile.OpenDir(filepath.Dir(c.yaml))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	name := filepath.Base(c.yaml)
	text, info, err := dir.Read(name, MaxSize)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	err = WriteCache(c.yaml, c.cache, Snapshot{
		File: info, SHA256: hex.EncodeToString(sum[:]), Read: time.Unix(0, info.Ctime).Add(later),
		DB: DatabaseInfo(dir, name), Rows: c.rows,
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestCached(t *testing.T) {
	t.Parallel()
	c := newCached(t, 3)
	if _, ok := Cached(c.yaml, c.cache); ok {
		t.Error("without a cache")
	}
	for _, later := range []time.Duration{0, time.Hour} {
		c.write(t, later)
		rows, ok := Cached(c.yaml, c.cache)
		if !ok || len(rows) != 3 || rows[2].Name != "api2-creator-claude" || rows[2].Pane.PID != 4711 {
			t.Fatalf("read %s after the change: %v, %d rows", later, ok, len(rows))
		}
	}
	c.rows = nil
	c.write(t, 0)
	if rows, ok := Cached(c.yaml, c.cache); !ok || len(rows) != 0 {
		t.Errorf("no rows: %v, %v", rows, ok)
	}
}

// TestCachedIsNeverStale changes the files in every way that another program can, also so that no time tells of it.
func TestCachedIsNeverStale(t *testing.T) {
	t.Parallel()
	write := func(path, text string) func(*cached) error {
		return func(c *cached) error {
			return os.WriteFile(filepath.Join(filepath.Dir(c.yaml), path), []byte(text), 0o600)
		}
	}
	for what, f := range map[string]func(*cached) error{
		"other text of the same length in place": write("agent-sessions.yaml", "tmux_sessions: 54321\n"),
		"longer text":                            write("agent-sessions.yaml", "tmux_sessions: 123456\n"),
		"truncated":                              write("agent-sessions.yaml", ""),
		"removed":                                func(c *cached) error { return os.Remove(c.yaml) },
		"replaced": func(c *cached) error {
			return os.Rename(Database(c.yaml), c.yaml)
		},
		"a change in the journal of the database": write("agent-sessions.db-wal", "x"),
		"another database":                        write("agent-sessions.db", "db2"),
		"no database":                             func(c *cached) error { return os.Remove(Database(c.yaml)) },
	} {
		for _, later := range []time.Duration{0, time.Hour} {
			c := newCached(t, 2)
			c.write(t, later)
			before, err := os.Stat(c.yaml)
			if err != nil {
				t.Fatal(err)
			}
			if later > 0 {
				tick(t, c.yaml) // what the claim of an hour stands for
			}
			if err := f(c); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(c.yaml); err == nil {
				if err := os.Chtimes(c.yaml, before.ModTime(), before.ModTime()); err != nil {
					t.Fatal(err)
				}
			}
			if rows, ok := Cached(c.yaml, c.cache); ok {
				t.Errorf("%s, %s after the cache: %d rows", what, later, len(rows))
			}
		}
	}
}

// tick returns when the clock of the file system has moved on since the last change of a file.
func tick(t *testing.T, path string) {
	t.Helper()
	dir, err := atomicfile.OpenDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	was, err := dir.Stat(filepath.Base(path))
	for now := was; err == nil && now.Ctime == was.Ctime; now, err = dir.Stat("tick") {
		if err := os.WriteFile(path[:len(path)-len(filepath.Base(path))]+"tick", nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestCacheThatIsDamaged(t *testing.T) {
	t.Parallel()
	c := newCached(t, 2)
	c.write(t, 0)
	path := cachePath(c.yaml, c.cache)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		for _, text := range [][]byte{whole[:i], append(append([]byte{}, whole[:i]...), make([]byte, len(whole)-i)...)} {
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			if rows, ok := Cached(c.yaml, c.cache); ok {
				t.Fatalf("cut off at byte %d: %d rows", i, len(rows))
			}
		}
	}
	if err := DropCache(c.yaml, c.cache); err != nil {
		t.Error(err)
	}
	if err := DropCache(c.yaml, c.cache); err != nil {
		t.Error("a second time:", err)
	}
}

// TestCacheIsReadWhileItIsWritten writes two caches in turns, a long one and a short one: a reader has one of them, or none.
func TestCacheIsReadWhileItIsWritten(t *testing.T) {
	t.Parallel()
	c := newCached(t, 60)
	many, few := c.rows, [][]byte{[]byte(strings.Replace(full, "api", "few", 1))}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 300 {
			for _, c.rows = range [][][]byte{many, few} {
				c.write(t, time.Hour)
			}
		}
	}()
	read := 0
	for over := false; !over || read == 0; {
		select {
		case <-done:
			over = true
		default:
		}
		rows, ok := Cached(c.yaml, c.cache)
		if !ok {
			continue
		}
		read++
		want, last := len(many), "api59-creator-claude"
		if strings.HasPrefix(rows[0].Name, "few") {
			want, last = 1, "few-creator-claude"
		}
		if len(rows) != want || rows[len(rows)-1].Name != last {
			t.Fatalf("%d rows, of which the last is %q: neither of the two", len(rows), rows[len(rows)-1].Name)
		}
	}
}

// TestCacheThatIsSomebodyElses replaces what is no file of ours alone, and leaves it as it is.
func TestCacheThatIsSomebodyElses(t *testing.T) {
	t.Parallel()
	c := newCached(t, 2)
	c.write(t, 0)
	path, other := cachePath(c.yaml, c.cache), filepath.Join(filepath.Dir(c.yaml), "other")
	for what, make := range map[string]func() error{
		"a second name":     func() error { return os.Link(path, other) },
		"a link":            func() error { return os.Symlink(other, path) },
		"open to everybody": func() error { return os.WriteFile(path, []byte("theirs"), 0o644) },
	} {
		if what != "a second name" {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(other, []byte("theirs"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := make(); err != nil {
			t.Fatal(err)
		}
		before, err := os.ReadFile(other)
		if err != nil {
			t.Fatal(err)
		}
		c.rows = c.rows[:len(c.rows)-1]
		c.write(t, 0)
		after, err := os.ReadFile(other)
		if info, e := os.Lstat(path); err != nil || e != nil || !info.Mode().IsRegular() || info.Mode().Perm() != 0o600 || string(after) != string(before) {
			t.Errorf("%s: %v %v %v, the other file says %q, before %q", what, err, e, info, after, before)
		}
		if _, ok := Cached(c.yaml, c.cache); !ok {
			t.Errorf("%s: no cache", what)
		}
		_ = os.Remove(other)
		c.rows = append(c.rows, []byte(full))
	}
}

func BenchmarkCached(b *testing.B) {
	for _, later := range []time.Duration{0, time.Hour} {
		b.Run(fmt.Sprintf("read=%s", later), func(b *testing.B) {
			c := newCached(b, 50)
			if err := os.WriteFile(c.yaml, []byte(strings.Repeat("x", 50<<10)), 0o600); err != nil {
				b.Fatal(err)
			}
			c.write(b, later)
			b.ReportAllocs()
			for b.Loop() {
				if rows, ok := Cached(c.yaml, c.cache); !ok || len(rows) != 50 {
					b.Fatal(len(rows), ok)
				}
			}
		})
	}
}
