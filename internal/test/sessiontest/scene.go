// Package sessiontest gives tests of agent sessions a tmux server of their own, a home and a workspace. It knows nothing of the packages
// that it helps to test.
package sessiontest

import (
	"crypto/rand"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tutti/internal/platform/proc"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/registry"
	"tutti/internal/test/progfile"
)

// variable is in the environment of a session; its value is the owner.
const variable = "TUTTI_SESSION"

// Main runs the tests of a package with a short socket folder, because the path of a socket may have 107 bytes, and ours alone, so that
// no test ever meets a server of the user.
func Main(m *testing.M) {
	dir, err := os.MkdirTemp("/tmp", "ts")
	if err == nil {
		err = os.Setenv("TMUX_TMPDIR", dir)
	}
	flag.Parse()
	if err == nil {
		err = flag.Set("test.parallel", "8") // they wait for most of their time
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Unsetenv("TMUX")
	os.Unsetenv(variable)
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// A Scene is a tmux server of its own, a home and a workspace.
type Scene struct {
	T         *testing.T
	Name      string // of the server
	Server    tmux.Server
	Home, Dir string
}

func New(t *testing.T) *Scene {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	sc := &Scene{T: t, Name: "look" + rand.Text()[:8], Home: t.TempDir(), Dir: t.TempDir()}
	for _, dir := range []*string{&sc.Home, &sc.Dir} {
		if real, err := filepath.EvalSymlinks(*dir); err == nil {
			*dir = real
		}
	}
	var err error
	if sc.Server, err = tmux.Named(sc.Name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sc.Tmux("kill-server").Run() })
	return sc
}

func (sc *Scene) Tmux(args ...string) *exec.Cmd {
	return exec.Command("tmux", append([]string{"-u", "-f", "/dev/null", "-L", sc.Name}, args...)...)
}

// Do runs a command of tmux as a user would.
func (sc *Scene) Do(args ...string) string {
	sc.T.Helper()
	out, err := sc.Tmux(args...).CombinedOutput()
	if err != nil {
		sc.T.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// Program makes a program of that name that does nothing for long.
func (sc *Scene) Program(name string) string {
	sc.T.Helper()
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		sc.T.Fatal(err)
	}
	body, err := os.ReadFile(sleep)
	if err != nil {
		sc.T.Fatal(err)
	}
	path := filepath.Join(sc.T.TempDir(), name)
	err = progfile.Write(path, body, 0o700)
	if err != nil {
		sc.T.Fatal(err)
	}
	return path
}

// Begin begins a session, and returns the row that it would have.
func (sc *Scene) Begin(name string, argv ...string) registry.Row {
	sc.T.Helper()
	owner := strings.ToLower(rand.Text()[:16])
	pane, err := sc.Server.New(sc.T.Context(), tmux.Spec{Name: name, Dir: sc.Dir, Argv: argv, Owner: owner, Isolated: true, Env: []string{variable + "=" + owner}})
	if err != nil {
		sc.T.Fatal(err)
	}
	id, err := proc.Of(pane.PID)
	if err != nil {
		sc.T.Fatal(err)
	}
	sc.Until("the program is in front", func() bool {
		now, err := sc.Server.Find(sc.T.Context(), name)
		comm, e := proc.Comm(pane.PID) // tmux calls a pane by what is to be started in it until that runs
		return err == nil && e == nil && now.Command == filepath.Base(argv[0]) && comm == now.Command
	})
	r := registry.Row{
		Name: name, Status: registry.Running, Server: sc.Name, OwnerID: owner, BootID: id.Boot, TmuxSession: pane.Session, StartArgv: argv,
		Pane: registry.Pane{PID: id.PID, Cmd: filepath.Base(argv[0]), Cwd: sc.Dir, ID: pane.ID, StartTicks: id.Start},
	}
	return r
}

func (sc *Scene) Until(what string, is func() bool) {
	sc.T.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			sc.T.Fatalf("not in time: %s", what)
		}
	}
}

// WriteReport writes what Claude Code writes of itself.
func (sc *Scene) WriteReport(id proc.ID, conversation, status string) {
	sc.T.Helper()
	dir := filepath.Join(sc.Home, ".claude", "sessions")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		sc.T.Fatal(err)
	}
	text := fmt.Sprintf(`{"pid":%d,"procStart":"%d","status":%q,"statusUpdatedAt":1781258400000,"sessionId":%q,"cwd":%q,"waitingFor":"permission"}`, id.PID, id.Start, status, conversation, sc.Dir)
	if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.json", id.PID)), []byte(text), 0o600); err != nil {
		sc.T.Fatal(err)
	}
}

// Conversation is the id of one.
const Conversation = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
