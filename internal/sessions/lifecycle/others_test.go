package lifecycle

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/registry"
	"tutti/internal/test/progfile"
)

// What belongs to the user, or to another session, is left alone, whatever a row says.

// TestStopSoftWithoutRow: a soft stop does not end a session because it has no row.
func TestStopSoftWithoutRow(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.tmux("new-session", "-d", "-s", "users", "--", "cat", "-")
	_, err := r.m.Stop(t.Context(), StopRequest{Session: "users", Mode: Soft, ForceNoYAML: true})
	if e, ok := errors.AsType[*Error](err); !ok || e.Kind != Refused {
		t.Errorf("error %v", err)
	}
	if p, err := r.srv.Find(t.Context(), "users"); err != nil || p.Dead {
		t.Errorf("it was ended: %+v, %v", p, err)
	}
}

// TestStopSoftGone: a session that is gone is not reported as running.
func TestStopSoftGone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.begin("lives", "idle")
	r.begin("gone", "idle")
	r.tmux("kill-session", "-t", "=gone")
	for name, lives := range map[string]bool{"lives": true, "gone": false} {
		out, err := r.m.Stop(t.Context(), StopRequest{Session: name, Mode: Soft})
		if err != nil || out.Lives != lives || out.Gone == lives {
			t.Errorf("%s: %+v, %v", name, out, err)
		}
	}
}

// usersDead makes a session of the user's with that name: its first pane shows how a program ended, the second one is at work.
func (r *rig) usersDead(name string) (second string) {
	r.t.Helper()
	r.tmux("new-session", "-d", "-s", name, "--", "sh", "-c", "exit 3", ";", "set-option", "-p", "remain-on-exit", "on")
	r.dead(&registry.Row{Name: name})
	return r.tmux("new-window", "-d", "-P", "-F", "#{pane_id}", "-t", "="+name+":", "--", "cat", "-")
}

// TestStopDeadPaneOfUser: a row without an owner does not make a session of the user's ours, because its first program has ended.
func TestStopDeadPaneOfUser(t *testing.T) {
	t.Parallel()
	for name, intent := range map[string]*registry.Intent{
		"plain":                      nil,
		"with a create that was cut": {Verb: VerbCreate, PID: 1, Start: 1, Boot: "before"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			second := r.usersDead("main")
			r.write(&registry.Row{Name: "main"}, func(row *registry.Row) {
				row.Status, row.Server, row.Agent, row.Pane = registry.Running, r.name, "claude", registry.Pane{PID: os.Getpid(), Cmd: "claude", Cwd: r.dir}
				row.Intent = intent
			})
			if intent != nil {
				if _, err := r.m.Settle(t.Context(), "main"); err != nil {
					t.Fatal(err)
				}
			}
			_, err := r.m.Stop(t.Context(), StopRequest{Session: "main"})
			if e, ok := errors.AsType[*Error](err); intent == nil && (!ok || e.Kind != NotTheOne) {
				t.Errorf("error %v", err)
			}
			snap, err := r.srv.Panes(t.Context())
			if err != nil || len(snap.Panes) != 2 || !slices.ContainsFunc(snap.Panes, func(p tmux.Pane) bool { return p.ID == second && !p.Dead }) {
				t.Errorf("the user's session: %+v, %v", snap, err)
			}
		})
	}
}

// TestSettleLeavesUserSession: a row with an intent and without an owner, as one that came with a repository may have it, does not make a
// session of the user's ours.
func TestSettleLeavesUserSession(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.tmux("new-session", "-d", "-s", "main", "--", "cat", "-")
	r.write(&registry.Row{Name: "main"}, func(row *registry.Row) {
		row.Status, row.Server, row.Agent = registry.Running, r.name, "claude"
		row.Intent = &registry.Intent{Verb: VerbCreate, PID: 1, Start: 1, Boot: "before"}
		row.Pane = registry.Pane{PID: os.Getpid(), Cmd: "claude", Cwd: r.dir}
	})
	row, err := r.m.Settle(t.Context(), "main")
	if err != nil || row.Status == registry.Running || row.Pane.PID != os.Getpid() {
		t.Errorf("%s, %v", row.JSON(), err)
	}
	if _, err := r.m.StopAll(t.Context(), StopRequest{}); err != nil {
		t.Error(err)
	}
	if p, err := r.srv.Find(t.Context(), "main"); err != nil || p.Dead {
		t.Errorf("the user's session: %+v, %v", p, err)
	}
}

// TestStopRenamedWithWindows: the user gave a session another name and made windows in front of the agent's.
func TestStopRenamedWithWindows(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.begin("one", "idle")
	r.tmux("rename-session", "-t", "=one", "two")
	r.tmux("new-window", "-d", "-b", "-t", "=two:", "--", "cat", "-")
	out, err := r.m.Stop(t.Context(), StopRequest{Session: "one"})
	if err != nil || !slices.Contains(out.Steps, StepKeys) {
		t.Errorf("%+v, %v", out, err)
	}
	r.stopped(&row)
}

// TestPurgeShared: a conversation that another session has, or another program is in, is not deleted.
func TestPurgeShared(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		share func(r *rig)
		why   string // "": it is deleted
	}{
		"by a session that runs": {func(r *rig) {
			r.begin("two", "busy", func(row *registry.Row) { row.SetConversation("claude", talkA) })
		}, "session two"},
		"by one that was stopped": {func(r *rig) {
			r.write(&registry.Row{Name: "two"}, func(row *registry.Row) {
				row.Status, row.Agent, row.Pane = registry.Stopped, "claude", registry.Pane{PID: 1, Cmd: "claude", Cwd: r.dir}
				row.SetConversation("claude", talkA)
			})
		}, "session two"},
		"by a session with a deleted row": {func(r *rig) {
			r.write(&registry.Row{Name: "two"}, func(row *registry.Row) {
				row.Status, row.Agent, row.Mode, row.Pane = registry.Terminated, "claude", "purge", registry.Pane{PID: 1, Cmd: "claude", Cwd: r.dir}
				row.SetConversation("claude", talkA)
			})
		}, ""},
		"by a program of the user's": {func(r *rig) {
			p := r.start("users", "", "claude", "busy")
			r.sheet(p.PID, "busy", talkA)
		}, "process "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			file, _ := r.talk(talkA, talkA, r.dir)
			r.begin("one", "idle", func(row *registry.Row) {
				row.StartArgv = []string{"claude", "--session-id", talkA}
				setProven(row, "claude", talkA, HookReport)
			})
			c.share(r)
			out, err := r.m.Stop(t.Context(), StopRequest{Session: "one", Purge: true, Yes: true})
			if c.why != "" {
				r.wants(err, Refused, c.why)
			} else if err != nil {
				t.Fatal(err)
			}
			_, err = os.Stat(file)
			if left := err == nil; left != (c.why != "") || left == (len(out.Deleted) > 0) {
				t.Errorf("it is there: %v; %+v", left, out)
			}
		})
	}
}

// TestPurgeForeign: with force a session of the user's is ended that has the name of a row. Its conversation is not the row's.
func TestPurgeForeign(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	theirs, _ := r.talk(talkB, talkB, r.dir)
	own, _ := r.talk(talkA, talkA, r.dir)
	row := r.begin("one", "busy", func(row *registry.Row) {
		row.StartArgv = []string{"claude", "--session-id", talkA}
		setProven(row, "claude", talkA, HookReport)
	})
	r.write(&row, func(row *registry.Row) { row.OwnerID = "somebodyelse" })
	r.sheet(row.Pane.PID, "busy", talkB)
	out, err := r.m.Stop(t.Context(), StopRequest{Session: "one", Force: true, Purge: true, Yes: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(theirs); err != nil {
		t.Errorf("the conversation of the user: %v; %+v", err, out)
	}
	if _, err := os.Stat(own); err == nil {
		t.Errorf("the conversation of the row is there: %+v", out)
	}
	if after := r.row("one"); after.Conversation() != talkA {
		t.Errorf("the row: %s", after.JSON())
	}
}

// TestDeletedWithProcessLeft: a program that has deleted its conversation, and left a server behind that holds its output, has deleted it.
func TestDeletedWithProcessLeft(t *testing.T) {
	bin := t.TempDir()
	holder := filepath.Join(bin, "holder")
	if err := progfile.Write(filepath.Join(bin, "codex"), []byte("#!/bin/sh\nsleep 60 & echo $! >"+holder+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Cleanup(func() {
		raw, _ := os.ReadFile(holder)
		if pid, err := strconv.Atoi(strings.TrimSpace(string(raw))); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL) // our sleep
		}
	})
	r := newRig(t)
	r.write(&registry.Row{Name: "one"}, func(row *registry.Row) {
		row.Status, row.Agent, row.Pane = registry.Stopped, "codex", registry.Pane{PID: 1, Cmd: "node", Cwd: r.dir}
		setProven(row, "codex", talkA, OpenFile)
	})
	out, err := r.m.Stop(t.Context(), StopRequest{Session: "one", Purge: true, Yes: true})
	if err != nil || out.Forgot == "" || len(out.Notes) > 0 {
		t.Errorf("%+v, %v", out, err)
	}
}
