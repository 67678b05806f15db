// Package boundtest measures for tests what hostile input costs: the processor time and the peak of memory of work on one input,
// in a process of its own, so that neither other tests nor a machine that is busy count.
//
// A test calls Each with its inputs. Started again as a child, the same test does the work on one of them. Tests that measure
// in their own process ask Work, and Race or OneGoroutine where the detector would only slow them down.
package boundtest

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// MaxTime and MaxMemory are what the work on a mebibyte of input may cost.
const (
	MaxTime   = time.Second
	MaxMemory = 64 << 20
)

// chosen is the variable of a child that names its input.
const chosen = "TUTTI_BOUNDTEST"

// An Input is something hostile. Make is not measured.
type Input struct {
	Name string
	Make func() []byte
}

// Each does the work on each input in a process of its own and fails for those that cost more than they may. It is skipped where
// the system does not tell the peak, and with the race detector, which multiplies both.
func Each(t *testing.T, inputs []Input, do func(t *testing.T, input []byte)) {
	t.Helper()
	switch {
	case Race:
		t.Skip("the race detector takes time and memory of its own")
	case os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) != nil:
		t.Skip("the system does not tell the peak of memory")
	}
	if name := os.Getenv(chosen); name != "" {
		for _, in := range inputs {
			if in.Name == name {
				child(t, in.Make(), do)
			}
		}
		return
	}
	for _, in := range inputs {
		t.Run(in.Name, func(t *testing.T) { parent(t, in.Name) })
	}
}

// Work does work of one goroutine in this very process, and fails the test where that took more than limit of a processor. With the
// race detector nothing is said.
func Work(t testing.TB, what string, limit time.Duration, do func()) {
	t.Helper()
	runtime.LockOSThread() // what other tests do counts on other threads
	defer runtime.UnlockOSThread()
	before := threadTime(t)
	do()
	took := threadTime(t) - before
	t.Logf("%s took %v of a processor", what, took)
	if !Race && took > limit {
		t.Errorf("%s took %v of a processor, at most %v are allowed", what, took, limit)
	}
}

// threadTime is the processor time of this thread.
func threadTime(t testing.TB) time.Duration {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		t.Fatal(err)
	}
	return time.Duration(now.Nano())
}

func parent(t *testing.T, name string) {
	test, _, _ := strings.Cut(t.Name(), "/")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+regexp.QuoteMeta(test)+"$", "-test.v")
	cmd.Env = append(os.Environ(), chosen+"="+name)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	_, told, ok := strings.Cut(string(out), marker)
	if !ok {
		t.Fatalf("the child did no work:\n%s", out)
	}
	told, _, _ = strings.Cut(told, "\n")
	var cpu, peak int64
	if _, err := fmt.Sscan(told, &cpu, &peak); err != nil {
		t.Fatalf("%q: %v", told, err)
	}
	t.Logf("%v, %.1f MiB", time.Duration(cpu), float64(peak)/(1<<20))
	if time.Duration(cpu) > MaxTime || peak > MaxMemory {
		t.Errorf("took %v of a processor (at most %v) and %.1f MiB (at most %d)", time.Duration(cpu), MaxTime, float64(peak)/(1<<20), MaxMemory>>20)
	}
}

// marker stands before what a child has measured.
const marker = "boundtest measured "

func child(t *testing.T, input []byte, do func(t *testing.T, input []byte)) {
	t.Helper()
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
	before, began := peak(t), used(t)
	do(t, input)
	fmt.Printf("%s%d %d\n", marker, int64(used(t)-began), peak(t)-before)
}

// used is the processor time of this process, of all its threads: what the collector takes counts, too.
func used(t *testing.T) time.Duration {
	t.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		t.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// peak is the most memory that was resident since clear_refs.
func peak(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(l, "VmHWM:"); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatal("no VmHWM")
	return 0
}

// JSON are objects of about so many bytes that cost a parser of JSON most.
func JSON(size int) []Input {
	fill := func(head, each, tail string) func() []byte {
		return func() []byte {
			var b strings.Builder
			b.WriteString(head)
			for n := 0; b.Len() < size-len(each)-len(tail)-16; n++ {
				b.WriteString(strings.ReplaceAll(each, "#", strconv.FormatInt(int64(n), 36)))
			}
			return []byte(b.String() + tail)
		}
	}
	return []Input{
		{"tiny members", fill(`{"a":1`, `,"#":1`, `}`)},
		{"one member again and again", fill(`{"a":1`, `,"a":1`, `}`)},
		{"members as numbers, backwards", func() []byte {
			var b strings.Builder
			b.WriteString(`{"a":1`)
			for n := 9_999_999; b.Len() < size-16; n-- {
				fmt.Fprintf(&b, `,"%d":1`, n)
			}
			return []byte(b.String() + "}")
		}},
		{"empty objects", fill(`{"a":[{}`, `,{}`, `]}`)},
		{"objects of one", fill(`{"a":[{}`, `,{"a":1}`, `]}`)},
		{"deep", func() []byte { return []byte(strings.Repeat(`{"a":`, size/6) + "1" + strings.Repeat("}", size/6)) }},
		{"deep again and again", fill(`{"a":[1`, ","+strings.Repeat("[", 500)+strings.Repeat("]", 500), `]}`)},
		{"numbers", fill(`{"a":[1`, `,1e-#9`, `]}`)},
		{"a long number", func() []byte { return []byte(`{"a":` + strings.Repeat("9", size) + `}`) }},
		{"escapes", fill(`{"a":"`, `\u00e9`, `"}`)},
		{"escaped names", fill(`{"a":1`, `,"\u0061#":1`, `}`)},
		{"signatures", fill(`{"signatures":[{"by":"a:b:c","alg":"ed25519","value":"A"}`, `,{"by":"a:b:#","alg":"ed25519","value":"A"}`, `]}`)},
	}
}

// OneGoroutine skips a long test under the race detector, which makes it many times slower, where no second goroutine is there to race with.
func OneGoroutine(t testing.TB) {
	t.Helper()
	if Race {
		t.Skip("one goroutine's work: the detector makes it slow and has nothing to see")
	}
}
