package observe

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"tutti/internal/platform/proc"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/registry"
	"tutti/internal/test/sessiontest"
)

// A scene is a session test scene that is looked at.
type scene struct{ *sessiontest.Scene }

func newScene(t *testing.T) *scene { return &scene{sessiontest.New(t)} }

func TestMain(m *testing.M) { sessiontest.Main(m) }

const talk = sessiontest.Conversation

func (sc *scene) observer() *Observer {
	return &Observer{Home: sc.Home, Workspace: sc.Dir, Env: func(string) string { return "" }}
}

// look returns what is found of one row, or of what has none.
func (sc *scene) look(rows ...registry.Row) []Found {
	sc.T.Helper()
	return sc.observer().Status(sc.T.Context(), rows).Sessions
}

// TestStatus: the observed state counts, whatever the row says.
func TestStatus(t *testing.T) {
	t.Parallel()
	sc := newScene(t)
	claude := sc.Program("claude")
	one := sc.Begin("a-creator-claude", claude, "1000")
	process := proc.ID{PID: one.Pane.PID, Start: one.Pane.StartTicks, Boot: one.BootID}
	sc.WriteReport(process, talk, "waiting")
	one.SetConversation("claude", talk)
	for name, c := range map[string]struct {
		change func(r *registry.Row)
		drift  string
		state  State
		word   string
	}{
		"as it is":             {nil, "", Alive, Asking},
		"another conversation": {func(r *registry.Row) { r.SetConversation("claude", "00000000-7425-40de-944b-e07fc1f90ae7") }, "C", Alive, Asking},
		"none":                 {func(r *registry.Row) { r.SetConversation("claude", "") }, "C", Alive, Asking},
		"another start":        {func(r *registry.Row) { r.Pane.StartTicks++ }, "D", Other, ""},
		"another boot":         {func(r *registry.Row) { r.BootID = "before" }, "D", Other, ""},
		"another folder":       {func(r *registry.Row) { r.Pane.Cwd = "/" }, "F", Alive, Asking},
		"stopped":              {func(r *registry.Row) { r.Status = registry.Stopped }, "G", Alive, Asking},
		"another owner":        {func(r *registry.Row) { r.OwnerID = "0123" }, "H", Other, ""},
		"another kind":         {func(r *registry.Row) { r.Agent, r.Pane.Cmd = "gemini", "node" }, "E", Alive, ""},
		"a kind of its own":    {func(r *registry.Row) { r.Agent = "mine" }, "", Alive, ""},
		"gone":                 {func(r *registry.Row) { r.Name, r.OwnerID, r.Pane.PID = "b-creator-claude", "0123", 0 }, "A", Absent, Gone},
		"gone, and was stopped": {func(r *registry.Row) {
			r.Name, r.OwnerID, r.Status, r.Pane.PID = "b-creator-claude", "0123", registry.Stopped, 0
		}, "", Absent, Gone},
		"runs on without tmux": {func(r *registry.Row) { r.Name, r.OwnerID, r.Status = "b-creator-claude", "0123", registry.Stopped }, "G", Absent, ""},
		"no such server":       {func(r *registry.Row) { r.Server, r.BootID = sc.Name+"none", "before" }, "A", Absent, Gone},
		"an invalid server":    {func(r *registry.Row) { r.Server = "../x" }, "?", Unknown, ""},
		"being stopped": {func(r *registry.Row) {
			self := proc.Self()
			r.Status = registry.Stopped
			r.Intent = &registry.Intent{Verb: "stop", PID: self.PID, Start: self.Start, Boot: self.Boot}
		}, "", Alive, Asking},
		"a stop that was cut off": {func(r *registry.Row) {
			r.Status = registry.Stopped
			r.Intent = &registry.Intent{Verb: "stop", PID: 1, Start: 1, Boot: "before"}
		}, "G", Alive, Asking},
	} {
		row := one.Clone()
		if c.change != nil {
			c.change(&row)
		}
		o := sc.observer()
		o.Workspace = "" // see TestSessionsWithoutRow
		got := o.Status(t.Context(), []registry.Row{row}).Sessions[0]
		if got.Drift != c.drift || got.State != c.state || got.Doing.Word != c.word {
			t.Errorf("%s: drift %q, %v, does %q (%v, %v); want %q, %v, %q", name, got.Drift, got.State, got.Doing.Word, got.Err, got.Remarks, c.drift, c.state, c.word)
		}
	}
	if got := sc.look(one)[0]; got.Doing.From != "program" || got.Doing.Guess || got.Doing.Asks != "permission" || got.OnDisk != registry.No {
		t.Errorf("what the program writes of itself: %+v, on disk %v", got.Doing, got.OnDisk)
	}
}

// TestSessionFileOfOtherProcess: a session file of an earlier process with the same number is ignored.
func TestSessionFileOfOtherProcess(t *testing.T) {
	t.Parallel()
	sc := newScene(t)
	one := sc.Begin("a-creator-claude", sc.Program("claude"), "1000")
	sc.WriteReport(proc.ID{PID: one.Pane.PID, Start: one.Pane.StartTicks + 1}, talk, "busy")
	if got := sc.look(one)[0]; got.Doing.Word != "" || got.Conversation != "" || got.Drift != "" {
		t.Errorf("got %+v, conversation %q, drift %q", got.Doing, got.Conversation, got.Drift)
	}
}

// The agent ends, in all ways.
func TestEnds(t *testing.T) {
	t.Parallel()
	sc := newScene(t)
	claude := sc.Program("claude")
	one, two := sc.Begin("a-creator-claude", claude, "1000"), sc.Begin("b-creator-claude", claude, "1000")
	orphan := sc.Begin("c-creator-claude", "sh", "-c", `trap "" HUP TERM; while :; do sleep 1000; done`)
	if err := syscall.Kill(one.Pane.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	sc.Until("the end is seen", func() bool { return sc.look(one)[0].State == Dead })
	sc.Until("how it ended is known", func() bool { return sc.look(one)[0].Pane.Signal == 9 })
	if got := sc.look(one)[0]; got.Drift != "A" || got.Doing.Word != Gone {
		t.Errorf("killed: drift %q, does %q", got.Drift, got.Doing.Word)
	}
	// The server is killed: what it ran gets a hangup, and one of them does not care.
	server, err := sc.Server.Find(t.Context(), two.Name)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(server.Server, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-orphan.Pane.PID, syscall.SIGKILL) })
	sc.Until("its program ended", func() bool {
		return !(proc.ID{PID: two.Pane.PID, Start: two.Pane.StartTicks, Boot: two.BootID}).Alive()
	})
	found := sc.look(one, two, orphan)
	for i, f := range found {
		if f.Drift != "A" || f.State != Absent {
			t.Errorf("without a server, %s: drift %q, %v, %v", f.Name, f.Drift, f.State, f.Err)
		}
		if alive := f.Process.PID != 0; alive != (i == 2) || alive == (f.Doing.Word == Gone) {
			t.Errorf("without a server, %s: runs on %v, does %q, %v", f.Name, alive, f.Doing.Word, f.Remarks)
		}
	}
}

// TestSocketRemoved: a server whose socket was removed still runs: its sessions are live, and their state is unknown.
func TestSocketRemoved(t *testing.T) {
	t.Parallel()
	sc := newScene(t)
	one := sc.Begin("a-creator-claude", sc.Program("claude"), "1000")
	socket := sc.Do("display-message", "-p", "#{socket_path}")
	server, err := sc.Server.Find(t.Context(), one.Name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(socket); err != nil {
		t.Fatal(err)
	}
	got := sc.look(one)[0]
	if got.Drift != "?" || got.State != Unknown || !errors.Is(got.Err, errSocket) || len(got.Remarks) == 0 {
		t.Errorf("drift %q, %v, %v, %v", got.Drift, got.State, got.Err, got.Remarks)
	}
	if err := syscall.Kill(server.Server, syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	sc.Until("it can be reached again", func() bool { return sc.look(one)[0].Drift == "" })
}

// Sessions without a row: those that look like ours, here.
func TestSessionsWithoutRow(t *testing.T) {
	t.Parallel()
	sc := newScene(t)
	mine := registry.Name(sc.Dir, "claude", nil)
	one := sc.Begin(mine, sc.Program("claude"), "1000")
	sc.Begin("other", "sleep", "1000")
	sc.Do("new-session", "-d", "-s", "users", "-c", sc.Dir, "--", "sleep", "1000")
	sc.Do("new-session", "-d", "-s", "far-creator-claude", "-c", "/", "--", "sleep", "1000")
	sc.Do("new-session", "-d", "-s", registry.Name(sc.Dir, "codex", nil), "-c", "/", "--", "sleep", "1000")
	o := sc.observer()
	o.Servers = []string{sc.Name}
	var names []string
	for _, f := range o.Status(t.Context(), nil).Sessions {
		names = append(names, f.Name+" "+f.Drift+" "+f.Kind)
	}
	slices.Sort(names)
	if got, want := strings.Join(names, ", "), "other B , "+mine+" B claude"; got != want {
		t.Errorf("without rows: %q, want %q", got, want)
	}
	// A session that the user has renamed is still that of its row.
	sc.Do("rename-session", "-t", "="+mine, "renamed")
	found := o.Status(t.Context(), []registry.Row{one}).Sessions
	if len(found) != 2 || found[0].Drift != "B" || found[0].Now != "renamed" || found[0].State != Alive || found[1].Name != "other" {
		t.Errorf("renamed: %+v", found)
	}
	// Another session takes its name.
	sc.Do("new-session", "-d", "-s", mine, "-c", sc.Dir, "--", "sleep", "1000")
	if got := o.Status(t.Context(), []registry.Row{one}).Sessions[0]; got.Now != "renamed" || got.State != Alive {
		t.Errorf("renamed, and the name is another's: %+v", got)
	}
}

// TestScreenIsAGuess: a state that only the screen shows is a guess, and the screen of an unknown program is not read.
func TestScreenIsAGuess(t *testing.T) {
	t.Parallel()
	sc := newScene(t)
	screen := filepath.Join(t.TempDir(), "screen")
	text := "\n\n" + strings.Repeat("─", 80) + "\n❯ \n" + strings.Repeat("─", 80) + "\n  ? for shortcuts\n"
	if err := os.WriteFile(screen, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	one := sc.Begin("a-creator-claude", "sh", "-c", "cat "+screen+"; printf '\\033]2;✳ idle\\007'; read x")
	two := one.Clone()
	two.Agent = "mine"
	sc.Until("the screen is read", func() bool { return sc.look(one)[0].Doing.Word != "" })
	if got := sc.look(one)[0].Doing; got.Word != Idle || !got.Guess || got.From != "screen" {
		t.Errorf("got %+v", got)
	}
	if got := sc.look(two)[0].Doing; got.Word != "" {
		t.Errorf("a program of which nothing is known: %+v", got)
	}
}

// TestOnDisk: the conversation of a row exists where its program keeps it, or not.
func TestOnDisk(t *testing.T) {
	t.Parallel()
	sc := newScene(t)
	r := registry.Row{Name: "a-creator-claude", Status: registry.Stopped, Server: sc.Name, Pane: registry.Pane{Cwd: sc.Dir}}
	r.SetConversation("claude", talk)
	if got := sc.look(r)[0].OnDisk; got != registry.No {
		t.Errorf("nowhere: %v", got)
	}
	slug := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			return c
		}
		return '-'
	}, sc.Dir)
	dir := filepath.Join(sc.Home, ".claude", "projects", slug)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, talk+".jsonl"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := sc.look(r)[0].OnDisk; got != registry.Yes {
		t.Errorf("there: %v", got)
	}
	x := registry.Row{Name: "a-creator-codex", Status: registry.Stopped, Server: sc.Name, Pane: registry.Pane{Cwd: sc.Dir}}
	x.SetConversation("codex", talk)
	if got := sc.look(x)[0].OnDisk; got != registry.No {
		t.Errorf("codex, nowhere: %v", got)
	}
	dir = filepath.Join(sc.Home, ".codex", "sessions", "2026", "11", "21")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "rollout-2026-11-21T10-00-00-"+talk+".jsonl"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := sc.look(x)[0].OnDisk; got != registry.Yes {
		t.Errorf("codex, there: %v", got)
	}
}

// TestSessionsOfOtherWorkspaces: a session that belongs to the registry of another workspace is not taken, wherever its program has gone.
func TestSessionsOfOtherWorkspaces(t *testing.T) {
	t.Parallel()
	sc := newScene(t)
	inner := filepath.Join(sc.Dir, "inner")
	if err := os.Mkdir(inner, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, home := range map[string]string{"theirs": inner, "ours": sc.Dir} {
		_, err := sc.Server.New(t.Context(), tmux.Spec{
			Name: name, Dir: inner, Argv: []string{"sleep", "1000"}, Owner: "0123" + name, Isolated: true,
			Env: []string{Variable + "=0123" + name, HomeVariable + "=" + home},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"theirs", "ours"} {
		sc.Until("tmux knows its folder", func() bool {
			p, err := sc.Server.Find(t.Context(), name)
			return err == nil && p.Path == inner
		})
	}
	o := sc.observer()
	o.Servers = []string{sc.Name}
	var names []string
	for _, f := range o.Status(t.Context(), nil).Sessions {
		names = append(names, f.Name)
	}
	if strings.Join(names, " ") != "ours" {
		t.Errorf("found %q", names)
	}
}
