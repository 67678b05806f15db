package lifecycle

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"tutti/internal/core/canonjson"
	"tutti/internal/platform/proc"
	"tutti/internal/sessions/registry"
	"tutti/internal/test/progfile"
)

// TestStoppedDuringBegin: the record of a stop, written or pending, is kept when the process that began the session finds it gone.
func TestStoppedDuringBegin(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"stopped", "under way"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			m := r.creator("types")
			by, err := proc.Of(parentOf(t))
			if err != nil {
				t.Fatal(err)
			}
			m.at = func(step string) {
				switch {
				case step != "recorded":
				case how == "stopped":
					if _, err := r.m.Stop(t.Context(), StopRequest{Session: "a", Reason: "enough"}); err != nil {
						t.Error(err)
					}
				default:
					r.edit("a", func(row *registry.Row) {
						row.Intent = &registry.Intent{Verb: VerbStop, Step: "ending", At: m.o.Now(), PID: by.PID, Start: by.Start, Boot: by.Boot}
					})
					r.tmux("kill-session", "-t", "=a")
				}
			}
			done, err := m.Create(t.Context(), CreateRequest{Agent: "claude", Name: "a", Wait: true})
			r.wants(err, NotUp, "stopped meanwhile")
			row := r.row("a")
			switch {
			case done == nil || done.Row.Revision != row.Revision:
				t.Errorf("%+v", done)
			case how == "stopped" && (row.Status != registry.Stopped || row.StopReason != "enough" || row.Resumable != registry.Yes || row.VisibleNote != ""):
				t.Errorf("the row: %s", row.JSON())
			case how == "under way" && (row.Status != registry.Running || row.Intent == nil || row.Intent.PID != by.PID):
				t.Errorf("the row: %s", row.JSON())
			}
		})
	}
}

// TestOldEndIsCleared: the record of an earlier end is cleared when the restarted program does not keep running.
func TestOldEndIsCleared(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.create(r.creator("types"), "a")
	r.dies(row)
	r.edit("a", func(row *registry.Row) {
		row.Status, row.Mode, row.Resumable, row.StopReason, row.StoppedAt = registry.Terminated, modePurge, registry.No, "old", registry.Stamp(time.Now())
		row.Set(lostMember, []byte("true"))
	})
	m := r.creator("exits-at-once")
	m.at = func(step string) {
		if step == "made" {
			r.until("its end", func() bool { p, err := r.srv.Find(t.Context(), "a"); return err == nil && p.Dead })
		}
	}
	_, err := m.Create(t.Context(), CreateRequest{Name: "a"})
	r.wants(err, NotUp, "ended at once")
	if row := r.row("a"); row.Mode != "" || row.StopReason != "" || !row.StoppedAt.IsZero() || row.Get(lostMember) != nil || row.Get(beforeMember) != nil {
		t.Errorf("the row: %s", row.JSON())
	}
}

// brokenTmux puts a tmux before the one of the system that fails as a script says, while the file "$flag" is there.
func brokenTmux(t *testing.T, fails string) (flag string) {
	t.Helper()
	real, err := exec.LookPath("tmux")
	if err != nil {
		t.Skip("SKIPPED: tmux is not installed: sessions are not tested")
	}
	dir := t.TempDir()
	flag = filepath.Join(dir, "broken")
	script := fmt.Sprintf("#!/bin/sh\nreal=%q flag=%q\n%s\nexec \"$real\" \"$@\"\n", real, flag, fails)
	must(t, progfile.Write(filepath.Join(dir, "tmux"), []byte(script), 0o700))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return flag
}

// TestUnreadableScreen: an earlier screen does not count if the screen cannot be read now.
func TestUnreadableScreen(t *testing.T) {
	flag := brokenTmux(t, `case "$*" in *capture-pane*) [ ! -e "$flag" ] || { echo busy >&2; exit 1; };; esac`)
	r := newRig(t)
	r.begin("a", "types")
	b, err := r.m.visit(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	r.until("a place to type", func() bool { return !b.looked(t.Context(), true) && b.seen.Free() })
	must(t, os.WriteFile(flag, nil, 0o600))
	if ended := b.looked(t.Context(), true); ended || b.seen.Free() {
		t.Errorf("ended %v; it shows %+v", ended, b.seen)
	}
}

// TestBeginUnclear: if tmux does not say whether it has created the session, it is not reported as missing, and the next verb finds it.
func TestBeginUnclear(t *testing.T) {
	for _, verb := range []string{VerbCreate, VerbResume} {
		t.Run(verb, func(t *testing.T) {
			flag := brokenTmux(t, `case "$*" in
*source-file*) out=$("$real" "$@"); [ ! -e "$flag" ] || { echo lost >&2; exit 1; }; printf '%s\n' "$out"; exit;;
*list-panes*) [ ! -e "$flag" ] || { echo busy >&2; exit 1; };;
esac`)
			r := newRig(t)
			m := r.creator("types")
			if verb == VerbResume {
				row := r.create(m, "a")
				r.said(row.Conversation())
				r.dies(row)
			}
			m.at = func(step string) {
				if step == "claimed" {
					must(t, os.WriteFile(flag, nil, 0o600))
				}
			}
			var err error
			if verb == VerbCreate {
				_, err = m.Create(t.Context(), CreateRequest{Agent: "claude", Name: "a"})
			} else {
				_, err = m.Resume(t.Context(), ResumeRequest{Name: "a"})
			}
			r.wants(err, Unclear, "did not say whether it was started")
			if row := r.row("a"); row.Status != registry.Running || row.Intent == nil || row.Intent.Verb != verb || holder(&row) != (proc.ID{}) {
				t.Errorf("the row: %s", row.JSON())
			}
			must(t, os.Remove(flag))
			row, err := m.Settle(t.Context(), "a")
			pane, e := r.srv.Find(t.Context(), "a")
			if err != nil || e != nil || row.Status != registry.Running || row.Intent != nil || row.Pane.PID != pane.PID || row.OwnerID != pane.Owner {
				t.Errorf("%v, %v: %s", err, e, row.JSON())
			}
		})
	}
}

// leaves runs something that breaks off at a step, and leaves behind what it has written.
func leaves(m *Manager, step string, f func()) {
	done := make(chan struct{})
	m.at = func(s string) {
		if s == step {
			runtime.Goexit()
		}
	}
	go func() {
		defer close(done)
		f()
	}()
	<-done
	m.at = nil
}

// TestSettleReplaced: a replacement session that was never started leaves nothing.
func TestSettleReplaced(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.creator("types")
	r.program("codex")
	row := r.create(m, "a")
	r.said(row.Conversation())
	r.dies(row)
	was := r.edit("a", func(row *registry.Row) {
		row.Status, row.Resumable, row.StopReason, row.StoppedAt, row.Role = registry.Stopped, registry.Yes, "enough", registry.Stamp(time.Now()), "reviewer"
	})
	other := filepath.Join(r.dir, "other")
	must(t, os.Mkdir(other, 0o700))
	leaves(m, "claimed", func() {
		_, err := m.Create(t.Context(), CreateRequest{Agent: "codex", Name: "a", Dir: other, Argv: []string{"-m", "x"}, Job: "j"})
		t.Errorf("it went on: %v", err)
	})
	if half := r.row("a"); half.Agent != "codex" || half.Intent == nil {
		t.Fatalf("what is to be settled: %s", half.JSON())
	}
	now, err := m.Settle(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(now.VisibleNote, "before its program was started") {
		t.Errorf("it says %q", now.VisibleNote)
	}
	now.VisibleNote, now.Revision, now.UpdatedAt = was.VisibleNote, was.Revision, was.UpdatedAt
	is, err := canonjson.Canonical(now.JSON())
	must(t, err)
	if want, err := canonjson.Canonical(was.JSON()); err != nil || string(is) != string(want) { // in whatever order
		t.Errorf("the row is\n%s\nand was\n%s", now.JSON(), was.JSON())
	}
	if done, err := m.Resume(t.Context(), ResumeRequest{Name: "a"}); err != nil || done.Row.Conversation() != row.Conversation() {
		t.Errorf("%+v, %v", done, err)
	}
}

// TestSettleEnded: a session whose begin was cut off after its start, and that has worked since, has ended like any other.
func TestSettleEnded(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"dead", "gone"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			m := r.creator("types")
			leaves(m, "made", func() {
				_, err := m.Create(t.Context(), CreateRequest{Agent: "claude", Name: "a"})
				t.Errorf("it went on: %v", err)
			})
			half := r.row("a")
			r.said(half.Conversation())
			r.until("its screen", func() bool { return strings.Contains(r.tmux("capture-pane", "-p", "-t", "=a:"), "Ready.") })
			pane, err := r.srv.Find(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			id, err := proc.Of(pane.PID)
			if err != nil {
				t.Fatal(err)
			}
			if how == "gone" {
				r.tmux("kill-session", "-t", "=a")
			} else {
				must(t, proc.Signal(id, syscall.SIGKILL))
			}
			r.until("its end", func() bool {
				p, err := r.srv.Find(t.Context(), "a")
				return !id.Alive() && (err != nil || p.Dead)
			})
			row, err := m.Settle(t.Context(), "a")
			if err != nil || row.Status != registry.Terminated || row.Resumable != registry.Yes || row.Intent != nil {
				t.Errorf("%v: %s", err, row.JSON())
			}
			if how == "dead" && !strings.Contains(row.VisibleScreen, "Ready.") {
				t.Errorf("its last screen is %q", row.VisibleScreen)
			}
			if strings.Contains(row.VisibleNote, "before") {
				t.Errorf("it says %q", row.VisibleNote)
			}
		})
	}
}
