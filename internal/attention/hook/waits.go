package hook

import (
	"context"
	"strconv"
	"strings"

	"tutti/internal/agents/driver"
	"tutti/internal/attention/todo"
	"tutti/internal/core/termsafe"
)

// elsewhere lets another program do the whole event, if this is the beginning of a conversation and something may wait for its agent that
// this one cannot tell. It returns when this one goes on.
func (e *event) elsewhere() error {
	if e.o.Waits == nil || e.call.Event.Moment != driver.Start {
		return nil
	}
	if _, hears := e.answer("x"); !hears {
		return nil
	}
	return e.o.Waits(BusChoice{Root: e.was.Root, Dir: e.call.Dir})
}

// waits is the line that says what waits for the agent beside mail, "" for nothing.
func (e *event) waits(ctx context.Context) (string, error) {
	if e.bus.Waits == nil || e.call.Event.Moment != driver.Start {
		return "", nil
	}
	all, err := e.bus.Waits(ctx, e.r.Instance)
	if err != nil || len(all) == 0 {
		return "", err
	}
	return waitsLine(all), nil
}

// maxCommand is how long a command may be that a line says, in bytes.
const maxCommand = 160

// waitsLine tells how many things wait, of which kinds, and what to type first. What others have written of them does not stand in it:
// "tutti status" shows that. A command is said only if it can be nothing else, because a model types what it reads.
func waitsLine(all []todo.Item) string {
	var kinds []string
	of := map[string]int{}
	for _, i := range all {
		if of[i.Kind]++; of[i.Kind] == 1 {
			kinds = append(kinds, i.Kind)
		}
	}
	for n, k := range kinds {
		kinds[n] = strconv.Itoa(of[k]) + " " + k
	}
	s := "Waiting on you, beside mail: " + strings.Join(kinds, ", ") + ". "
	if c := all[0].Command; len(c) <= maxCommand && termsafe.Clean(c) == c && simple(all[0].ID) {
		s += "First: \"" + c + "\". "
	}
	return s + "All: \"tutti status\".\n"
}
