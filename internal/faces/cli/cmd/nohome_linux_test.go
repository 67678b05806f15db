package cmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tutti/internal/faces/cli/kit"
)

// TestHostWithoutHome: without HOME the home folder of the account is used, as by every verb. A user without one gets an error, and nothing
// is written.
func TestHostWithoutHome(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can become a user without an account")
	}
	dir, err := os.MkdirTemp("", "nohome") // the folder of the test is closed to others
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	const nobody = 54321
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{
		"host setup --host codex", "host setup --host codex --print", "host setup --remove", "host status", "install-skills --host codex", "install-skills --remove",
	} {
		cmd := exec.Command("/proc/self/exe", strings.Fields(args)...)
		cmd.Args[0], cmd.Dir = "tutti", dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), kit.BuildVariable + "=" + kit.BuildID(), "GORACE=" + os.Getenv("GORACE")}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != kit.ExitIO || !strings.Contains(string(out), "no home folder: set HOME to its absolute path") {
			t.Errorf("%s: %v\n%s", args, err, out)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) > 0 {
		t.Errorf("left: %q, %v", left, err)
	}
}
