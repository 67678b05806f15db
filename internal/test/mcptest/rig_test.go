package mcptest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tutti/internal/test/boundtest"
)

// programs builds both programs once and returns their folder: as they are installed, or with the race detector where the tests
// have it, for it is in the servers that calls, pushes and heartbeats meet.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "tutti-mcptest")
	if err != nil {
		return "", err
	}
	builtIn = dir
	args, cgo := []string{"build", "-o", dir + "/"}, "CGO_ENABLED=0"
	if boundtest.Race {
		args, cgo = append(args, "-race"), "CGO_ENABLED=1"
	}
	build := exec.Command("go", append(args, "tutti/cmd/tutti", "tutti/cmd/tutti-full")...)
	build.Env = append(os.Environ(), cgo)
	if out, err := build.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("%w: %s", err, out)
	}
	return dir, nil
})

// soak tells that the long versions are to be run.
var soak = os.Getenv("TUTTI_SOAK") != ""

func TestMain(m *testing.M) {
	if os.Getenv(hostEnv) != "" {
		os.Exit(host())
	}
	code := m.Run()
	if builtIn != "" {
		os.RemoveAll(builtIn)
	}
	os.Exit(code)
}

var builtIn string // the folder of the programs, if they were built

// noLinger has a program that is built with the race detector end as fast as others do.
const noLinger = "GORACE=atexit_sleep_ms=0"

// A rig is a bus with servers on it, in the home of a user of its own.
type rig struct {
	t    testing.TB
	bin  string
	home string
	root string
	env  []string
}

// newRig makes one. env is the environment of every program, beside what is needed.
func newRig(t testing.TB, env ...string) *rig {
	t.Helper()
	if testing.Short() {
		t.Skip("builds and starts the programs")
	}
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	r := &rig{t: t, bin: bin, home: filepath.Join(dir, "home"), root: filepath.Join(dir, "bus")}
	r.env = append([]string{"HOME=" + r.home, "H2A_ROOT=" + r.root, "PATH=/usr/bin:/bin", "TMPDIR=" + dir, "DBUS_SESSION_BUS_ADDRESS=disabled:", noLinger}, env...)
	if err := os.Mkdir(r.home, 0o700); err != nil {
		t.Fatal(err)
	}
	r.run("init")
	return r
}

// quick are the times of sessions for tests that wait for them. Where everything is tested at once a disk may well take two
// seconds for one heartbeat, and nobody has left for that.
var quick = []string{"H2A_HEARTBEAT_INTERVAL_MS=300", fmt.Sprint("H2A_SESSION_EXPIRY_MS=", quickExpiry.Milliseconds())}

const quickExpiry = 4 * time.Second

// command prepares a program that runs in the folder of that name.
func (r *rig) command(program, folder string, args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(r.bin, program), args...)
	c.Env, c.Dir = r.env, filepath.Join(r.home, folder)
	_ = os.MkdirAll(c.Dir, 0o700) // without it the program cannot be started
	return c
}

// run runs a command of tutti and returns what it prints.
func (r *rig) run(args ...string) string {
	r.t.Helper()
	out, err := r.command("tutti", "", args...).CombinedOutput()
	if err != nil {
		r.t.Fatalf("tutti %q: %v: %s", args, err, out)
	}
	return string(out)
}

// serve is the command of the server of an agent program in the folder of that name.
func (r *rig) serve(host, folder string) *exec.Cmd {
	return r.command("tutti-full", folder, "mcp-serve", "--auto-open", "--host", host)
}

// haltFile is where the switch of the rig's user lies.
func (r *rig) haltFile() string { return filepath.Join(r.home, ".config", "cross-agent-comms", "HALT") }

// raise turns the switch on in one step, as programs do, and says when.
func (r *rig) raise() time.Time {
	r.t.Helper()
	err := os.MkdirAll(filepath.Dir(r.haltFile()), 0o700)
	tmp := r.haltFile() + ".new"
	err = errors.Join(err, os.WriteFile(tmp, []byte("a test\n"), 0o600))
	at := time.Now()
	if err = errors.Join(err, os.Rename(tmp, r.haltFile())); err != nil {
		r.t.Fatal(err)
	}
	return at
}

// sessions are the records on the bus whose names begin as those of our programs do.
func (r *rig) sessions() []string {
	r.t.Helper()
	names, err := filepath.Glob(filepath.Join(r.root, "presence", "sess__*.json"))
	if err != nil {
		r.t.Fatal(err)
	}
	return names
}

// patience is how long a test waits for what has to come: machines are slow when everything is tested at once.
const patience = 30 * time.Second

// eventually waits until something is so.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it did not come to this: %s", what)
		}
	}
}

// joined is a list of strings in lines, for messages.
func joined(all []string) string { return strings.Join(all, "\n") }
