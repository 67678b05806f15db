package overview

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tutti/internal/comms/exchange"
	"tutti/internal/comms/protocol"
	"tutti/internal/core/render"
	"tutti/internal/halt"
)

// start is when the tests happen.
var start = time.Date(2026, 4, 27, 10, 0, 0, 0, time.UTC)

// A rig is an office with a home of its own on the machine alpha.
type rig struct {
	t testing.TB
	Options
}

func newRig(t testing.TB) *rig {
	t.Helper()
	home := t.TempDir()
	r := &rig{t: t}
	now := func() time.Time { return start.Add(time.Hour) }
	r.Options = Options{
		Office: &exchange.Service{Home: home, Host: "Alpha.example", Now: now, Unverified: true},
		Halt:   func() halt.State { return halt.State{} },
		Now:    now,
	}
	return r
}

func (r *rig) project(name string) exchange.Project {
	r.t.Helper()
	p := exchange.Project{Name: name, Path: filepath.Join(r.Office.Home, "projects", name)}
	must(r.t, os.MkdirAll(filepath.Join(p.Path, ".ai"), 0o700))
	must(r.t, os.MkdirAll(p.MailboxPath(), 0o700))
	return p
}

// A note is a message in parts.
type note struct {
	from, conv string
	kind       protocol.Type
	seq        int
	after      time.Duration // start
	more       string        // further header lines, each with its end
	unsigned   bool
}

func (n note) text() string {
	return fmt.Sprintf("#+TITLE: About %s\n#+CONVERSATION_ID: %s\n#+MESSAGE_TYPE: %s\n#+SEQUENCE: %d\n#+TIMESTAMP: %s\n#+PROTOCOL_VERSION: 5\n%s\nText.\n",
		n.conv, n.conv, n.kind, n.seq, protocol.FormatTime(start.Add(n.after)), n.more)
}

func (r *rig) put(to exchange.Project, n note) string {
	r.t.Helper()
	name, err := protocol.FormatName(start.Add(n.after), n.from, n.conv)
	must(r.t, err)
	path := filepath.Join(to.MailboxPath(), name)
	if !n.unsigned {
		must(r.t, os.WriteFile(path+".asc", []byte("a signature"), 0o600))
	}
	must(r.t, os.WriteFile(path, []byte(n.text()), 0o600))
	return name
}

func (r *rig) look() *Overview {
	r.t.Helper()
	s, err := Look(context.Background(), r.Options)
	must(r.t, err)
	return s
}

func (s *Overview) of(name string) *Project {
	for _, p := range s.Projects {
		if p.Name == name {
			return p
		}
	}
	return &Project{}
}

func (s *Overview) codes() []string {
	var list []string
	for _, w := range s.Warnings {
		list = append(list, w.Project+" "+w.Code)
	}
	slices.Sort(list)
	return list
}

// see checks what is seen now.
func see(r *rig, check func(s *Overview)) { check(r.look()) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestChanges changes a mailbox between two looks.
func TestChanges(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	web := r.project("web")
	in := func(name string) string { return filepath.Join(web.MailboxPath(), name) }
	first := r.put(web, note{from: "notes", conv: "a", kind: protocol.Request, seq: 1})
	second := r.put(web, note{from: "notes", conv: "b", kind: protocol.Request, seq: 1, after: time.Second})
	const bad = "20260427T100500Z-from-notes-bad.org"
	for _, step := range []struct {
		what   string
		change func()
		want   [4]int // messages, waiting, unsigned, foreign
	}{
		{"nothing", func() {}, [4]int{2, 2, 0, 0}},
		{"a message comes", func() {
			r.put(web, note{from: "notes", conv: "c", kind: protocol.Request, seq: 1, after: time.Minute})
		}, [4]int{3, 3, 0, 0}},
		{"a signature goes", func() { must(t, os.Remove(in(first+".asc"))) }, [4]int{3, 3, 1, 0}},
		{"a foreign file comes", func() { must(t, os.WriteFile(in("draft.org"), nil, 0o600)) }, [4]int{3, 3, 1, 1}},
		{"the signature comes back", func() { must(t, os.WriteFile(in(first+".asc"), nil, 0o600)) }, [4]int{3, 3, 0, 1}},
		{"a message goes", func() { must(t, os.Remove(in(second))) }, [4]int{2, 2, 0, 1}},
		{"the foreign file goes", func() { must(t, os.Remove(in("draft.org"))) }, [4]int{2, 2, 0, 0}},
		{"a folder with the name of a message comes", func() { must(t, os.Mkdir(in(bad), 0o700)) }, [4]int{2, 2, 0, 0}},
		{"a file takes its place", func() {
			must(t, os.Remove(in(bad)))
			must(t, os.WriteFile(in(bad), nil, 0o600))
		}, [4]int{3, 3, 1, 0}},
	} {
		step.change()
		p := r.look().of("web")
		if got := [4]int{p.Messages, p.Pending, p.Unsigned, p.Foreign}; got != step.want {
			t.Errorf("%s: messages, waiting, unsigned, foreign %v; want %v", step.what, got, step.want)
		}
	}
}

func TestReleaseClearsOriginatorMailbox(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	web, notes := r.project("web"), r.project("notes")
	r.put(notes, note{from: "web", conv: "question", kind: protocol.Request, seq: 1})
	r.put(web, note{from: "notes", conv: "question", kind: protocol.Progress, seq: 2, after: time.Minute})
	r.put(web, note{from: "notes", conv: "question", kind: protocol.Complete, seq: 3, after: 2 * time.Minute})
	see(r, func(s *Overview) {
		if p := s.of("web"); p.Pending != 2 || p.Literal != 2 || p.Latest == nil || p.Latest.Sequence != 3 || p.Latest.Age != 58*time.Minute {
			t.Errorf("before the release web has %d pending, %d by the letter, latest %+v; want 2, 2, sequence 3", p.Pending, p.Literal, p.Latest)
		}
		for _, name := range []string{"web", "notes"} {
			p := s.of(name)
			if len(p.Conversations) != 1 || p.Conversations[0].Line() != "question at sequence 3, awaiting originator" || p.Conversations[0].AwaitedName != "web" {
				t.Errorf("%s: conversations %+v; want one that awaits web", name, p.Conversations)
			}
		}
	})
	r.put(notes, note{from: "web", conv: "question", kind: protocol.Release, seq: 4, after: 3 * time.Minute, more: "#+RELEASE_STATUS: complete\n"})
	see(r, func(s *Overview) {
		for name, want := range map[string][2]int{"web": {0, 2}, "notes": {0, 0}} {
			p := s.of(name)
			if p.Pending != want[0] || p.Literal != want[1] || p.Latest != nil || p.Conversations[0].Open {
				t.Errorf("%s: %d pending, %d by the letter, latest %v, open %v; want %v, nil, false", name, p.Pending, p.Literal, p.Latest, p.Conversations[0].Open, want)
			}
		}
		if len(s.Warnings) != 0 {
			t.Errorf("warnings %v; want none", s.Warnings)
		}
	})
}

func TestReleaseInSendLog(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	web := r.project("web")
	r.put(web, note{from: "notes", conv: "far", kind: protocol.Complete, seq: 2, after: time.Minute})
	must(t, r.Office.Sent(web).Add(t.Context(), exchange.SentEntry{
		Time: start, Name: "20260427T100300Z-from-web-far.org", To: "beta.notes", Conversation: "far", Sequence: 3, Type: "release",
		Timestamp: protocol.FormatTime(start.Add(3 * time.Minute)), ReleaseStatus: "complete", SHA256: "x",
	}))
	see(r, func(s *Overview) {
		if p := s.of("web"); p.Pending != 0 || p.Literal != 1 {
			t.Errorf("%d pending, %d by the letter; want 0, 1", p.Pending, p.Literal)
		}
	})
}

func TestLongSendLog(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	web := r.project("web")
	add := func(conv string, kind protocol.Type, seq int, to string) {
		t.Helper()
		at := start.Add(time.Duration(seq) * time.Second)
		must(t, r.Office.Sent(web).Add(t.Context(), exchange.SentEntry{
			Time: at, Name: protocol.Stamp(at) + "-from-web-" + conv + ".org", To: to, Conversation: conv, Sequence: seq, Type: string(kind),
			Timestamp: protocol.FormatTime(at), ReleaseStatus: "complete", SHA256: conv, Title: strings.Repeat("long ", 100),
		}))
	}
	for i := range 80 {
		add(fmt.Sprintf("talk-%d", i), protocol.Request, 1, "beta.notes")
	}
	r.put(web, note{from: "notes", conv: "talk-7", kind: protocol.Complete, seq: 2, after: time.Second})
	check := func(want int, open bool) {
		t.Helper()
		see(r, func(s *Overview) {
			p := s.of("web")
			i := slices.IndexFunc(p.Conversations, func(c Conversation) bool { return c.ID == "talk-7" })
			if p.Pending != want || len(p.Conversations) != 80 || i < 0 || p.Conversations[i].Open != open || p.Conversations[i].Partner != "notes" {
				t.Errorf("%d pending, %d conversations; want %d, 80, and talk-7 open: %v", p.Pending, len(p.Conversations), want, open)
			}
		})
	}
	check(1, true)
	add("talk-7", protocol.Release, 3, "beta.notes")
	check(0, false)
}

func TestUnsignedReleaseIsIgnored(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	web := r.project("web")
	r.put(web, note{from: "notes", conv: "q", kind: protocol.Request, seq: 1})
	name := r.put(web, note{from: "notes", conv: "q", kind: protocol.Release, seq: 2, after: time.Minute, more: "#+RELEASE_STATUS: complete\n", unsigned: true})
	see(r, func(s *Overview) {
		p := s.of("web")
		if p.Pending != 2 || p.Literal != 0 || p.Unsigned != 1 || !p.Conversations[0].Open {
			t.Errorf("%d pending, %d by the letter, %d unsigned, open %v; want 2, 0, 1, true", p.Pending, p.Literal, p.Unsigned, p.Conversations[0].Open)
		}
		if got := s.codes(); !slices.Equal(got, []string{"web unsigned"}) {
			t.Errorf("warnings %v; want one about the signature", got)
		}
	})
	must(t, os.WriteFile(filepath.Join(web.MailboxPath(), name+".asc"), []byte("x"), 0o600))
	see(r, func(s *Overview) {
		if p := s.of("web"); p.Pending != 0 || p.Unsigned != 0 {
			t.Errorf("with its signature: %d pending, %d unsigned; want 0, 0", p.Pending, p.Unsigned)
		}
	})
}

func TestReleaseFromOtherMachine(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	web, notes := r.project("web"), r.project("notes")
	r.put(web, note{from: "data", conv: "q", kind: protocol.Request, seq: 1})
	// A project web of the machine beta has a conversation of the same name with notes.
	r.put(notes, note{from: "web", conv: "q", kind: protocol.Release, seq: 2, after: time.Minute, more: "#+RELEASE_STATUS: complete\n#+FROM: beta.web\n"})
	if p := r.look().of("web"); p.Pending != 1 {
		t.Errorf("%d pending; want 1, for it was another web that released", p.Pending)
	}
}

func TestStrangeFiles(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	web := r.project("web")
	r.put(web, note{from: "notes", conv: "q", kind: protocol.Request, seq: 1})
	in := func(name string) string { return filepath.Join(web.MailboxPath(), name) }
	const bad = "20260427T100500Z-from-notes-bad.org"
	must(t, os.WriteFile(in(bad), []byte("no header\n"), 0o600))
	must(t, os.WriteFile(in(bad+".asc"), nil, 0o600))
	must(t, os.Symlink("/etc/passwd", in("20260427T100600Z-from-notes-link.org")))
	must(t, os.Mkdir(in("20260427T100700Z-from-notes-folder.org"), 0o700))
	must(t, os.Mkdir(in("artifacts"), 0o700))
	must(t, os.WriteFile(in(".tmp.0123456789abcdef.x.org"), nil, 0o600))
	must(t, os.WriteFile(in("draft.org"), nil, 0o600))
	see(r, func(s *Overview) {
		p := s.of("web")
		if p.Messages != 3 || p.Pending != 3 || p.Literal != 3 || p.Unreadable != 2 || p.Foreign != 1 || p.Unsigned != 1 {
			t.Errorf("%d messages, %d pending, %d by the letter, %d unreadable, %d foreign, %d unsigned; want 3, 3, 3, 2, 1, 1",
				p.Messages, p.Pending, p.Literal, p.Unreadable, p.Foreign, p.Unsigned)
		}
		if want := []string{"web foreign_files", "web header_unreadable", "web unsigned"}; !slices.Equal(s.codes(), want) {
			t.Errorf("warnings %v; want %v, one of a kind", s.codes(), want)
		}
		if s.Trouble() {
			t.Error("strange files are not reported as a problem of the mailbox")
		}
	})
}

func TestUnreadableMailbox(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.put(r.project("web"), note{from: "notes", conv: "q", kind: protocol.Request, seq: 1})
	other := r.project("linked")
	must(t, os.Remove(other.MailboxPath()))
	must(t, os.Symlink(t.TempDir(), other.MailboxPath()))
	s := r.look()
	if p := s.of("linked"); p.Err == nil || !s.Trouble() {
		t.Errorf("a linked mailbox was looked at: %+v", p)
	}
	if p := s.of("web"); p.Pending != 1 {
		t.Errorf("the other mailbox has %d pending; want 1", p.Pending)
	}
}

func TestEditedMessageIsReread(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	web := r.project("web")
	name := r.put(web, note{from: "notes", conv: "q", kind: protocol.Request, seq: 1})
	r.look()
	path := filepath.Join(web.MailboxPath(), name)
	must(t, os.WriteFile(path, []byte(strings.Replace(note{from: "notes", conv: "q", kind: protocol.Request, seq: 1}.text(), "About q", "About Q", 1)), 0o600))
	if m := r.look().of("web").Latest; m == nil || m.Title != "About Q" {
		t.Errorf("latest %+v; want the title of the file as it is now", m)
	}
}

func TestOverdueAndArchived(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	web, notes := r.project("web"), r.project("notes")
	r.Now = func() time.Time { return start.Add(30 * time.Hour) }
	r.put(notes, note{from: "web", conv: "late", kind: protocol.Request, seq: 1})
	r.put(web, note{from: "notes", conv: "late", kind: protocol.Complete, seq: 2, after: time.Minute})
	// What is archived on one side is not open on the other.
	old := r.put(notes, note{from: "web", conv: "done", kind: protocol.Request, seq: 1})
	end := r.put(notes, note{from: "web", conv: "done", kind: protocol.Release, seq: 3, after: 2 * time.Minute, more: "#+RELEASE_STATUS: complete\n"})
	r.put(web, note{from: "notes", conv: "done", kind: protocol.Complete, seq: 2, after: time.Minute})
	folder := filepath.Join(notes.Path, protocol.ArchiveFolder)
	must(t, os.MkdirAll(folder, 0o700))
	for _, name := range []string{old, end} {
		to, err := protocol.ArchiveName(name, "done")
		must(t, err)
		must(t, os.Rename(filepath.Join(notes.MailboxPath(), name), filepath.Join(folder, to)))
		must(t, os.Rename(filepath.Join(notes.MailboxPath(), name+".asc"), filepath.Join(folder, to+".asc")))
	}
	see(r, func(s *Overview) {
		if want := []string{"notes verification_overdue", "web verification_overdue"}; !slices.Equal(s.codes(), want) {
			t.Errorf("warnings %v; want %v", s.Warnings, want)
		}
		if p := s.of("web"); p.Pending != 1 || p.Literal != 2 {
			t.Errorf("web: %d pending, %d by the letter; want 1, 2", p.Pending, p.Literal)
		}
		for _, name := range []string{"web", "notes"} {
			p := s.of(name)
			if len(p.Conversations) != 2 || p.Conversations[0].ID != "late" || !p.Conversations[0].Open || p.Conversations[1].Open {
				t.Errorf("%s: %+v; want late open and done not", name, p.Conversations)
			}
		}
	})
}

func TestJSONAndOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	zone := time.FixedZone("", -5*3600)
	r.Now = func() time.Time { return start.Add(3 * time.Minute).In(zone) }
	r.Halt = func() halt.State {
		return halt.State{Halted: true, Reason: "disk check", Since: start}
	}
	r.project("web")
	r.put(r.project("notes"), note{from: "web", conv: "question", kind: protocol.Request, seq: 1})
	s := r.look()
	got := string(render.JSON(s.View(false)))
	want := `{"scanned_at":"2026-04-27T05:03:00-05:00","projects":[{"name":"notes","pending_count":1,"most_recent":{"filename":"20260427T100000Z-from-web-question.org","age_seconds":180},"pending_literal":1,"path":"` +
		filepath.Join(r.Office.Home, "projects", "notes") + `","messages":1},{"name":"web","pending_count":0,"most_recent":null,"pending_literal":0,"path":"` +
		filepath.Join(r.Office.Home, "projects", "web") + `","messages":0}],"halt":{"active":true,"reason":"disk check","since":"2026-04-27T05:00:00-05:00"},"failed_sends":0,"warnings":[]}`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	var full struct {
		Projects []struct{ Conversations []map[string]any }
	}
	must(t, json.Unmarshal(render.JSON(s.View(true)), &full))
	if c := full.Projects[0].Conversations; len(c) != 1 || c[0]["awaited"] != "receiver" || c[0]["awaited_project"] != "notes" {
		t.Errorf("conversations %v; want one that awaits the receiver, notes", c)
	}
}

func TestPatternsAndOnly(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.put(r.project("web"), note{from: "notes", conv: "q", kind: protocol.Request, seq: 1})
	r.project("notes")
	for _, c := range []struct {
		globs []string
		only  string
		want  string
	}{
		{nil, "", "web notes"},
		{nil, "notes", "notes"},
		{[]string{"~/projects/*/inbox/from-agents/"}, "", "web notes"},
		{[]string{"~/projects/w*/inbox/from-agents", "~/projects/*/inbox/from-agents/"}, "", "web notes"},
		{[]string{"~/projects/n*/inbox/from-agents"}, "", "notes"},
		{[]string{"~/elsewhere/*"}, "", ""},
	} {
		o := r.Options
		o.Globs, o.Only = c.globs, c.only
		s, err := Look(t.Context(), o)
		must(t, err)
		var names []string
		for _, p := range s.Projects {
			names = append(names, p.Name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("globs %q, only %q: projects %q; want %q", c.globs, c.only, got, c.want)
		}
	}
}

// TestIgnoredReleases: only the side that opened a conversation ends it. A release by the other side or by a third sender hides nothing.
func TestIgnoredReleases(t *testing.T) {
	t.Parallel()
	for _, by := range []struct {
		sender string
		want   int // that wait
	}{{"notes", 0}, {"third", 2}, {"web", 2}} {
		r := newRig(t)
		web := r.project("web")
		r.put(web, note{from: "notes", conv: "q", kind: protocol.Request, seq: 1})
		more := "#+RELEASE_STATUS: complete\n"
		if by.sender == "web" { // the receiver, in the mailbox of who asked
			r.put(r.project("notes"), note{from: "web", conv: "q", kind: protocol.Release, seq: 2, after: time.Minute, more: more})
			by.want = 1
		} else {
			r.put(web, note{from: by.sender, conv: "q", kind: protocol.Release, seq: 2, after: time.Minute, more: more})
		}
		see(r, func(s *Overview) {
			if p := s.of("web"); p.Pending != by.want || p.Conversations[0].Open != (by.want > 0) {
				t.Errorf("released by %s: %d wait, open %v; want %d", by.sender, p.Pending, p.Conversations[0].Open, by.want)
			}
		})
	}
}
