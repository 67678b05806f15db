package exchange

import (
	"os"
	"testing"
	"time"

	"tutti/internal/comms/protocol"
	"tutti/internal/test/commstest"
)

// TestThreadOfRefusedMail: a message that recv refuses changes neither the sequence of its conversation nor which side is awaited.
func TestThreadOfRefusedMail(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.keys([]commstest.Who{commstest.Alice})
	web, notes := r.project("web"), r.project("notes")
	r.say("web", "notes", note{conv: "job", kind: "request", seq: 1})
	r.later(time.Minute)
	at := r.Now()
	r.put(notes, "web", note{conv: "job", kind: "query", seq: 50, at: at.Add(time.Second)}, "")                                         // unsigned
	r.put(notes, "web", note{conv: "job", kind: "query", seq: 51, at: at.Add(2 * time.Second)}, commstest.Bob)                          // an unknown key
	r.put(notes, "web", note{conv: "job", kind: "query", seq: 52, at: at.Add(3 * time.Second), more: from("alpha.x")}, commstest.Alice) // for another
	r.put(web, "notes", note{conv: "job", kind: "complete", seq: 53, at: at.Add(4 * time.Second)}, "")                                  // as if we had
	for _, p := range []Project{notes, web} {
		v, err := r.Thread(t.Context(), p, "job")
		if err != nil || len(v.Messages) != 1 || v.State.NextSequence != 2 || v.State.Awaited != protocol.Receiver {
			t.Errorf("%s: %+v, %v", p.Name, v, err)
		}
	}
	// What waits to be judged counts; so does what was judged, once its key has gone.
	name := r.put(notes, "web", note{conv: "job", kind: "query", seq: 2, at: at.Add(5 * time.Second)}, commstest.Alice)
	if v, err := r.Thread(t.Context(), notes, "job"); err != nil || v.State.NextSequence != 3 || v.State.Awaited != protocol.Receiver && v.State.Awaited != protocol.Originator {
		t.Errorf("not judged yet: %+v, %v", v, err)
	}
	if j, err := r.Receive(t.Context(), notes.MailboxPath()+"/"+name, ReceiveOptions{}); err != nil || j.Word != protocol.Process {
		t.Fatalf("%+v, %v", j, err)
	}
	must(t, os.Remove(notes.MailboxPath()+"/"+name+".asc"))
	if v, err := r.Thread(t.Context(), notes, "job"); err != nil || v.State.NextSequence != 3 {
		t.Errorf("judged: %+v, %v", v, err)
	}
}
