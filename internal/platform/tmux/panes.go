package tmux

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Snapshot is what one server had in one moment.
type Snapshot struct {
	PID     int       // of the server; 0 when it has no pane
	Started time.Time // of the server, to the second; zero when it has no pane
	Version string    // "3.3a"; empty when it has no pane
	Socket  string    // path of its socket; empty when it has no pane
	Panes   []Pane    // in the order of tmux. A pane whose window is shown in several sessions has a row for each
}

// A Pane is one pane as it is seen in one session. Texts come from the programs that made them and may hold any character but
// NUL.
type Pane struct {
	Server  int   // pid of its server
	Started int64 // of its server, seconds since 1970

	Session        string    // "$3"
	SessionName    string    // for people; not unique for ever
	SessionCreated time.Time // to the second
	Attached       int       // how many terminals show the session
	Window         string    // "@4"
	WindowName     string
	Activity       time.Time // of the window, to the second: the last output

	ID           string // "%7"
	PID          int    // the first process of the pane; of a dead pane an old number, which may belong to anybody
	Dead         bool   // the program has ended, the pane shows its last screen; it may wait to be reaped for long
	InMode       bool   // a person scrolls in it, or chooses from a list
	InputOff     bool   // keys are thrown away
	Alternate    bool   // the program has the whole screen, as editors have
	Synchronized bool   // its keys go to other panes, too

	Command string // the program in front, by its process name: "claude", "node", "bash"
	Title   string // as the program last set it
	Path    string // the folder of the program in front; " (deleted)" is added when it is gone

	Owner  string    // of the session, by what [Server.New] noted; anybody of this user can write it
	Status int       // of a dead pane: what its first process ended with; -1: a signal ended it, or it is not known (yet)
	Signal int       // of a dead pane: the signal that ended its first process; 0: none, or it is not known (yet)
	DeadAt time.Time // of a dead pane, to the second; zero when it is not known (yet)
}

// Ref returns what is needed to type into this pane, and into no other, as long as it runs what it runs now.
func (p Pane) Ref() Ref {
	return Ref{Server: p.Server, Started: p.Started, ID: p.ID, PID: p.PID, Command: p.Command}
}

// Runs reports whether a process lives in this pane. The lineage is the process itself, then its parent, and so on. It has to lead
// through the first process of the pane straight to the server: a pid that was given to another process meanwhile is a child of the
// server only if the server made it, in a pane. Who asks has to hold the identities of the processes while asking.
func (p Pane) Runs(lineage iter.Seq[int]) bool {
	if p.Dead || p.PID <= 1 || p.Server <= 1 {
		return false
	}
	below := false // the last one was the pane's first process
	for pid := range lineage {
		if below {
			return pid == p.Server
		}
		below = pid == p.PID
	}
	return false
}

// Find returns the first row of the pane with this id ("%7").
func (s *Snapshot) Find(id string) (Pane, bool) {
	for _, p := range s.Panes {
		if p.ID == id {
			return p, true
		}
	}
	return Pane{}, false
}

// What tmux is asked for about each pane: fixed fields first, then those that others write. A tab separates, a line feed ends;
// within a text the server itself writes %0A, %09 and %25 for a line feed, a tab and a percent sign, so none can end its field.
// Formats that expand what they find a second time (E:, T:) have no place here: a title could hold #(command).
const (
	fixedFields = "pid start_time version session_id session_created session_attached window_id window_activity " +
		"pane_id pane_pid pane_dead pane_in_mode pane_input_off alternate_on pane_synchronized " +
		"pane_dead_status pane_dead_signal pane_dead_time"
	textFields = "socket_path session_name window_name pane_current_command pane_title pane_current_path @owner_id"
	numFields  = 18 + 7
	escaping   = "s/%/%25/;s/\n/%0A/;s/\t/%09/:"
)

func paneFormat() string {
	var b strings.Builder
	for _, f := range strings.Fields(fixedFields) {
		b.WriteString("#{" + f + "}\t")
	}
	for i, f := range strings.Fields(textFields) {
		if i > 0 {
			b.WriteByte('\t')
		}
		b.WriteString("#{" + escaping + f + "}")
	}
	return b.String()
}

// Panes returns all panes of the server, as of one moment. ErrAbsent: no server runs. Any other error: not known. When the server has
// missed how a program ended, it is made to look; the next snapshot has it.
func (s Server) Panes(ctx context.Context) (*Snapshot, error) {
	out, err := s.ask(ctx, "list-panes", "-F", paneFormat(), "-a")
	if err != nil {
		return nil, err
	}
	return s.listed(out)
}

// listed reads a list of all panes.
func (s Server) listed(out []byte) (*Snapshot, error) {
	snap, err := s.read(out)
	if err == nil && slices.ContainsFunc(snap.Panes, Pane.unreaped) {
		nudge(snap.PID)
	}
	return snap, err
}

// ask runs a command that may be run twice. A server that ended while it was asked is asked again, to learn whether it is gone. What was
// printed comes with an error, too.
func (s Server) ask(ctx context.Context, args ...string) (out []byte, err error) {
	err = whileEnding(ctx, endLimit, func() error {
		out, err = s.call(ctx, &exec.Cmd{Args: s.at(), Env: environ()}, args)
		return err
	})
	return out, err
}

// list returns those panes that the further arguments choose.
func (s Server) list(ctx context.Context, which ...string) (*Snapshot, error) {
	out, err := s.ask(ctx, append([]string{"list-panes", "-F", paneFormat()}, which...)...)
	if err != nil {
		return nil, err
	}
	return s.read(out)
}

// read reads what list-panes printed.
func (s Server) read(out []byte) (*Snapshot, error) {
	snap, err := parsePanes(out)
	if err != nil {
		return nil, fmt.Errorf("tmux list-panes on server %s: %w", s, err)
	}
	if s.pid != 0 && snap.PID != 0 && snap.PID != s.pid {
		return nil, fmt.Errorf("tmux server %d on %s: %w: server %d is there now", s.pid, s, ErrAbsent, snap.PID)
	}
	return snap, nil
}

func parsePanes(out []byte) (*Snapshot, error) {
	snap := &Snapshot{}
	for line := range bytes.Lines(out) {
		if err := snap.add(string(bytes.TrimSuffix(line, []byte("\n")))); err != nil {
			return nil, fmt.Errorf("row %d, %.300q: %w", len(snap.Panes)+1, line, err)
		}
	}
	return snap, nil
}

var errRow = errors.New("not the fields that were asked for")

// add reads one row.
func (s *Snapshot) add(line string) error {
	f := strings.Split(line, "\t")
	if len(f) != numFields {
		return errRow
	}
	r := row{fields: f}
	server, started := int(r.number()), r.number()
	version := r.text()
	p := Pane{
		Server: server, Started: started,
		Session: r.id('$'), SessionCreated: r.time(), Attached: int(r.number()),
		Window: r.id('@'), Activity: r.time(),
		ID: r.id('%'), PID: int(r.number()),
		Dead: r.flag(), InMode: r.flag(), InputOff: r.flag(), Alternate: r.flag(), Synchronized: r.flag(),
	}
	p.Status, p.Signal, p.DeadAt = r.status(), r.signal(), r.moment()
	socket := r.text()
	p.SessionName, p.WindowName, p.Command, p.Title, p.Path = r.text(), r.text(), r.text(), r.text(), r.text()
	p.Owner = r.text()
	if r.bad || server <= 0 {
		return errRow
	}
	s.PID, s.Started, s.Version, s.Socket = server, time.Unix(started, 0), version, socket
	s.Panes = append(s.Panes, p)
	return nil
}

// row takes fields in order and remembers that one was not what it has to be.
type row struct {
	fields []string
	bad    bool
}

func (r *row) next() string {
	f := r.fields[0]
	r.fields = r.fields[1:]
	return f
}

func (r *row) number() int64 {
	n, err := strconv.ParseInt(r.next(), 10, 64)
	r.bad = r.bad || err != nil || n < 0
	return n
}

func (r *row) time() time.Time { return time.Unix(r.number(), 0) }

// flag reads 0, 1, a larger number (pane_in_mode counts the modes), or nothing for no.
func (r *row) flag() bool {
	f := r.next()
	if f == "" {
		return false
	}
	n, err := strconv.Atoi(f)
	r.bad = r.bad || err != nil
	return n != 0
}

func (r *row) id(mark byte) string {
	f := r.next()
	r.bad = r.bad || !isID(f, mark)
	return f
}

func (r *row) text() string { return unescape.Replace(r.next()) }

// unescape undoes what escaping did. Its table is built when it is first used.
var unescape = strings.NewReplacer("%25", "%", "%0A", "\n", "%09", "\t")

// isID reports whether a text is an id of tmux: its mark and a number.
func isID(s string, mark byte) bool {
	if len(s) < 2 || len(s) > 20 || s[0] != mark {
		return false
	}
	for _, c := range []byte(s[1:]) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}
