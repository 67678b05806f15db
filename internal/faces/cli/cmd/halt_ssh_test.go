package cmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"tutti/internal/test/boundtest"
	"tutti/internal/test/commstest"
	"tutti/internal/test/scriptprog"
)

// A user who logs in by ssh lifts a halt there; without a terminal, the lift is recorded as such.
func TestResumeBySSH(t *testing.T) {
	t.Parallel()
	if boundtest.Race {
		t.Skip("it starts programs that have one goroutine each")
	}
	commstest.Need(t, "ssh", "sshd", "rsync")
	machine := commstest.NewMachine(t, "laptop", commstest.MachineOptions{Env: map[string]string{scriptprog.TopVariable: strconv.Itoa(os.Getpid())}})
	self, err := exec.LookPath("tutti") // where tutti-full lies beside it
	if err != nil {
		t.Fatal(err)
	}
	host := machine.Host()
	run := func(command string) string {
		t.Helper()
		args := []string{"-F", "/dev/null", "-o", "BatchMode=yes", "-p", strconv.Itoa(host.Port), "-l", host.User}
		for _, o := range host.Options {
			args = append(args, "-o", o)
		}
		out, err := exec.Command(commstest.Program("ssh"), append(args, host.Host, self+" "+command)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s\n%s", command, err, out, machine.Log())
		}
		return string(out)
	}
	run("halt --no-stop-watcher over")
	file := filepath.Join(machine.Home, ".config/cross-agent-comms/HALT")
	if _, err := os.Stat(file); err != nil {
		t.Fatal(err)
	}
	run("resume")
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the switch is still on: %v", err)
	}
	if got := run("status"); !strings.Contains(got, "the halt was lifted by a script at ") || !strings.Contains(got, ", without a terminal") {
		t.Errorf("status does not show the lift:\n%s", got)
	}
}
