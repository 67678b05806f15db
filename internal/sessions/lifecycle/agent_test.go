package lifecycle

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tutti/internal/platform/proc"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/observe"
	"tutti/internal/sessions/registry"
	"tutti/internal/sessions/registry/yaml"
)

// The test binary is also the program that lives in the sessions of the tests. It has the bad habits of agent programs, those
// that its variable names, parted by commas:
//
//	idle, dialog, busy   what its screen shows first; as Claude Code shows it. In a dialog Enter means yes, and writes the file "approved"
//	stuck                Escape does not close the dialog
//	ignore-hup           it goes on without a terminal
//	ignore-term          and when it is asked to end
//	saves                when its terminal goes it takes three seconds to write the file "saved"
//	slow-exit            it takes a while to end
//	never-exit           its exit command does nothing
//	daemon               it starts a program that leaves parent, group, session and terminal
//	stubborn             that program ignores what it is told
//	group                it starts a program in a group of its own
//	server               it starts a server as Codex does
//	exits-at-once        it ends with status 7
//	types                it shows what is typed, see typist
//	print-env            it writes its environment to the file "environ"
const (
	modeVariable  = "TUTTI_TEST_AGENT"
	shotsVariable = "TUTTI_TEST_SHOTS" // folder of the screens
	dirVariable   = "TUTTI_TEST_DIR"   // folder for the files that it writes
	slowExit      = 400 * time.Millisecond
)

// TestMain makes the socket folder short, because the path of a socket may have 107 bytes, and ours alone, so that no test ever
// meets a server of the user.
func TestMain(m *testing.M) {
	if modes, ok := os.LookupEnv(modeVariable); ok {
		os.Exit((&badAgent{modes: strings.Split(modes, ",")}).run())
	}
	if step, ok := os.LookupEnv(stepVariable); ok {
		os.Exit(stopUntil(step))
	}
	if step, ok := os.LookupEnv(beginVariable); ok {
		os.Exit(beginUntil(step))
	}
	dir, err := os.MkdirTemp("/tmp", "ts")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Setenv("TMUX_TMPDIR", dir)
	os.Unsetenv("TMUX")
	os.Unsetenv(observe.Variable)
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil { // they wait for most of their time
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

type badAgent struct {
	modes []string
	typed string
	state string
}

func (a *badAgent) has(mode string) bool { return slices.Contains(a.modes, mode) }

func (a *badAgent) write(name, text string) {
	path := filepath.Join(os.Getenv(dirVariable), name)
	if err := os.WriteFile(path+".tmp", []byte(text), 0o600); err != nil {
		panic(err)
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		panic(err)
	}
}

// start starts this binary with other habits.
func (a *badAgent) start(attr *syscall.SysProcAttr, modes string, argv ...string) {
	c := exec.Command("/proc/self/exe")
	c.Args, c.SysProcAttr = argv, attr
	if argv == nil {
		c.Args = []string{modes}
	}
	c.Env = append(os.Environ(), modeVariable+"="+modes)
	if err := c.Start(); err != nil {
		panic(err)
	}
}

func (a *badAgent) run() int {
	if a.has("saves") {
		gone := make(chan os.Signal, 1)
		signal.Notify(gone, syscall.SIGHUP)
		go func() {
			<-gone
			time.Sleep(3 * time.Second)
			a.write("saved", "yes")
			os.Exit(0)
		}()
	}
	if a.has("ignore-hup") {
		signal.Ignore(syscall.SIGHUP)
	}
	if a.has("ignore-term") {
		signal.Ignore(syscall.SIGTERM)
	}
	switch {
	case a.has("exits-at-once"):
		return 7
	case a.has("types"):
		(&typist{badAgent: a}).run()
		return 0
	case a.has("fork"):
		a.start(&syscall.SysProcAttr{Setsid: true}, strings.Replace(strings.Join(a.modes, ","), "fork", "sleeper", 1))
		return 0
	case a.has("sleeper"):
		a.write("sleeper", strconv.Itoa(os.Getpid()))
		time.Sleep(time.Hour) // an empty select is a deadlock to a program without C
	}
	if a.has("print-env") {
		a.write("environ", strings.Join(os.Environ(), "\x00"))
	}
	stubborn := ""
	if a.has("stubborn") {
		stubborn = ",ignore-hup,ignore-term"
	}
	if a.has("daemon") {
		a.start(&syscall.SysProcAttr{Setsid: true}, "fork"+stubborn)
	}
	if a.has("group") {
		a.start(&syscall.SysProcAttr{Setpgid: true}, "sleeper"+stubborn)
	}
	if a.has("server") {
		a.start(&syscall.SysProcAttr{Setsid: true}, "sleeper", "codex", "app-server", "--listen", "unix://", "--managed-daemon")
	}
	if a.has("slow-exit") {
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGTERM)
		go func() {
			<-asked
			a.exit()
		}()
	}
	a.screen()
	return 0
}

func (a *badAgent) exit() {
	if a.has("slow-exit") {
		time.Sleep(slowExit)
	}
	os.Exit(0)
}

// screen shows what a real one shows, and acts on keys as that does.
func (a *badAgent) screen() {
	if mode, err := unix.IoctlGetTermios(0, getTermios); err == nil {
		mode.Lflag &^= unix.ICANON | unix.ECHO | unix.ISIG
		mode.Iflag &^= unix.ICRNL
		_ = unix.IoctlSetTermios(0, setTermios, mode)
	}
	fmt.Print("\x1b[?2004h") // pastes come in brackets
	a.show(a.modes[0])
	buf := make([]byte, 64<<10)
	for {
		n, err := os.Stdin.Read(buf)
		if err != nil || n == 0 { // the terminal is gone
			if !a.has("ignore-hup") && !a.has("saves") {
				a.exit()
			}
			time.Sleep(time.Hour) // an empty select is a deadlock to a program without C
		}
		for rest := buf[:n]; len(rest) > 0; {
			if paste, ok := bytes.CutPrefix(rest, []byte("\x1b[200~")); ok {
				text, after, _ := bytes.Cut(paste, []byte("\x1b[201~"))
				a.text(string(text))
				rest = after
				continue
			}
			a.key(rest[0])
			rest = rest[1:]
		}
	}
}

func (a *badAgent) text(text string) {
	if a.state != "idle" {
		return // a question takes no text
	}
	if a.typed += text; a.typed == "/exit" {
		a.show("exit-typed")
		a.state = "idle"
		return
	}
	a.show("draft")
	a.state = "idle"
}

func (a *badAgent) key(b byte) {
	switch {
	case b == '\r' && a.state == "dialog":
		a.write("approved", "yes")
		a.show("busy")
	case b == '\r' && a.typed == "/exit" && !a.has("never-exit"):
		a.exit()
	case b == 0x1b && a.state == "dialog" && !a.has("stuck"), b == 0x1b && a.state == "busy":
		a.typed = ""
		a.show("escaped")
		a.state = "idle"
	case b >= ' ':
		a.text(string(rune(b)))
	}
}

func (a *badAgent) show(state string) {
	a.state = state
	name := state
	if state == "dialog" {
		name = "permission"
	}
	raw, err := os.ReadFile(filepath.Join(os.Getenv(shotsVariable), name+".txt"))
	if err != nil {
		raw = []byte("title\n" + name)
	}
	title, screen, _ := strings.Cut(string(raw), "\n")
	fmt.Print("\x1b[2J\x1b[H\x1b]2;" + title + "\x07" + strings.ReplaceAll(strings.TrimSuffix(screen, "\n"), "\n", "\r\n"))
}

// A rig is a tmux server, a registry and a manager for one test.
type rig struct {
	t    *testing.T
	m    *Manager
	reg  registry.Registry
	srv  tmux.Server
	name string // of the server
	dir  string

	mu  sync.Mutex
	job []string // what jobs were told
}

func newRig(t *testing.T) *rig {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("SKIPPED: tmux is not installed: sessions are not tested")
	}
	r := &rig{t: t, name: "s" + rand.Text()[:8], dir: t.TempDir()}
	var err error
	if r.srv, err = tmux.Named(r.name); err != nil {
		t.Fatal(err)
	}
	if r.reg, err = yaml.Open(filepath.Join(r.dir, ".hermes", "agent-sessions.yaml")); err != nil {
		t.Fatal(err)
	}
	r.m = r.manager()
	t.Cleanup(r.end)
	return r
}

func (r *rig) manager() *Manager {
	m := New(Options{
		Registry: r.reg, Workspace: r.dir, Home: r.home(), Server: r.name, Started: r.started(),
		Jobs: func(_ context.Context, job, event, detail string) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.job = append(r.job, job+" "+event+" "+detail)
			return nil
		},
	})
	m.closes = 500 * time.Millisecond
	m.clear = 2 * time.Second // loaded machines draw slowly
	m.starts = 0              // most test agents begin no turn
	return m
}

func (r *rig) home() string { return filepath.Join(r.dir, "home") }

// end ends the server, and everything that carries an owner of the registry.
func (r *rig) end() {
	_ = exec.Command("tmux", "-L", r.name, "kill-server").Run() // it may have ended with its last session
	rows, _, _ := r.reg.Rows(context.Background())
	for _, row := range rows {
		for _, p := range proc.WithEnv(dirVariable, filepath.Join(r.dir, row.Name)) {
			_ = proc.Signal(p.ID, syscall.SIGKILL)
		}
	}
}

func (r *rig) tmux(args ...string) string {
	r.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-u", "-f", "/dev/null", "-L", r.name}, args...)...).CombinedOutput()
	if err != nil {
		r.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

// begin makes a session of the test agent with a row, as create does, and waits until its screen is there.
func (r *rig) begin(name, modes string, change ...func(*registry.Row)) registry.Row {
	r.t.Helper()
	row := registry.Row{Name: name, Status: registry.Running, Server: r.name, Agent: "claude", OwnerID: strings.ToLower(rand.Text()[:16])}
	for _, f := range change {
		f(&row)
	}
	pane := r.start(name, row.OwnerID, row.Agent, modes)
	id, err := proc.Of(pane.PID)
	if err != nil {
		r.t.Fatal(err)
	}
	written, err := r.reg.Change(r.t.Context(), name, func(to *registry.Row, found bool) error {
		*to = row
		to.Pane = registry.Pane{PID: pane.PID, Cmd: row.Agent, Cwd: r.dir, ID: pane.ID, StartTicks: id.Start}
		to.TmuxSession, to.BootID, to.StartCommand = pane.Session, id.Boot, "claude"
		to.CreatedAt = registry.Stamp(time.Now())
		if to.Conversation() == "" {
			to.SetConversation(row.Agent, "")
		}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return written
}

// start starts the test agent under the name of a program.
func (r *rig) start(name, owner, program, modes string) tmux.Pane {
	r.t.Helper()
	self, err := os.Executable()
	if err != nil {
		r.t.Fatal(err)
	}
	dir := filepath.Join(r.dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		r.t.Fatal(err)
	}
	link := filepath.Join(dir, program)
	if err := os.Symlink(self, link); err != nil && !errors.Is(err, os.ErrExist) {
		r.t.Fatal(err)
	}
	shots, err := filepath.Abs("../../agents/driver/testdata/screens/claude-2.1.329")
	if err != nil {
		r.t.Fatal(err)
	}
	env := []string{modeVariable + "=" + modes, shotsVariable + "=" + shots, dirVariable + "=" + dir, "HOME=" + r.home()}
	if owner != "" {
		env = append(env, observe.Variable+"="+owner)
	}
	pane, err := r.srv.New(r.t.Context(), tmux.Spec{
		Name: name, Dir: r.dir, Argv: []string{link, "now"}, Env: env, Owner: owner, Isolated: true, Width: 100, Height: 40,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	if strings.Contains(modes, "exits-at-once") {
		r.until("the program to end", func() bool { p, err := r.srv.Find(r.t.Context(), name); return err == nil && p.Dead })
		return pane
	}
	r.until("a screen", func() bool {
		text, err := r.srv.Capture(r.t.Context(), pane.Ref(), tmux.Capture{})
		return err == nil && strings.TrimSpace(text) != ""
	})
	if strings.Contains(modes, "daemon") || strings.Contains(modes, "group") || strings.Contains(modes, "server") {
		r.sleeper(name)
	}
	return pane
}

// sleeper is the program that the agent of a session has started.
func (r *rig) sleeper(name string) (id proc.ID) {
	r.t.Helper()
	r.until("what the program starts", func() bool {
		raw, err := os.ReadFile(filepath.Join(r.dir, name, "sleeper"))
		if err != nil {
			return false
		}
		pid, err := strconv.Atoi(string(raw))
		if err != nil {
			r.t.Fatal(err)
		}
		id, err = proc.Of(pid)
		return err == nil
	})
	return id
}

// wrote tells whether the agent of a session has written a file.
func (r *rig) wrote(name, file string) bool {
	_, err := os.Stat(filepath.Join(r.dir, name, file))
	return err == nil
}

func (r *rig) row(name string) registry.Row {
	r.t.Helper()
	rows, problems, err := r.reg.Rows(r.t.Context())
	if err != nil || len(problems) > 0 {
		r.t.Fatal(err, problems)
	}
	i := slices.IndexFunc(rows, func(row registry.Row) bool { return row.Name == name })
	if i < 0 {
		r.t.Fatalf("no row %s among %d", name, len(rows))
	}
	return rows[i]
}

// until asks until the answer is yes. Loaded machines take seconds to start a program.
func (r *rig) until(what string, ok func() bool) {
	r.t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("waited for %s in vain", what)
		}
	}
}
