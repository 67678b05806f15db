package comms

import (
	"slices"

	"tutti/internal/comms/exchange"
	"tutti/internal/comms/machines"
	"tutti/internal/comms/overview"
	"tutti/internal/comms/protocol"
)

// releases are the releases that nobody here was told of, of conversations of which something was told: they wait for nobody, and yet the
// agent has to know that it is over, and how.
func (p *poll) releases(seen *overview.Project, decided map[string]map[string]bool) []overview.Message {
	var list []overview.Message
	for i := range seen.Conversations {
		talk := &seen.Conversations[i]
		last := &talk.Last
		if !talk.Terminal || last.Type != protocol.Release || !seen.Has(last.Name) {
			continue
		}
		if given := decided[talk.ID]; len(given) > 0 && !given[last.Name] {
			list = append(list, overview.Message{Name: last.Name, Conversation: talk.ID, Type: last.Type})
		}
	}
	return list
}

// answer is what the agent types to answer a message that it was given, "" when no answer is due.
func (p *poll) answer(j *exchange.Judgement) string {
	how := protocol.AnswerWith(j.Message.Type)
	if how == "" || j.Word != protocol.Process {
		return ""
	}
	return "tutti send " + p.addressOf(j) + " TEXT --conversation " + j.Message.Conversation + " " + how
}

// addressOf is where the sender of a message is: where this project has written to before in the conversation, else a project of this
// machine, else one of a machine that the list of peers has by the name that the message gives. What nobody here knows is left to be filled in.
func (p *poll) addressOf(j *exchange.Judgement) string {
	if sent, err := p.office.Sent(p.project).Entries(j.Message.Conversation); err == nil {
		for _, e := range slices.Backward(sent) {
			if to, ok := protocol.ParseAddress(e.To); ok {
				if slug, _ := protocol.Slugify(to.Project); slug == j.Sender {
					return e.To
				}
			}
		}
	}
	from, named := protocol.ParseAddress(j.Message.From)
	if !named || from.Machine == p.office.Machine() {
		if at, ok := p.office.BySlug(j.Sender); ok {
			return "local." + at.Name
		}
	}
	if !named {
		return "MACHINE." + j.Sender
	}
	if peers, err := machines.ReadPeers(p.office.PeersPath()); err == nil {
		if _, ok := peers.Get(from.Machine); ok {
			return j.Message.From
		}
	}
	return "MACHINE." + from.Project
}
