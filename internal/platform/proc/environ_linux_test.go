package proc

import (
	"errors"
	"os/exec"
	"testing"
)

// TestGetenvOfNothing tells a process that was started without an environment from one that has ended.
func TestGetenvOfNothing(t *testing.T) {
	t.Parallel()
	c := exec.Command("/bin/sleep", "300")
	c.Env = []string{}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if value, ok, err := Getenv(c.Process.Pid, "HOME"); value != "" || ok || err != nil {
		t.Errorf("without an environment: %q, %v, %v", value, ok, err)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // while it waits for its parent, and after that
		if _, _, err := Getenv(c.Process.Pid, "HOME"); !errors.Is(err, ErrGone) {
			t.Errorf("of an ended process: %v", err)
		}
		_ = c.Wait()
	}
}
