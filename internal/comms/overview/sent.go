package overview

import (
	"tutti/internal/comms/exchange"
	"tutti/internal/comms/protocol"
)

// sentHeads returns what a project has sent, oldest first, as heads whose host is the slug of the receiver.
func sentHeads(o *exchange.Service, p exchange.Project) ([]head, error) {
	entries, err := o.Sent(p).Entries("")
	if err != nil {
		return nil, err
	}
	list := make([]head, len(entries))
	for i := range entries {
		list[i] = sentHead(&entries[i], p.Slug())
	}
	return list, nil
}

func sentHead(e *exchange.SentEntry, self string) head {
	h := head{
		name: e.Name, conv: e.Conversation, sender: self, title: e.Title, sequence: e.Sequence, reply: e.InReplyTo,
		release: e.ReleaseStatus, response: e.Pushback,
	}
	if kind := protocol.Type(e.Type); kind.Valid() {
		h.kind = kind
	}
	h.at, _ = protocol.ParseTime(e.Timestamp)
	if a, ok := protocol.ParseAddress(e.To); ok {
		h.machine = a.Machine
		if h.host, _ = protocol.Slugify(a.Project); h.host == self {
			h.host = a.Machine + "." + self // one of our name, elsewhere
		}
	}
	return h
}
