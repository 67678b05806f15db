package exchange

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tutti/internal/comms/protocol"
	"tutti/internal/core/render"
	"tutti/internal/halt"
	"tutti/internal/platform/gpg"
	"tutti/internal/test/commstest"
)

// local makes an office with a key, and a letter from web to notes on this machine.
func local(t *testing.T) (r *rig, l Draft, box string) {
	t.Helper()
	r = newRig(t)
	r.keys([]commstest.Who{commstest.Alice})
	l = r.letter(1)
	l.Destination = "local.notes"
	return r, l, r.project("notes").MailboxPath()
}

func TestSend(t *testing.T) {
	t.Parallel()
	r, l, box := local(t)
	s := r.sends(l)
	if s.Name != talk1 || s.Destination != "alpha.notes" || s.Path != filepath.Join(box, talk1) || s.Already || len(s.Warnings) != 0 ||
		s.Key == "" || s.Message.To != "alpha.notes" || s.Message.From != "alpha.web" {
		t.Errorf("%+v", s)
	}
	only(t, box, talk1, talk1+".asc")
	j := r.judge(r.project("notes"), talk1, protocol.Process, protocol.CodeOK)
	if j.Sender != "web" || j.SHA256 != s.SHA256 || !slices.Equal(j.Warnings, []string{"signer_unbound"}) {
		t.Errorf("%+v", j.Decision)
	}
	if s := r.sends(l); !s.Already {
		t.Error("sent again: not already there")
	}
	if got, err := r.Sent(l.Project).Entries("talk"); err != nil || len(got) != 1 {
		t.Errorf("record of sends: %+v, %v; want it once", got, err)
	}
	var out map[string]any
	if err := json.Unmarshal(render.JSON(s.View()), &out); err != nil || out["name"] != talk1 || out["delivered"] != true || out["path"] != s.Path {
		t.Errorf("%v: %s", err, render.JSON(s.View()))
	}
	other := l
	other.Text = append(slices.Clone(l.Text), "more\n"...)
	if e := r.fails(other, General, CodeNameTaken); !strings.Contains(e.Hint(), "--restamp") {
		t.Errorf("hint %q", e.Hint())
	}
	r.later(time.Minute)
	other.Restamp = true
	if s := r.sends(other); s.Name != "20260427T100100Z-from-web-talk.org" {
		t.Errorf("restamped as %s", s.Name)
	}
}

func TestSendFails(t *testing.T) {
	t.Parallel()
	r, l, box := local(t)
	draft := func(n note) Draft {
		l := l
		l.Text = n.text()
		return l
	}
	to := func(destination string) Draft {
		l := l
		l.Destination = destination
		return l
	}
	path := func(p string) Draft {
		l := l
		l.Text, l.Path = nil, p
		return l
	}
	pipe := filepath.Join(r.Home, "folder")
	must(t, os.Mkdir(pipe, 0o700))
	for name, c := range map[string]struct {
		l     Draft
		fault Fault
		code  string
		hint  string
	}{
		"no address":        {to("notes"), NoDestination, CodeBadDestination, "MACHINE.PROJECT"},
		"unknown machine":   {to("delta.notes"), NoDestination, CodeUnknownMachine, "tutti comms peer add delta"},
		"unknown project":   {to("local.nots"), NoDestination, CodeNoProject, "notes"},
		"no draft":          {path(filepath.Join(r.Home, "none.org")), BadDraft, CodeDraft, ""},
		"a folder":          {path(pipe), BadDraft, CodeDraft, ""},
		"no header":         {func() Draft { l := l; l.Text = []byte("text\n"); return l }(), BadDraft, protocol.CodeNoFrontmatter, ""},
		"stale":             {draft(note{conv: "talk", kind: "request", seq: 1, at: start.Add(-time.Hour)}), BadDraft, protocol.CodeStale, "--restamp"},
		"sequence 1":        {draft(note{conv: "talk", kind: "progress", seq: 1}), BadDraft, protocol.CodeFirstSequence, ""},
		"release":           {draft(note{conv: "talk", kind: "release", seq: 4}), BadDraft, "missing_field:RELEASE_STATUS", ""},
		"too large":         {draft(note{conv: "talk", kind: "request", seq: 1, body: strings.Repeat("x", 1<<20)}), BadDraft, protocol.CodeTooLarge, ""},
		"unknown key":       {func() Draft { l := l; l.Key = "nobody@example.org"; return l }(), General, CodeSigning, "secret"},
		"another recipient": {draft(note{conv: "talk", kind: "request", seq: 1, more: "#+TO: beta.web\n"}), BadDraft, protocol.CodeWrongRecipient, ""},
	} {
		e := r.fails(c.l, c.fault, c.code)
		if !strings.Contains(e.Hint(), c.hint) || e.Bundle != "" {
			t.Errorf("%s: %v, hint %q, bundle %q; want a hint with %q", name, e, e.Hint(), e.Bundle, c.hint)
		}
		var out map[string]any
		if err := json.Unmarshal(render.JSON(e.View()), &out); err != nil || out["exit"] != float64(c.fault) || out["reason_code"] != c.code {
			t.Errorf("%s: %v: %s", name, err, render.JSON(e.View()))
		}
	}
	only(t, box)
	if _, err := os.Stat(r.StatePath("sent")); err == nil {
		t.Error("there is a record of sends")
	}
	none := commstest.EmptyKeyring(t)
	r.GPG = none.Program()
	if e := r.fails(l, General, CodeSigning); !errors.Is(e, gpg.ErrNoKey) {
		t.Errorf("no key: %v", e)
	}
	only(t, box)
}

func TestSendWithBrokenPeers(t *testing.T) {
	t.Parallel()
	r, l, _ := local(t)
	must(t, os.MkdirAll(filepath.Dir(r.PeersPath()), 0o700))
	must(t, os.WriteFile(r.PeersPath(), []byte("[peers"), 0o600))
	if s := r.sends(l); !slices.Equal(s.Warnings, []string{WarnPeersBroken}) {
		t.Errorf("to this machine: %v", s.Warnings)
	}
	l.Destination = "beta.notes"
	r.fails(l, General, CodePeers)
	l.Fallback = true
	r.fails(l, General, CodePeers)
}

func TestSendFallbackToThisMachine(t *testing.T) {
	t.Parallel()
	r, l, box := local(t)
	l.Destination, l.Fallback = "delta.notes", true
	if s := r.sends(l); !slices.Equal(s.Warnings, []string{WarnGuessed}) || s.Destination != "alpha.notes" {
		t.Errorf("%+v", s)
	}
	only(t, box, talk1, talk1+".asc")
}

func TestDryRun(t *testing.T) {
	t.Parallel()
	r, l, _ := local(t)
	l.DryRun = true
	if s := r.sends(l); s.Name != talk1 || !s.DryRun || s.SHA256 == "" || !strings.Contains(string(render.JSON(s.View())), `"delivered":false`) {
		t.Errorf("%+v", s)
	}
	only(t, r.project("notes").Path, ".ai")
	only(t, r.Home, "projects")
}

func TestSendHalted(t *testing.T) {
	t.Parallel()
	r, l, box := local(t)
	r.halt()
	r.fails(l, Halted, CodeHalted)
	l.QueueOnHalt = true
	r.fails(l, Halted, CodeHalted) // a request is not queued
	only(t, r.StatePath("failed-sends"))
	l.Text = note{conv: "talk", kind: "progress", seq: 2, body: protocol.FarewellBody}.text()
	e := r.fails(l, Halted, CodeHalted)
	if b, err := r.Bundle(e.Bundle); err != nil || b.Cause != CauseHalted || b.Tries != 0 || b.Destination != "alpha.notes" || !b.FirstTry.IsZero() {
		t.Errorf("queued as %+v, %v", b, err)
	}
	only(t, box)
	if _, err := r.Resend(t.Context(), e.Bundle, 0); sendError(err).Fault != Halted {
		t.Errorf("under the halt: %v", err)
	}
	r.resume()
	only(t, box)
	r.later(time.Hour)
	s, err := r.Resend(t.Context(), e.Bundle, 0)
	if err != nil || s.Path == "" {
		t.Fatalf("%+v, %v", s, err)
	}
	only(t, box, s.Name, s.Name+".asc")
	r.judge(r.project("notes"), s.Name, protocol.Process, protocol.CodeOK)
	only(t, r.StatePath("failed-sends"))
}

// TestQueueOnHaltInvalidSend: whatever else is wrong, a send under the halt ends as halted.
func TestQueueOnHaltInvalidSend(t *testing.T) {
	t.Parallel()
	r, l, box := local(t)
	r.halt()
	l.QueueOnHalt = true
	for what, change := range map[string]func(l *Draft){
		"nowhere":     func(l *Draft) { l.Destination = "local.nowhere" },
		"no draft":    func(l *Draft) { l.Text, l.Path = nil, "/nowhere" },
		"no header":   func(l *Draft) { l.Text = []byte("text\n") },
		"no such key": func(l *Draft) { l.Key, l.Text = "nobody", note{conv: "talk", kind: "progress", seq: 2}.text() },
	} {
		bad := l
		change(&bad)
		var halted *halt.Error
		if e := r.fails(bad, Halted, CodeHalted); !errors.As(e, &halted) || e.Bundle != "" || e.Error() == halted.Error() {
			t.Errorf("%s: %v, bundle %q; want the halt, and what is wrong besides", what, e, e.Bundle)
		}
	}
	only(t, box)
}

// TestResendOnMachineWithOddName: the name of this machine in a bundle is recognised.
func TestResendOnMachineWithOddName(t *testing.T) {
	t.Parallel()
	r, l, box := local(t)
	r.Host = "Our_Big--Box.example"
	r.halt()
	l.Text, l.QueueOnHalt = note{conv: "talk", kind: "progress", seq: 2}.text(), true
	e := r.fails(l, Halted, CodeHalted)
	r.resume()
	s, err := r.Resend(t.Context(), e.Bundle, 0)
	if err != nil {
		t.Fatalf("%v; the bundle is for %s", err, r.Machine()+".notes")
	}
	only(t, box, s.Name, s.Name+".asc")
	only(t, r.StatePath("failed-sends"))
}

func TestResendLostProject(t *testing.T) {
	t.Parallel()
	r, l, box := local(t)
	r.halt()
	l.QueueOnHalt, l.Text = true, note{conv: "talk", kind: "progress", seq: 2}.text()
	e := r.fails(l, Halted, CodeHalted)
	r.resume()
	must(t, os.RemoveAll(r.project("notes").Path))
	_, err := r.Resend(t.Context(), e.Bundle, 0)
	if fault := sendError(err); fault == nil || fault.Fault != NoDestination || fault.Bundle != e.Bundle {
		t.Errorf("the project is gone: %v", err)
	}
	if b, err := r.Bundle(e.Bundle); err != nil || b.Cause != CauseRefused {
		t.Errorf("bundle %+v, %v: it must stay", b, err)
	}
	r.project("notes")
	must(t, os.Mkdir(r.StatePath("failed-sends/none"), 0o700))
	told := map[string]bool{}
	worst := r.ResendAll(t.Context(), 0, func(id string, _ *Sent, err error) { told[id] = err == nil })
	if worst != General || len(told) != 2 || told["none"] || !told[e.Bundle] {
		t.Errorf("fault %d, %v; want the one sent, and the other a general fault", worst, told)
	}
	if len(names(t, box)) != 2 {
		t.Errorf("%v", names(t, box))
	}
}

func TestSender(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	web, notes := r.project("web"), r.project("My.Notes")
	in := filepath.Join(notes.Path, "src", "deep")
	must(t, os.MkdirAll(in, 0o700))
	for _, c := range []struct {
		asked, env, dir, setting string
		slug                     string
		p                        Project
	}{
		{"", "", in, "set", "my-notes", notes},
		{"Web", "env", in, "set", "web", web},
		{"", "web", in, "set", "web", web},
		{"My Notes", "", "/", "", "my-notes", notes},
		{"", "", "/", "set", "set", Project{Name: "set"}},
		{"", "", "/", "", "alpha", Project{Name: "alpha"}},
		{"else", "", in, "", "else", Project{Name: "else"}},
	} {
		if slug, p, err := r.Sender(c.asked, c.env, c.dir, c.setting); slug != c.slug || p != c.p || err != nil {
			t.Errorf("Sender(%q, %q, %q, %q) = %q, %+v, %v; want %q, %+v", c.asked, c.env, c.dir, c.setting, slug, p, err, c.slug, c.p)
		}
	}
	if _, _, err := r.Sender("…", "", in, ""); err == nil {
		t.Error("a name of which nothing is left is taken")
	}
}

// TestSendFromUnaddressableProject: the name of the folder cannot stand in an address, and is received all the same.
func TestSendFromUnaddressableProject(t *testing.T) {
	t.Parallel()
	r, l, _ := local(t)
	l.Project = r.project("My Web")
	l.Sender = l.Project.Slug()
	s := r.sends(l)
	if s.Message.From != "alpha.my-web" {
		t.Errorf("from %s", s.Message.From)
	}
	r.judge(r.project("notes"), s.Name, protocol.Process, protocol.CodeOK)
}

func TestSendWithoutAProject(t *testing.T) {
	t.Parallel()
	r, l, box := local(t)
	l.Sender, l.Project = "alpha", Project{Name: "alpha"}
	if s := r.sends(l); s.Message.From != "alpha.alpha" || len(s.Warnings) != 0 {
		t.Errorf("%+v", s)
	}
	if len(names(t, box)) != 2 || len(names(t, r.StatePath("sent"))) != 1 {
		t.Errorf("%v, %v", names(t, box), names(t, r.StatePath("sent")))
	}
}
