package fast

import (
	"encoding/json"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/mail"
	"tutti/internal/comms/exchange"
	"tutti/internal/core/address"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
)

// An ItemView is a message with its whole envelope.
type ItemView struct {
	ID                string           `json:"id"`
	From              address.Instance `json:"from"`
	Role              string           `json:"role"`
	Verdict           string           `json:"verdict"`                 // what its signatures are worth
	VerdictDetail     string           `json:"verdictDetail,omitempty"` // why
	AddressedTo       address.Instance `json:"addressedTo,omitempty"`   // another agent, to which its sender addressed it
	RoleNotRegistered bool             `json:"roleNotRegistered"`
	Provenance        string           `json:"provenance"` // peer
	storedView
	Envelope json.RawMessage `json:"envelope"` // as it is stored on the bus
}

// ViewItem is a message for programs.
func ViewItem(item *mail.Item) ItemView {
	e, v := item.Envelope, &item.Verdict
	return ItemView{
		e.ID, e.Actor.Instance, e.Actor.Role, v.Word.String(), v.Detail, v.AddressedTo, v.RoleNotRegistered, "peer", viewStored(item.Message), e.Raw,
	}
}

// A takenView is what receive took.
type takenView struct {
	OK          bool             `json:"ok"`
	Instance    address.Instance `json:"instance"` // whose mail it is
	Messages    []ItemView       `json:"messages"`
	Left        int              `json:"left"`                  // how many more there are
	LeftAtLeast bool             `json:"leftAtLeast,omitempty"` // there can be more than left
	Held        []string         `json:"held"`                  // ids of those that the settings hold back
	Unfit       int              `json:"unfit"`                 // files in the mailbox that are not messages
}

func viewTaken(d *kit.Account, t *mail.Taken) takenView {
	v := takenView{OK: true, Instance: d.Who.Instance, Messages: []ItemView{}, Left: t.Left, LeftAtLeast: t.More, Unfit: len(t.Strange)}
	for i := range t.Items {
		v.Messages = append(v.Messages, ViewItem(&t.Items[i]))
	}
	v.Held = render.Each(t.Held, func(item mail.Item) string { return item.Envelope.ID })
	return v
}

// A receiptView is what became of a message.
type receiptView struct {
	OK            bool             `json:"ok"`
	ID            string           `json:"id,omitempty"`
	Thread        string           `json:"thread,omitempty"`
	To            address.Instance `json:"to"`
	Asked         address.Instance `json:"asked,omitempty"` // the address as it was given, if it is another
	Outcome       mail.Outcome     `json:"outcome"`         // delivered, deposited, queued, already or refused
	Live          bool             `json:"live"`            // it has a live connection
	FreshSessions int              `json:"freshSessions"`   // how many
	Reads         string           `json:"reads,omitempty"` // when its reader looks at it
	Signed        bool             `json:"signed"`
	Machine       string           `json:"machine,omitempty"`    // for which it is queued
	Up            *bool            `json:"up,omitempty"`         // tutti up runs and carries it there
	Stored        string           `json:"stored,omitempty"`     // when
	Resolution    string           `json:"resolution,omitempty"` // how the address was resolved
	Reason        string           `json:"reason,omitempty"`
	Candidates    []string         `json:"candidates,omitempty"` // agents that may have been meant
	Hint          string           `json:"hint,omitempty"`
	Answer        *ItemView        `json:"answer,omitempty"` // with --wait
	Trace         []markView       `json:"trace,omitempty"`  // with --until: the steps on record
	Line          int              `json:"line,omitempty"`   // with --batch: of the input
}

// viewReceipt is one receipt for programs. text is the message as a command to type shows it.
func viewReceipt(c *kit.Call, r *mail.Receipt, text string) receiptView {
	v := receiptView{
		OK: r.Outcome != mail.Refused, ID: r.ID, Thread: r.Thread, To: r.To, Outcome: r.Outcome, Live: r.Live > 0, FreshSessions: r.Live,
		Reads: string(r.Outlook.Reads), Signed: r.Signed, Resolution: string(r.Decision.Kind), Reason: r.Decision.Reason,
	}
	if r.Asked != r.To {
		v.Asked = r.Asked
	}
	if r.Outcome == mail.Queued {
		up := upRuns(c)
		v.Machine, v.Up = mail.Machine(r.Away), &up
	}
	if !r.Stored.IsZero() {
		v.Stored = envelope.Stamp(r.Stored)
	}
	if r.Err != nil {
		v.Reason, v.Candidates, v.Hint = r.Err.Error(), Names(r.Decision.Candidates), instead(c, r, text)
	}
	return v
}

// A projectView is what became of a message to a project, with the members of that to an agent.
type projectView struct {
	OK            bool              `json:"ok"`
	ID            string            `json:"id"`     // name of the message file
	Thread        string            `json:"thread"` // the conversation
	To            string            `json:"to"`
	Outcome       string            `json:"outcome"`       // deposited, already or dry run
	Live          bool              `json:"live"`          // false: it is not known
	FreshSessions int               `json:"freshSessions"` // 0: it is not known
	Signed        bool              `json:"signed"`
	Stored        string            `json:"stored,omitempty"` // when
	Project       exchange.SentView `json:"project"`
}

// A projectRefusedView is a message to a project that was not delivered.
type projectRefusedView struct {
	OK         bool         `json:"ok"` // false
	To         string       `json:"to"`
	Outcome    mail.Outcome `json:"outcome"` // refused
	Reason     string       `json:"reason"`
	Hint       string       `json:"hint,omitempty"`
	ReasonCode string       `json:"reasonCode,omitempty"`
	Bundle     string       `json:"bundle,omitempty"` // under which the message is kept for another try
}
