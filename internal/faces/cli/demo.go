package cli

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// aliveVariable names the descriptor on which a tuttid that plays the demo gives a sign of life.
const aliveVariable = "TUTTI_DEMO_ALIVE"

// firstSign is how long that may take: a thousand times what it does.
const firstSign = 5 * time.Second

var demoVerbs = []Verb{{
	Name: "demo", Under: Tutti, Group: GroupSetup, Halt: Reads, Waits: true, Run: runDemo, TextOnly: true, MaxArgs: 1,
	Short: "watch agents meet, talk and be stopped",
	Args:  "[agreement|stall]",
	Flags: []Flag{{Name: "keep", Kind: Switch, Help: "leave the folder, and say where it is"}},
	Does: `Starts a server for each of two agents, as their programs do, and lets them find each other, write, answer in
a thread, leave a message for a third one who is away, and fall silent on halt. Every line is what a server answered, what
it pushed, or what lies in a file. It takes a second.

With agreement it is another play: one PRINCIPAL and fifteen CONDUCTORS, each behind a server of its own, come to an agreement
that three of the fifteen sign; then somebody changes one byte of its journal, and tutti negotiate verify names the entry. It
takes some seconds.

With stall two scripted agents stop, each in a pane of a tmux server that is only for this. Both are asked to go on by one fixed sentence that is
typed there; one does, the other one is asked again, and waits on you in the end, in tutti status as well. It takes some seconds, too.`,
	Wont:     "It touches nothing of yours: bus, keys and halt switch lie in a home folder of its own, which is gone afterwards.",
	Examples: "$ tutti demo\n$ tutti demo agreement\n$ tutti demo stall\n$ tutti demo --keep",
	Exit:     "0 all of it was seen; 1 a step, which is named, did not come out; 130 interrupted",
}}

// runDemo starts tuttid and stays beside it. Every other verb replaces the process; here a tuttid that is broken must
// still end in a word about it.
func runDemo(ctx context.Context, c *Call) error {
	if play := c.arg(0); play != "" && play != "agreement" && play != "stall" {
		return usagef("demo: no play is called %q; there are agreement and stall", Clean(play))
	}
	path, err := daemonPath()
	if err != nil {
		return failIO(installHint, err, "find our own program")
	}
	sign, theirs, err := os.Pipe()
	if err != nil {
		return failIO("", err, "make a pipe")
	}
	defer sign.Close()
	cmd := exec.Command(path, os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.Env = append(os.Environ(), buildVariable+"="+BuildID(), aliveVariable+"=3")
	if err := cmd.Start(); err != nil {
		theirs.Close()
		return refuse(installHint, "demo: step start tuttid: %s", err)
	}
	theirs.Close()
	stop := context.AfterFunc(ctx, func() { _ = sign.SetReadDeadline(time.Now()) })
	defer stop()
	if err := sign.SetReadDeadline(time.Now().Add(firstSign)); err != nil {
		return failIO("", err, "wait for tuttid")
	}
	if n, err := sign.Read(make([]byte, 1)); n == 0 {
		_ = cmd.Process.Kill() // it may have ended by itself
		_ = cmd.Wait()
		if ctx.Err() != nil || interrupted(cmd.ProcessState) {
			return context.Canceled
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return refuse(installHint, "demo: step start tuttid: %s gave no sign of life within %s", path, firstSign)
		}
		return refuse(installHint, "demo: step start tuttid: %s gave no sign of life: %s", path, cmd.ProcessState)
	}
	return played(ctx, cmd)
}

// interrupted says whether a process died of the interrupt that a terminal sends to all of its group. It may be dead before this one has
// heard of it.
func interrupted(p *os.ProcessState) bool {
	status, ok := p.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGINT
}

// played waits for the end of the play. An interrupt reaches the other process by itself when it was typed; one that
// was sent to this one alone is handed on.
func played(ctx context.Context, cmd *exec.Cmd) error {
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(os.Interrupt) })
	defer stop()
	err := cmd.Wait()
	if interrupted(cmd.ProcessState) {
		return context.Canceled
	}
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		return &fault{code: max(cmd.ProcessState.ExitCode(), exitUsage)} // it has said why
	}
	return err
}

// Alive gives the sign of life that a tutti which plays the demo waits for.
func Alive() {
	text, ok := os.LookupEnv(aliveVariable)
	if !ok {
		return
	}
	os.Unsetenv(aliveVariable)
	fd, err := strconv.Atoi(text)
	if err != nil {
		return
	}
	sign := os.NewFile(uintptr(fd), "sign of life")
	_, _ = sign.Write([]byte{'!'}) // nobody may be waiting any more
	_ = sign.Close()
}
