package lifecycle

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/core/address"
	"tutti/internal/platform/proc"
	"tutti/internal/sessions/registry"
)

const (
	talkA = "aaaaaaaa-1111-4222-8333-444444444444"
	talkB = "bbbbbbbb-1111-4222-8333-444444444444"
)

// sheet writes what Claude Code says of itself.
func (r *rig) sheet(pid int, status, conversation string) {
	r.t.Helper()
	id, err := proc.Of(pid)
	if err != nil {
		r.t.Fatal(err)
	}
	dir := filepath.Join(r.home(), ".claude", "sessions")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		r.t.Fatal(err)
	}
	text := fmt.Sprintf(`{"pid":%d,"procStart":"%d","status":%q,"statusUpdatedAt":%d,"sessionId":%q,"cwd":%q}`, pid, id.Start, status, time.Now().UnixMilli(), conversation, r.dir)
	path := filepath.Join(dir, strconv.Itoa(pid)+".json")
	if err := os.WriteFile(path+".tmp", []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		r.t.Fatal(err)
	}
}

// TestStopUsesSessionFile: the program's own state counts beside its screen, and its conversation is the one that is recorded.
func TestStopUsesSessionFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status string
		later  string // soon after
		steps  []string
	}{
		"idle":                       {"idle", "", []string{StepKeys, StepKill}},
		"it says so a moment later":  {"busy", "idle", []string{StepKeys, StepKill}},
		"it works, whatever is seen": {"busy", "", []string{StepTerm, StepKill}},
		"it asks, whatever is seen":  {"waiting", "", []string{StepEscape, StepTerm, StepKill}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			row := r.begin("one", "idle", func(row *registry.Row) { row.SetConversation("claude", talkB) })
			r.sheet(row.Pane.PID, c.status, talkA)
			r.m.at = func(step string) {
				if step == "looked" && c.later != "" {
					r.sheet(row.Pane.PID, c.later, talkA)
				}
			}
			out, err := r.m.Stop(t.Context(), StopRequest{Session: "one"})
			if err != nil || !slices.Equal(out.Steps, c.steps) {
				t.Errorf("%v, %q, want %q", err, out.Steps, c.steps)
			}
			if after := r.stopped(&row); after.Conversation() != talkA || !slices.Equal(after.PreviousIDs, []string{talkB}) {
				t.Errorf("conversation %q, before %q", after.Conversation(), after.PreviousIDs)
			}
		})
	}
}

// talk writes a conversation as Claude Code does, and its folder.
func (r *rig) talk(id, inside, dir string) (file, folder string) {
	r.t.Helper()
	projects := filepath.Join(r.home(), ".claude", "projects", slugOf(r.dir))
	folder = filepath.Join(projects, id)
	if err := os.MkdirAll(filepath.Join(folder, "subagents"), 0o700); err != nil {
		r.t.Fatal(err)
	}
	file = filepath.Join(projects, id+".jsonl")
	text := fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"timestamp":"2026-11-21T20:00:00Z"}`+"\n", inside, dir)
	for _, path := range []string{file, filepath.Join(folder, "subagents", "agent-1.jsonl")} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
	return file, folder
}

// slugOf is how Claude Code calls the folder of a folder.
func slugOf(dir string) string {
	return strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			return c
		}
		return '-'
	}, dir)
}

// TestPurge: deletes the conversation of the row and nothing else, whatever other files have its name.
func TestPurge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(t *testing.T, r *rig, file, folder string)
		id    string
		left  bool   // the file
		why   string // in the error
		// unproven: the row names the conversation, and nothing shows that the session had it
		unproven bool
	}{
		"all of it": {},
		"a link in place of the file": {spoil: func(t *testing.T, r *rig, file, _ string) {
			moved := filepath.Join(r.dir, "elsewhere.jsonl")
			must(t, os.Rename(file, moved))
			must(t, os.Symlink(moved, file))
		}, left: true, why: "link"},
		"a link on the way": {spoil: func(t *testing.T, r *rig, file, _ string) {
			moved := filepath.Join(r.dir, "elsewhere")
			must(t, os.Rename(filepath.Dir(file), moved))
			must(t, os.Symlink(moved, filepath.Dir(file)))
		}, left: true, why: "nothing of its conversation"},
		"of another folder with the same name": {spoil: func(t *testing.T, r *rig, _, _ string) { r.talk(talkA, talkA, "/somewhere/else") }, left: true, why: "belongs to the folder /somewhere/else"},
		"of another conversation":              {spoil: func(t *testing.T, r *rig, _, _ string) { r.talk(talkA, talkB, r.dir) }, left: true, why: "does not say"},
		"a folder in place of the file": {spoil: func(t *testing.T, r *rig, file, _ string) {
			must(t, os.Remove(file))
			must(t, os.Mkdir(file, 0o700))
		}, left: true, why: "not a file"},
		"links in its folder": {spoil: func(t *testing.T, r *rig, _, folder string) {
			must(t, os.Mkdir(filepath.Join(r.dir, "precious"), 0o700))
			must(t, os.WriteFile(filepath.Join(r.dir, "precious", "file"), nil, 0o600))
			must(t, os.Symlink(filepath.Join(r.dir, "precious"), filepath.Join(folder, "link")))
		}},
		"an id that leads elsewhere": {id: "../../x", left: true, why: "not known"},
		"no id":                      {id: "-", left: true, why: "no conversation is known"},
		"not proven":                 {unproven: true, left: true, why: "nothing shows that it had conversation"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			file, folder := r.talk(talkA, talkA, r.dir)
			other, _ := r.talk(talkB, talkB, r.dir)
			if c.spoil != nil {
				c.spoil(t, r, file, folder)
			}
			id := c.id
			switch id {
			case "":
				id = talkA
			case "-":
				id = ""
			}
			row := r.begin("one", "busy", func(row *registry.Row) {
				row.SetConversation("claude", id)
				row.CreatedAt = time.Now().Add(time.Hour)
				if id != "" && !c.unproven {
					row.StartArgv = []string{"claude", "--session-id", id}
					setProven(row, "claude", id, HookReport)
				}
			})
			if id == "" { // what lies there is older than the session
				r.write(&row, func(row *registry.Row) { row.CreatedAt = time.Now().Add(time.Hour) })
			}
			if _, err := r.m.Stop(t.Context(), StopRequest{Session: "one", Purge: true}); err == nil {
				t.Fatal("purged without consent")
			}
			out, err := r.m.Stop(t.Context(), StopRequest{Session: "one", Purge: true, Yes: true})
			purged := len(out.Deleted) > 0
			if purged != (err == nil) {
				t.Fatalf("deleted %q, and %v", out.Deleted, err)
			}
			after := r.row("one")
			if purged && (after.Status != registry.Terminated || after.TerminatedAt.IsZero() || after.Mode != "purge" || after.Resumable != registry.No || after.Intent != nil) {
				t.Errorf("the row: %s", after.JSON())
			}
			if !purged && (after.Status != registry.Stopped || after.Mode != "graceful" || after.Resumable != registry.Yes || after.Intent != nil) {
				t.Errorf("the row of one that keeps its conversation: %s", after.JSON())
			}
			r.nothing(&row)
			if _, err := os.Lstat(file); (err == nil) != c.left {
				t.Errorf("the file: %v, left %v; %+v", err, c.left, out)
			}
			if !c.left && len(out.Deleted) == 0 {
				t.Errorf("nothing is called deleted: %+v", out)
			}
			if said := fmt.Sprint(out.Kept, out.Notes, err); c.why != "" && !strings.Contains(said, c.why) {
				t.Errorf("it says %s, want %q", said, c.why)
			}
			if _, err := os.Stat(other); err != nil && !strings.Contains(name, "on the way") {
				t.Errorf("the conversation of another user: %v", err)
			}
			if _, err := os.Stat(filepath.Join(r.dir, "precious")); err == nil {
				if _, err := os.Stat(filepath.Join(r.dir, "precious", "file")); err != nil {
					t.Errorf("what a link leads to: %v", err)
				}
			}
			if again, err := r.m.Stop(t.Context(), StopRequest{Session: "one", Purge: true, Yes: true}); purged && (err != nil || !again.Already) || !purged && err == nil {
				t.Errorf("again: %+v, %v", again, err)
			}
		})
	}
}

// TestPurgeStopped: a stopped session can be purged later.
func TestPurgeStopped(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	file, folder := r.talk(talkA, talkA, r.dir)
	r.begin("one", "idle", func(row *registry.Row) {
		row.StartArgv = []string{"claude", "--session-id", talkA}
		setProven(row, "claude", talkA, HookReport)
	})
	if _, err := r.m.Stop(t.Context(), StopRequest{Session: "one", Reason: "first"}); err != nil {
		t.Fatal(err)
	}
	out, err := r.m.Stop(t.Context(), StopRequest{Session: "one", Purge: true, Yes: true})
	if err != nil || out.Already || !slices.Equal(out.Deleted, []string{file, folder}) {
		t.Errorf("%+v, %v", out, err)
	}
	if row := r.row("one"); row.Status != registry.Terminated || row.StopReason != "first" || row.StoppedAt.IsZero() || row.Conversation() != talkA {
		t.Errorf("the row: %s", row.JSON())
	}
}

// TestPurgeTakenOver: a conversation that the session did not begin may be its user's own. It is deleted only if it is named.
func TestPurgeTakenOver(t *testing.T) {
	t.Parallel()
	old := time.Now().Add(-time.Hour)
	for name, c := range map[string]struct {
		take func(r *rig, m *Manager, private string) // makes the private conversation the session's
		kind string
		own  bool
	}{
		"the newest of the folder": {take: func(r *rig, m *Manager, _ string) {
			row := r.create(m, "a")
			r.dies(row)
			r.edit("a", func(row *registry.Row) { row.StartArgv = row.StartArgv[:1]; row.SetConversation("claude", "") })
			_, err := m.Resume(r.t.Context(), ResumeRequest{Name: "a", Latest: true})
			must(r.t, err)
		}},
		"named": {take: func(r *rig, m *Manager, private string) {
			row := r.create(m, "a")
			r.dies(row)
			_, err := m.Resume(r.t.Context(), ResumeRequest{Name: "a", Conversation: private})
			must(r.t, err)
		}},
		"named, and resumed once more": {take: func(r *rig, m *Manager, private string) {
			row := r.create(m, "a")
			r.dies(row)
			done, err := m.Resume(r.t.Context(), ResumeRequest{Name: "a", Conversation: private})
			must(r.t, err)
			r.dies(done.Row)
			_, err = m.Resume(r.t.Context(), ResumeRequest{Name: "a"})
			must(r.t, err)
		}},
		"given at the start": {take: func(r *rig, m *Manager, private string) {
			_, err := m.Create(r.t.Context(), CreateRequest{Agent: "claude", Name: "a", Argv: []string{"--resume", private}})
			must(r.t, err)
		}},
		"chosen in the agent CLI": {take: func(r *rig, m *Manager, private string) {
			row := r.create(m, "a")
			_, err := m.RecordConversation(r.t.Context(), &row, private, SelfReport)
			must(r.t, err)
		}},
		"older, of Codex": {kind: "codex", take: func(r *rig, m *Manager, private string) {
			r.rolled(private, old)
			r.program("codex")
			done, err := m.Create(r.t.Context(), CreateRequest{Agent: "codex", Name: "a"})
			must(r.t, err)
			_, err = m.RecordConversation(r.t.Context(), &done.Row, private, OpenFile)
			must(r.t, err)
		}},
		"its own": {own: true, take: func(r *rig, m *Manager, _ string) {
			row := r.create(m, "a")
			r.said(row.Conversation())
			r.dies(row)
			_, err := m.Resume(r.t.Context(), ResumeRequest{Name: "a"})
			must(r.t, err)
		}},
		"cleared in another session": {take: func(r *rig, m *Manager, private string) {
			row := r.create(m, "a")
			m.o.Bus.Cleared = func(_, _ string) string { return "another" }
			_, err := m.RecordConversation(r.t.Context(), &row, private, HookReport)
			must(r.t, err)
		}},
		"its own, after /clear": {own: true, take: func(r *rig, m *Manager, _ string) {
			row := r.create(m, "a")
			id := address.NewUUID()
			r.said(id)
			m.o.Bus.Cleared = func(agent, conversation string) string {
				if agent != "claude" || conversation != id {
					return ""
				}
				return row.OwnerID
			}
			_, err := m.RecordConversation(r.t.Context(), &row, id, HookReport)
			must(r.t, err)
		}},
		"its own, after /clear, and resumed": {own: true, take: func(r *rig, m *Manager, _ string) {
			row := r.create(m, "a")
			id := address.NewUUID()
			r.said(id)
			m.o.Bus.Cleared = func(_, conversation string) string {
				if conversation != id {
					return ""
				}
				return row.OwnerID // as it was: a resume gives it another one
			}
			_, err := m.RecordConversation(r.t.Context(), &row, id, HookReport)
			must(r.t, err)
			row = r.row("a")
			r.dies(row)
			_, err = m.Resume(r.t.Context(), ResumeRequest{Name: "a"})
			must(r.t, err)
		}},
		"its own, of Codex": {own: true, kind: "codex", take: func(r *rig, m *Manager, _ string) {
			r.program("codex")
			done, err := m.Create(r.t.Context(), CreateRequest{Agent: "codex", Name: "a"})
			must(r.t, err)
			id := address.NewUUID()
			r.rolled(id, time.Now().Add(time.Second))
			_, err = m.RecordConversation(r.t.Context(), &done.Row, id, OpenFile)
			must(r.t, err)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			m := r.creator("types")
			private := address.NewUUID()
			if c.kind == "" {
				r.said(private)
			}
			c.take(r, m, private)
			_, err := m.Stop(t.Context(), StopRequest{Session: "a", Purge: true, Yes: true})
			row := r.row("a")
			id := row.Conversation()
			if c.own {
				if err != nil || row.Mode != modePurge {
					t.Errorf("%v: %s", err, row.JSON())
				}
				return
			}
			r.wants(err, Refused, "nothing was deleted: it may have taken over conversation "+private)
			d, _ := driver.Kind(row.Kind())
			if now := r.row("a"); now.Status != registry.Stopped || id != private || !m.there(d, r.dir, private) {
				t.Fatalf("the row: %s", now.JSON())
			}
			_, err = m.Stop(t.Context(), StopRequest{Session: "a", Purge: true, Yes: true, Conversation: address.NewUUID()})
			r.wants(err, Refused, "its conversation is "+private)
			out, err := m.Stop(t.Context(), StopRequest{Session: "a", Purge: true, Yes: true, Conversation: private, ToTrash: true})
			if err != nil || m.there(d, r.dir, private) {
				t.Fatalf("named: %v", err)
			}
			kept, err := filepath.Glob(filepath.Join(out.Trash, "*"+private+".jsonl"))
			if err != nil || len(kept) != 1 {
				t.Errorf("in the trash %s: %q, %v", out.Trash, kept, err)
			}
		})
	}
}

// TestPurgeToTrash: a copy of all that is deleted, links as links. Without a copy nothing is deleted.
func TestPurgeToTrash(t *testing.T) {
	t.Parallel()
	for _, writable := range []bool{true, false} {
		r := newRig(t)
		file, folder := r.talk(talkA, talkA, r.dir)
		must(t, os.Symlink("/etc/hostname", filepath.Join(folder, "link")))
		text, err := os.ReadFile(file)
		must(t, err)
		r.begin("one", "busy", func(row *registry.Row) {
			row.StartArgv = []string{"claude", "--session-id", talkA}
			row.SetConversation("claude", talkA)
		})
		if !writable {
			must(t, os.MkdirAll(filepath.Join(r.home(), ".local"), 0o700))
			must(t, os.WriteFile(filepath.Join(r.home(), ".local", "state"), nil, 0o600))
		}
		out, err := r.m.Stop(t.Context(), StopRequest{Session: "one", Purge: true, Yes: true, ToTrash: true})
		if !writable {
			r.wants(err, Refused, "no copy of its conversation")
			if _, err := os.Stat(file); err != nil || r.row("one").Status != registry.Stopped {
				t.Errorf("%v: the row says %s", err, r.row("one").Status)
			}
			continue
		}
		must(t, err)
		copied, err := os.ReadFile(filepath.Join(out.Trash, "1-"+talkA+".jsonl"))
		if err != nil || string(copied) != string(text) || !strings.HasPrefix(out.Trash, filepath.Join(r.home(), ".local/state/tutti/trash")) {
			t.Errorf("%s: %q, %v", out.Trash, copied, err)
		}
		if link, err := os.Readlink(filepath.Join(out.Trash, "2-"+talkA, "link")); err != nil || link != "/etc/hostname" {
			t.Errorf("a link: %q, %v", link, err)
		}
		if _, err := os.Lstat(file); err == nil {
			t.Error("the conversation is still there")
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestPurgeKilled: a purge that is killed when it has deleted the conversation is done again, and finds nothing left to delete.
func TestPurgeKilled(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.begin("one", "idle")
	r.sheet(row.Pane.PID, "idle", talkA)
	file, _ := r.talk(talkA, talkA, r.dir)
	r.m.at = func(step string) {
		if step == "purged" {
			panic(step)
		}
	}
	purge := StopRequest{Session: "one", Purge: true, Yes: true, Conversation: talkA}
	func() {
		defer func() {
			if at := recover(); at != "purged" {
				t.Fatalf("it was not killed: %v", at)
			}
		}()
		_, err := r.m.Stop(t.Context(), purge)
		t.Errorf("it went on: %v", err)
	}()
	r.m.at = nil
	if _, err := os.Stat(file); err == nil {
		t.Error("the conversation is there")
	}
	if _, err := r.reg.Change(t.Context(), "one", func(r *registry.Row, _ bool) error {
		r.Intent.PID = 0 // its process has ended
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.m.Stop(t.Context(), purge); err != nil {
		t.Error(err)
	}
	if after := r.row("one"); after.Status != registry.Terminated || after.Mode != modePurge || after.Intent != nil {
		t.Errorf("the row: %s", after.JSON())
	}
}
