package observe

import (
	"testing"

	"tutti/internal/sessions/registry"
)

// A server that is asked in the moment of its end is not unknown for long.
func TestEndOfAServer(t *testing.T) {
	t.Parallel()
	sc := newScene(t)
	for range 15 {
		one := sc.Begin("one", "sleep", "1000")
		sc.Do("kill-server")
		rows := []registry.Row{one}
		if s := NewView(t.Context(), rows).Observe(&one); s.State != Absent {
			t.Fatalf("a glance: %v, %v", s.State, s.Err)
		}
	}
}
