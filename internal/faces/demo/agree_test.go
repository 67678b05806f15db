package demo

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The play about an agreement comes to its end, tells what it saw, and leaves nothing.
func TestAgreement(t *testing.T) {
	left := elsewhere(t)
	server := build(t, "tutti-full")
	var out bytes.Buffer
	began := time.Now()
	if err := Agreement(context.Background(), Options{Server: server, Version: "test", Out: &out}); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	t.Logf("it took %s\n%s", time.Since(began), out.String())
	for _, want := range []string{
		"16 agents join, each over MCP", "one as PRINCIPAL, 15 as CONDUCTOR", "3 of 15 conductors have to sign", "h2a_counteroffer: entry 1",
		"stale: the latest offer is sha256:", "was superseded by sha256:", "lacks 1 more of", "c11   reads it, h2a_sign: entry 4", "signed by 3, kept in ",
		"8 entries, 8 linked, 8 sealed", "tutti negotiate verify nego:parser: valid", "exit status 2: entry 1 contentHash", "the entry was changed",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("nothing was said of %q in\n%s", want, out.String())
		}
	}
	if got := left(); len(got) > 0 {
		t.Errorf("left behind: %q", got)
	}
}

// An interrupt at any moment ends the command, its servers, and its folder.
func TestAgreementInterrupted(t *testing.T) {
	tutti := build(t, "tutti")
	for _, after := range []time.Duration{20 * time.Millisecond, 150 * time.Millisecond, 400 * time.Millisecond} {
		left := elsewhere(t)
		cmd := exec.Command(tutti, "demo", "agreement")
		cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(after)
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) // as a terminal does; it may be over already
		err := cmd.Wait()
		if e, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || e.ExitCode() != 130 && e.Sys().(syscall.WaitStatus).Signal() != syscall.SIGINT) {
			t.Errorf("interrupted after %s it ended with %v\n%s", after, err, out.String())
		}
		if got := left(); len(got) > 0 {
			t.Errorf("interrupted after %s it left %q", after, got)
		}
	}
}

func TestUnknownPlay(t *testing.T) {
	cmd := exec.Command(build(t, "tutti"), "demo", "agrement")
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if e, ok := errors.AsType[*exec.ExitError](err); !ok || e.ExitCode() != 1 || !strings.Contains(string(out), "no play is called") {
		t.Errorf("got %v, %s", err, out)
	}
}
