package hookmark

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"tutti/internal/platform/proc"
)

func own(t *testing.T) Mark {
	t.Helper()
	id := proc.Self()
	return Mark{PID: id.PID, Start: id.Start, Boot: id.Boot, CLI: "claude", Build: "b1", Conversation: "c1", Dir: "/d"}
}

func all(t *testing.T, state string) []Mark {
	t.Helper()
	found, err := All(state)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func record(t *testing.T, state string, m Mark) {
	t.Helper()
	if err := Record(state, m); err != nil {
		t.Fatal(err)
	}
}

func TestRecordMerges(t *testing.T) {
	state := t.TempDir()
	m := own(t)
	record(t, state, m)
	m.Denies, m.Acked = true, 3
	record(t, state, m)
	m.Denies, m.Acked, m.Dir, m.Instance = false, 0, "", "claude:api"
	record(t, state, m)
	found := all(t, state)
	if len(found) != 1 {
		t.Fatalf("%d marks, want 1", len(found))
	}
	if got := found[0]; !got.Denies || got.Acked != 3 || got.Dir != "/d" || got.Instance != "claude:api" || got.ID() != proc.Self() {
		t.Errorf("merged: %+v", got)
	}
	m.Build = "b2" // another build has proved and acknowledged nothing yet
	record(t, state, m)
	if got := all(t, state)[0]; got.Denies || got.Acked != 0 || got.Build != "b2" {
		t.Errorf("after another build: %+v", got)
	}
}

// TestRecordEvents: the events at which hooks were seen are kept, each once, and the last that tells what the agent does.
func TestRecordEvents(t *testing.T) {
	state := t.TempDir()
	at := time.Date(2026, 3, 1, 10, 4, 0, 123e6, time.UTC)
	for n, name := range []string{"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PreToolUse", "Stop", "PreToolUse"} {
		m := own(t)
		m.Events = name
		if name == "Stop" || name == "SessionStart" || name == "UserPromptSubmit" {
			m.Last, m.LastAt = name, at.Add(time.Duration(n)*time.Minute)
		}
		record(t, state, m)
	}
	got := all(t, state)[0]
	if want := "SessionStart,UserPromptSubmit,PreToolUse,PostToolUse,Stop"; got.Events != want {
		t.Errorf("events %q, want %q", got.Events, want)
	}
	if !got.LastAt.Equal(at.Add(5*time.Minute)) || got.Last != "Stop" {
		t.Errorf("last: %s at %s", got.Last, got.LastAt)
	}
}

// TestRecordAfterLostCounter: when the counter of halts was lost and begins anew, the next halt is acknowledged all the same.
func TestRecordAfterLostCounter(t *testing.T) {
	state := t.TempDir()
	m := own(t)
	m.Acked = 7
	record(t, state, m)
	m.Acked = 1
	record(t, state, m)
	if got := all(t, state)[0]; got.Acked != 1 {
		t.Errorf("the last halt that was acknowledged: %d, want 1", got.Acked)
	}
}

// A mark that says nothing new is not written: hooks record at every tool call.
func TestRecordWritesOnlyChanges(t *testing.T) {
	state := t.TempDir()
	m := own(t)
	record(t, state, m)
	file := filepath.Join(state, folder, name(m.ID()))
	before, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	record(t, state, m)
	after, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if !os.SameFile(before, after) || before.ModTime() != after.ModTime() {
		t.Error("the second, equal mark was written")
	}
}

func TestAllDropsDeadProcesses(t *testing.T) {
	state := t.TempDir()
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	id, err := proc.Of(child.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	m := own(t)
	record(t, state, m)
	m.PID, m.Start = id.PID, id.Start
	record(t, state, m)
	m.PID, m.Start, m.Space = m.PID+1, 7, "pid:[1]"
	record(t, state, m) // in another pid namespace
	if n := len(all(t, state)); n != 2 {
		t.Errorf("%d marks, want 2", n)
	}
	if err := os.WriteFile(filepath.Join(state, folder, "5-5.json"), []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	if found := all(t, state); len(found) != 1 || found[0].ID() != proc.Self() {
		t.Errorf("after its end: %+v", found)
	}
	left, err := os.ReadDir(filepath.Join(state, folder))
	if err != nil || len(left) != 2 {
		t.Errorf("%d files are left, want 2: %v", len(left), err)
	}
}

func TestRecordNeedsAProcess(t *testing.T) {
	if Record(t.TempDir(), Mark{CLI: "claude"}) == nil {
		t.Error("a mark of no process was taken")
	}
}
