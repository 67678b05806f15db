package cmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"tutti/internal/platform/proc"
	"tutti/internal/test/boundtest"
	"tutti/internal/test/commstest"
	"tutti/internal/test/hometest"
	"tutti/internal/test/progfile"
	"tutti/internal/test/scriptprog"
)

// TestKillOnMachines: "halt --kill --tailnet" ends this user's agents on the other machines, over the real ssh, and no other user's. A
// machine without tutti is halted and named.
func TestKillOnMachines(t *testing.T) {
	t.Parallel()
	if boundtest.Race {
		t.Skip("it starts programs that have one goroutine each")
	}
	commstest.Need(t, "ssh", "sshd", "rsync")
	self, err := exec.LookPath("tutti") // where tutti-full lies beside it
	if err != nil {
		t.Fatal(err)
	}
	top := scriptprog.TopVariable + "=" + strconv.Itoa(os.Getpid())
	beta := commstest.NewMachine(t, "beta", commstest.MachineOptions{Env: map[string]string{scriptprog.TopVariable: strconv.Itoa(os.Getpid())}})
	gamma := commstest.NewMachine(t, "gamma", commstest.MachineOptions{})
	beta.Install("tutti", self)
	home := homeThatKnows(t, beta)
	peers := filepath.Join(home, ".config", "cross-agent-comms", "peers.toml")
	if err := os.WriteFile(peers, []byte(commstest.PeerTOML(beta.Host())+commstest.PeerTOML(gamma.Host())), 0o600); err != nil {
		t.Fatal(err)
	}
	agent := func(home string) proc.ID {
		t.Helper()
		program := filepath.Join(hometest.Dir(t), "claude")
		raw, err := os.ReadFile("/bin/sleep")
		if err == nil {
			err = progfile.Write(program, raw, 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
		c := exec.Command(program, "300")
		c.Env = []string{"HOME=" + home}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			_ = c.Wait()
			close(done)
		}()
		t.Cleanup(func() {
			_ = c.Process.Kill()
			<-done
		})
		id, err := proc.Of(c.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	here, there, other := agent(home), agent(beta.Home), agent(t.TempDir())
	run := func(args ...string) (string, int) {
		t.Helper()
		c := exec.Command(self, append([]string{"halt", "--no-stop-watcher", "--tailnet", "--kill"}, args...)...)
		c.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), top}
		out, _ := c.CombinedOutput()
		return string(out), c.ProcessState.ExitCode()
	}
	out, code := run()
	if code != 1 || !here.Alive() || !there.Alive() || !strings.Contains(out, "nothing was ended") {
		t.Errorf("without --yes: exit status %d\n%s", code, out)
	}
	out, code = run("--yes", "runaway loop")
	if code == 0 || here.Alive() || there.Alive() || !other.Alive() {
		t.Errorf("exit status %d; alive: here %v, on beta %v, of another home %v\n%s", code, here.Alive(), there.Alive(), other.Alive(), out)
	}
	for _, want := range []string{"HALT: 3/3 machines halted.", "Ending on beta.example  ✓ (1 ended)", "Ending on gamma.example  ✗ (tutti is not installed there)", "may still run on 1 machine"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	for _, m := range []*commstest.Machine{beta, gamma} {
		if _, err := os.Stat(filepath.Join(m.Home, ".config/cross-agent-comms/HALT")); err != nil {
			t.Errorf("%s is not halted: %v", m.Name, err)
		}
	}
}
