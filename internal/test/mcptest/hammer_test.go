package mcptest

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tutti/internal/test/boundtest"
)

// calls is how many are made in all by the four goroutines.
func calls() int {
	if soak {
		return 10_000
	}
	if boundtest.Race {
		return 120 // at ten a second
	}
	return 400
}

const (
	// maxGrowth is by how much the anonymous memory of a server may grow after its first thousand calls, in KiB.
	maxGrowth = 2 << 10
	// maxAnswer is how long the slowest call may take beside everything that runs at the same time.
	maxAnswer = 20 * time.Second
)

// TestConcurrentHostileLoad: two goroutines of one connection, a second server of the same agent and the server of another one call every
// tool, while hostile things of every kind appear, change and vanish in the folders that they look into. Each call is
// answered once, nothing that was sent is lost or offered twice, and nothing is left behind.
func TestConcurrentHostileLoad(t *testing.T) {
	t.Parallel()
	r := newRig(t, "H2A_HEARTBEAT_INTERVAL_MS=1000")
	a1, b := r.start("claude", "a"), r.start("codex", "b")
	a2 := r.start("claude", "a")
	servers := []*serverProcess{a1, a2, b}
	ana, bob := a1.me(), b.me()
	if a2.me() != ana {
		t.Fatalf("two servers in one folder are %s and %s", ana, a2.me())
	}
	field := newField(t, r.root, ana, bob)
	field.plant()
	l := newLedger()
	files := map[*serverProcess][]string{}
	for _, s := range servers {
		work(newPlayer(s, l, 0, ana, bob), 60) // so that everything is open that stays open
		files[s] = settled(s)
	}

	stop := field.churn(func() int { return int(a1.count.Load() + a2.count.Load() + b.count.Load()) })
	began := time.Now()
	early := map[*serverProcess]int{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for n, s := range []*serverProcess{a1, a1, a2, b} {
		all.Go(func() {
			p := newPlayer(s, l, uint64(n)+1, ana, bob)
			for range calls() / 4 {
				p.step()
				mu.Lock()
				if s.count.Load() >= 1000 && early[s] == 0 {
					early[s] = s.anon()
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	span := time.Since(began)
	hostile := stop()
	for _, s := range servers {
		l.drain(s)
	}

	field.check()
	l.check(t, r.root, ana, bob)
	total := 0
	for _, s := range servers {
		total += int(s.count.Load())
		s.checkTimes()
		if at := early[s]; at > 0 {
			made, high := s.count.Load(), s.anon()
			low := s.rested(at + maxGrowth)
			t.Logf("%s: %d KiB after 1,000 calls, %d KiB after %d, %d KiB at rest", s.name, at, high, made, low)
			if low > at+maxGrowth {
				t.Errorf("%s: its memory grew by %d KiB", s.name, low-at)
			}
		}
		if now := settled(s); len(now) > len(files[s]) {
			t.Errorf("%s: open files were\n%s\nand are\n%s", s.name, joined(files[s]), joined(now))
		}
	}
	t.Logf("%d calls, %.0f/s; %d hostile things; %s", total, float64(calls())/span.Seconds(), hostile, l)
	for _, s := range servers {
		if text := s.errs.String(); strings.Contains(text, "gets no notices") || strings.Contains(text, "panic") {
			t.Errorf("%s said: %s", s.name, tail(text))
		}
		if code, took := s.end(0); code != 0 || took > soon {
			t.Errorf("%s: status %d after %v", s.name, code, took)
		}
	}
	if left := r.sessions(); len(left) > 0 {
		t.Errorf("sessions left: %q", left)
	}
}

// rested is the anonymous memory of a server after small calls, until it is no more than enough. Reading all of its mail leaves
// garbage, which a server keeps until it does something again.
func (s *serverProcess) rested(enough int) int {
	s.t.Helper()
	least := s.anon()
	for end := time.Now().Add(patience); least > enough && time.Now().Before(end); least = min(least, s.anon()) {
		for range 20 {
			s.call("tutti_peers", nil)
		}
	}
	return least
}

// settled are the open files of a server once nothing is in hand any more.
func settled(s *serverProcess) []string {
	least := s.files()
	for range 40 {
		time.Sleep(5 * time.Millisecond)
		if now := s.files(); len(now) < len(least) {
			least = now
		}
	}
	return least
}

func (s *serverProcess) checkTimes() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []time.Duration
	for _, tool := range slices.Sorted(maps.Keys(s.took)) {
		took := slices.Sorted(slices.Values(s.took[tool]))
		all = append(all, took...)
		if soak {
			s.t.Logf("%s: %-22s %5d calls, median %v, slowest %v", s.name, tool, len(took), took[len(took)/2], took[len(took)-1])
		}
	}
	slices.Sort(all)
	s.t.Logf("%s: %d calls, answered in %v (median), %v (99 of 100), %v (slowest); longest result %d bytes", s.name, len(all),
		all[len(all)/2], all[len(all)*99/100], all[len(all)-1], s.longest)
	if slowest := all[len(all)-1]; slowest > maxAnswer {
		s.t.Errorf("%s: a call took %v", s.name, slowest)
	}
}
