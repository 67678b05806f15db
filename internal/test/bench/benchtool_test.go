package main

import (
	"bufio"
	"context"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestTargets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		target target
		got    measured
		want   bool
		cell   string // the ratio column
	}{
		{"at the limit", timesBase(1.5), measured{1.5, 1}, true, "1.50"},
		{"above the limit", timesBase(1.5), measured{1.6, 1}, false, "1.60"},
		{"rate of bare at the limit", rateOfBase(0.8), measured{1.25, 1}, true, "0.80"},
		{"rate of bare below", rateOfBase(0.9), measured{1.25, 1}, false, "0.80"},
		{"faster than bare", rateOfBase(0.9), measured{0.5, 1}, true, "2.00"},
		{"time at the limit", within(0.0015), measured{0.0015, 0}, true, "–"},
		{"time above", within(0.0015), measured{0.0016, 0}, false, "–"},
		{"none wanted, none found", within(0), measured{0, 0}, true, "–"},
		{"none wanted, one found", within(0), measured{1, 0}, false, "–"},
		{"no target", target{}, measured{7, 0}, true, "–"},
		{"nothing to compare with", timesBase(2), measured{1, 0}, false, "–"},
		{"no figure", within(1), measured{math.NaN(), 0}, false, "–"},
	} {
		r := row{target: c.target, best: c.got}
		if got := r.ok(); got != c.want {
			t.Errorf("%s: %+v against %+v: ok is %v, want %v", c.name, c.got, c.target, got, c.want)
		}
		if got := r.cells()[4]; got != c.cell {
			t.Errorf("%s: %+v: ratio is %q, want %q", c.name, c.got, got, c.cell)
		}
	}
}

func TestBestRoundCounts(t *testing.T) {
	t.Parallel()
	e := &env{ctx: context.Background()}
	for _, c := range []struct {
		name   string
		target target
		rounds []measured
		want   measured
	}{
		{"by time", within(9), []measured{{3, 0}, {1, 0}, {2, 0}}, measured{1, 0}},
		{"by ratio, not by time", timesBase(9), []measured{{3, 1}, {4, 2}, {2, 0.5}}, measured{4, 2}},
	} {
		i := -1
		r := row{target: c.target, round: func(*env) (measured, error) { i++; return c.rounds[i], nil }}
		if err := r.measure(e); err != nil || r.best != c.want {
			t.Errorf("%s: rounds %v: best is %v, %v, want %v", c.name, c.rounds, r.best, err, c.want)
		}
	}
}

func TestFormat(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		unit unit
		v    float64
		want string
	}{
		{seconds, 0.0000123, "12 µs"},
		{seconds, 0.00123, "1.23 ms"},
		{seconds, 0.123, "123 ms"},
		{bytes, 8 << 20, "8.00 MiB"},
		{count, 3, "3"},
		{rate, 0.0005, "2000/s"},
	} {
		if got := (&row{unit: c.unit}).format(c.v); got != c.want {
			t.Errorf("%v: got %q, want %q", c.v, got, c.want)
		}
	}
}

func TestRewriteKeepsTheRest(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "performance.md")
	const head, tail = "# x\n\nbefore\n", "\nafter\n"
	if err := os.WriteFile(path, []byte(head+begin+"\nold\n"+end+tail), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time finds what the first one left
		if err := rewrite(path, "new\n"); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if want := head + begin + "\nnew\n" + end + tail; err != nil || string(got) != want {
			t.Fatalf("got %q, %v\nwant %q", got, err, want)
		}
	}
	for _, text := range []string{"no markers", begin + "\nno end", end + "\n" + begin + "\n"} {
		if got, err := splice(text, "new\n"); err == nil {
			t.Errorf("%q: got %q, want an error", text, got)
		}
	}
}

func TestTableIsMarkdown(t *testing.T) {
	t.Parallel()
	done := []row{
		{subject: "a", work: "one", target: timesBase(2), best: measured{0.002, 0.001}},
		{subject: "a", work: "two", best: measured{0.002, 0}},
	}
	got := table(done, "Measured here.")
	want := strings.Join([]string{
		"| subject | work | measured | floor or bare | ratio | target |  |",
		"| --- | --- | --- | --- | --- | --- | --- |",
		"| a | one | 2.00 ms | 1.00 ms | 2.00 | ≤ 2 | ok |",
		"|  | two | 2.00 ms | – | – | – | – |",
		"", "Measured here. Best of 3 rounds.", "",
	}, "\n")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestInTurns(t *testing.T) {
	t.Parallel()
	var order []string
	step := func(name string, slow time.Duration) func(int) (time.Duration, error) {
		return func(i int) (time.Duration, error) {
			order = append(order, name)
			if i < 2 {
				return time.Hour, nil // cold
			}
			return slow, nil
		}
	}
	got, err := inTurns(context.Background(), 3, step("w", 2*time.Second), step("b", time.Second))
	if want := (measured{2, 1}); err != nil || got != want {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if got := strings.Join(order, ""); got != "wbwbwbwbwb" {
		t.Errorf("order is %q, want turns", got)
	}
	broken := errors.New("broken")
	if _, err := inTurns(context.Background(), 1, func(int) (time.Duration, error) { return 0, broken }, nil); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

func TestVoluntary(t *testing.T) {
	t.Parallel()
	const status = "Name:\tx\nvoluntary_ctxt_switches:\t41\nnonvoluntary_ctxt_switches:\t7\n"
	if got, err := voluntary(bufio.NewScanner(strings.NewReader(status))); got != 41 || err != nil {
		t.Errorf("%q: got %d, %v, want 41", status, got, err)
	}
	if got, err := voluntary(bufio.NewScanner(strings.NewReader("Name:\tx\n"))); err == nil {
		t.Errorf("got %d, want an error", got)
	}
}

// A process that wakes up is seen, and one that is gone is an error: otherwise a count of 0 would say nothing.
func TestSwitchesCountWakeups(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("/proc is Linux's")
	}
	cmd := exec.Command("sh", "-c", "while sleep 0.01; do :; done")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	first, err := switches(cmd.Process.Pid)
	for limit := time.Now().Add(10 * time.Second); err == nil; {
		var n int64
		if n, err = switches(cmd.Process.Pid); n > first+2 {
			break
		}
		if time.Now().After(limit) {
			t.Errorf("a process that sleeps and wakes stays at %d voluntary context switches", n)
			break
		}
	}
	if err != nil {
		t.Error(err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if n, err := switches(cmd.Process.Pid); err == nil {
		t.Errorf("a process that has ended has %d switches, want an error", n)
	}
}

func TestFileSystem(t *testing.T) {
	t.Parallel()
	const mounts = "rootfs / rootfs rw 0 0\n/dev/a / ext4 rw 0 0\ntmpfs /tmp tmpfs rw 0 0\n/dev/b /tmp/x xfs rw 0 0\n"
	for path, want := range map[string]string{"/home/ana": "ext4", "/tmp": "tmpfs", "/tmp/y": "tmpfs", "/tmp/x/1": "xfs", "/tmp/xy": "tmpfs"} {
		if got := fileSystem(mounts, path); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}
