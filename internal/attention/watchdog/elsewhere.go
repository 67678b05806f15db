package watchdog

import (
	"context"
	"fmt"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
)

// Elsewhere asks for an agent of another machine: by a signed request to the endpoint with which the agent is registered. What
// is to be done there the program there knows from its own entry; the request names nothing to run (see [Request]). An answer
// of 2xx counts: the request is in the mailbox of the agent, and the program that follows it has pauses and a cap of its own.
type Elsewhere struct {
	From envelope.Actor // who asks
	// Where finds the endpoint; "": it has none. away: the agent was shown by another bus, and its endpoint must not be this machine.
	Where func(ctx context.Context, i address.Instance) (url string, away bool, err error)
	Seal  func(raw []byte, url string) ([]byte, error) // signs as From
	Post  func(ctx context.Context, url string, away bool, raw []byte) (status int, err error)
	Now   func() time.Time
}

// Try is of [Relauncher].
func (e Elsewhere) Try(ctx context.Context, t Target) (Attempt, error) {
	url, away, err := e.Where(ctx, t.Instance)
	switch {
	case err != nil:
		return Attempt{}, err
	case url == "":
		return Attempt{Why: "it is registered with no endpoint of another machine"}, nil
	}
	raw, err := envelope.Draft{Actor: e.From, Target: t.Instance, Created: e.Now(), Body: requestBody(t, e.From.Instance)}.Bytes()
	if err != nil {
		return Attempt{}, err
	}
	if raw, err = e.Seal(raw, url); err != nil {
		return Attempt{}, err
	}
	if err := t.Claim(ctx); err != nil {
		return Attempt{}, err
	}
	status, err := e.Post(ctx, url, away, raw)
	switch {
	case err != nil:
		return Attempt{}, err
	case status/100 != 2:
		return Attempt{Why: fmt.Sprintf("its endpoint answered %d", status)}, nil
	}
	return Attempt{Did: true, How: "a request went to its endpoint"}, nil
}

func requestBody(t Target, by address.Instance) []byte {
	var o canonjson.Object
	o.Str("kind", RequestKind)
	o.Str("target", string(t.Instance))
	o.Str("reason", reasonOf(t.Entry))
	o.Str("requestedBy", string(by))
	return o.Bytes()
}
