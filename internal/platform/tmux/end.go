package tmux

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrOwner reports a session whose owner is not the one that it had when it was listed.
var ErrOwner = errors.New("the session has another owner")

// Find returns the first pane that was made in the session with exactly this name. ErrAbsent: no server runs, or it has no such
// session. Any other error: not known.
func (s Server) Find(ctx context.Context, name string) (Pane, error) {
	p, err := s.find(ctx, name)
	if err == nil && p.unreaped() {
		nudge(p.Server)
		p, err = s.find(ctx, name)
	}
	if err != nil {
		return Pane{}, fmt.Errorf("find session %q: %w", name, err)
	}
	return p, nil
}

func (s Server) find(ctx context.Context, name string) (Pane, error) {
	snap, err := s.list(ctx, "-a", "-f", equal("session_name", name))
	if err != nil {
		return Pane{}, err
	}
	return snap.first(name)
}

// A Want is a pane whose screen is asked for before anybody has looked whether it is there: its id, and its first process.
type Want struct {
	ID  string // "%7"
	PID int
}

// FindShown is [Server.Find], with the text of the pane that is expected there, by the same call and as of the same moment. Where another
// pane was found, or none of that id with that first process is there, the text is missing; [Server.Capture] may have it, or tell why.
func (s Server) FindShown(ctx context.Context, name string, want Want, c Capture) (Pane, string, error) {
	if !isID(want.ID, '%') || want.PID <= 1 {
		p, err := s.Find(ctx, name)
		return p, "", err
	}
	mark := rand.Text() // no program can print it on a screen before
	// Where there is no such pane the call ends there; the list came before.
	out, err := s.ask(ctx, "list-panes", "-F", paneFormat(), "-a", "-f", equal("session_name", name), ";",
		"if-shell", "-F", "-t", want.ID, equal("pane_pid", strconv.Itoa(want.PID)), "display-message -p "+mark+" ; "+c.command(Ref{ID: want.ID}))
	if err != nil && (!errors.Is(err, ErrAbsent) || len(out) == 0) {
		return Pane{}, "", fmt.Errorf("find session %q: %w", name, err)
	}
	listed, text, _ := strings.Cut(string(out), mark+"\n")
	snap, err := s.read([]byte(listed))
	var p Pane
	if err == nil {
		p, err = snap.first(name)
	}
	switch {
	case err != nil:
		return Pane{}, "", fmt.Errorf("find session %q: %w", name, err)
	case p.unreaped():
		p, err = s.Find(ctx, name)
	}
	if p.ID != want.ID || p.PID != want.PID {
		text = ""
	}
	return p, text, err
}

// first is the pane of a session that was made first.
func (s *Snapshot) first(name string) (Pane, error) {
	first, found := Pane{}, -1
	for _, p := range s.Panes {
		n, err := strconv.Atoi(p.ID[1:])
		if err == nil && p.SessionName == name && (found < 0 || n < found) {
			first, found = p, n
		}
	}
	if found < 0 {
		return Pane{}, ErrAbsent
	}
	return first, nil
}

// Kill ends the session of this pane: its programs get SIGHUP when their terminal goes, and may live on. A window that the user
// shows in another session, too, stays there. The server acts only if it is the one that was listed and its session with this id
// belongs to [Pane.Owner]; who has reason to doubt the owner compares it first. ErrAbsent: there is no such session any more.
// ErrChanged, ErrOwner: nothing was done.
func (s Server) Kill(ctx context.Context, pane Pane) error {
	if err := s.end(ctx, pane, true); err != nil {
		return fmt.Errorf("end session %s %q: %w", pane.Session, pane.SessionName, err)
	}
	return nil
}

// Rename gives the session of this pane another name: letters, digits, - and _. The server acts only as for [Server.Kill], and its errors
// are the same. A name that is in use is an error of tmux.
func (s Server) Rename(ctx context.Context, pane Pane, name string) error {
	if strings.ContainsFunc(name, func(r rune) bool {
		return (r|0x20 < 'a' || r|0x20 > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}) || strings.TrimLeft(name, "-") == "" {
		return fmt.Errorf("rename session %s: invalid name %.100q", pane.Session, name)
	}
	if err := s.onSession(ctx, pane, true, "rename-session -t "+pane.Session+" -- "+name+" ; "+sayOK); err != nil {
		return fmt.Errorf("rename session %s %q: %w", pane.Session, pane.SessionName, err)
	}
	return nil
}

// end ends a session. An owner that was not noted yet is not compared.
func (s Server) end(ctx context.Context, pane Pane, owned bool) error {
	return s.onSession(ctx, pane, owned, sayOK+" ; kill-session -t "+pane.Session)
}

// onSession runs a command of tmux if the session is still the one that was listed. The command says [sayOK].
func (s Server) onSession(ctx context.Context, pane Pane, owned bool, command string) error {
	if pane.Server <= 0 || pane.Started <= 0 || !isID(pane.Session, '$') {
		return fmt.Errorf("server %d: not a session that was listed", pane.Server)
	}
	if s.pid != 0 && s.pid != pane.Server {
		return fmt.Errorf("server %d: %w: this process lives in server %d", pane.Server, ErrChanged, s.pid)
	}
	guard := "#{&&:" + equal("pid", strconv.Itoa(pane.Server)) + "," + equal("start_time", strconv.FormatInt(pane.Started, 10)) + "}"
	guard = "#{&&:" + guard + "," + equal("session_id", pane.Session) + "}"
	if owned {
		guard = "#{&&:" + guard + "," + equal(ownerOption, pane.Owner) + "}"
	}
	target := pane.Session + ":"
	out, err := s.ask(ctx, "if-shell", "-F", "-t", target, guard, command,
		"display-message -p -t "+target+" '"+refused+"#{pid} #{start_time} #{session_id}'")
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(out), "\n")
	if first == "ok" {
		return nil
	}
	why, ok := strings.CutPrefix(first, refused)
	f := strings.Split(why, " ")
	switch {
	case !ok || len(f) != 3:
		return fmt.Errorf("tmux server %s answers %.200q", s, first)
	case f[0] != strconv.Itoa(pane.Server) || f[1] != strconv.FormatInt(pane.Started, 10):
		return fmt.Errorf("%w: server %s is there, the session was of server %d", ErrChanged, f[0], pane.Server)
	case f[2] != pane.Session:
		return ErrAbsent
	}
	return ErrOwner
}

// Key presses keys in the pane: "Escape", "C-c" and "C-d", no others. What a key means depends on what the program asks: who
// presses one has looked. Errors are those of [Server.Paste].
func (s Server) Key(ctx context.Context, pane Ref, keys ...string) error {
	for _, k := range keys {
		if k != "Escape" && k != "C-c" && k != "C-d" {
			return fmt.Errorf("press keys in pane %s: %q is none that is pressed", pane, k)
		}
	}
	if len(keys) == 0 {
		return fmt.Errorf("press keys in pane %s: none given", pane)
	}
	guard, err := s.guard(pane, true)
	if err != nil {
		return err
	}
	out, err := s.run(ctx, nil, "if-shell", "-F", "-t", pane.ID, guard,
		"copy-mode -q -t "+pane.ID+" ; send-keys -t "+pane.ID+" "+strings.Join(keys, " ")+" ; "+sayOK, sayWhy(pane))
	if err == nil {
		_, err = s.verdict(pane, out)
	}
	if err != nil {
		return fmt.Errorf("press %s in pane %s: %w", strings.Join(keys, ", "), pane, err)
	}
	return nil
}
