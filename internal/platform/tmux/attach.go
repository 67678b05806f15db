package tmux

import (
	"fmt"
	"os/exec"
	"strings"
)

// Attach returns what replaces a process so that its terminal shows the session of a pane: the program, its arguments and its
// environment. tmux is the value of $TMUX there: a terminal that shows a session of this server already is switched, and one of another
// server shows the session within that.
func (s Server) Attach(p Pane, tmux string) (path string, argv, env []string, err error) {
	if path, err = exec.LookPath("tmux"); err != nil {
		return "", nil, nil, ErrMissing
	}
	if !isID(p.Session, '$') {
		return "", nil, nil, fmt.Errorf("attach to %q: no session that was listed", p.Session)
	}
	env = environ()
	argv = append([]string{"tmux"}, s.at()...)
	if in, _, ok := strings.Cut(tmux, ","); ok && within(tmux, p.Server) {
		return path, append([]string{"tmux", "-u", "-N", "-S", in}, "switch-client", "-t", p.Session), append(env, "TMUX="+tmux), nil
	}
	return path, append(argv, "attach-session", "-t", p.Session), env, nil
}

// within tells whether a value of $TMUX is one of the server with that pid.
func within(tmux string, server int) bool {
	f := strings.Split(tmux, ",")
	return len(f) == 3 && f[1] == fmt.Sprint(server)
}
