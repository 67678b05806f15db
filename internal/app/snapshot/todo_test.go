package snapshot

import (
	"errors"
	"testing"

	"tutti/internal/app"
	"tutti/internal/attention/todo"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/render"
)

// TestWaitingFault: the JSON says when it is unknown what waits; an empty list would mean that nothing does.
func TestWaitingFault(t *testing.T) {
	t.Parallel()
	v := &View{Root: &app.Root{Path: "/bus"}, Letters: &Letters{Err: errors.New("none")}, Waiting: []todo.Item{{Kind: todo.Held, ID: "h"}}}
	if _, told := canonjson.Get(render.JSON(v.Snapshot()), "waitingFault"); told {
		t.Errorf("a fault where there is none: %s", render.JSON(v.Snapshot()))
	}
	v.Blind = errors.New("the folder cannot be read")
	fault, _ := canonjson.Get(render.JSON(v.Snapshot()), "waitingFault")
	if got, _ := canonjson.String(fault); got != "the folder cannot be read" {
		t.Errorf("the fault is %q", got)
	}
	if list, _ := canonjson.Get(render.JSON(v.Snapshot()), "waiting"); canonjson.Kind(list) != canonjson.TypeArray {
		t.Errorf("what is known is gone: %s", list)
	}
}
