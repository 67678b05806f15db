package exchange

import (
	"slices"
	"testing"
	"time"

	"tutti/internal/comms/protocol"
)

// from is a header line.
func from(address string) string { return "#+FROM: " + address + "\n" }

// TestThreadWithSameProjectName: a project that is checked out on two machines writes to itself.
func TestThreadWithSameProjectName(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	web := r.project("web")
	at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
	must(t, r.Sent(web).Add(t.Context(), SentEntry{
		Name: "20260427T100000Z-from-web-job.org", To: "beta.web", Conversation: "job", Sequence: 1, Type: "request", Timestamp: protocol.FormatTime(start),
	}))
	v, err := r.Thread(t.Context(), web, "job")
	if err != nil || v.Partner != "beta.web" || v.State.Awaited != protocol.Receiver || v.State.AwaitedName != "beta.web" {
		t.Errorf("before the answer: %+v, %v", v, err)
	}
	r.put(web, "web", note{conv: "job", kind: "query", seq: 2, at: at(1), more: from("beta-box.web")}, "")
	r.later(time.Hour)
	v, err = r.Thread(t.Context(), web, "job")
	if err != nil || v.Partner != "beta-box.web" || v.State.Originator != "web" || v.State.Awaited != protocol.Originator || v.State.AwaitedName != "web" ||
		v.State.NextSequence != 3 || len(v.State.Warnings) > 0 || v.State.OneSided {
		t.Errorf("after the query: %+v, %v", v, err)
	}
	// What it writes is judged as what the originator writes, and what the other one writes is not taken for its own.
	if s := r.stateFor(t.Context(), Draft{Sender: "web", Project: web}, target{}, "job", &Sent{}); s.Refuses("web", protocol.Complete, "") != protocol.WarnCompleteByOriginator {
		t.Errorf("%+v", s)
	}
}

// TestThreadOfTwoProjectsWithOneName: two projects of one name, here and elsewhere, have each a conversation with us under the same id.
func TestThreadOfTwoProjectsWithOneName(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	notes, web := r.project("notes"), r.project("web")
	at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
	r.put(notes, "web", note{conv: "job", kind: "request", seq: 1, at: at(0), more: from("alpha.web")}, "")
	r.put(notes, "web", note{conv: "job", kind: "request", seq: 1, at: at(1), more: from("beta.web")}, "")
	r.put(notes, "web", note{conv: "job", kind: "release", seq: 9, at: at(5), more: from("beta.web") + "#+RELEASE_STATUS: complete\n"}, "")
	// Somebody called notes on another machine writes to web, too.
	r.put(web, "notes", note{conv: "job", kind: "complete", seq: 7, at: at(3), more: from("beta.notes")}, "")
	for i, to := range []string{"alpha.web", "beta.web"} {
		must(t, r.Sent(notes).Add(t.Context(), SentEntry{
			Name: protocol.Stamp(at(2+i)) + "-from-notes-job.org", To: to, Conversation: "job", Sequence: 2 + i, Type: []string{"query", "progress"}[i],
			Timestamp: protocol.FormatTime(at(2 + i)),
		}))
	}
	r.later(time.Hour)
	v, err := r.Thread(t.Context(), notes, "job")
	if err != nil || len(v.Messages) != 2 || v.State.NextSequence != 3 || v.State.Awaited != protocol.Originator || v.State.Terminal || v.Strangers != 2 {
		t.Errorf("with the one here: %+v, %v", v, err)
	}
	far := target{address: protocol.Address{Machine: "beta", Project: "web"}}
	v, err = r.view(t.Context(), notes, "notes", "job", far, false)
	if err != nil || len(v.Messages) != 3 || !v.State.Terminal || v.State.NextSequence != 10 || v.Strangers != 1 {
		t.Errorf("with the one elsewhere: %+v, %v", v, err)
	}
	near := target{address: protocol.Address{Machine: "alpha", Project: "web"}, local: web}
	if v, err = r.view(t.Context(), notes, "notes", "job", near, false); err != nil || len(v.Messages) != 2 || v.State.NextSequence != 3 {
		t.Errorf("with the one here, by its address: %+v, %v", v, err)
	}
	if slices.ContainsFunc(v.Messages, func(m ThreadMessage) bool { return m.Type == protocol.Complete }) {
		t.Error("what another project of our name wrote is taken for ours")
	}
}
