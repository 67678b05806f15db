package live

import (
	"testing"

	"tutti/internal/bus/follow"
	"tutti/internal/halt"
)

// TestLatePollAfterResume: a look at the switch that ends after the user let the session go on stops nothing, and the next one does.
func TestLatePollAfterResume(t *testing.T) {
	engages := true
	h := &held{}
	h.a = &Attendance{o: Options{Switch: follow.Switch{Read: func() halt.State {
		if engages {
			h.engaged.Add(1)
		}
		return halt.State{Halted: true}
	}}}}
	if s := h.readSwitch(); !s.Halted || h.isStopped() {
		t.Errorf("a look from before: halted %v, stopped %v; want true, false", s.Halted, h.isStopped())
	}
	engages = false
	for range 2 {
		if h.readSwitch(); !h.isStopped() {
			t.Error("a look from after it does not stop the session")
		}
	}
	if h.engaged.Add(1); h.isStopped() {
		t.Error("it is stopped after its user let it go on")
	}
}
