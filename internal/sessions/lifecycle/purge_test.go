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

// TestStopSheet: what the program says of itself counts beside its screen, and its conversation is the one that is kept.
func TestStopSheet(t *testing.T) {
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

// TestPurge deletes the conversation of the row and nothing else, whatever lies there under its name.
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
		}, left: true, why: "no file"},
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
					setProven(row, "claude", id, HookReport)
				}
			})
			if id == "" { // what lies there is older than the session
				r.write(&row, func(row *registry.Row) { row.CreatedAt = time.Now().Add(time.Hour) })
			}
			if _, err := r.m.Stop(t.Context(), StopRequest{Session: "one", Purge: true}); err == nil {
				t.Fatal("nobody has agreed")
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
				t.Errorf("the conversation of somebody else: %v", err)
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

// TestPurgeStopped: what was stopped before is purged later.
func TestPurgeStopped(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	file, folder := r.talk(talkA, talkA, r.dir)
	r.begin("one", "idle", func(row *registry.Row) { setProven(row, "claude", talkA, HookReport) })
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

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
