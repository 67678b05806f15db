package exchange

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tutti/internal/comms/protocol"
	"tutti/internal/test/commstest"
)

// say sends a message of a conversation without a signature, one second after the one before.
func (r *rig) say(from, to string, n note) *Sent {
	r.t.Helper()
	r.later(time.Second)
	n.at = r.Now()
	r.project(to)
	return r.sends(Draft{Destination: "local." + to, Sender: from, Project: r.project(from), NoSign: r.GPG.Env == nil, Text: n.text()})
}

func TestThread(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	web, notes := r.project("web"), r.project("notes")
	r.say("web", "notes", note{conv: "job-with-a-long-name", kind: "request", seq: 1})
	r.say("notes", "web", note{conv: "job-with-a-long-name", kind: "query", seq: 2})
	r.say("web", "notes", note{conv: "job-with-a-long-name", kind: "progress", seq: 3, more: "#+IN_REPLY_TO: 2\n"})
	r.say("notes", "web", note{conv: "job-with-a-long-name", kind: "complete", seq: 4})
	r.say("notes", "web", note{conv: "job-with", kind: "request", seq: 1}) // of another conversation
	for _, p := range []Project{web, notes} {
		got, err := r.Thread(t.Context(), p, "job-with-a-long-name")
		if err != nil || len(got.Messages) != 4 || got.State.OneSided || got.State.Originator != "web" || got.State.Awaited != protocol.Originator ||
			!got.State.VerificationDue || got.State.NextSequence != 5 || len(got.State.Warnings) != 0 {
			t.Errorf("%s: %+v, %v", p.Name, got, err)
		}
		var types []string
		for _, m := range got.Messages {
			types = append(types, string(m.Type))
		}
		if want := []string{"request", "query", "progress", "complete"}; !slices.Equal(types, want) {
			t.Errorf("%s: %v, want %v", p.Name, types, want)
		}
	}
	// Without the record of sends the mailbox of the partner tells what was written.
	must(t, os.RemoveAll(r.StatePath("sent")))
	if got, err := r.Thread(t.Context(), web, "job-with-a-long-name"); err != nil || len(got.Messages) != 4 || got.State.OneSided {
		t.Errorf("without the record: %+v, %v", got, err)
	}
	// Without either, one direction is missing.
	must(t, os.RemoveAll(notes.Path))
	got, err := r.Thread(t.Context(), web, "job-with-a-long-name")
	if err != nil || len(got.Messages) != 2 || !got.State.OneSided {
		t.Errorf("without both: %+v, %v; want it one-sided", got, err)
	}
	if got, err := r.Thread(t.Context(), web, "none"); err != nil || len(got.Messages) != 0 || got.State.NextSequence != 1 {
		t.Errorf("unknown: %+v, %v", got, err)
	}
}

// TestThreadByShortName: a program that writes the beginning of the conversation id into the name of the file is understood.
func TestThreadByShortName(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.project("notes")
	r.lay(p, "20260427T100000Z-from-web-job-with.org", note{conv: "job-with-a-long-name", kind: "request", seq: 1}.text(), "")
	if got, err := r.Thread(t.Context(), p, "job-with-a-long-name"); err != nil || len(got.Messages) != 1 || got.Partner != "web" {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestSendUsesConversationState: the next number is advised, and the cap on pushing back is held on both sides.
func TestSendUsesConversationState(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.say("web", "notes", note{conv: "job", kind: "request", seq: 1})
	if s := r.say("notes", "web", note{conv: "job", kind: "pushback", seq: 7}); len(s.Advice) != 1 || !strings.Contains(s.Advice[0], "2") {
		t.Errorf("advice %q", s.Advice)
	}
	if s := r.say("web", "notes", note{conv: "job", kind: "request", seq: 8, more: "#+PUSHBACK_RESPONSE: insist\n"}); len(s.Advice) != 0 {
		t.Errorf("advice %q", s.Advice)
	}
	r.say("notes", "web", note{conv: "job", kind: "pushback", seq: 9})
	r.say("web", "notes", note{conv: "job", kind: "request", seq: 10})
	r.later(time.Second)
	third := Draft{
		Destination: "local.web", Sender: "notes", Project: r.project("notes"), NoSign: true,
		Text: note{conv: "job", kind: "pushback", seq: 11, at: r.Now()}.text(),
	}
	if e := r.fails(third, BadDraft, protocol.CodeCapReached); e.Hint() == "" {
		t.Error("no hint")
	}
	if s := r.say("notes", "web", note{conv: "job", kind: "progress", seq: 11}); !slices.Contains(s.Warnings, "expected_escalate") {
		t.Errorf("warnings %v", s.Warnings)
	}
	r.say("notes", "web", note{conv: "job", kind: "escalate", seq: 12})
	if s := r.say("web", "notes", note{conv: "job", kind: "release", seq: 13, more: "#+RELEASE_STATUS: abandoned-after-escalation\n"}); len(s.Warnings) != 0 {
		t.Errorf("warnings %v", s.Warnings)
	}
	if got, err := r.Thread(t.Context(), r.project("notes"), "job"); err != nil || !got.State.Terminal || got.State.ReleaseStatus != "abandoned-after-escalation" {
		t.Errorf("%+v, %v", got.State, err)
	}
}

func TestArchive(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.keys([]commstest.Who{commstest.Alice})
	web, notes := r.project("web"), r.project("notes")
	r.say("web", "notes", note{conv: "job", kind: "request", seq: 1})
	r.say("notes", "web", note{conv: "job", kind: "complete", seq: 2})
	r.say("web", "notes", note{conv: "job", kind: "release", seq: 3, more: "#+RELEASE_STATUS: complete\n"})
	r.say("web", "notes", note{conv: "open-job", kind: "request", seq: 1})
	signed := r.put(notes, "web", note{conv: "job", kind: "progress", seq: 2, at: start.Add(90 * time.Minute)}, commstest.Alice)
	must(t, os.Remove(filepath.Join(notes.MailboxPath(), signed))) // late: the conversation would be open again
	must(t, os.Remove(filepath.Join(notes.MailboxPath(), signed+".asc")))
	three := names(t, notes.MailboxPath())

	reports, err := r.Archive(t.Context(), notes, []string{"job", "open-job", "none"}, true)
	if err != nil || len(reports) != 3 || len(reports[0].Moved) != 2 || reports[1].Refused != RefusedOpen || reports[2].Refused != RefusedUnknown {
		t.Errorf("dry: %+v, %v", reports, err)
	}
	only(t, notes.MailboxPath(), three...)
	archive := filepath.Join(notes.Path, ".ai", "sessions", "cross-agent")
	must(t, os.MkdirAll(archive, 0o755))
	taken := filepath.Join(archive, "job-20260427T100001Z-from-web.org")
	must(t, os.WriteFile(taken, []byte("other"), 0o600))
	var clash *TakenError
	if reports, err := r.Archive(t.Context(), notes, nil, false); err != nil || len(reports) != 1 || !errors.As(reports[0].Err, &clash) {
		t.Errorf("a name that is taken: %+v, %v", reports, err)
	}
	if content(t, taken) != "other" {
		t.Error("an archived file was overwritten")
	}
	must(t, os.Remove(taken))
	for _, p := range []Project{notes, web} {
		if reports, err := r.Archive(t.Context(), p, nil, false); err != nil || len(reports) != 1 || reports[0].Err != nil {
			t.Errorf("%s: %+v, %v", p.Name, reports, err)
		}
	}
	only(t, archive, "job-20260427T100001Z-from-web.org", "job-20260427T100001Z-from-web.org.asc", "job-20260427T100003Z-from-web.org",
		"job-20260427T100003Z-from-web.org.asc")
	only(t, notes.MailboxPath(), "20260427T100004Z-from-web-open-job.org", "20260427T100004Z-from-web-open-job.org.asc")
	only(t, web.MailboxPath())
	// The conversation is known after it was put away, and goes on with the next number.
	if got, err := r.Thread(t.Context(), web, "job"); err != nil || len(got.Messages) != 3 || !got.State.Terminal || got.State.NextSequence != 4 {
		t.Errorf("%+v, %v", got, err)
	}
	if reports, err := r.Archive(t.Context(), notes, nil, false); err != nil || len(reports) != 0 {
		t.Errorf("once more: %+v, %v", reports, err)
	}
	r.halt()
	if _, err := r.Archive(t.Context(), notes, nil, false); err == nil {
		t.Error("archived under the halt")
	}
	r.resume()
	if _, err := r.Archive(t.Context(), r.project("new"), []string{"x"}, false); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no mailbox: %v", err)
	}
}

// TestArchiveAfterCrash: a crash has left the signature in both places, or the text in the archive and the signature in the mailbox.
func TestArchiveAfterCrash(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.keys([]commstest.Who{commstest.Alice})
	p := r.project("notes")
	name := r.put(p, "web", note{conv: "job", kind: "request", seq: 1}, commstest.Alice)
	r.put(p, "web", note{conv: "job", kind: "release", seq: 2, at: start.Add(time.Minute), more: "#+RELEASE_STATUS: cancelled\n"}, commstest.Alice)
	archive := filepath.Join(p.Path, ".ai", "sessions", "cross-agent")
	must(t, os.MkdirAll(archive, 0o700))
	must(t, os.WriteFile(filepath.Join(archive, "job-20260427T100000Z-from-web.org.asc"), []byte(content(t, filepath.Join(p.MailboxPath(), name+".asc"))), 0o600))
	must(t, os.WriteFile(filepath.Join(archive, "job-20260427T100000Z-from-web.org"), []byte(content(t, filepath.Join(p.MailboxPath(), name))), 0o600))
	if reports, err := r.Archive(t.Context(), p, nil, false); err != nil || len(reports) != 1 || reports[0].Err != nil {
		t.Errorf("%+v, %v", reports, err)
	}
	only(t, p.MailboxPath())
	if got := names(t, archive); len(got) != 4 {
		t.Errorf("%v", got)
	}
	// It is verified under its new name, too.
	k := commstest.NewKeyring(t, nil, commstest.Alice)
	k.Run("", "--verify", filepath.Join(archive, "job-20260427T100000Z-from-web.org.asc"), filepath.Join(archive, "job-20260427T100000Z-from-web.org"))
}

// TestArchiveInvalidRelease: a release that would be refused ends nothing, so that what waits is not put away with it.
func TestArchiveInvalidRelease(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.keys([]commstest.Who{commstest.Alice})
	p := r.project("notes")
	r.put(p, "web", note{conv: "job", kind: "request", seq: 1}, commstest.Alice)
	release := note{conv: "job", kind: "release", seq: 2, at: start.Add(time.Minute), more: "#+RELEASE_STATUS: cancelled\n"}
	for _, who := range []commstest.Who{"", commstest.Bob} {
		bad := r.put(p, "web", release, who)
		reports, err := r.Archive(t.Context(), p, []string{"job"}, false)
		if err != nil || len(reports) != 1 || reports[0].Refused != RefusedOpen || len(reports[0].Moved) != 0 {
			t.Errorf("signed by %q: %+v, %v; want it open", who, reports, err)
		}
		must(t, os.Remove(filepath.Join(p.MailboxPath(), bad)))
	}
	good := r.put(p, "web", release, commstest.Alice)
	r.judge(p, good, protocol.Process, protocol.CodeOK)
	r.GPG.Path = "no-gpg" // a key may end; what was acted on stays so
	if reports, err := r.Archive(t.Context(), p, nil, false); err != nil || len(reports) != 1 || len(reports[0].Moved) != 2 {
		t.Errorf("judged before: %+v, %v", reports, err)
	}
}
