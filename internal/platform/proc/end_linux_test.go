package proc

import (
	"errors"
	"os/exec"
	"testing"
	"time"
)

func TestEnd(t *testing.T) {
	t.Parallel()
	c := exec.Command("sleep", "60")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	id, err := Of(c.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	ended, stop, err := End(id)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	other, leave, err := End(id)
	if err != nil {
		t.Fatal(err)
	}
	leave()
	select {
	case <-ended:
		t.Error("it has not ended")
	case <-time.After(50 * time.Millisecond):
	}
	if err := c.Process.Kill(); err != nil { // a zombie has ended, too
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("it is not noticed that it has ended")
	}
	_ = c.Wait()
	select {
	case <-other:
		t.Error("a wait that was given up has come to its end")
	default:
	}
	if _, _, err := End(id); !errors.Is(err, ErrGone) {
		t.Errorf("after its end: %v", err)
	}
}
