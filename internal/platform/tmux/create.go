package tmux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// A Spec says what session is to be made.
type Spec struct {
	Name          string   // see CheckName
	Dir           string   // absolute; has to be there. The program starts in it
	Argv          []string // the program, absolute or to be found on PATH, and its arguments, of any content
	Env           []string // "K=V": what the program gets beyond the environment of the server; its PATH is searched for the program
	Width, Height int      // of the screen, in characters; 0: 200 and 50
	Owner         string   // noted in the session, see Pane.Owner: letters, digits, _ and -; empty: none
	Isolated      bool     // if this starts the server, it reads no file of settings
}

// What a new session gets when nothing else is said: room for the widest lines that agent programs draw.
const (
	defaultWidth  = 200
	defaultHeight = 50
)

// A DuplicateError reports that the server has a session of this name. Of several that ask at the same time one gets the name.
type DuplicateError struct{ Name, Server string }

func (e *DuplicateError) Error() string {
	return fmt.Sprintf("tmux server %s has a session named %q", e.Server, e.Name)
}

// ErrRenamed reports that tmux made another name of the one that was asked for. What was made has been ended.
var ErrRenamed = errors.New("tmux does not take the name as it is")

// New makes a session with one pane in which the program runs, without a terminal that shows it, and returns the pane as it was in
// that moment: which program is in front is not known yet, and Command is empty. A server that is not there is started, with
// little more of this process's environment than its locale and paths, since the environment of a server is that of all its later
// sessions: see serverEnv.
//
// In the same step tmux is set to keep the pane when its program ends, with the last screen and how it ended; to keep the
// session when no client is attached, whatever the user's settings say; and to record its owner.
//
// What is asked for goes to tmux by its standard input: no argument and no variable shows in the list of processes, and none
// is expanded or run. A *DuplicateError: the name is taken, nothing was made. fs.ErrNotExist and exec.ErrNotFound: there is no such
// folder or program, nothing was made. After an error of another kind a session may have been made; its owner tells.
func (s Server) New(ctx context.Context, spec Spec) (Pane, error) {
	p, err := s.create(ctx, spec)
	if err != nil {
		return Pane{}, fmt.Errorf("make session %q: %w", spec.Name, err)
	}
	return p, nil
}

func (s Server) create(ctx context.Context, spec Spec) (Pane, error) {
	argv, err := spec.check()
	if err != nil {
		return Pane{}, err
	}
	at := slices.DeleteFunc(s.at(), func(arg string) bool { return arg == "-N" }) // it may start a server
	if spec.Isolated {
		at = append(at, "-f", os.DevNull)
	}
	var out []byte
	var failed error
	err = whileEnding(ctx, bornLimit, func() error {
		how := &exec.Cmd{Args: at, Env: serverEnv(), Dir: "/", Stdin: strings.NewReader(spec.script(argv))} // the server keeps no folder busy
		out, failed = s.call(ctx, how, []string{"start-server", ";", "source-file", "-"})
		if len(out) > 0 { // it was made, and has gone with its server
			return nil
		}
		return failed
	})
	if err != nil {
		failed = err
	}
	return s.made(spec, out, failed)
}

// made reads what tmux says about the session. One that is not what was asked for is ended.
func (s Server) made(spec Spec, out []byte, failed error) (Pane, error) {
	var said *CommandError
	if errors.As(failed, &said) && strings.HasPrefix(said.Said, "duplicate session: ") {
		return Pane{}, &DuplicateError{Name: spec.Name, Server: s.String()}
	}
	snap, err := parsePanes(out)
	switch {
	case failed != nil && (err != nil || len(snap.Panes) != 1):
		return Pane{}, failed
	case err != nil:
		return Pane{}, fmt.Errorf("tmux new-session on server %s: %w", s, err)
	case len(snap.Panes) != 1:
		return Pane{}, fmt.Errorf("tmux new-session on server %s: %d sessions made: %.200q", s, len(snap.Panes), out)
	}
	p := snap.Panes[0]
	if s.pid != 0 && p.Server != s.pid {
		failed = fmt.Errorf("%w: server %d is there, not %d", ErrChanged, p.Server, s.pid)
	} else if p.SessionName != spec.Name {
		failed = fmt.Errorf("%w: %q", ErrRenamed, p.SessionName)
	}
	if failed != nil {
		return Pane{}, errors.Join(failed, s.end(context.Background(), p, false))
	}
	p.Owner, p.Command, p.Path = spec.Owner, "", spec.Dir
	return p, nil
}

// script is the input for tmux: commands in one line are one step, and after one that fails none of the rest is done.
func (spec Spec) script(argv []string) string {
	width, height := spec.Width, spec.Height
	if width == 0 {
		width = defaultWidth
	}
	if height == 0 {
		height = defaultHeight
	}
	b := &script{}
	b.add("new-session", "-d", "-P", "-F", paneFormat(), "-s", unformatted(spec.Name), "-c", unformatted(spec.Dir),
		"-x", strconv.Itoa(width), "-y", strconv.Itoa(height))
	for _, v := range spec.Env {
		b.add("-e", v)
	}
	b.add("--").add(argv...)
	session := "=" + spec.Name + ":"
	if spec.Owner != "" {
		b.then("set-option", "-t", session, ownerOption, spec.Owner)
	}
	b.then("set-option", "-t", session, "destroy-unattached", "off")
	b.then("set-option", "-p", "-t", session, "remain-on-exit", "on")
	return b.String() + "\n"
}

// ownerOption is the option of a session that holds its owner.
const ownerOption = "@owner_id"

// unformatted is a text that stays itself where tmux expands formats: #s are doubled, but for those before a [, which begin a style
// and are left as they are.
func unformatted(s string) string {
	var b strings.Builder
	for rest := s; rest != ""; {
		i := strings.IndexByte(rest, '#')
		if i < 0 {
			b.WriteString(rest)
			break
		}
		b.WriteString(rest[:i])
		rest = rest[i:]
		n := len(rest) - len(strings.TrimLeft(rest, "#"))
		b.WriteString(rest[:n])
		if rest = rest[n:]; !strings.HasPrefix(rest, "[") {
			b.WriteString(strings.Repeat("#", n))
		}
	}
	return b.String()
}

// A script is a line of commands in the language of tmux's settings.
type script struct{ strings.Builder }

// add adds words to the command, each exactly as it is. Between single quotes every byte stands for itself but for that quote; 0xff,
// which tmux takes for the end of the text; and a line feed, after which it drops what looks like indentation and remarks.
func (b *script) add(words ...string) *script {
	for _, w := range words {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteByte('\'')
		for _, c := range []byte(w) {
			switch c {
			case '\'':
				b.WriteString(`'"'"'`)
			case 0xff:
				b.WriteString(`'"\377"'`)
			case '\n':
				b.WriteString(`'"\n"'`)
			default:
				b.WriteByte(c)
			}
		}
		b.WriteByte('\'')
	}
	return b
}

// then begins the next command.
func (b *script) then(words ...string) {
	b.WriteString(" ;")
	b.add(words...)
}
