package proc

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestParseStat(t *testing.T) {
	const tail = " 7 41 40 34816 -1 4194560 100 0 0 0 1 2 0 0 20 0 %THREADS% 0 987654 1000 200 18446744073709551615 1 1"
	line := func(comm string, state string, threads string) []byte {
		s := "42 (" + comm + ") " + state + tail
		i := len(s) - len(tail)
		for j := i; j < len(s); j++ {
			if s[j] == '%' {
				return []byte(s[:j] + threads + s[j+len("%THREADS%"):])
			}
		}
		return nil
	}
	for _, tt := range []struct {
		comm, state, threads string
		dead                 bool
	}{
		{"cat", "R", "1", false},
		{"a b", "S", "1", false},
		{") R 1 1", "S", "1", false},
		{"((())", "T", "1", false},
		{"", "S", "1", false},
		{"line\nend) Z 9", "S", "1", false},
		{"zombie", "Z", "1", true},
		{"first thread ended", "Z", "3", false},
		{"dead", "X", "0", true},
	} {
		st, err := parseStat(line(tt.comm, tt.state, tt.threads))
		want := stat{tt.comm, 7, 987654, tt.dead, 41, 40, 34816}
		if st != want || err != nil {
			t.Errorf("comm %q, state %s, %s threads: %+v, %v, want %+v", tt.comm, tt.state, tt.threads, st, err, want)
		}
	}
	for _, bad := range []string{"", "42", "42 (cat", "42 )cat( R 1", "42 (cat) R", "42 (cat) R x 42", "42 (cat) RR 7 42", string(line("cat", "S", "x"))} {
		if st, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("parseStat(%q) = %+v, want an error", bad, st)
		}
	}
}

func TestParseHighWater(t *testing.T) {
	for in, want := range map[string]int64{
		"Name:\tx\nVmHWM:\t   1234 kB\nVmRSS:\t 99 kB\n": 1234 << 10,
		"VmHWM:\tmany kB\n": -1,
		"VmRSS:\t 99 kB\n":  -1,
	} {
		got, err := parseHighWater(in)
		if (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("parseHighWater(%q) = %d, %v, want %d", in, got, err, want)
		}
	}
}

// TestNastyName gives this process a name that breaks a parser that splits at spaces.
func TestNastyName(t *testing.T) {
	const name = "x) Z 1 (y"
	old, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		t.Fatal(err)
	}
	set := func(b []byte) {
		fd, err := unix.Open("/proc/self/comm", unix.O_WRONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		if _, err := unix.Write(fd, b); err != nil {
			t.Fatal(err)
		}
	}
	want, err := Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	set([]byte(name))
	defer set(old[:len(old)-1])
	if got, err := Comm(os.Getpid()); got != name || err != nil {
		t.Errorf("Comm = %q, %v, want %q", got, err, name)
	}
	if got, err := Of(os.Getpid()); got != want || err != nil {
		t.Errorf("Of = %+v, %v, want %+v", got, err, want)
	}
}
