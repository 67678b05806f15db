package cmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tutti/internal/test/progfile"
)

// slowSSH notes its pid and waits to be killed if the machine has a file slow; else it is the machine, a folder.
const slowSSH = `#!/bin/sh
while [ "$1" != -- ]; do shift; done
cd "$MACHINES/$2" || exit 255
if [ -e slow ]; then
	echo $$ >pid.new
	mv pid.new pid
	exec sleep 60
fi
HOME=$PWD exec sh -c "$3"
`

// tailnetCommand is a halt of all machines: this one and those that are named. It returns the folder of the others.
func tailnetCommand(t *testing.T, machines ...string) (cmd *exec.Cmd, others string) {
	t.Helper()
	self, err := exec.LookPath("cross-agent-halt") // where tutti-full lies beside it
	if err != nil {
		t.Fatal(err)
	}
	home, bin, others := t.TempDir(), t.TempDir(), t.TempDir()
	config := filepath.Join(home, ".config", "cross-agent-comms")
	if err := os.MkdirAll(config, 0o700); err != nil {
		t.Fatal(err)
	}
	peers := ""
	for _, m := range machines {
		peers += "[peers." + m + "]\nhost = \"" + m + ".example\"\n"
		if err := os.Mkdir(filepath.Join(others, m+".example"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for path, text := range map[string]string{
		filepath.Join(config, "peers.toml"): peers, filepath.Join(bin, "ssh"): slowSSH, filepath.Join(bin, "systemctl"): "#!/bin/sh\n",
	} {
		if err := progfile.Write(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cmd = exec.Command(self, "--tailnet", "why")
	cmd.Env = []string{"HOME=" + home, "PATH=" + bin + ":/usr/bin:/bin", "MACHINES=" + others}
	return cmd, others
}

// A reader that has gone away keeps no machine from being halted.
func TestHaltAllWithoutAReader(t *testing.T) {
	t.Parallel()
	cmd, others := tailnetCommand(t, "beta", "gamma")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	cmd.Stdout = w
	err = cmd.Run()
	w.Close()
	for _, m := range []string{"beta.example", "gamma.example"} {
		if _, serr := os.Stat(filepath.Join(others, m, ".config", "cross-agent-comms", "HALT")); serr != nil {
			t.Errorf("%s is not halted (%v); the command: %v", m, serr, err)
		}
	}
}

// TestHaltAllInterrupted: an interrupt ends only the waiting: machines that have answered are halted, the others are named, and no ssh is
// left.
func TestHaltAllInterrupted(t *testing.T) {
	t.Parallel()
	cmd, others := tailnetCommand(t, "beta", "gamma")
	slow := filepath.Join(others, "gamma.example")
	if err := os.WriteFile(filepath.Join(slow, "slow"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "out")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout = out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	printed := func() string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
	begun := func() bool {
		_, err := os.Stat(filepath.Join(slow, "pid"))
		return err == nil && strings.Contains(printed(), "Halting beta.example   ✓")
	}
	for end := time.Now().Add(9 * time.Second); !begun(); time.Sleep(5 * time.Millisecond) { // a machine has 10 s
		if time.Now().After(end) {
			cmd.Process.Kill()
			t.Fatalf("it does not come to wait: %s", printed())
		}
	}
	start := time.Now()
	cmd.Process.Signal(os.Interrupt)
	cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != 1 || time.Since(start) > 5*time.Second {
		t.Errorf("exit %d after %v, want 1 at once", got, time.Since(start))
	}
	if !strings.Contains(printed(), "Halting gamma.example  ✗ (") || !strings.HasSuffix(printed(), "gamma.example needs manual halt.\n") {
		t.Errorf("got %s", printed())
	}
	pid, err := os.ReadFile(filepath.Join(slow, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := strconv.Atoi(strings.TrimSpace(string(pid))); err != nil || syscall.Kill(n, 0) == nil {
		t.Errorf("the ssh with pid %s is left (%v)", pid, err)
	}
}
