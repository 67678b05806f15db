package tmux

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// What is asked for in a brief look: fixed fields and the lengths of the texts, each with a tab behind it, then the texts as they are, then
// a line feed. To write what must not stand in a field takes the server longer than all the rest.
const (
	briefFormat = "#{pid}\t#{session_id}\t#{pane_id}\t#{pane_pid}\t#{pane_dead}\t#{n:session_name}\t#{n:@owner_id}\t#{session_name}#{@owner_id}"
	briefFields = 7 // before the texts
)

// Brief is [Server.Panes] with what tells sessions apart, and nothing else: of each pane its id, its first process, whether it is dead,
// and the id, the name and the owner of its session. With fifty panes it takes half as long.
func (s Server) Brief(ctx context.Context) ([]Pane, error) {
	out, ok := s.quickly(ctx, "list-panes", "-a", "-F", briefFormat)
	if !ok {
		var err error
		if out, err = s.ask(ctx, "list-panes", "-a", "-F", briefFormat); err != nil {
			return nil, err
		}
	}
	panes := make([]Pane, 0, bytes.Count(out, []byte("\n")))
	for rest := string(out); rest != ""; {
		p, after, ok := briefPane(rest)
		switch {
		case !ok: // a tmux that does not count, or not as it prints
			snap, err := s.Panes(ctx)
			if err != nil {
				return nil, err
			}
			return snap.Panes, nil
		case s.pid != 0 && p.Server != s.pid:
			return nil, fmt.Errorf("tmux server %d on %s: %w: server %d is there now", s.pid, s, ErrAbsent, p.Server)
		}
		panes, rest = append(panes, p), after
	}
	return panes, nil
}

// briefPane reads one pane, and returns what follows.
func briefPane(text string) (p Pane, rest string, ok bool) {
	f := strings.SplitN(text, "\t", briefFields+1)
	if len(f) != briefFields+1 {
		return p, "", false
	}
	r := row{fields: f}
	p = Pane{Server: int(r.number()), Session: r.id('$'), ID: r.id('%'), PID: int(r.number()), Dead: r.flag()}
	name, owner := r.number(), r.number()
	rest = f[briefFields]
	if r.bad || p.Server <= 0 || name > int64(len(rest)) || owner >= int64(len(rest))-name || rest[name+owner] != '\n' {
		return p, "", false
	}
	p.SessionName, p.Owner = rest[:name], rest[name:name+owner]
	return p, rest[name+owner+1:], true
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
