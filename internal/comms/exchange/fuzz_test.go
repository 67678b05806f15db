package exchange

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tutti/internal/comms/protocol"
	"tutti/internal/platform/gpg"
	"tutti/internal/test/progfile"
)

// fakeGPG finds every signature valid, made by one key, and writes a byte to the file calls each time it is asked.
func fakeGPG(t testing.TB, dir string) (p gpg.Program, calls string) {
	t.Helper()
	calls = filepath.Join(dir, "calls")
	const key = "AAAABBBBCCCCDDDDEEEEFFFF0000111122223333"
	path := filepath.Join(dir, "gpg")
	script := "#!/bin/sh\nprintf x >>" + calls + "\necho '[GNUPG:] NEWSIG' >&3\necho '[GNUPG:] GOODSIG 0000111122223333 Ana' >&3\n" +
		"echo '[GNUPG:] VALIDSIG " + key + " 2026-04-27 1 0 4 0 22 8 00 " + key + "' >&3\n"
	must(t, progfile.Write(path, []byte(script), 0o700))
	return gpg.Program{Path: path}, calls
}

// The choices from which a mailbox is made. A byte of the input takes one of each.
var (
	fuzzVersions = []string{"5", "4", "6", "", "99999999999999999999", "-1", "5.0", "five"}
	fuzzTools    = []string{"", "git", "a;b", "../sh", "git, a b, c", strings.Repeat("t,", 200), "\u202e"}
	fuzzKinds    = []string{"request", "progress", "query", "pushback", "complete", "release", "escalate", "unknown"}
	fuzzNumbers  = []string{"1", "2", "3", "0", "-1", "9", "999999999", "x"}
	fuzzTalks    = []string{"c", "d", "c-2", "C", "x/y"}
)

// mailboxOf lays the messages of an input into a mailbox: five bytes are one message. It returns their names.
func mailboxOf(r *rig, p Project, data []byte) (all []string) {
	const most = 8
	pick := func(from []string, b byte) string { return from[int(b)%len(from)] }
	for n := 0; n < most && len(data) >= 5; n, data = n+1, data[5:] {
		at := start.Add(time.Duration(n) * time.Second)
		talk := pick(fuzzTalks, data[4])
		name, err := protocol.FormatName(at, "web", strings.ReplaceAll(talk, "/", "-"))
		if err != nil {
			continue
		}
		text := fmt.Sprintf("#+TITLE: t\n#+CONVERSATION_ID: %s\n#+MESSAGE_TYPE: %s\n#+SEQUENCE: %s\n#+TIMESTAMP: %s\n#+PROTOCOL_VERSION: %s\n#+REQUIRES_TOOLS: %s\n\nbody %d\n",
			talk, pick(fuzzKinds, data[0]), pick(fuzzNumbers, data[1]), protocol.FormatTime(at), pick(fuzzVersions, data[2]), pick(fuzzTools, data[3]), n)
		must(r.t, os.WriteFile(filepath.Join(p.MailboxPath(), name+".asc"), []byte("signature"), 0o600))
		must(r.t, os.WriteFile(filepath.Join(p.MailboxPath(), name), []byte(text), 0o600))
		all = append(all, name)
	}
	return all
}

// FuzzMailbox judges whole mailboxes, header by state: versions, tools, types and sequences, several messages of several
// conversations in one mailbox, with a ledger that is there, lost, torn or that of another conversation. Each judgement ends, within a
// number of signature checks that grows with the mailbox and not with the conversation squared.
func FuzzMailbox(f *testing.F) {
	f.Add([]byte{0, 0, 1, 0, 0}, byte(0))                                              // an honest peer of version 4
	f.Add([]byte{0, 0, 2, 0, 0}, byte(1))                                              // and of version 6
	f.Add([]byte{0, 0, 0, 2, 0, 1, 1, 0, 2, 0, 4, 2, 0, 2, 0}, byte(0))                // a tool that cannot be one, three times
	f.Add([]byte{0, 0, 0, 0, 0, 2, 1, 0, 0, 0, 3, 2, 1, 0, 0, 0, 0, 0, 0, 1}, byte(2)) // two conversations
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 1, 0, 0, 0, 1, 2, 4, 5, 0}, byte(3)) // a sequence twice, and what follows a release
	f.Add(bytes.Repeat([]byte{6, 7, 3, 6, 4}, 8), byte(1))                             // nothing that fits
	f.Add(bytes.Repeat([]byte{0, 0, 1, 2, 0, 1, 1, 2, 2, 0}, 4), byte(0))              // many of other versions, ledger lost
	f.Fuzz(func(t *testing.T, data []byte, ledger byte) {
		r := &rig{t: t, clock: start}
		r.Service = testOffice(t.TempDir())
		r.Now = func() time.Time { return start.Add(time.Minute) }
		var calls string
		r.GPG, calls = fakeGPG(t, r.Home)
		p := r.project("notes")
		must(t, os.MkdirAll(p.MailboxPath(), 0o700))
		all := mailboxOf(r, p, data)
		switch ledger % 4 {
		case 1:
			must(t, r.Ledger(p).Add(t.Context(), Entry{Name: "x.org", Conversation: "c", Sequence: 9, Decision: "process"}))
		case 2:
			must(t, r.Ledger(p).Add(t.Context(), Entry{Name: "y.org", Conversation: "d", Sequence: 1, Decision: "process"}))
		case 3:
			must(t, r.Ledger(p).Add(t.Context(), Entry{Name: "x.org", Conversation: "c", Sequence: 1, Decision: "process"}))
			must(t, r.Ledger(p).Add(t.Context(), Entry{Name: "z.org", Conversation: "c", Sequence: 2, Decision: "query"}))
		}
		ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
		defer stop()
		for _, name := range all {
			must(t, os.WriteFile(calls, nil, 0o600))
			j, err := r.Receive(ctx, filepath.Join(p.MailboxPath(), name), ReceiveOptions{})
			if ctx.Err() != nil {
				t.Fatalf("%s is not judged within 20 s", name)
			}
			if err == nil && j.Word == "" {
				t.Errorf("%s: no decision", name)
			}
			asked, _ := os.ReadFile(calls)
			if most := 4 * (len(all) + 1); len(asked) > most {
				t.Errorf("%s: %d signatures are checked for %d messages, at most %d", name, len(asked), len(all), most)
			}
		}
	})
}
