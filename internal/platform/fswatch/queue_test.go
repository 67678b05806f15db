package fswatch

import (
	"strconv"
	"testing"
)

func TestQueueMergesByName(t *testing.T) {
	var q queue
	q.add(Event{Name: "a", Op: Created}, 10)
	q.add(Event{Name: "b", Op: Created}, 10)
	q.add(Event{Name: "a", Op: Written}, 10)
	q.add(Event{Op: Self}, 10)
	want := []Event{{Name: "a", Op: Created | Written}, {Name: "b", Op: Created}, {Op: Self}}
	for i, w := range want {
		if got, ok := q.take(); !ok || got != w {
			t.Errorf("event %d = %+v, %v; want %+v", i, got, ok, w)
		}
	}
	if got, ok := q.take(); ok {
		t.Errorf("one event too many: %+v", got)
	}
}

func TestQueueIsBounded(t *testing.T) {
	var q queue
	for i := range 100_000 {
		q.add(Event{Name: strconv.Itoa(i), Op: Created}, 16)
		if len(q.events) > 16 || len(q.order) > 16 {
			t.Fatalf("after %d names: %d events, %d in order; want at most 16", i+1, len(q.events), len(q.order))
		}
	}
	got, ok := q.take()
	if !ok || got.Op&Overflow == 0 {
		t.Fatalf("first event = %+v, %v; want an overflow", got, ok)
	}
	q.add(Event{Name: "after", Op: Created}, 16)
	if got, ok := q.take(); !ok || got.Name != "after" {
		t.Fatalf("event after the overflow = %+v, %v; want the name", got, ok)
	}
}

// A subscriber that always has something waiting must not make the order grow.
func TestQueueOrderIsBounded(t *testing.T) {
	var q queue
	q.add(Event{Name: "first", Op: Created}, 16)
	for i := range 100_000 {
		q.add(Event{Name: strconv.Itoa(i), Op: Created}, 16)
		q.take()
	}
	if len(q.events) != 1 || cap(q.order) > 1000 {
		t.Errorf("%d events wait in an order of %d; want one, and a small order", len(q.events), cap(q.order))
	}
}

func TestOpString(t *testing.T) {
	for op, want := range map[Op]string{0: "", Created: "created", Written | Self: "written|self", Gone | Overflow: "gone|overflow"} {
		if got := op.String(); got != want {
			t.Errorf("Op(%d) = %q, want %q", op, got, want)
		}
	}
}
