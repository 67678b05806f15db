package lifecycle

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/platform/proc"
	"tutti/internal/sessions/registry"
)

// TestCreateOnItsServer: a session that is begun again is begun where its row says, also when its name is not given.
func TestCreateOnItsServer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.creator("types")
	done, err := m.Create(t.Context(), CreateRequest{Agent: "claude"})
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := r.creator("types", func(o *Options) { o.Server = "s" + rand.Text()[:8] })
	_, err = elsewhere.Create(t.Context(), CreateRequest{Agent: "claude"})
	r.wants(err, Refused, "already running")
	r.dies(done.Row)
	again, err := elsewhere.Create(t.Context(), CreateRequest{Agent: "claude"})
	if err != nil || again.Row.Name != done.Row.Name || again.Row.Server != r.name {
		t.Errorf("%+v, %v", again, err)
	}
}

// TestRecreateIgnoresOldState: a session that was created again does not inherit old conversations, or the agent that another program was
// on the bus.
func TestRecreateIgnoresOldState(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var births []Birth
	m := r.creator("types", func(o *Options) {
		o.Bus.Began = func(_ context.Context, b Birth) (string, error) {
			births = append(births, b)
			return b.Agent + ":api:" + strconv.Itoa(len(births)), nil
		}
	})
	r.program("codex")
	begin := func(agent string) registry.Row {
		t.Helper()
		done, err := m.Create(t.Context(), CreateRequest{Agent: agent, Name: "a"})
		if err != nil {
			t.Fatal(err)
		}
		return done.Row
	}
	r.dies(begin("codex"))
	r.edit("a", func(row *registry.Row) {
		row.CreatedAt, row.ResumedAt = time.Now().Add(-2*time.Hour), time.Now().Add(-2*time.Hour)
	})
	r.rolled(address.NewUUID(), time.Now().Add(-time.Hour))
	row := begin("codex")
	if time.Since(row.CreatedAt) > time.Minute || !row.ResumedAt.IsZero() {
		t.Errorf("the row: %s", row.JSON())
	}
	r.dies(row)
	_, err := m.Resume(t.Context(), ResumeRequest{Name: "a"})
	r.wants(err, Nothing, "no conversation of it is known")
	r.dies(begin("claude"))
	row = begin("claude")
	if len(births) != 4 || births[1].Instance != "codex:api:1" || births[2].Instance != "" || births[3].Instance != "claude:api:3" || row.Instance != "claude:api:4" {
		t.Errorf("the bus got %+v", births)
	}
}

// TestCreateUnstartable: no row is made for a program that cannot be started.
func TestCreateUnstartable(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.creator("types")
	must(t, os.WriteFile(filepath.Join(r.dir, "text"), nil, 0o600))
	for _, q := range []CreateRequest{
		{Agent: "claude", Name: "a", Program: "/nonexistent/claude"},
		{Agent: "claude", Name: "b", Program: filepath.Join(r.dir, "text")},
		{Agent: "custom", Name: "c", Argv: []string{"./text"}},
		{Agent: "custom", Name: "d", Argv: []string{"cat"}, Typed: true},
	} {
		_, err := m.Create(t.Context(), q)
		r.wants(err, Refused, "")
	}
	if rows, _, _ := r.reg.Rows(t.Context()); len(rows) != 0 {
		t.Errorf("rows: %v", rows)
	}
}

// TestResumeRunning: a session that runs is left alone, what its row says otherwise is put right, and what was asked for beside that is
// not passed over.
func TestResumeRunning(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.begin("a", "types", func(row *registry.Row) { row.SetConversation("claude", talkA) })
	if _, err := r.m.Stop(t.Context(), StopRequest{Session: "a", Mode: Soft}); err != nil || r.row("a").Status != registry.Archived {
		t.Fatal(err, r.row("a").Status)
	}
	done, err := r.m.Resume(t.Context(), ResumeRequest{Name: "a"})
	if err != nil || !done.Running {
		t.Errorf("%+v, %v", done, err)
	}
	if row := r.row("a"); row.Status != registry.Running || !row.ArchivedAt.IsZero() || row.StopReason != "" || row.Conversation() != talkA {
		t.Errorf("the row: %s", row.JSON())
	}
	r.edit("a", func(row *registry.Row) {
		row.Intent = &registry.Intent{Verb: VerbStop, Step: "cut off", At: time.Now()}
	})
	if done, err := r.m.Resume(t.Context(), ResumeRequest{Name: "a"}); err != nil || done.Row.Intent != nil {
		t.Errorf("%+v, %v", done, err)
	}
	_, err = r.m.Resume(t.Context(), ResumeRequest{Name: "a", Prompt: "go on"})
	r.wants(err, Refused, "its prompt was not typed")
	_, err = r.m.Resume(t.Context(), ResumeRequest{Name: "a", Conversation: talkB})
	r.wants(err, Refused, "in conversation "+talkA)
	if done, err := r.m.Resume(t.Context(), ResumeRequest{Name: "a", Conversation: talkA}); err != nil || !done.Running {
		t.Errorf("%+v, %v", done, err)
	}
	if all, err := r.m.ResumeAll(t.Context(), ResumeRequest{Prompt: "go on"}); err != nil || len(all) != 1 || !all[0].Running || all[0].Err != nil {
		t.Errorf("all: %+v, %v", all, err)
	}
	if r.wrote("a", "submitted") {
		t.Error("something was typed")
	}
}

// TestDeadSessionOfUser: a row without an owner, as older programs write them, and a session of the user's of that name whose program has
// ended. It is not taken away.
func TestDeadSessionOfUser(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.tmux("new-session", "-d", "-s", "a", "cat", ";", "set-option", "-p", "-t", "=a:", "remain-on-exit", "on")
	pane, err := r.srv.Find(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	id, err := proc.Of(pane.PID)
	if err != nil {
		t.Fatal(err)
	}
	must(t, proc.Signal(id, syscall.SIGKILL))
	r.until("its end", func() bool { p, err := r.srv.Find(t.Context(), "a"); return err == nil && p.Dead })
	r.edit("a", func(row *registry.Row) {
		row.Status, row.Server, row.Agent = registry.Running, r.name, "claude"
		row.Pane = registry.Pane{PID: pane.PID + 1, Cwd: r.dir, Cmd: "claude"}
	})
	_, err = r.creator("types").Create(t.Context(), CreateRequest{Name: "a"})
	r.wants(err, NotTheOne, "not ours")
	if p, err := r.srv.Find(t.Context(), "a"); err != nil || !p.Dead {
		t.Errorf("the session of the user: %+v, %v", p, err)
	}
	r.edit("a", func(row *registry.Row) { row.Pane.PID = pane.PID })
	if _, err := r.creator("types").Create(t.Context(), CreateRequest{Name: "a"}); err != nil {
		t.Errorf("what is left of its own: %v", err)
	}
}

// TestStopOnlyOne: a stop does not record the only transcript of the folder as the session's own, and a purge does not delete it.
func TestStopOnlyOne(t *testing.T) {
	t.Parallel()
	for name, purge := range map[string]bool{"stop": false, "purge": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.begin("a", "idle", func(row *registry.Row) { row.Agent = "codex" })
			path := r.rolled(address.NewUUID(), time.Now().Add(time.Second))
			must(t, os.Chtimes(path, time.Time{}, time.Now().Add(time.Second)))
			_, err := r.m.Stop(t.Context(), StopRequest{Session: "a", Purge: purge, Yes: purge})
			if purge {
				r.wants(err, Refused, "no conversation is known")
			} else if err != nil {
				t.Fatal(err)
			}
			if row := r.row("a"); row.Conversation() != "" || row.Status != registry.Stopped {
				t.Errorf("the row: %s", row.JSON())
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("it was deleted: %v", err)
			}
		})
	}
}
