package exchange

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"tutti/internal/comms/protocol"
)

// TestFullRecords: a record over its size limit blocks nothing, and the report names the command that shortens it.
func TestFullRecords(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	web, notes := r.project("web"), r.project("notes")
	r.say("web", notes.Name, note{conv: "job", kind: "request", seq: 1})
	grow := func(path string) {
		t.Helper()
		text := content(t, path)
		must(t, os.Truncate(path, journalLimit-int64(len(text)))) // a hole, which is a line that is not an object
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		must(t, err)
		_, err = f.WriteString("\n" + text)
		must(t, errors.Join(err, f.Close()))
	}
	mend := func(text string) {
		t.Helper()
		_, command, ok := strings.Cut(text, "keep its newer half: ")
		if !ok {
			t.Fatalf("no command in %q", text)
		}
		out, err := exec.Command("sh", "-c", command).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v, %s", command, err, out)
		}
	}
	grow(r.Sent(web).Path())
	s := r.say("web", notes.Name, note{conv: "job", kind: "progress", seq: 2})
	if !slices.Contains(s.Warnings, WarnSentRecord) || len(names(t, notes.MailboxPath())) != 2 {
		t.Fatalf("warnings %q; the mailbox holds %q", s.WarningTexts, names(t, notes.MailboxPath()))
	}
	_, err := r.Sent(web).Entries("job")
	if full := (*FullError)(nil); !errors.As(err, &full) {
		t.Fatalf("read: %v", err)
	}
	mend(s.WarningTexts[slices.Index(s.Warnings, WarnSentRecord)])
	if all, err := r.Sent(web).Entries("job"); err != nil || len(all) != 1 {
		t.Errorf("after the command: %v, %v", all, err)
	}

	must(t, r.Ledger(notes).Add(t.Context(), Entry{Name: "x.org", Conversation: "job", Sequence: 1, Decision: "process"}))
	grow(r.Ledger(notes).Path())
	path := notes.MailboxPath() + "/" + names(t, notes.MailboxPath())[0]
	j, err := r.Receive(t.Context(), path, ReceiveOptions{NoVerify: true})
	if err != nil || j.Word != protocol.Process || !slices.Contains(j.Warnings, protocol.WarnLedgerUnwritable) {
		t.Fatalf("judged: %+v, %v", j, err)
	}
	if _, err := r.Receive(t.Context(), path, ReceiveOptions{NoVerify: true, Strict: true}); !errors.Is(err, ErrLedger) {
		t.Errorf("strictly: %v", err)
	}
	mend(j.Notes[len(j.Notes)-1])
	if all, err := r.Ledger(notes).Entries("job"); err != nil || len(all) != 1 {
		t.Errorf("after the command: %v, %v", all, err)
	}
}

// TestClaimWithoutLedger: a session that cannot claim a message does not get it, so two sessions never act on the same one.
func TestClaimWithoutLedger(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	notes := r.project("notes")
	name := r.put(notes, "web", note{conv: "job", kind: "request", seq: 1}, "")
	must(t, os.MkdirAll(r.StatePath(""), 0o700))
	must(t, os.WriteFile(r.StatePath("ledger"), nil, 0o600))
	for _, session := range []string{"one", "two"} {
		j, err := r.Receive(t.Context(), notes.MailboxPath()+"/"+name, ReceiveOptions{NoVerify: true, Claim: session})
		if err == nil || j != nil {
			t.Errorf("%s: %+v, %v; want no decision", session, j, err)
		}
	}
	only(t, notes.MailboxPath(), name)
}
