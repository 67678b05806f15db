package tmux

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// What is asked for in a brief look, in the form of paneFormat.
const (
	briefFixed  = "pid session_id pane_id pane_pid pane_dead"
	briefTexts  = "session_name @owner_id"
	briefFields = 5 + 2
)

// Brief is [Server.Panes] with what tells sessions apart, and nothing else: of each pane its id, its first process, whether it is dead,
// and the id, the name and the owner of its session. With fifty panes it takes half as long.
func (s Server) Brief(ctx context.Context) ([]Pane, error) {
	var format strings.Builder
	for _, f := range strings.Fields(briefFixed) {
		format.WriteString("#{" + f + "}\t")
	}
	for i, f := range strings.Fields(briefTexts) {
		if i > 0 {
			format.WriteByte('\t')
		}
		// To write what must not stand in a field takes three patterns; there is none as a rule.
		format.WriteString("#{?#{m:*[%\n\t]*,#{" + f + "}},#{" + escaping + f + "},#{" + f + "}}")
	}
	out, ok := s.quickly(ctx, "list-panes", "-a", "-F", format.String())
	if !ok {
		var err error
		if out, err = s.ask(ctx, "list-panes", "-a", "-F", format.String()); err != nil {
			return nil, err
		}
	}
	panes := make([]Pane, 0, bytes.Count(out, []byte("\n")))
	for line := range bytes.Lines(out) {
		f := strings.Split(string(bytes.TrimSuffix(line, []byte("\n"))), "\t")
		if len(f) != briefFields {
			return nil, fmt.Errorf("tmux list-panes on server %s: %.300q: %w", s, line, errRow)
		}
		r := row{fields: f}
		p := Pane{Server: int(r.number()), Session: r.id('$'), ID: r.id('%'), PID: int(r.number()), Dead: r.flag(), SessionName: r.text(), Owner: r.text()}
		switch {
		case r.bad || p.Server <= 0:
			return nil, fmt.Errorf("tmux list-panes on server %s: %.300q: %w", s, line, errRow)
		case s.pid != 0 && p.Server != s.pid:
			return nil, fmt.Errorf("tmux server %d on %s: %w: server %d is there now", s.pid, s, ErrAbsent, p.Server)
		}
		panes = append(panes, p)
	}
	return panes, nil
}

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
