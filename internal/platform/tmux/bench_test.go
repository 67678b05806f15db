package tmux

import (
	"crypto/rand"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkAgainstTmux measures what this package adds to the program it calls: each round does the same by hand and by the package, in turn.
func BenchmarkAgainstTmux(b *testing.B) {
	if _, err := exec.LookPath("tmux"); err != nil {
		b.Skip("SKIPPED: tmux is not installed")
	}
	s, err := Named("t" + rand.Text()[:8])
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	raw := func(args ...string) {
		if out, err := exec.Command("tmux", append([]string{"-u", "-f", "/dev/null", "-L", s.name}, args...)...).CombinedOutput(); err != nil {
			b.Fatalf("%q: %v: %s", args, err, out)
		}
	}
	defer raw("kill-server")
	spec := Spec{Dir: dir, Argv: []string{"cat", "-"}, Owner: "bench", Isolated: true}
	for i := range 20 {
		spec.Name = fmt.Sprintf("keep%d", i)
		if _, err := s.New(b.Context(), spec); err != nil {
			b.Fatal(err)
		}
	}
	took := map[string][]time.Duration{}
	clock := func(what string, f func()) {
		begin := time.Now()
		f()
		took[what] = append(took[what], time.Since(begin))
	}
	for b.Loop() {
		clock("new-raw", func() { raw("new-session", "-d", "-s", "raw", "-x", "200", "-y", "50", "-c", dir, "--", "cat", "-") })
		var p Pane
		clock("new-ours", func() {
			spec.Name = "ours"
			if p, err = s.New(b.Context(), spec); err != nil {
				b.Fatal(err)
			}
		})
		clock("list-raw", func() { raw("list-panes", "-a") })
		clock("list-ours", func() {
			if _, err := s.Panes(b.Context()); err != nil {
				b.Fatal(err)
			}
		})
		clock("find-ours", func() {
			if _, err := s.Find(b.Context(), "ours"); err != nil {
				b.Fatal(err)
			}
		})
		clock("kill-raw", func() { raw("kill-session", "-t", "=raw") })
		clock("kill-ours", func() {
			if err := s.Kill(b.Context(), p); err != nil {
				b.Fatal(err)
			}
		})
	}
	for what, all := range took {
		slices.Sort(all)
		b.ReportMetric(float64(all[len(all)/2].Microseconds()), strings.ReplaceAll(what, "-", "/")+"-µs")
	}
	b.ReportMetric(0, "ns/op")
}
