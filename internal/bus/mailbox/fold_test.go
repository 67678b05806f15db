package mailbox

import (
	"testing"

	"tutti/internal/core/canonjson"
)

// TestOnlyStored: a line that is left out at a glance has no other step.
func TestOnlyStored(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		string((&Mark{ID: "a", Step: Stored, At: noon, By: "x"}).line()):  true,
		string((&Mark{ID: "a", Step: Shown, At: noon, By: "x"}).line()):   false,
		`{"id":"a","step":"stored","step":"shown"}`:                       false,
		`{"id":"a","step":"shown","result":{"step":"stored"}}`:            false,
		`{"id":"a","step":"stored","\u0073tep":"shown"}`:                  false,
		`{"id":"a","result":"\"step\":\"stored\"","at":1,"step":"shown"}`: false,
		`{"id":"a", "step" : "stored"}`:                                   false, // who knows
	} {
		if got := onlyStored([]byte(line)); got != want {
			t.Errorf("%s: got %v, want %v", line, got, want)
		}
		if step, _ := canonjson.Get([]byte(line), "step"); want && !canonjson.Is(step, string(Stored)) {
			t.Errorf("%s: its step is %s", line, step)
		}
	}
}
