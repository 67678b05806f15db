package overview

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tutti/internal/comms/exchange"
	"tutti/internal/comms/protocol"
	"tutti/internal/test/commstest"
	"tutti/internal/test/progfile"
)

func TestMain(m *testing.M) { os.Exit(commstest.Main(m)) }

// TestRefused: a message that its receiver refuses changes no conversation and hides nothing, whatever its signature. It is counted
// separately and named.
func TestRefused(t *testing.T) {
	t.Parallel()
	const release = "#+RELEASE_STATUS: complete\n"
	for _, forged := range []struct {
		what   string
		kind   protocol.Type
		signer commstest.Who
		tamper bool
	}{
		{"a release signed with a key that is not known", protocol.Release, commstest.Bob, false},
		{"a release that was changed after it was signed", protocol.Release, commstest.Alice, true},
		{"a release signed with a key that this sender may not use", protocol.Release, commstest.Revoked, false},
		{"an escalate that was changed", protocol.Escalate, commstest.Alice, true},
		{"a complete signed with a key that is not known", protocol.Complete, commstest.Bob, false},
	} {
		t.Run(forged.what, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			ring := commstest.NewKeyring(t, []commstest.Who{commstest.Alice}, commstest.Revoked)
			r.Office.GPG, r.Office.Unverified = ring.Program(), false
			web := r.project("web")
			r.signed(web, note{from: "notes", conv: "q", kind: protocol.Request, seq: 1}, commstest.Alice, false)
			name := r.signed(web, note{from: "notes", conv: "q", kind: forged.kind, seq: 2, after: time.Minute, more: release}, forged.signer, forged.tamper)
			for range 2 { // the second look has the verdicts of the first
				s := r.look()
				p := s.of("web")
				if p.Pending != 1 || p.Refused != 1 || len(p.Unread()) != 2 {
					t.Errorf("%d wait, %d refused, %d shown; want 1, 1, 2", p.Pending, p.Refused, len(p.Unread()))
				}
				if c := p.Conversations[0]; !c.Open || c.Awaited != protocol.Receiver || c.PollingPaused || c.NextSequence != 2 || c.Waiting != 1 {
					t.Errorf("the conversation is %+v; want it to wait for the receiver", c.State)
				}
				said := false
				for _, w := range s.Warnings {
					said = said || w.Code == WarnRefused && strings.Contains(w.Text, name)
				}
				if !said {
					t.Errorf("warnings %v; want one about %s", s.Warnings, name)
				}
			}
			r.ByTheLetter = true
			if p := r.look().of("web"); p.Refused != 0 || forged.kind == protocol.Release && p.Pending != 0 {
				t.Errorf("by the letter %d wait, %d refused", p.Pending, p.Refused)
			}
		})
	}
}

// signed is put with a real signature. A message that is tampered with has one byte more than was signed.
func (r *rig) signed(to exchange.Project, n note, who commstest.Who, tamper bool) string {
	r.t.Helper()
	name := r.put(to, n)
	path := filepath.Join(to.MailboxPath(), name)
	must(r.t, os.WriteFile(path+".asc", commstest.Sign(r.t, who, []byte(n.text())), 0o600))
	if tamper {
		must(r.t, os.WriteFile(path, []byte(n.text()+"\n"), 0o600))
	}
	return name
}

// TestVerdictsAreKept: gpg is asked once about each message, also by another process; a key that is imported is noticed at once.
func TestVerdictsAreKept(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ring := commstest.NewKeyring(t, []commstest.Who{commstest.Alice})
	asked := filepath.Join(t.TempDir(), "asked")
	gpg := filepath.Join(filepath.Dir(asked), "gpg")
	must(t, progfile.Write(gpg, []byte("#!/bin/sh\necho >>"+asked+"\nexec "+commstest.Program("gpg")+" \"$@\"\n"), 0o700))
	open := func() {
		office := &exchange.Service{Home: r.Office.Home, Host: r.Office.Host, Now: r.Office.Now, GPG: ring.Program()}
		office.GPG.Path = gpg
		r.Office = office
	}
	calls := func() int {
		data, _ := os.ReadFile(asked)
		return strings.Count(string(data), "\n")
	}
	open()
	web := r.project("web")
	for i := range 3 {
		r.signed(web, note{from: "notes", conv: "q", kind: protocol.Request, seq: i + 1, after: time.Duration(i) * time.Second}, commstest.Alice, false)
	}
	r.signed(web, note{from: "notes", conv: "b", kind: protocol.Request, seq: 1, after: time.Minute}, commstest.Bob, false)
	for range 3 {
		if p := r.look().of("web"); p.Pending != 3 || p.Refused != 1 {
			t.Errorf("%d wait, %d refused; want 3, 1", p.Pending, p.Refused)
		}
		if n := calls(); n != 4 {
			t.Errorf("gpg was called %d times for 4 messages", n)
		}
		open()
	}
	ring.AddPublic(commstest.Bob)
	if p := r.look().of("web"); p.Pending != 4 || p.Refused != 0 {
		t.Errorf("with the key of Bob %d wait, %d refused; want 4, 0", p.Pending, p.Refused)
	}
}
