package lifecycle

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tutti/internal/platform/proc"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/registry"
)

// A scene is a tmux server of its own, a home and a workspace.
type scene struct {
	t        *testing.T
	name     string // of the server
	server   tmux.Server
	home, ws string
}

func newScene(t *testing.T) *scene {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	sc := &scene{t: t, name: "look" + rand.Text()[:8], home: t.TempDir(), ws: t.TempDir()}
	for _, dir := range []*string{&sc.home, &sc.ws} {
		if real, err := filepath.EvalSymlinks(*dir); err == nil {
			*dir = real
		}
	}
	var err error
	if sc.server, err = tmux.Named(sc.name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sc.tmux("kill-server").Run() })
	return sc
}

func (sc *scene) tmux(args ...string) *exec.Cmd {
	return exec.Command("tmux", append([]string{"-u", "-f", "/dev/null", "-L", sc.name}, args...)...)
}

// do runs a command of tmux as a user would.
func (sc *scene) do(args ...string) string {
	sc.t.Helper()
	out, err := sc.tmux(args...).CombinedOutput()
	if err != nil {
		sc.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// program is a program of that name that does nothing for long.
func (sc *scene) program(name string) string {
	sc.t.Helper()
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		sc.t.Fatal(err)
	}
	body, err := os.ReadFile(sleep)
	if err != nil {
		sc.t.Fatal(err)
	}
	path := filepath.Join(sc.t.TempDir(), name)
	syscall.ForkLock.RLock() // a child that is just started must not hold it open for writing
	err = os.WriteFile(path, body, 0o700)
	syscall.ForkLock.RUnlock()
	if err != nil {
		sc.t.Fatal(err)
	}
	return path
}

// begin begins a session, and returns the row that it would have.
func (sc *scene) begin(name string, argv ...string) registry.Row {
	sc.t.Helper()
	owner := strings.ToLower(rand.Text()[:16])
	pane, err := sc.server.New(sc.t.Context(), tmux.Spec{Name: name, Dir: sc.ws, Argv: argv, Owner: owner, Isolated: true, Env: []string{Variable + "=" + owner}})
	if err != nil {
		sc.t.Fatal(err)
	}
	id, err := proc.Of(pane.PID)
	if err != nil {
		sc.t.Fatal(err)
	}
	sc.until("the program is in front", func() bool {
		now, err := sc.server.Find(sc.t.Context(), name)
		comm, e := proc.Comm(pane.PID) // tmux calls a pane by what is to be started in it until that runs
		return err == nil && e == nil && now.Command == filepath.Base(argv[0]) && comm == now.Command
	})
	r := registry.Row{
		Name: name, Status: registry.Running, Server: sc.name, OwnerID: owner, BootID: id.Boot, TmuxSession: pane.Session, StartArgv: argv,
		Pane: registry.Pane{PID: id.PID, Cmd: filepath.Base(argv[0]), Cwd: sc.ws, ID: pane.ID, StartTicks: id.Start},
	}
	return r
}

func (sc *scene) until(what string, is func() bool) {
	sc.t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			sc.t.Fatalf("not in time: %s", what)
		}
	}
}

func (sc *scene) observer() *Observer {
	return &Observer{Home: sc.home, Workspace: sc.ws, Env: func(string) string { return "" }}
}

// look returns what is found of one row, or of what has none.
func (sc *scene) look(rows ...registry.Row) []Found {
	sc.t.Helper()
	return sc.observer().Status(sc.t.Context(), rows).Sessions
}

// sheet writes what Claude Code writes of itself.
func (sc *scene) sheet(id proc.ID, conversation, status string) {
	sc.t.Helper()
	dir := filepath.Join(sc.home, ".claude", "sessions")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		sc.t.Fatal(err)
	}
	text := fmt.Sprintf(`{"pid":%d,"procStart":"%d","status":%q,"statusUpdatedAt":1781258400000,"sessionId":%q,"cwd":%q,"waitingFor":"permission"}`, id.PID, id.Start, status, conversation, sc.ws)
	if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.json", id.PID)), []byte(text), 0o600); err != nil {
		sc.t.Fatal(err)
	}
}

const talk = "7c9e6679-7425-40de-944b-e07fc1f90ae7"

// What is found of a session is what is true, whatever its row says.
func TestStatus(t *testing.T) {
	t.Parallel()
	sc := newScene(t)
	claude := sc.program("claude")
	one := sc.begin("a-creator-claude", claude, "1000")
	process := proc.ID{PID: one.Pane.PID, Start: one.Pane.StartTicks, Boot: one.BootID}
	sc.sheet(process, talk, "waiting")
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
		"runs on without tmux":  {func(r *registry.Row) { r.Name, r.OwnerID, r.Status = "b-creator-claude", "0123", registry.Stopped }, "G", Absent, ""},
		"no such server":        {func(r *registry.Row) { r.Server, r.BootID = sc.name+"none", "before" }, "A", Absent, Gone},
		"a server that is none": {func(r *registry.Row) { r.Server = "../x" }, "?", Unknown, ""},
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
		o.Workspace = "" // see TestStrays
		got := o.Status(t.Context(), []registry.Row{row}).Sessions[0]
		if got.Drift != c.drift || got.State != c.state || got.Doing.Word != c.word {
			t.Errorf("%s: drift %q, %v, does %q (%v, %v); want %q, %v, %q", name, got.Drift, got.State, got.Doing.Word, got.Err, got.Remarks, c.drift, c.state, c.word)
		}
	}
	if got := sc.look(one)[0]; got.Doing.From != "program" || got.Doing.Guess || got.Doing.Asks != "permission" || got.OnDisk != registry.No {
		t.Errorf("what the program writes of itself: %+v, on disk %v", got.Doing, got.OnDisk)
	}
}

// A sheet of a process that had the number before is nobody's.
func TestSheetOfAnother(t *testing.T) {
	t.Parallel()
	sc := newScene(t)
	one := sc.begin("a-creator-claude", sc.program("claude"), "1000")
	sc.sheet(proc.ID{PID: one.Pane.PID, Start: one.Pane.StartTicks + 1}, talk, "busy")
	if got := sc.look(one)[0]; got.Doing.Word != "" || got.Conversation != "" || got.Drift != "" {
		t.Errorf("got %+v, conversation %q, drift %q", got.Doing, got.Conversation, got.Drift)
	}
}

// The agent ends, in all ways.
func TestEnds(t *testing.T) {
	t.Parallel()
	sc := newScene(t)
	claude := sc.program("claude")
	one, two := sc.begin("a-creator-claude", claude, "1000"), sc.begin("b-creator-claude", claude, "1000")
	orphan := sc.begin("c-creator-claude", "sh", "-c", `trap "" HUP TERM; while :; do sleep 1000; done`)
	if err := syscall.Kill(one.Pane.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	sc.until("the end is seen", func() bool { return sc.look(one)[0].State == Dead })
	sc.until("how it ended is known", func() bool { return sc.look(one)[0].Pane.Signal == 9 })
	if got := sc.look(one)[0]; got.Drift != "A" || got.Doing.Word != Gone {
		t.Errorf("killed: drift %q, does %q", got.Drift, got.Doing.Word)
	}
	// The server is killed: what it ran gets a hangup, and one of them does not care.
	server, err := sc.server.Find(t.Context(), two.Name)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(server.Server, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-orphan.Pane.PID, syscall.SIGKILL) })
	sc.until("its program ended", func() bool {
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

// A server whose socket somebody removed has not gone: its sessions live, and nobody can say more.
func TestSocketRemoved(t *testing.T) {
	t.Parallel()
	sc := newScene(t)
	one := sc.begin("a-creator-claude", sc.program("claude"), "1000")
	socket := sc.do("display-message", "-p", "#{socket_path}")
	server, err := sc.server.Find(t.Context(), one.Name)
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
	sc.until("it can be reached again", func() bool { return sc.look(one)[0].Drift == "" })
}

// Sessions without a row: those that look like ours, here.
func TestStrays(t *testing.T) {
	t.Parallel()
	sc := newScene(t)
	mine := registry.Name(sc.ws, "claude", nil)
	one := sc.begin(mine, sc.program("claude"), "1000")
	sc.begin("other", "sleep", "1000")
	sc.do("new-session", "-d", "-s", "users", "-c", sc.ws, "--", "sleep", "1000")
	sc.do("new-session", "-d", "-s", "far-creator-claude", "-c", "/", "--", "sleep", "1000")
	sc.do("new-session", "-d", "-s", registry.Name(sc.ws, "codex", nil), "-c", "/", "--", "sleep", "1000")
	o := sc.observer()
	o.Servers = []string{sc.name}
	var names []string
	for _, f := range o.Status(t.Context(), nil).Sessions {
		names = append(names, f.Name+" "+f.Drift+" "+f.Kind)
	}
	slices.Sort(names)
	if got, want := strings.Join(names, ", "), "other B , "+mine+" B claude"; got != want {
		t.Errorf("without rows: %q, want %q", got, want)
	}
	// A session that the user has renamed is still that of its row.
	sc.do("rename-session", "-t", "="+mine, "renamed")
	found := o.Status(t.Context(), []registry.Row{one}).Sessions
	if len(found) != 2 || found[0].Drift != "B" || found[0].Now != "renamed" || found[0].State != Alive || found[1].Name != "other" {
		t.Errorf("renamed: %+v", found)
	}
	// Another session takes its name.
	sc.do("new-session", "-d", "-s", mine, "-c", sc.ws, "--", "sleep", "1000")
	if got := o.Status(t.Context(), []registry.Row{one}).Sessions[0]; got.Now != "renamed" || got.State != Alive {
		t.Errorf("renamed, and the name is another's: %+v", got)
	}
}

// What only the screen tells is a guess, and a program of which nothing is known is not read.
func TestScreenIsAGuess(t *testing.T) {
	t.Parallel()
	sc := newScene(t)
	screen := filepath.Join(t.TempDir(), "screen")
	text := "\n\n" + strings.Repeat("─", 80) + "\n❯ \n" + strings.Repeat("─", 80) + "\n  ? for shortcuts\n"
	if err := os.WriteFile(screen, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	one := sc.begin("a-creator-claude", "sh", "-c", "cat "+screen+"; printf '\\033]2;✳ idle\\007'; read x")
	two := one.Clone()
	two.Agent = "mine"
	sc.until("the screen is read", func() bool { return sc.look(one)[0].Doing.Word != "" })
	if got := sc.look(one)[0].Doing; got.Word != Idle || !got.Guess || got.From != "screen" {
		t.Errorf("got %+v", got)
	}
	if got := sc.look(two)[0].Doing; got.Word != "" {
		t.Errorf("a program of which nothing is known: %+v", got)
	}
}

// The conversation of a row lies where its program keeps it, or not.
func TestOnDisk(t *testing.T) {
	t.Parallel()
	sc := newScene(t)
	r := registry.Row{Name: "a-creator-claude", Status: registry.Stopped, Server: sc.name, Pane: registry.Pane{Cwd: sc.ws}}
	r.SetConversation("claude", talk)
	if got := sc.look(r)[0].OnDisk; got != registry.No {
		t.Errorf("nowhere: %v", got)
	}
	slug := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			return c
		}
		return '-'
	}, sc.ws)
	dir := filepath.Join(sc.home, ".claude", "projects", slug)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, talk+".jsonl"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := sc.look(r)[0].OnDisk; got != registry.Yes {
		t.Errorf("there: %v", got)
	}
	x := registry.Row{Name: "a-creator-codex", Status: registry.Stopped, Server: sc.name, Pane: registry.Pane{Cwd: sc.ws}}
	x.SetConversation("codex", talk)
	if got := sc.look(x)[0].OnDisk; got != registry.No {
		t.Errorf("codex, nowhere: %v", got)
	}
	dir = filepath.Join(sc.home, ".codex", "sessions", "2026", "11", "21")
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
