package lifecycle

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
)

// TestExpected: what the bus has made ready for a program is used when it was started, and taken back when it was not.
func TestExpected(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		halts   int32 // at which question; 0: never
		began   int32
		dropped int32
	}{"started": {0, 1, 0}, "halted before it was started": {2, 0, 1}, "halted at once": {1, 0, 0}} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			var asked, expected, began, dropped atomic.Int32
			m := r.creator("types", func(o *Options) {
				o.Halted = func() error {
					if asked.Add(1) == c.halts {
						return errors.New("halted")
					}
					return nil
				}
				o.Bus = Bus{
					Expected: func(_ context.Context, b Birth) func() {
						if b.Owner == "" || b.Name != "a" || b.Dir == "" || b.Process.PID != 0 {
							t.Errorf("expected %+v", b)
						}
						expected.Add(1)
						return func() { dropped.Add(1) }
					},
					Began: func(_ context.Context, b Birth) (string, error) {
						if expected.Load() != 1 || b.Process.PID == 0 {
							t.Errorf("began before it was expected, or without a process: %+v", b)
						}
						began.Add(1)
						return "claude:api:0123456789ab", nil
					},
				}
			})
			_, err := m.Create(t.Context(), CreateRequest{Agent: "claude", Name: "a"})
			if (err != nil) != (c.halts > 0) {
				t.Errorf("create: %v", err)
			}
			if began.Load() != c.began || dropped.Load() != c.dropped || expected.Load() != c.began+c.dropped {
				t.Errorf("expected %d times, began %d, want %d, dropped %d, want %d", expected.Load(), began.Load(), c.began, dropped.Load(), c.dropped)
			}
		})
	}
}
