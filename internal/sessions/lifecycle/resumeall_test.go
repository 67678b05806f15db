package lifecycle

import (
	"fmt"
	"testing"

	"tutti/internal/core/address"
	"tutti/internal/platform/proc"
	"tutti/internal/sessions/registry"
)

// TestResumeAllOnce: a session that was lost and resumed is no longer lost, and stays ended when its program ends by itself.
func TestResumeAllOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.creator("types")
	row := r.create(m, "a")
	r.said(row.Conversation())
	r.dies(row)
	r.edit("a", func(row *registry.Row) { Lost(row, m, "its tmux server is gone") })
	if all, err := m.ResumeAll(t.Context(), ResumeRequest{}); err != nil || len(all) != 1 || all[0].Err != nil {
		t.Fatalf("%+v, %v", all, err)
	}
	if row := r.row("a"); row.Get(lostMember) != nil {
		t.Errorf("the row: %s", row.JSON())
	}
	r.dies(r.row("a"))
	r.edit("a", func(row *registry.Row) { endedRow(row, m.o.Now(), "its program has ended, with status 0", "", true) })
	if all, err := m.ResumeAll(t.Context(), ResumeRequest{}); err != nil || len(all) != 0 {
		t.Errorf("it was taken up though it had ended by itself: %+v, %v", all, err)
	}
	r.edit("a", func(row *registry.Row) {
		Lost(row, m, "lost once more")
		row.Mode, row.Resumable = modePurge, registry.No
	})
	if all, err := m.ResumeAll(t.Context(), ResumeRequest{}); err != nil || len(all) != 0 {
		t.Errorf("its conversation was deleted: %+v, %v", all, err)
	}
}

// TestResumeAllLost: one that was lost before its conversation was known does not take the only transcript of its
// folder, and lists it.
func TestResumeAllLost(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.creator("types")
	r.program("codex")
	done, err := m.Create(t.Context(), CreateRequest{Agent: "codex", Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	r.dies(done.Row)
	id := address.NewUUID()
	r.rolled(id, done.Row.CreatedAt)
	r.edit("a", func(row *registry.Row) { Lost(row, m, "the machine was started anew") })
	for _, q := range []ResumeRequest{{}, {Latest: true}} {
		all, err := m.ResumeAll(t.Context(), q)
		if err != nil || len(all) != 1 || all[0].Err == nil || len(all[0].Candidates) != 1 || all[0].Candidates[0].ID != id {
			t.Fatalf("%+v, %v", all, err)
		}
		if row := r.row("a"); row.Conversation() != "" || row.OwnerID != done.Row.OwnerID {
			t.Errorf("the row: %s", row.JSON())
		}
	}
}

// TestResumeAllLater: a session that is stopped while others are resumed stays stopped.
func TestResumeAllLater(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.creator("types")
	for _, name := range []string{"a", "b"} {
		row := r.create(m, name)
		r.said(row.Conversation())
		r.dies(row)
	}
	m.at = func(step string) {
		if step == "recorded" {
			r.edit("b", func(row *registry.Row) {
				row.Status, row.StopReason, row.Resumable = registry.Stopped, "manual_stop", registry.Yes
			})
		}
	}
	all, err := m.ResumeAll(t.Context(), ResumeRequest{})
	if err != nil || len(all) != 1 || all[0].Name != "a" || all[0].Err != nil {
		t.Errorf("%+v, %v", all, err)
	}
	if row := r.row("b"); row.Status != registry.Stopped {
		t.Errorf("the row: %s", row.JSON())
	}
}

// TestResumeAllSkipped: a session that cannot be resumed is skipped with the reason, which is not an error.
func TestResumeAllSkipped(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.creator("types")
	r.program("codex")
	for _, q := range []CreateRequest{
		{Agent: "claude", Name: "goes-on"},
		{Agent: "custom", Name: "own", Argv: []string{"sleep", "600"}},
		{Agent: "codex", Name: "silent"},
		{Agent: "codex", Name: "lost"},
		{Agent: "claude", Name: "busy"},
		{Agent: "claude", Name: "foreign"},
	} {
		done, err := m.Create(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		r.dies(done.Row)
	}
	r.edit("lost", func(row *registry.Row) { Lost(row, m, "the machine was started anew") })
	by, err := proc.Of(parentOf(t))
	if err != nil {
		t.Fatal(err)
	}
	r.edit("busy", func(row *registry.Row) {
		row.Intent = &registry.Intent{Verb: VerbStop, Step: "ending", At: m.o.Now(), PID: by.PID, Start: by.Start, Boot: by.Boot}
	})
	r.edit("foreign", func(row *registry.Row) { row.StartArgv, row.StartCommand = nil, "claude --settings theirs" })
	all, err := m.ResumeAll(t.Context(), ResumeRequest{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, done := range all {
		got[done.Name] = fmt.Sprintf("%v %v", done.Left != nil, done.Err != nil)
	}
	want := map[string]string{"goes-on": "false false", "own": "true false", "silent": "true false", "lost": "true false", "busy": "true false", "foreign": "false true"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("left out and failed: %v, want %v", got, want)
	}
}

func parentOf(t *testing.T) int {
	t.Helper()
	pid, err := proc.Parent(proc.Self().PID)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// TestResumeAllEnded: a program that has ended by itself is not started again, even if its row does not say so yet.
func TestResumeAllEnded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.creator("types")
	known := ""
	for i := 0; known == "" && i < 10; i++ { // tmux does not learn of every end how it was
		name := fmt.Sprintf("a%d", i)
		owner := fmt.Sprintf("%016x", i)
		pane := r.start(name, owner, "claude", "exits-at-once")
		r.edit(name, func(row *registry.Row) {
			row.Status, row.Server, row.Agent, row.OwnerID = registry.Running, r.name, "claude", owner
			row.Pane = registry.Pane{PID: pane.PID, Cwd: r.dir, ID: pane.ID, StartTicks: 1}
			row.BootID = proc.BootID()
		})
		if p, err := r.srv.Find(t.Context(), name); err == nil && p.Status == 7 {
			known = name
		}
	}
	if known == "" {
		t.Skip("SKIPPED: tmux does not tell how programs ended")
	}
	all, err := m.ResumeAll(t.Context(), ResumeRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, done := range all {
		if done.Name == known && (done.Left == nil || done.Err != nil || done.Left.Text != "its program has ended by itself, with status 7") {
			t.Errorf("%+v, %v", done, done.Err)
		}
	}
	if row := r.row(known); row.Status != registry.Running || row.OwnerID == "" {
		t.Errorf("the row: %s", row.JSON())
	}
}
