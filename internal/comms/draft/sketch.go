package draft

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"tutti/internal/comms/exchange"
	"tutti/internal/comms/overview"
	"tutti/internal/comms/protocol"
	"tutti/internal/core/orgfile"
	"tutti/internal/core/termsafe"
)

// A Sketch is a text that becomes a message to another project. What its author does not say is taken from the state of the
// conversation. Said names the members that the author gave; the others of it are zero.
type Sketch struct {
	Office  *exchange.Service
	Project exchange.Project // that sends
	Survey  overview.Options // a look in which the mailbox of Project is one
	Self    string           // slug of the sender
	To      string           // MACHINE.PROJECT
	Said    Draft
	Warn    func(text string)

	now    time.Time
	thread exchange.Thread
}

// The members that a [MissingError] can name.
const (
	MemberConversation  = "conversation"
	MemberType          = "type"
	MemberReleaseStatus = "release-status"
	MemberResponse      = "response"
)

// A MissingError reports what the author of a message has to say.
type MissingError struct {
	What   string // for people
	Member string
	Likely string // an answer
}

func (e *MissingError) Error() string { return e.What }

// burstTime is how long a message waits for a second of its own. Eight processes that send fifteen messages each need 120 s.
const burstTime = 3 * time.Minute

// Send delivers the text with the options of l. The name of a message has its second, so that each message of a burst waits for the next one: a time in the
// future would let a quick reply sort before what it answers.
func (k *Sketch) Send(ctx context.Context, l exchange.Draft) (*exchange.Sent, error) {
	for until := time.Now().Add(burstTime); ; {
		k.now = time.Now()
		d, err := k.draft(ctx)
		if err != nil {
			return nil, err
		}
		l.Text = d.Text()
		s, err := k.Office.Send(ctx, l)
		taken, _ := errors.AsType[*exchange.SendError](err)
		if taken == nil || taken.Code != exchange.CodeNameTaken || k.now.After(until) {
			return s, err
		}
		select {
		case <-ctx.Done():
			return s, context.Cause(ctx)
		case <-time.After(time.Until(k.now.Truncate(time.Second).Add(time.Second))):
		}
	}
}

// draft completes what the author said.
func (k *Sketch) draft(ctx context.Context) (*Draft, error) {
	d := k.Said
	if err := k.find(ctx, &d); err != nil {
		return nil, err
	}
	state := &k.thread.State
	if err := k.kind(&d, state); err != nil {
		return nil, err
	}
	if d.Type == protocol.Release && state.Refuses(k.Self, d.Type, "") == protocol.WarnReleaseByReceiver {
		return nil, &MissingError{"only the project that made the request releases " + d.Conversation + "; your side sends a complete when the work is done", MemberType, string(protocol.Complete)}
	}
	d.Title = k.title()
	if d.Sequence <= 0 {
		d.Sequence = max(1, state.NextSequence)
	}
	d.Timestamp = protocol.FormatTime(k.now)
	switch {
	case d.Type == protocol.Release && d.ReleaseStatus == "":
		return nil, &MissingError{"--release-status: how does it end? One of " + strings.Join(protocol.ReleaseStatuses(), ", "), MemberReleaseStatus, protocol.ReleasedComplete}
	case d.Response == "" && d.Type == protocol.Request && state.PushbackOpen:
		return nil, &MissingError{"--response: does the request answer the pushback with another scope, or insist?", MemberResponse, protocol.Revise}
	}
	return &d, nil
}

// find finds out which conversation the text belongs to: the one that is named, else the only one that is open with that project.
func (k *Sketch) find(ctx context.Context, d *Draft) error {
	to := termsafe.Clean(k.To)
	if d.Conversation == "" {
		open, err := k.open(ctx)
		if err != nil {
			return err
		}
		switch len(open) {
		case 1:
			d.Conversation = open[0]
		case 0:
			return &MissingError{"no conversation with " + to + " is open; --conversation: what is the new one called?", MemberConversation, SlugOf(d.Body)}
		default:
			return &MissingError{"--conversation: which of those that are open with " + to + "? " + strings.Join(open, ", "), MemberConversation, open[0]}
		}
	}
	if !protocol.Slug(d.Conversation) {
		return &MissingError{
			"--conversation: " + strconv.Quote(termsafe.Clean(d.Conversation)) + " is not a valid name: use small letters, digits and single hyphens, at most " + strconv.Itoa(protocol.MaxSlug),
			MemberConversation, SlugOf(d.Conversation),
		}
	}
	var err error
	if k.thread, err = k.Office.Thread(ctx, k.Project, d.Conversation); err != nil {
		k.Warn("the conversation could not be read as a whole: " + err.Error())
	}
	return nil
}

// open are the conversations with the project that is written to, which are not over.
func (k *Sketch) open(ctx context.Context) ([]string, error) {
	_, name, _ := strings.Cut(k.To, ".")
	partner, _ := protocol.Slugify(name)
	all, err := k.conversations(ctx)
	if err != nil {
		return nil, err
	}
	var open []string
	for i := range all {
		if v := &all[i]; v.Open && v.Partner == partner {
			open = append(open, v.ID)
		}
	}
	return open, nil
}

// conversations are those of the mailbox and archive of the project, or, where it has no mailbox, those that it began.
func (k *Sketch) conversations(ctx context.Context) ([]overview.Conversation, error) {
	if k.Project.Path != "" {
		s, err := overview.Look(ctx, k.Survey)
		if err != nil {
			return nil, err
		}
		if found := s.Project(k.Project.Path); found != nil && found.Err == nil && found.Conversations != nil {
			return found.Conversations, nil
		}
	}
	sent, err := k.Office.Sent(k.Project).Entries("")
	if err != nil {
		return nil, err
	}
	var all []overview.Conversation
	seen := map[string]bool{}
	for i := range sent {
		id := sent[i].Conversation
		if seen[id] {
			continue
		}
		seen[id] = true
		t, _ := k.Office.Thread(ctx, k.Project, id)
		all = append(all, overview.Conversation{ID: id, Partner: t.Partner, State: t.State})
	}
	return all, nil
}

// kind finds the type of the message. A new conversation begins with a request; what comes next in one that is open cannot be known.
func (k *Sketch) kind(d *Draft, s *protocol.State) error {
	if d.Type != "" {
		return nil
	}
	if fresh(&k.thread) {
		d.Type = protocol.Request
		return nil
	}
	likely := protocol.Progress
	switch {
	case s.CapReached:
		likely = protocol.Escalate
	case s.VerificationDue && s.Originator == k.Self:
		likely = protocol.Release
	}
	return &MissingError{"--type: what is it? One of " + strings.Join(protocol.TypeWords(), ", ") + " (" + protocol.StateLine(d.Conversation, s) + ")", MemberType, string(likely)}
}

// MaxTitle is how long a title is that the author did not write.
const MaxTitle = 72

// title is what people see in lists: what was given, else that of the conversation, else how the text begins.
func (k *Sketch) title() string {
	about := ""
	if !fresh(&k.thread) {
		about = k.thread.Messages[0].Title
	}
	if t := cmp.Or(strings.ReplaceAll(k.Said.Title, "\n", " "), about); t != "" {
		return termsafe.Head(termsafe.Clean(t), orgfile.MaxValue)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(k.Said.Body), "\n")
	return termsafe.Head(strings.TrimSpace(termsafe.Clean(first)), MaxTitle)
}
