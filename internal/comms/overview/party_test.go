package overview

import (
	"testing"
	"time"

	"tutti/internal/comms/protocol"
)

// A project that is checked out on two machines writes to itself: these are two sides.
func TestOneOfOurName(t *testing.T) {
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
