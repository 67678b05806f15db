package fast

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/comms/exchange"
	"tutti/internal/comms/overview"
	"tutti/internal/comms/protocol"
	"tutti/internal/core/orgfile"
	"tutti/internal/core/termsafe"
	"tutti/internal/faces/cli/kit"
)

// A sketch is a text that becomes a message to another project. What flags do not say is taken from how things stand, and what cannot be known
// is asked for with the line to type.
type sketch struct {
	c       *kit.Call
	office  *exchange.Service
	project exchange.Project
	self    string // slug of the sender
	to      string
	said    string
	now     time.Time

	id    string
	fresh bool // nobody has written in it yet, or it is over
	state protocol.State
	about string // title of the conversation
}

func parseOrg(text string) (orgfile.Header, error) { return orgfile.Parse([]byte(text)) }

// burstTime is how long a message waits for a second of its own. Eight processes that send fifteen messages each need 120 s.
const burstTime = 3 * time.Minute

// send delivers the text. The name of a message has its second, so that each message of a burst waits for the next one: a time in the
// future would let a quick reply sort before what it answers.
func (d *sketch) send(ctx context.Context, l *exchange.Draft) (s *exchange.Sent, err error) {
	for until := time.Now().Add(burstTime); ; {
		d.now = time.Now()
		if l.Text, err = d.text(ctx); err != nil {
			return nil, err
		}
		s, err = d.office.Send(ctx, *l)
		var taken *exchange.SendError
		if !errors.As(err, &taken) || taken.Code != exchange.CodeNameTaken || d.now.After(until) {
			return s, err
		}
		select {
		case <-ctx.Done():
			return s, context.Cause(ctx)
		case <-time.After(time.Until(d.now.Truncate(time.Second).Add(time.Second))):
		}
	}
}

// text is the draft.
func (d *sketch) text(ctx context.Context) ([]byte, error) {
	if err := d.find(ctx); err != nil {
		return nil, err
	}
	kind, err := d.kind()
	if err != nil {
		return nil, err
	}
	if kind == protocol.Release && d.state.Refuses(d.self, kind, "") == protocol.WarnReleaseByReceiver {
		return nil, d.missing("only the project that made the request releases "+d.id+"; your side sends a complete when the work is done", "type", string(protocol.Complete))
	}
	title := d.title()
	sequence := d.state.NextSequence
	if n := d.c.Count("sequence", 0); n > 0 {
		sequence = n
	}
	var b strings.Builder
	line := func(key, value string) {
		b.WriteString("#+" + key + ": " + value + "\n")
	}
	line(orgfile.Title, title)
	line(orgfile.ConversationID, d.id)
	line(orgfile.MessageType, string(kind))
	line(orgfile.Sequence, strconv.Itoa(max(1, sequence)))
	line(orgfile.Timestamp, protocol.FormatTime(d.now))
	line(orgfile.ProtocolVersion, protocol.Version)
	switch status := d.c.Text("release-status"); {
	case kind == protocol.Release && status == "":
		return nil, d.missing("--release-status: how does it end? One of "+strings.Join(protocol.ReleaseStatuses(), ", "), "release-status", protocol.ReleasedComplete)
	case status != "":
		line(orgfile.ReleaseStatus, status)
	}
	switch response := d.c.Text("response"); {
	case response != "":
		line(orgfile.PushbackResponse, response)
	case kind == protocol.Request && d.state.PushbackOpen:
		return nil, d.missing("--response: does the request answer the pushback with another scope, or insist?", "response", protocol.Revise)
	}
	b.WriteString("\n" + d.said)
	if !strings.HasSuffix(d.said, "\n") {
		b.WriteByte('\n')
	}
	return []byte(b.String()), nil
}

// find finds out which conversation the text belongs to: the one that is named, else the only one that is open with that project.
func (d *sketch) find(ctx context.Context) error {
	if d.id = d.c.Text("conversation"); d.id == "" {
		open, err := d.open(ctx)
		if err != nil {
			return err
		}
		switch len(open) {
		case 1:
			d.id = open[0]
		case 0:
			return d.missing("no conversation with "+kit.Clean(d.to)+" is open; --conversation: what is the new one called?", "conversation", SlugOf(d.said))
		default:
			return d.missing("--conversation: which of those that are open with "+kit.Clean(d.to)+"? "+strings.Join(open, ", "), "conversation", open[0])
		}
	}
	if !protocol.Slug(d.id) {
		return d.missing("--conversation: "+strconv.Quote(kit.Clean(d.id))+" is not a valid name: use small letters, digits and single hyphens, at most "+strconv.Itoa(protocol.MaxSlug),
			"conversation", SlugOf(d.id))
	}
	t, err := d.office.Thread(ctx, d.project, d.id)
	if err != nil {
		d.c.Warn("the conversation could not be read as a whole: %s", kit.Clean(err.Error()))
	}
	d.state, d.fresh = t.State, len(t.Messages) == 0 || t.State.Terminal
	if len(t.Messages) > 0 {
		d.about = t.Messages[0].Title
	}
	return nil
}

// open are the conversations with the project that is written to, which are not over.
func (d *sketch) open(ctx context.Context) ([]string, error) {
	_, name, _ := strings.Cut(d.to, ".")
	partner, _ := protocol.Slugify(name)
	all, err := conversationsOf(ctx, d.c, d.office, d.project)
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

// conversationsOf are the conversations of a project: those of its mailbox and archive, and those that it began and got no answer in.
func conversationsOf(ctx context.Context, c *kit.Call, o *exchange.Service, p exchange.Project) ([]overview.Conversation, error) {
	found, err := surveyOf(ctx, c, o, p)
	if err != nil || found != nil {
		return found, err
	}
	sent, err := o.Sent(p).Entries("")
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
		t, _ := o.Thread(ctx, p, id)
		all = append(all, overview.Conversation{ID: id, Partner: t.Partner, State: t.State})
	}
	return all, nil
}

// surveyOf are the conversations of a project that has a mailbox, nil when it has none.
func surveyOf(ctx context.Context, c *kit.Call, o *exchange.Service, p exchange.Project) ([]overview.Conversation, error) {
	if p.Path == "" {
		return nil, nil
	}
	s, err := overview.Look(ctx, c.App.OverviewOptions(o, p))
	if err != nil {
		return nil, err
	}
	for _, found := range s.Projects {
		if found.Path == p.Path && found.Err == nil {
			return found.Conversations, nil
		}
	}
	return nil, nil
}

// kind is the type of the message. A new conversation begins with a request; what comes next in one that is open cannot be known.
func (d *sketch) kind() (protocol.Type, error) {
	if t := d.c.Text("type"); t != "" {
		return protocol.Type(t), nil
	}
	if d.fresh {
		return protocol.Request, nil
	}
	likely := protocol.Progress
	switch {
	case d.state.CapReached:
		likely = protocol.Escalate
	case d.state.VerificationDue && d.state.Originator == d.self:
		likely = protocol.Release
	}
	return "", d.missing("--type: what is it? One of "+strings.Join(kit.MessageTypes, ", ")+" ("+protocol.StateLine(d.id, &d.state)+")", "type", string(likely))
}

// maxTitle is how long a title is that nobody wrote.
const maxTitle = 72

// title is what people see in lists: what was given, else that of the conversation, else how the text begins.
func (d *sketch) title() string {
	if t := d.c.Text("title"); t != "" {
		return termsafe.Head(kit.Clean(strings.ReplaceAll(t, "\n", " ")), orgfile.MaxValue)
	}
	if d.about != "" && !d.fresh {
		return termsafe.Head(kit.Clean(d.about), orgfile.MaxValue)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(d.said), "\n")
	return termsafe.Head(strings.TrimSpace(kit.Clean(first)), maxTitle)
}

// slugWords is of how many words of a text the name of a conversation is proposed.
const slugWords = 4

// SlugOf proposes a name for a conversation.
func SlugOf(text string) string {
	words := strings.Fields(text)
	slug, ok := protocol.Slugify(strings.Join(words[:min(len(words), slugWords)], " "))
	if !ok || !protocol.Slug(slug) {
		return "question"
	}
	return slug
}

// missing is the refusal of a text of which something cannot be known, with the line to type.
func (d *sketch) missing(what, flag, value string) error {
	text := d.c.Args[1]
	if !strings.HasPrefix(text, "@") && text != "-" {
		text = app.QuoteArg(kit.Clean(termsafe.Head(text, maxTitle)))
		if len(d.c.Args[1]) > maxTitle || strings.Contains(d.c.Args[1], "\n") {
			text = "..."
		}
	}
	line := "tutti send " + app.QuoteArg(kit.Clean(d.to)) + " " + text
	for _, f := range []string{"from", "conversation", "type", "title", "release-status", "response", "sequence"} {
		switch {
		case f == "release-status" && flag == "type":
			// a release was refused
		case f == flag:
			line += " --" + f + " " + app.QuoteArg(value)
		case d.c.IsSet(f):
			line += " --" + f + " " + app.QuoteArg(kit.Clean(d.c.Text(f)))
		}
	}
	return kit.UsageHint(line, "send: %s", what)
}
