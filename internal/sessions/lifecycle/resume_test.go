package lifecycle

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/core/address"
	"tutti/internal/platform/proc"
	"tutti/internal/sessions/registry"
)

// create begins a session and fails the test when that cannot be done.
func (r *rig) create(m *Manager, name string) registry.Row {
	r.t.Helper()
	done, err := m.Create(r.t.Context(), CreateRequest{Agent: "claude", Name: name, Argv: []string{"--model", name}})
	if err != nil {
		r.t.Fatal(err)
	}
	return done.Row
}

// TestResumeOwn: two agents in one folder; each gets its own conversation back, by its id.
func TestResumeOwn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.creator("types")
	a, b := r.create(m, "a"), r.create(m, "b")
	r.said(a.Conversation())
	r.said(b.Conversation())
	r.said(address.NewUUID()) // and somebody else's
	for _, row := range []registry.Row{a, b} {
		r.dies(row)
		done, err := m.Resume(t.Context(), ResumeRequest{Name: row.Name})
		if err != nil {
			t.Fatal(err)
		}
		now := r.row(row.Name)
		id, err := proc.Of(now.Pane.PID)
		if err != nil {
			t.Fatal(err)
		}
		args, err := proc.Cmdline(id.PID)
		if want := []string{"--resume", row.Conversation(), "--model", row.Name}; err != nil || !slices.Equal(args[1:], want) {
			t.Errorf("%s was taken up with %q, want %q", row.Name, args, want)
		}
		if now.Status != registry.Running || now.ResumedAt.IsZero() || now.Intent != nil || now.OwnerID == row.OwnerID || now.Pane.StartTicks != id.Start ||
			now.Conversation() != row.Conversation() || !slices.Equal(now.StartArgv, row.StartArgv) || done.Running || done.Anew {
			t.Errorf("the row: %s", now.JSON())
		}
		again, err := m.Resume(t.Context(), ResumeRequest{Name: row.Name})
		if err != nil || !again.Running {
			t.Errorf("once more: %+v, %v", again, err)
		}
	}
}

// TestResumeReboot: everything is of another boot, and the numbers of processes belong to others.
func TestResumeReboot(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.creator("types")
	self := proc.Self()
	var rows []registry.Row
	for _, name := range []string{"a", "b", "ended", "stopped"} {
		row := r.create(m, name)
		r.said(row.Conversation())
		r.dies(row)
		_, err := r.reg.Change(t.Context(), name, func(row *registry.Row, _ bool) error {
			row.Pane.PID, row.Pane.StartTicks, row.BootID = self.PID, self.Start, "the boot before"
			switch name {
			case "b":
				Lost(row, m, "its tmux server is gone") // as a monitor found it
			case "ended":
				row.Status, row.Resumable = registry.Terminated, registry.Yes
			case "stopped":
				row.Status, row.Resumable, row.StopReason = registry.Stopped, registry.Yes, "manual_stop"
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	all, err := m.ResumeAll(t.Context(), ResumeRequest{})
	if err != nil || len(all) != 2 {
		t.Fatalf("%d were taken up, %v", len(all), err)
	}
	for i, done := range all {
		if done.Err != nil || done.Name != rows[i].Name || done.Row.Conversation() != rows[i].Conversation() || done.Running || done.Row.BootID != self.Boot {
			t.Errorf("%s: %v: %s", done.Name, done.Err, done.Row.JSON())
		}
	}
	if all, err := m.ResumeAll(t.Context(), ResumeRequest{}); err != nil || len(all) != 2 || !all[0].Running || !all[1].Running {
		t.Errorf("once more: %+v, %v", all, err)
	}
	if row := r.row("stopped"); row.Status != registry.Stopped {
		t.Errorf("it was stopped: %s", row.JSON())
	}
}

// TestResumeFinds: which conversation it is, where the row does not say.
func TestResumeFinds(t *testing.T) {
	t.Parallel()
	one, two, old := address.NewUUID(), address.NewUUID(), address.NewUUID()
	unknown := func(row *registry.Row) { row.SetConversation("claude", ""); row.StartArgv = row.StartArgv[:1] }
	for name, c := range map[string]struct {
		said  []string
		row   func(*registry.Row)
		q     ResumeRequest
		heard string
		want  string
		found string
		kind  Kind
		part  string
	}{
		"nothing was said":         {row: unknown, kind: Nothing, part: "no conversation of it is known"},
		"one is there":             {said: []string{two}, row: unknown, kind: Several, part: "the only conversation of its folder is not known to be its own"},
		"two are there":            {said: []string{one, two}, row: unknown, kind: Several, part: "none of 2"},
		"not proven":               {said: []string{two}, row: func(row *registry.Row) { unknown(row); row.SetConversation("claude", two) }, kind: Several, part: "nothing shows that it had conversation " + two},
		"not proven, older name":   {said: []string{two}, row: func(row *registry.Row) { unknown(row); row.SetConversation("claude", two) }, q: ResumeRequest{Unproven: true}, want: two, found: foundRow},
		"one is there, older name": {said: []string{two}, row: unknown, q: ResumeRequest{Unproven: true}, kind: Several, part: "the only conversation"},
		"the newest, if wanted":    {said: []string{one, two}, row: unknown, q: ResumeRequest{Latest: true}, want: two, found: foundLatest},
		"one of two, by name":      {said: []string{one, two}, q: ResumeRequest{Conversation: one}, want: one, found: foundGiven},
		"a former one is not its":  {said: []string{two, old}, row: func(row *registry.Row) { unknown(row); row.PreviousIDs = []string{old} }, kind: Several, part: "the only conversation"},
		"before the session": {said: []string{one}, row: func(row *registry.Row) {
			unknown(row)
			row.CreatedAt = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
		}, kind: Nothing, part: "no conversation"},
		"named by its hooks":  {said: []string{one, two}, heard: two, row: func(row *registry.Row) { setProven(row, "claude", one, OpenFile) }, want: two, found: foundHeard},
		"of one that is gone": {said: []string{one}, heard: two, row: func(row *registry.Row) { setProven(row, "claude", one, OpenFile) }, want: one, found: foundRow},
		"no id":               {q: ResumeRequest{Conversation: "--help"}, kind: Refused, part: "is not a conversation"},
		"purged": {row: func(row *registry.Row) {
			row.Status, row.Mode, row.Resumable = registry.Terminated, "purge", registry.No
		}, kind: Nothing, part: "deleted"},
	} {
		t.Run(name, func(t *testing.T) { // one after the other: they share the ids
			r := newRig(t)
			m := r.creator("types", func(o *Options) {
				o.Bus.Conversation = func(context.Context, string, string, proc.ID) (string, error) { return c.heard, nil }
			})
			row := r.create(m, "a")
			r.out("arguments")
			r.dies(row)
			if err := os.Remove(filepath.Join(r.dir, "out", "arguments")); err != nil {
				t.Fatal(err)
			}
			for i, id := range c.said {
				r.said(id, func(path string) {
					at := time.Now().Add(time.Duration(i) * time.Second)
					if err := os.Chtimes(path, at, at); err != nil {
						t.Fatal(err)
					}
				})
			}
			if c.row != nil {
				if _, err := r.reg.Change(t.Context(), "a", func(row *registry.Row, _ bool) error { c.row(row); return nil }); err != nil {
					t.Fatal(err)
				}
			}
			before := r.row("a")
			q := c.q
			q.Name = "a"
			done, err := m.Resume(t.Context(), q)
			if c.part != "" {
				r.wants(err, c.kind, c.part)
				if c.kind == Several && (len(done.Candidates) != len(c.said)-len(r.row("a").PreviousIDs) || done.Candidates[0].ID != two || !strings.Contains(err.(*Error).Next, two)) {
					t.Errorf("candidates: %v", done.Candidates)
				}
				if after := r.row("a"); after.OwnerID != before.OwnerID || after.Intent != nil || after.Status != before.Status {
					t.Errorf("the row: %s", after.JSON())
				}
				return
			}
			if err != nil || done.Found != c.found || done.Row.Conversation() != c.want {
				t.Fatalf("%+v, %v; want %s, %s", done, err, c.want, c.found)
			}
			if args := strings.Split(r.out("arguments"), "\x00"); !slices.Contains(args, c.want) {
				t.Errorf("it was started with %q", args)
			}
		})
	}
}

// TestResumeOthers: a session in which nothing was said takes no conversation that its user had beside it, nor does its stop, and a
// purge deletes nothing.
func TestResumeOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.creator("types")
	row := r.create(m, "a")
	r.began()
	var private string
	r.said(address.NewUUID(), func(path string) { private = path })
	before, err := os.ReadFile(private)
	must(t, err)
	stop := func(q StopRequest) error { q.Session = "a"; _, err := m.Stop(t.Context(), q); return err }
	if err := stop(StopRequest{}); err != nil {
		t.Fatal(err)
	}
	if done, err := m.Resume(t.Context(), ResumeRequest{Name: "a"}); err != nil || !done.Anew || done.Row.Conversation() != row.Conversation() {
		t.Errorf("%+v, %v", done, err)
	}
	r.began()
	r.wants(stop(StopRequest{Purge: true, Yes: true}), Refused, "nothing was deleted")
	if now := r.row("a"); now.Status != registry.Stopped || now.Conversation() != row.Conversation() {
		t.Errorf("the row: %s", now.JSON())
	}
	if after, err := os.ReadFile(private); err != nil || string(after) != string(before) {
		t.Errorf("the conversation of the user: %q, %v", after, err)
	}
}

// TestResumeEmptyConversation: a conversation with an id of ours in which nothing was said is begun under it.
func TestResumeEmptyConversation(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.creator("types")
	row := r.create(m, "a")
	r.out("arguments")
	r.dies(row)
	if err := os.Remove(filepath.Join(r.dir, "out", "arguments")); err != nil {
		t.Fatal(err)
	}
	done, err := m.Resume(t.Context(), ResumeRequest{Name: "a", Prompt: "go on", Wait: true})
	if err != nil || !done.Anew || !done.Prompted || done.Row.Conversation() != row.Conversation() {
		t.Fatalf("%+v, %v", done, err)
	}
	if got, want := r.out("arguments"), strings.Join(row.StartArgv[1:], "\x00"); got != want {
		t.Errorf("it was started with %q, want %q", got, want)
	}
	if got := r.out("submitted"); got != "go on" {
		t.Errorf("it got %q", got)
	}
}

// TestResumeDead: the program ended by itself, and tmux still shows its last screen, which is kept.
func TestResumeDead(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.creator("types")
	row := r.create(m, "a")
	r.said(row.Conversation())
	r.out("arguments")
	id, err := proc.Of(row.Pane.PID)
	if err != nil {
		t.Fatal(err)
	}
	if err := proc.Signal(id, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r.until("its end", func() bool { p, err := r.srv.Find(t.Context(), "a"); return err == nil && p.Dead })
	if _, err := m.Resume(t.Context(), ResumeRequest{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	if now := r.row("a"); now.Status != registry.Running || now.Pane.PID == row.Pane.PID || now.Conversation() != row.Conversation() || now.VisibleScreen != "" {
		t.Errorf("the row: %s", now.JSON())
	}
	if n := r.tmux("list-sessions"); strings.Contains(n, "\n") {
		t.Errorf("sessions: %s", n)
	}
}

// TestResumeInUse: a conversation in which another program is, is not opened a second time.
func TestResumeInUse(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.creator("types")
	row := r.create(m, "a")
	r.said(row.Conversation())
	r.dies(row)
	other, err := m.Create(t.Context(), CreateRequest{Agent: "claude", Name: "by-hand", Argv: []string{"--resume", row.Conversation()}})
	if err != nil {
		t.Fatal(err)
	}
	r.until("its name", func() bool { comm, err := proc.Comm(other.Row.Pane.PID); return err == nil && comm == "claude" })
	_, err = m.Resume(t.Context(), ResumeRequest{Name: "a"})
	r.wants(err, Refused, "is in that conversation")
	_, err = m.Resume(t.Context(), ResumeRequest{Name: "nobody"})
	r.wants(err, Refused, "not registered")
	// A program that writes nothing of itself is known by its arguments.
	codex, _ := driver.Kind("codex")
	bin := r.program("codex")
	id := address.NewUUID()
	if _, err := m.Create(t.Context(), CreateRequest{Agent: "codex", Name: "d", Program: filepath.Join(bin, "codex"), Argv: []string{"resume", id}}); err != nil {
		t.Fatal(err)
	}
	r.until("its name", func() bool { _, used := m.inUse(codex, r.dir, id); return used })
	if p, used := m.inUse(codex, r.dir, address.NewUUID()); used {
		t.Errorf("process %d is in a conversation that there is not", p.PID)
	}
	custom, err := m.Create(t.Context(), CreateRequest{Name: "c", Argv: []string{"sh", "-c", "exit 0"}})
	if err != nil && custom == nil {
		t.Fatal(err)
	}
	r.until("its end", func() bool { p, err := r.srv.Find(t.Context(), "c"); return err != nil || p.Dead })
	_, err = m.Resume(t.Context(), ResumeRequest{Name: "c"})
	r.wants(err, Nothing, "a program of your own")
}
