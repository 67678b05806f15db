package vectortest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tutti/internal/halt"
	"tutti/internal/test/boundtest"
	"tutti/internal/test/progfile"
)

// A crossHome is a home folder, and the cross-agent commands beside it. What they run for the service manager and for ssh is fake: a
// machine is a folder.
type crossHome struct{ dir, home, path string }

const (
	fakeSystemctl = "#!/bin/sh\n"
	fakeSSH       = `#!/bin/sh
while [ "$1" != -- ]; do shift; done
cd "$MACHINES/$2" 2>/dev/null || { echo "ssh: connect to host $2 port 22: No route to host" >&2; exit 255; }
HOME=$PWD exec sh -c "$3"
`
)

func newCrossHome(t *testing.T) *crossHome {
	t.Helper()
	if boundtest.Race {
		t.Skip("a process of one goroutine for each case: the detector takes a second for each and sees no race")
	}
	layHalt(t, "no HALT entry")
	h := &crossHome{dir: t.TempDir(), home: os.Getenv("HOME")}
	bin := filepath.Join(h.dir, "bin")
	h.path = bin + ":/usr/bin:/bin"
	err := os.Mkdir(bin, 0o700)
	for name, text := range map[string]string{"ssh": fakeSSH, "systemctl": fakeSystemctl} {
		if err == nil {
			err = progfile.Write(filepath.Join(bin, name), []byte(text), 0o700)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// machine makes another machine that can be reached, and returns its home folder.
func (h *crossHome) machine(t *testing.T, host string) string {
	t.Helper()
	home := filepath.Join(h.dir, "machines", host)
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	return home
}

// run runs a command.
func (h *crossHome) run(t *testing.T, command string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	self, err := os.Executable()
	program := filepath.Join(h.dir, "cross-agent-"+command)
	if err == nil {
		if err = os.Symlink(self, program); errors.Is(err, os.ErrExist) {
			err = nil
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	c := exec.Command(program, args...)
	c.Env = []string{asProgram + "=1", "HOME=" + h.home, "PATH=" + h.path, "MACHINES=" + filepath.Join(h.dir, "machines")}
	c.Dir, c.Stdout, c.Stderr = h.home, &out, &errs
	var exit *exec.ExitError
	if err := c.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s %q: %v", command, args, err)
	}
	return c.ProcessState.ExitCode(), out.String(), errs.String()
}

// peers writes the list of machines.
func (h *crossHome) peers(t *testing.T, text string) {
	t.Helper()
	dir := filepath.Join(h.home, ".config", "cross-agent-comms")
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "peers.toml"), []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// haltProgram runs what the commands do beyond the switch of this machine.
func haltProgram(t *testing.T, c kase) {
	var v struct {
		ID, St, Component, When string
		Expect                  struct {
			Exit         int
			HaltWritten  bool `json:"halt_written"`
			Warning      bool
			Stdout       []string `json:"stdout_contains"`
			FirstLine    string   `json:"stdout_first_line_contains"`
			ListFollows  bool     `json:"list_follows"`
			RemoteReason string   `json:"remote_reason"`
			Note         string   // says how the reason travels, which package tailnet tests
		}
	}
	c.into(t, &v)
	h, want := newCrossHome(t), v.Expect
	if v.Component == "discover" {
		discoverHalted(t, h, want.Exit, want.FirstLine, want.ListFollows)
		return
	}
	args := []string{"--tailnet"}
	if _, quoted, ok := strings.Cut(v.Component, `"`); ok {
		args = append(args, strings.TrimSuffix(quoted, `"`))
	}
	const beta, gamma = "[peers.beta]\nhost = \"beta.example\"\n", "[peers.gamma]\nhost = \"gamma.example\"\n"
	remote := "" // home folder of a machine that is to be halted
	switch v.When {
	case "peers beta ok, gamma ssh 255":
		h.peers(t, beta+gamma)
		remote = h.machine(t, "beta.example")
	case "all peers ok":
		h.peers(t, beta)
		remote = h.machine(t, "beta.example")
	case "peers.toml absent":
	case "peers.toml malformed":
		h.peers(t, "[peers.beta\n")
	case "systemctl absent":
		args, h.path = nil, filepath.Join(h.dir, "empty")
	default:
		t.Fatalf("no test knows how to run %q when %q", v.Component, v.When)
	}
	code, stdout, stderr := h.run(t, "halt", args...)
	if code != want.Exit {
		t.Errorf("exit %d, want %d; %s", code, want.Exit, stderr)
	}
	if s := halt.Read(); s.Halted != want.HaltWritten && want.RemoteReason == "" {
		t.Errorf("halted %v, want %v", s.Halted, want.HaltWritten)
	}
	if want.Warning && !strings.Contains(stderr, "warning") && !strings.Contains(stdout, "⚠") {
		t.Errorf("no warning: %s%s", stdout, stderr)
	}
	for _, text := range want.Stdout {
		if !strings.Contains(stdout, text) {
			t.Errorf("standard output has no %q:\n%s", text, stdout)
		}
	}
	if remote != "" {
		got, err := os.ReadFile(filepath.Join(remote, ".config", "cross-agent-comms", "HALT"))
		if err != nil || string(got) != want.RemoteReason {
			t.Errorf("over there: reason %q, %v; want %q", got, err, want.RemoteReason)
		}
	}
}

func discoverHalted(t *testing.T, h *crossHome, exit int, first string, list bool) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(h.home, "projects", "notes", ".ai"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, _, err := halt.Raise("a test"); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := h.run(t, "discover")
	line, rest, _ := strings.Cut(stdout, "\n")
	if code != exit || !strings.Contains(line, first) || list != strings.Contains(rest, "notes") {
		t.Errorf("exit %d, %s\n%s", code, stderr, stdout)
	}
}
