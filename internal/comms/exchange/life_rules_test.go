package exchange

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tutti/internal/comms/protocol"
	"tutti/internal/halt"
	"tutti/internal/test/commstest"
)

// refused sends what the protocol does not allow now, and returns the error.
func (s *side) refused(kind string, seq int, more string) *SendError {
	s.t.Helper()
	s.later(time.Second)
	_, err := s.Send(s.t.Context(), Draft{
		Destination: s.to, Sender: s.p.Slug(), Project: s.p, Text: note{conv: s.conv, kind: kind, seq: seq, at: s.Now(), more: more}.text(),
	})
	var e *SendError
	if !errors.As(err, &e) {
		s.t.Fatalf("%s %d: %v; want a refusal", kind, seq, err)
	}
	return e
}

// TestDisagreement: between two machines over real ssh a pushback is answered in each of the three ways, and after two that insist only an
// escalate gets through, from either side.
func TestDisagreement(t *testing.T) {
	t.Parallel()
	web, lab, both := twoSides(t, "lab")
	web.says(lab, "request", 1, "")
	lab.says(web, "pushback", 2, "")
	web.says(lab, "request", 3, "#+PUSHBACK_RESPONSE: insist\n")
	both(protocol.Receiver)
	lab.says(web, "pushback", 4, "")
	both(protocol.Originator)
	web.says(lab, "request", 5, "#+PUSHBACK_RESPONSE: insist\n")
	if e := lab.refused("pushback", 6, ""); e.Fault != BadDraft || e.Code != protocol.CodeCapReached || e.Hint() == "" {
		t.Errorf("a third pushback: %+v; want it refused, with what to do", e)
	}
	if got := names(t, filepath.Join(lab.StatePath("failed-sends"))); len(got) != 0 {
		t.Errorf("kept: %v; want nothing of what may not be sent", got)
	}
	lab.says(web, "escalate", 6, "")
	both(protocol.User)
	web.says(lab, "release", 7, "#+RELEASE_STATUS: abandoned-after-escalation\n")
	both(protocol.NoSide)

	web.conv, lab.conv = "second", "second"
	web.says(lab, "request", 1, "")
	lab.says(web, "pushback", 2, "")
	web.says(lab, "release", 3, "#+RELEASE_STATUS: withdrawn-after-pushback\n")
	both(protocol.NoSide)
}

// TestVerifyAcrossMachines: mail that arrives by ssh is judged like local mail: by its key, and by whether it was there before.
func TestVerifyAcrossMachines(t *testing.T) {
	t.Parallel()
	web := newSide(t, commstest.NewMachine(t, "alpha", commstest.MachineOptions{}), "web", commstest.Alice, commstest.Bob)
	lab := newSide(t, commstest.NewMachine(t, "beta", commstest.MachineOptions{}), "lab", commstest.Bob, commstest.Alice)
	web.knows(lab, commstest.Bob)
	lab.knows(web, commstest.Alice)
	judge := func(name string) *Judgement {
		t.Helper()
		j, err := lab.Receive(t.Context(), filepath.Join(lab.p.MailboxPath(), name), ReceiveOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	first := web.says(lab, "request", 1, "")
	web.says(lab, "release", 2, "#+RELEASE_STATUS: cancelled\n")
	text, sig := content(t, first.File), content(t, first.File+".asc")
	if reports, err := lab.Archive(t.Context(), lab.p, nil, false); err != nil || len(reports) != 1 || len(reports[0].Moved) != 2 {
		t.Fatalf("archive: %+v, %v", reports, err)
	}
	must(t, os.WriteFile(first.File+".asc", []byte(sig), 0o600))
	must(t, os.WriteFile(first.File, []byte(text), 0o600))
	if j := judge(first.Name); j.Word != protocol.Dedup {
		t.Errorf("an archived message again: %+v; want dedup", j)
	}

	// The key of the other side is a good one, and not that of the sender it is used for.
	for code, who := range map[string]commstest.Who{
		protocol.CodeSignerNotAllowed: commstest.Bob, protocol.CodeSignatureExpired: commstest.Expired, protocol.CodeSignatureRevoked: commstest.Revoked,
	} {
		lab.keys([]commstest.Who{commstest.Bob}, commstest.Alice, commstest.Expired, commstest.Revoked)
		web.conv = "forged-" + code[len(code)-3:]
		lab.later(time.Second)
		web.later(time.Second)
		sent, err := web.Send(t.Context(), Draft{
			Destination: web.to, Sender: "web", Project: web.p, Text: note{conv: web.conv, kind: "request", seq: 1, at: web.Now()}.text(),
		})
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(lab.p.MailboxPath(), sent.Name)
		must(t, os.WriteFile(file+".asc", commstest.Sign(t, who, []byte(content(t, file))), 0o600))
		if j := judge(sent.Name); j.Word != protocol.Reject || j.Code != code {
			t.Errorf("signed by %v: %s %s; want reject %s", who, j.Word, j.Code, code)
		}
	}

	// A halted machine takes the message and judges nothing.
	must(t, os.WriteFile(filepath.Join(lab.m.Home, ".config", "cross-agent-comms", "HALT"), nil, 0o600))
	web.conv = "while-halted"
	web.later(time.Second)
	sent, err := web.Send(t.Context(), Draft{
		Destination: web.to, Sender: "web", Project: web.p, Text: note{conv: web.conv, kind: "request", seq: 1, at: web.Now()}.text(),
	})
	if err != nil || len(sent.Warnings) != 1 {
		t.Fatalf("to a halted machine: %+v, %v; want it delivered, with a warning", sent, err)
	}
	if j, err := lab.Receive(t.Context(), filepath.Join(lab.p.MailboxPath(), sent.Name), ReceiveOptions{}); !errors.As(err, new(*halt.Error)) {
		t.Errorf("judged there while it is halted: %+v, %v; want the halt", j, err)
	}
}
