package mailbox

import (
	"context"
	"errors"
	"slices"

	"tutti/internal/address"
	"tutti/internal/store"
)

// Whoever can write into a folder can put a file there that has the id of a message of somebody else. Two files cannot have
// one name, though, so the one that lies under the name of the id is the message, and another is one only where there is
// none such: programs of other makers may name their files as they like.

// own tells whether a message lies under the name of its id.
func (m *Message) own() bool { return m.Key.Name == address.Segment(m.ID) }

// single keeps of the messages with one id the first one that lies under its name, or else the first. The errors name the
// files of a mailbox that have an id of a message which lies under its name; in the archive there are some of our own making.
func single(all []*Message) ([]*Message, []error) {
	best := make(map[string]*Message, len(all))
	var lost map[*Message]bool
	var bad []error
	for _, msg := range all {
		was, known := best[msg.ID]
		switch {
		case !known:
			best[msg.ID] = msg
			continue
		case msg.own() && !was.own():
			best[msg.ID], was, msg = msg, msg, was
		}
		if lost == nil {
			lost = map[*Message]bool{}
		}
		lost[msg] = true
		if was.own() && !msg.own() && msg.Key.Kind == store.Inbox {
			bad = append(bad, copied(msg))
		}
	}
	if lost != nil {
		all = slices.DeleteFunc(all, func(msg *Message) bool { return lost[msg] })
	}
	return all, bad
}

func copied(msg *Message) error {
	return &store.UnfitError{
		Key: msg.Key, Where: msg.Key.String(),
		Why: "has the id " + msg.ID + ", but another message lies under the name of that id",
	}
}

// settle drops from a part of a mailbox the files that have the id of a message which lies under its name outside of that part.
func (m *Mailbox) settle(ctx context.Context, sources []Source, part []*Message) ([]*Message, []error, error) {
	kept := part[:0]
	var bad []error
	for _, msg := range part {
		if !msg.own() {
			_, err := m.byName(ctx, store.Inbox, sources, msg.ID)
			if err == nil {
				bad = append(bad, copied(msg))
				continue
			}
			if !isUnfit(err) && !errors.Is(err, ErrNoMessage) {
				return nil, nil, err
			}
		}
		kept = append(kept, msg)
	}
	return kept, bad, nil
}

// firsts is single for messages that are sorted by id, and adds its errors to bad.
func firsts(all []*Message, bad []error) ([]*Message, []error) {
	kept := all[:0]
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].ID == all[0].ID {
			n++
		}
		same := all[:n]
		all = all[n:]
		if n > 1 {
			var copies []error
			same, copies = single(slices.Clone(same)) // which leaves what follows as it is
			bad = append(bad, copies...)
		}
		kept = append(kept, same...)
	}
	return kept, bad
}
