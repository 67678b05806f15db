package trust

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/core/signature"
)

func pinsFile(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "state", "pins.jsonl")
}

func get(p *Pins, i address.Instance) string {
	keys, ok := p.Get(i)
	if !ok {
		return "none"
	}
	return fmt.Sprintf("%x", keys[0][:2])
}

func TestPins(t *testing.T) {
	t.Parallel()
	path := pinsFile(t)
	p, other := OpenPins(path), OpenPins(path) // other: a second program
	a, b := signature.Public{0xA}, signature.Public{0xB}
	if get(p, ana) != "none" || p.Err() != nil || len(p.All()) != 0 {
		t.Errorf("without a file: %s, %v", get(p, ana), p.Err())
	}
	steps := []struct {
		name string
		do   func() error
		want string
		err  error
	}{
		{"pin", func() error { return p.Pin(ana, a, now) }, "0a00", nil},
		{"pin again, other spelling", func() error { return other.Pin("Claude:API:3F2A9C01B7DE", a, now) }, "0a00", nil},
		{"pin another", func() error { return other.Pin(ana, b, now) }, "0a00", ErrPinned},
		{"trust another", func() error { return p.Trust(ana, b, now) }, "0b00", nil},
		{"trust it again", func() error { return p.Trust(ana, b, now) }, "0b00", nil},
		{"forget", func() error { _, err := other.Forget(ana, now); return err }, "none", nil},
		{"forget again", func() error {
			was, err := other.Forget(ana, now)
			if was {
				return errors.New("there was one")
			}
			return err
		}, "none", nil},
		{"pin after that", func() error { return p.Pin(ana, b, now) }, "0b00", nil},
	}
	for _, s := range steps {
		if err := s.do(); !errors.Is(err, s.err) || s.err == nil && err != nil {
			t.Errorf("%s: got %v, want %v", s.name, err, s.err)
		}
		for n, q := range []*Pins{p, other, OpenPins(path)} {
			if got := get(q, ana); got != s.want {
				t.Errorf("%s: reader %d has %s, want %s", s.name, n, got, s.want)
			}
		}
	}
	if all := p.All(); len(all) != 1 || all[0] != (Pin{ana, b, now, FirstContact, "", ""}) {
		t.Errorf("All: %+v", all)
	}
	data, _ := os.ReadFile(path)
	if got := strings.Count(string(data), "\n"); got != 4 {
		t.Errorf("four changes, %d lines:\n%s", got, data)
	}
	for path, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700 | os.ModeDir} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v; want %v", path, info.Mode(), err, want)
		}
	}
}

// TestPinsFailClosed lays out files that cannot be trusted: nothing is pinned by them and nothing is written to them.
func TestPinsFailClosed(t *testing.T) {
	t.Parallel()
	for name, lay := range map[string]func(t *testing.T, path string) error{
		"all may write":   func(t *testing.T, p string) error { return os.Chmod(p, 0o666) },
		"group may write": func(t *testing.T, p string) error { return os.Chmod(p, 0o620) },
		"too large":       func(t *testing.T, p string) error { return os.Truncate(p, maxPins+1) },
		"a folder":        func(t *testing.T, p string) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o700)) },
		"a link": func(t *testing.T, p string) error {
			to := filepath.Join(t.TempDir(), "pins")
			return errors.Join(os.Rename(p, to), os.Symlink(to, p))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := pinsFile(t)
			p := OpenPins(path)
			if err := p.Pin(ana, signature.Public{1}, now); err != nil {
				t.Fatal(err)
			}
			if err := lay(t, path); err != nil {
				t.Fatal(err)
			}
			before, _ := os.Lstat(path)
			if got := get(p, ana); got != "none" || p.Err() == nil {
				t.Errorf("got %s, %v", got, p.Err())
			}
			if err := p.Pin("codex:b", signature.Public{2}, now); err == nil {
				t.Error("pinned")
			}
			if after, _ := os.Lstat(path); after.ModTime() != before.ModTime() || after.Mode() != before.Mode() {
				t.Errorf("changed: %v, %v", before, after)
			}
		})
	}
}

func TestPinsDamagedLines(t *testing.T) {
	t.Parallel()
	path := pinsFile(t)
	p := OpenPins(path)
	if err := p.Pin(ana, signature.Public{1}, now); err != nil {
		t.Fatal(err)
	}
	good, _ := os.ReadFile(path)
	bad := []string{"x", `[]`, `{}`, `{"instance":"a","key":"AA=="}`, `{"instance":"a"}`, `{"instance":5,"key":"` + strings.Repeat("A", 43) + `="}`, "\x00\xff"}
	torn := `{"instance":"codex:b","key":"AA`
	if err := os.WriteFile(path, []byte(strings.Join(bad, "\n")+"\n\n"+string(good)+torn), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := p.Damaged(); len(got) != len(bad)+1 || get(p, ana) != "0100" || p.Err() != nil {
		t.Errorf("damaged %q, pin %s, %v", got, get(p, ana), p.Err())
	}
	if err := p.Pin("codex:c", signature.Public{3}, now); err != nil {
		t.Fatal(err)
	}
	q := OpenPins(path)
	if get(q, "codex:c") != "0300" || get(q, "codex:b") != "none" || get(q, ana) != "0100" || len(q.Damaged()) != len(bad)+1 {
		t.Errorf("after a pin behind a torn line: %+v, damaged %q", q.All(), q.Damaged())
	}
	many := strings.Repeat("x\n", 500)
	if err := os.WriteFile(path, []byte(many), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := q.Damaged(); len(got) != maxDamaged+1 || !strings.Contains(got[maxDamaged], "480 more") {
		t.Errorf("500 damaged lines: %d are named, last %q", len(got), got[len(got)-1])
	}
}

func TestPinsCompact(t *testing.T) {
	t.Parallel()
	path := pinsFile(t)
	p := OpenPins(path)
	if err := p.Pin("codex:keep", signature.Public{7}, now); err != nil {
		t.Fatal(err)
	}
	one, _ := os.ReadFile(path)
	filler := strings.Repeat(string(line(Pin{ana, signature.Public{1}, now, ByPerson, "", ""})), compactAt/100)
	if err := os.WriteFile(path, append(one, filler...), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.Trust(ana, signature.Public{2}, now); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() > 1000 || info.Mode() != 0o600 || get(p, ana) != "0200" || get(p, "codex:keep") != "0700" {
		t.Errorf("%v, %v: %+v", info, err, p.All())
	}
}

// TestPinsManyWriters lets programs and goroutines pin at the same time: one key wins per agent, and no line is lost.
func TestPinsManyWriters(t *testing.T) {
	if path := os.Getenv("PINS_TEST_FILE"); path != "" { // the program that the test starts
		pinMany(t, path, byte(len(os.Getenv("PINS_TEST_KEY"))))
		return
	}
	t.Parallel()
	path := pinsFile(t)
	var wg sync.WaitGroup
	for n := range 3 {
		wg.Go(func() {
			c := exec.Command(os.Args[0], "-test.run=^TestPinsManyWriters$", "-test.v")
			c.Env = append(os.Environ(), "PINS_TEST_FILE="+path, "PINS_TEST_KEY="+strings.Repeat("k", n+1))
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	for n := range 4 {
		wg.Go(func() { pinMany(t, path, byte(n+4)) })
	}
	wg.Wait()
	p := OpenPins(path)
	if all := p.All(); len(all) != 20 || len(p.Damaged()) != 0 {
		t.Errorf("%d pins, damaged %q", len(all), p.Damaged())
	}
	data, _ := os.ReadFile(path)
	if got := strings.Count(string(data), "\n"); got != 20 {
		t.Errorf("%d lines for 20 first contacts", got)
	}
}

func pinMany(t *testing.T, path string, key byte) {
	p := OpenPins(path)
	for n := range 20 {
		i := address.Instance(fmt.Sprintf("codex:agent%d", n))
		err := p.Pin(i, signature.Public{key}, now)
		if err != nil && !errors.Is(err, ErrPinned) {
			t.Error(err)
		}
		if keys, ok := p.Get(i); !ok || (keys[0][0] == key) != (err == nil) {
			t.Errorf("%s: Pin says %v, the pin is %v", i, err, keys)
		}
	}
}

func BenchmarkGet(b *testing.B) {
	p := OpenPins(pinsFile(b))
	for n := range 50 {
		if err := p.Pin(address.Instance(fmt.Sprintf("codex:agent%d", n)), signature.Public{1}, now); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			p.Get("codex:agent7")
		}
	})
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			OpenPins(p.path).Get("codex:agent7")
		}
	})
}

// TestBound: a key that a person has once confirmed stays known beside its successor until it is forgotten. A key that was only met does
// not.
func TestBound(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pins")
	p, who, now := OpenPins(path), address.Instance("human:ana:0123456789ab"), time.Now()
	first, second := signature.Generate().Public(), signature.Generate().Public()
	step := func(err error, want ...signature.Public) {
		t.Helper()
		if got := OpenPins(path).Bound("Human:Ana:0123456789ab"); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v, bound are %d keys, want %d", err, len(got), len(want))
		}
	}
	step(p.Pin(who, first, now))
	step(p.Trust(who, first, now), first)
	step(p.Trust(who, second, now), first, second)
	step(p.Trust(who, first, now), first, second)
	_, err := p.Forget(who, now)
	step(err)
	// A large file is written anew with what it says.
	step(p.Trust(who, first, now), first)
	step(p.Trust(who, second, now), first, second)
	data, err := os.ReadFile(path)
	for len(data) <= compactAt {
		data = append(data, line(Pin{"claude:a:000000000001", first, now, ByPerson, "", ""})...)
	}
	if err := errors.Join(err, os.WriteFile(path, data, 0o600)); err != nil {
		t.Fatal(err)
	}
	step(p.Trust("claude:a:000000000001", second, now), first, second)
	if st, err := os.Stat(path); err != nil || st.Size() > 4096 {
		t.Errorf("it was not written anew: %v, %v", st, err)
	}
}
