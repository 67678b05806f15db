package poll

import (
	"context"
	"errors"
	"strings"

	"tutti/internal/comms/exchange"
	"tutti/internal/comms/protocol"
)

// A Farewell is what became of the message by which a project pauses one conversation.
type Farewell struct {
	Conversation string `json:"conversation_id"`
	To           string `json:"to"`
	Sent         bool   `json:"sent"`
	Bundle       string `json:"bundle,omitempty"` // under which the message is kept
	Error        string `json:"error,omitempty"`
}

// Pause tells the other side of each open conversation that does not wait for a user that this project pauses. The error is the first of those in
// the list. A body of blanks is [protocol.FarewellBody].
func Pause(ctx context.Context, office *exchange.Service, opt Options, retries int, body string) (told []Farewell, worst, err error) {
	p := newPoll(office, opt)
	seen, err := p.survey(ctx)
	if err != nil {
		return nil, nil, err
	}
	if seen != nil {
		p.openTalks(seen)
	}
	if strings.TrimSpace(body) == "" {
		body = protocol.FarewellBody
	}
	told = []Farewell{}
	for i := range p.found.Open {
		talk := p.found.Open[i].Talk
		if talk.PollingPaused {
			continue
		}
		f := Farewell{Conversation: talk.ID, To: p.addressOf(talk.ID, talk.Partner, "")}
		err := p.progress(ctx, talk, exchange.Draft{Destination: f.To, Retries: retries, QueueOnHalt: true}, "Pausing", body)
		if f.Sent = err == nil; err != nil {
			f.Error = err.Error()
			if e, ok := errors.AsType[*exchange.SendError](err); ok {
				f.Bundle = e.Bundle
			}
			if worst == nil {
				worst = err
			}
		}
		told = append(told, f)
	}
	return told, worst, nil
}
