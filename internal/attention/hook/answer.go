package hook

import (
	"errors"
	"fmt"

	"tutti/internal/agents/driver"
)

// MaxAnswer is how many bytes one answer has at the most, with all that stands around the texts. A model reads it at every step.
const MaxAnswer = 2048

// answer makes the answer to the event.
func (e *event) answer(text string) (driver.Answer, bool) {
	if e.call.Event.Moment == driver.Stop {
		return e.hooks.GoOn(e.call.Event, text)
	}
	return e.hooks.Add(e.call.Event, text)
}

// errHalted reports that a halt came before the answer was printed. The denial was printed instead.
var errHalted = errors.New("a halt came before the answer was printed")

// write prints the answer. Whether the agent must stand still is asked right before: what is printed cannot be taken back.
func (e *event) write(text string) error {
	a, _ := e.answer(text)
	if why, must := e.refused(); must {
		return errors.Join(errHalted, e.deny(why))
	}
	e.said = true
	if _, err := e.o.Out.Write(a.Out); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}

// say says something that asks for no turn.
func (e *event) say(text string) error {
	if e.call.Event.Moment == driver.Stop {
		return nil
	}
	if _, hears := e.answer(text); !hears {
		return nil
	}
	return e.write(text)
}

// tell says what the agent does now.
func (e *event) tell() {
	if e.o.Tell != nil {
		m := e.call.Event.Moment
		e.o.Tell(&e.call, e.r.Instance, e.more || m == driver.Prompt || m == driver.Tool)
	}
}
