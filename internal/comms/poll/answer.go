package poll

import (
	"slices"
	"strings"

	"tutti/internal/comms/machines"
	"tutti/internal/comms/overview"
	"tutti/internal/comms/protocol"
)

// releases are the releases that earlier polls did not tell, of conversations of which they told something: they wait for no answer, and yet
// the agent has to know that it is over, and how.
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

// openTalks finds the conversations that are open, what this project does about each, and which of them the last poll did not show as
// they are now.
func (p *poll) openTalks(seen *overview.Project) {
	self, shown := p.opt.Project.Slug(), map[string]string{}
	for i := range seen.Conversations {
		talk := &seen.Conversations[i]
		if !talk.Open {
			continue
		}
		v := conversation(talk)
		v.Escalate, v.Mine = talk.Escalation(self), talk.AwaitedName != "" && talk.AwaitedName == self
		if flags := talk.Answer(self); flags != "" {
			to := p.addressOf(talk.ID, talk.Partner, "")
			v.Answer = send(to, talk.ID, flags)
			if talk.MayComplete(self) {
				v.Done = send(to, talk.ID, completes)
			}
		}
		key := talk.ID + " " + talk.Partner
		shown[key] = v.Line()
		v.Changed = p.opt.All || p.state.Shown[key] != shown[key]
		p.found.Open = append(p.found.Open, *v)
	}
	p.state.Shown = shown
}

// answerOnce says how the conversations of new messages stand, and puts the answer to a conversation below the last of its new messages that can be acted on. Where a conversation is not known
// from its beginning, the message itself says what answers it.
func (p *poll) answerOnce() {
	answered := map[string]bool{}
	for i := len(p.found.New) - 1; i >= 0; i-- {
		n := &p.found.New[i]
		if n.Talk != nil {
			n.In = conversation(n.Talk)
		}
		m := &n.Judgement.Message
		id := m.Conversation
		if n.Judgement.Word != protocol.Process || answered[id] || m.Type == protocol.Release {
			continue // nothing answers a release, whether it ends the conversation or not
		}
		answered[id] = true
		flags, works := protocol.AnswerWith(m.Type), m.Type == protocol.Request
		if n.Talk != nil && n.Talk.Rounds > 0 {
			flags, works = n.Talk.Answer(p.opt.Project.Slug()), n.Talk.MayComplete(p.opt.Project.Slug())
		}
		if flags != "" {
			sender := n.Judgement.Sender
			if n.Talk != nil && strings.HasSuffix(n.Talk.Partner, "."+sender) {
				sender = n.Talk.Partner
			}
			to := p.addressOf(id, sender, m.From)
			n.Answer = send(to, id, flags)
			if works {
				n.Done = send(to, id, completes)
			}
		}
	}
}

// UnknownMachine begins an address on a machine whose name here is not known.
const UnknownMachine = "MACHINE."

// completes are the flags of a message that says that the work is done.
const completes = "--type " + string(protocol.Complete)

// send is the command that answers in a conversation.
func send(to, conversation, flags string) string {
	return "tutti send " + to + " TEXT --conversation " + conversation + " " + flags
}

// addressOf is the address of the sender of a message with this FROM: the one that this project has written to in the conversation, else
// that of a project of this machine, else FROM itself if the list of peers has its machine. A machine that is not known is left to be
// filled in.
func (p *poll) addressOf(conversation, sender, from string) string {
	if machine, project, away := strings.Cut(sender, "."); away { // of two projects of one name that on another machine
		return p.elsewhere(protocol.Address{Machine: machine, Project: project})
	}
	if sent, err := p.office.Sent(p.opt.Project).Entries(conversation); err == nil {
		for _, e := range slices.Backward(sent) {
			if to, ok := protocol.ParseAddress(e.To); ok {
				if slug, _ := protocol.Slugify(to.Project); slug == sender {
					return e.To
				}
			}
		}
	}
	at, named := protocol.ParseAddress(from)
	if !named || at.Machine == p.office.Machine() {
		if here, ok := p.office.BySlug(sender); ok {
			return "local." + here.Name
		}
	}
	if !named {
		at = protocol.Address{Project: sender}
	}
	return p.elsewhere(at)
}

// elsewhere writes an address on another machine, which FROM calls by its own name. MACHINE stands for one that the list of peers has neither
// by that name nor as its host.
func (p *poll) elsewhere(a protocol.Address) string {
	if peers, err := machines.ReadPeers(p.office.PeersPath()); err == nil {
		w, err := machines.Resolve(a.String(), machines.Local{Hostname: p.office.Host}, peers, false)
		if err == nil && !w.Local {
			return w.Peer.Name + "." + a.Project
		}
	}
	return UnknownMachine + a.Project
}
