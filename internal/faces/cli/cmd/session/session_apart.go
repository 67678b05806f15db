package session

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"tutti/internal/faces/cli/kit"
	"tutti/internal/sessions/observe"
)

// stopApart goes on in another process, for this one would end with its own session in the middle. That one has a session of
// processes of its own, no terminal, and not the mark of the session, so that the stop does not end it; and this one ends as
// soon as the stop stands in the registry, so that the agent, which may end all that it has started, does not find it below itself.
func stopApart(c *kit.Call, what string, more ...string) error {
	const cannot = "go on outside of the session"
	self, err := os.Executable()
	if err != nil {
		return kit.FailIO("", err, cannot)
	}
	var said [2]*os.File // standard output and standard error, for what it says before it begins
	for i := range said {
		if said[i], err = os.CreateTemp("", "tutti-stop-"); err != nil {
			return kit.FailIO("", err, cannot)
		}
		defer said[i].Close()
		if err := os.Remove(said[i].Name()); err != nil {
			return kit.FailIO("", err, cannot)
		}
	}
	begun, tell, err := os.Pipe()
	if err != nil {
		return kit.FailIO("", err, cannot)
	}
	defer begun.Close()
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return name == observe.Variable || name == "TMUX" || name == "TMUX_PANE"
	})
	p := &exec.Cmd{
		Path: self, Args: append(slices.Clone(os.Args), more...), Env: append(env, kit.BuildVariable+"="+kit.BuildID(), apartVariable+"=3"),
		Stdout: said[0], Stderr: said[1], ExtraFiles: []*os.File{tell}, SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := p.Start(); err != nil {
		_ = tell.Close() // the error is the one to be told
		return kit.FailIO("", err, cannot)
	}
	_ = tell.Close() // it has its own
	if n, _ := begun.Read(make([]byte, 1)); n == 1 {
		c.Remark("stopping %s continues in process %d, because this one runs inside it; the registry will show the result", kit.Clean(what), p.Process.Pid)
		return nil
	}
	err = p.Wait()
	for i, to := range []io.Writer{c.OutFile, c.ErrFile} {
		if _, e := said[i].Seek(0, io.SeekStart); e == nil {
			_, _ = io.Copy(to, said[i]) // what cannot be shown is in the exit status all the same
		}
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() > 0 {
		return &kit.Fault{Code: exit.ExitCode()}
	}
	return err
}
