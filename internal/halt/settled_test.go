package halt

import (
	"os"
	"testing"
	"time"
)

// A reason comes after the entry, later than one look, when its writer was put off the processor.
func TestSettledWaitsForTheReason(t *testing.T) {
	home(t)
	for try := range 5 { // a machine under load may put off the reason for longer than anybody waits
		write(t, Path(), "")
		go func() {
			time.Sleep(settle / 2)
			write(t, Path()+".new", "runaway loop")
			if err := os.Rename(Path()+".new", Path()); err != nil {
				t.Error(err)
			}
		}()
		s := Settled()
		if s.Halted && s.Reason == "runaway loop" {
			return
		}
		t.Logf("try %d: %+v", try, s)
		for Read().Reason == "" {
			time.Sleep(time.Millisecond)
		}
		must(t, os.Remove(Path()))
	}
	t.Error("the reason was never waited for")
}

// fastest is the shortest time that what took.
func fastest(what func()) time.Duration {
	best := time.Hour
	for range 20 {
		start := time.Now()
		what()
		best = min(best, time.Since(start))
	}
	return best
}

func TestSettledReturnsAtOnce(t *testing.T) {
	home(t)
	if s := Settled(); s.Halted {
		t.Fatalf("Settled() = %+v with no entry", s)
	}
	quick := func(what string, f func()) {
		t.Helper()
		if took := fastest(f); took > settle/2 {
			t.Errorf("%s took %v at best", what, took)
		}
	}
	quick("Settled, not halted", func() { Settled() })
	write(t, Path(), "disk check")
	quick("Settled with a reason", func() { Settled() })
	write(t, Path(), "")
	must(t, os.Chtimes(Path(), time.Time{}, time.Unix(1, 0)))
	quick("Settled with an old entry without a reason", func() { Settled() })
	must(t, os.Remove(Path()))
	must(t, os.Mkdir(Path(), 0o700))
	quick("Settled with a folder", func() { Settled() })
}

// A command that is about to act must not wait, whatever the entry looks like.
func TestCheckNeverWaits(t *testing.T) {
	home(t)
	took := fastest(func() {
		write(t, Path(), "")
		if err := Check("send"); err == nil {
			t.Error("Check allows what is halted")
		}
		must(t, os.Remove(Path()))
	})
	if took > settle/2 {
		t.Errorf("Check beside a new entry took %v at best", took)
	}
}
