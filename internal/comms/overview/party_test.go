package overview

import (
	"testing"
	"time"

	"tutti/internal/comms/protocol"
)

// A project that is checked out on two machines writes to itself: these are two sides.
func TestProjectWritesToItself(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	web := r.project("web")
	r.put(web, note{from: "web", conv: "job", kind: protocol.Request, seq: 1, more: "#+FROM: beta.web\n"})
	r.put(web, note{from: "web", conv: "job", kind: protocol.Query, seq: 2, after: time.Minute, more: "#+FROM: beta.web\n"})
	see(r, func(s *Overview) {
		all := s.of("web").Conversations
		if len(all) != 1 {
			t.Fatalf("%+v", all)
		}
		c := all[0]
		if c.Partner != "beta.web" || c.Originator != "beta.web" || c.Receiver != "web" || c.AwaitedName != "web" || c.NextSequence != 3 {
			t.Errorf("%+v", c)
		}
	})
}

// Two projects of one name, on this machine and on another one, write under one conversation: these are two conversations, and what ends
// one ends the other one not.
func TestSameNameOnTwoMachines(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	notes := r.project("notes")
	r.project("web")
	r.put(notes, note{from: "web", conv: "job", kind: protocol.Request, seq: 1, more: "#+FROM: alpha.web\n"})
	there := r.put(notes, note{from: "web", conv: "job", kind: protocol.Request, seq: 1, after: time.Second, more: "#+FROM: beta.web\n"})
	r.put(notes, note{from: "web", conv: "job", kind: protocol.Release, seq: 2, after: time.Minute, more: "#+RELEASE_STATUS: complete\n#+FROM: alpha.web\n"})
	see(r, func(s *Overview) {
		p := s.of("notes")
		if len(p.Conversations) != 2 {
			t.Fatalf("%+v", p.Conversations)
		}
		open, over := p.Conversations[0], p.Conversations[1]
		if open.Partner != "beta.web" || !open.Open || open.AwaitedName != "notes" || open.Waiting != 1 || over.Partner != "web" || over.Open || !over.Terminal {
			t.Errorf("open %+v\nover %+v", open, over)
		}
		if p.Pending != 1 || p.Conversation(there) == nil || p.Conversation(there).Partner != "beta.web" {
			t.Errorf("%d pending; the one of beta is in %+v", p.Pending, p.Conversation(there))
		}
	})
	// One that names no machine splits nothing.
	other := r.project("other")
	r.put(other, note{from: "web", conv: "job", kind: protocol.Request, seq: 1, more: "#+FROM: beta.web\n"})
	r.put(other, note{from: "web", conv: "job", kind: protocol.Query, seq: 2, after: time.Second})
	if all := r.look().of("other").Conversations; len(all) != 1 || all[0].NextSequence != 3 {
		t.Errorf("%+v", all)
	}
}
