package exchange

import (
	"slices"
	"strings"

	"tutti/internal/comms/machines"
	"tutti/internal/comms/protocol"
)

// A party is the other side of a conversation. The protocol knows projects by their slugs, and two machines may have one of the
// same name: the same project checked out on both, most of all. FROM of received messages and the address of sent ones tell
// them apart. Names of machines are nicknames that each side chooses, so that nothing but "here" and "not here" is compared.
type party struct {
	slug    string // "": no message came and none was sent
	machine string // as FROM or the address has it; "": not known
	away    bool   // on another machine
}

// name is how a thread calls a party: by its slug, and by its address where this project has the same one.
func (p party) name(self string) string {
	if p.away && p.slug == self {
		return p.machine + "." + p.slug
	}
	return p.slug
}

// elsewhere tells whether a machine that a message names is another one. A message that names none is taken for one of here.
func (o *Service) elsewhere(name string) bool {
	return name != "" && !slices.Contains(machines.Local{Hostname: o.Host}.Names(), strings.ToLower(name))
}

// by is the writer of a message that came.
func (o *Service) by(m *ThreadMessage) party {
	return party{m.From, m.Machine, o.elsewhere(m.Machine)}
}

// at is the receiver of a message that was sent.
func (o *Service) at(address string) (p party, ok bool) {
	a, ok := protocol.ParseAddress(address)
	if !ok {
		return p, false
	}
	slug, _ := protocol.Slugify(a.Project)
	return party{slug, a.Machine, a.Machine != o.Machine()}, true
}

// partnerOf is the other side of a conversation: who wrote first, else who was written to last, else who is about to be. Of two
// projects of one name the one that is about to be written to counts.
func (o *Service) partnerOf(self string, in []ThreadMessage, out []SentEntry, to target) party {
	next, _ := o.at(to.address.String())
	var first *ThreadMessage
	for i := range in {
		if in[i].From == self && !o.elsewhere(in[i].Machine) {
			continue
		}
		if first == nil || protocol.Compare(in[i].Event, first.Event) < 0 {
			first = &in[i]
		}
	}
	if first != nil {
		p := o.by(first)
		if p.slug == next.slug {
			p.away = next.away
		}
		return p
	}
	for i := len(out) - 1; i >= 0; i-- {
		if p, ok := o.at(out[i].To); ok {
			if p.slug == next.slug {
				return next
			}
			return p
		}
	}
	return next
}

// sort leaves of what came and of what was sent what is of the conversation with one party, and gives the writers their names. What came
// from a project of the same name on another machine is counted only.
func (o *Service) sort(self string, with party, in []ThreadMessage, out []SentEntry) (kept []ThreadMessage, sent []SentEntry, strangers int) {
	for _, m := range in {
		by := o.by(&m)
		if by.slug == with.slug && by.slug != self && by.away != with.away {
			strangers++
			continue
		}
		m.From = by.name(self)
		if by.slug == with.slug && by.away && with.away {
			m.From = with.name(self)
		}
		kept = append(kept, m)
	}
	for _, e := range out {
		if to, ok := o.at(e.To); !ok || to.slug != with.slug || to.away == with.away {
			sent = append(sent, e)
		}
	}
	return kept, sent, strangers
}
