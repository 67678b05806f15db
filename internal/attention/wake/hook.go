package wake

import (
	"context"
	"time"

	"tutti/internal/agents/driver"
)

// startsWithin is how much later than the first hooks of a conversation its server may come: programs start both at once, and a busy
// machine was seen to take longer than 3 s for the server. An agent without a waiting hook cannot be woken before its next turn, and
// waiting in the background costs a look each quarter of a second. At every later event the server is there, or there is none.
const startsWithin = 30 * time.Second

// Await is a hook that waits in the background: the answer says that there is mail, that the agent goes on, or nothing. It ends
// at once if no one would be woken: the CLI cannot be, or it does one task and waits for all that it has started. It waits
// through a halt, so that the agent can be woken afterwards. An error is for a log.
func Await(ctx context.Context, p SocketDir, d *driver.Driver, event string, input []byte) (driver.Answer, error) {
	call, err := d.Hooks.Read(event, input)
	if err != nil {
		return driver.Answer{}, err
	}
	env := p.Env
	if env == nil {
		env = func(string) string { return "" }
	}
	_, wakes := d.Hooks.Rouse(call.Event, Sentence)
	if !wakes || d.Wake.Alone != nil && d.Wake.Alone(env) {
		return driver.Answer{}, nil
	}
	if call.Conversation == "" && d.Hooks.Conversation != "" {
		call.Conversation = env(d.Hooks.Conversation)
	}
	patience := time.Duration(0)
	if call.Event.Moment == driver.Start {
		patience = startsWithin
	}
	c := Caller{Place: p, Host: d.Name, Conversation: call.Conversation, Event: call.Event.Name}
	text, err := Wait(ctx, c, patience)
	if err != nil || text == "" {
		return driver.Answer{}, err
	}
	answer, _ := d.Hooks.Rouse(call.Event, text)
	return answer, nil
}
