package tmux

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Want is a pane whose screen is asked for before anybody has looked whether it is there: its id, and its first process.
type Want struct {
	ID  string // "%7"
	PID int
}

// What a survey asks for: of the server once, then of each pane some fields, how it ended if it is dead, and texts. Behind each text comes
// a mark that was made for this call, so that nobody can have written it anywhere: to have the server change what must not stand in a text
// takes it longer than all the rest, and so does everything that is asked for and not looked at.
const (
	surveyServer = "#{pid}\t#{start_time}\t#{version}"
	surveyFields = "#{session_id}\t#{session_created}\t#{session_attached}\t#{pane_id}\t#{pane_pid}\t#{pane_dead}\t" +
		"#{?pane_dead,#{pane_dead_status}\t#{pane_dead_signal}\t#{pane_dead_time},\t\t}\t"
	surveyTexts  = "session_name pane_current_command pane_title pane_current_path @owner_id"
	numSurveyed  = 6 + 3 // fields of a pane
	numTexts     = 5
	surveyedTail = "\n" // behind the last mark of a pane
)

// Overview is [Server.Panes] for looking only: without windows, modes, and the path of the socket, but with the visible screens of those panes
// that are there and have that first process, as of one moment and by one call. A screen that could not be had so is missing, and
// [Server.Screens] may have it or tell why.
func (s Server) Overview(ctx context.Context, wants []Want) (*Snapshot, map[string]string, error) {
	text, mark := textMark(), rand.Text()
	args := surveyCommands(text)
	for _, w := range wanted(wants) {
		args = append(
			args, ";", "if-shell", "-F", "-t", w.ID, equal("pane_pid", strconv.Itoa(w.PID)),
			"display-message -p "+mark+w.ID[1:]+":"+strconv.Itoa(w.PID)+" ; "+Capture{}.command(Ref{ID: w.ID}),
		)
	}
	out, err := s.ask(ctx, args...)
	if err != nil && (!errors.Is(err, ErrAbsent) || len(out) == 0) {
		return nil, nil, err
	}
	snap, screens, err := s.surveyed(string(out), text, mark, wants) // where a pane that is not there ends the call, the list came before
	if errors.Is(err, errRow) {                                      // a tmux that prints in another way
		snap, err = s.Panes(ctx)
	}
	return snap, screens, err
}

// ToSurvey begins a call for [Call.Overview].
func (s Server) ToSurvey() *Call {
	c := &Call{s: s, text: textMark()}
	c.start(s.at(), environ(), "", surveyCommands(c.text))
	return c
}

// Overview is [Server.Overview]. The panes are those of the moment in which the call was begun.
func (c *Call) Overview(ctx context.Context, wants []Want) (*Snapshot, map[string]string, error) {
	mark := rand.Text()
	var lines strings.Builder
	for _, w := range wanted(wants) { // in lines of their own: a pane that is not there ends only its line
		lines.WriteString("display-message -p -t " + w.ID + " '" + mark + w.ID[1:] + ":#{pane_pid}' ; " + Capture{}.command(Ref{ID: w.ID}) + "\n")
	}
	lines.WriteString("if-shell -F 0 display-message") // nothing, for the end to stand behind
	if out, err := c.say(ctx, lines.String()); err == nil {
		if snap, screens, err := c.s.surveyed(string(out), c.text, mark, wants); err == nil {
			return snap, screens, nil
		}
	}
	return c.s.Overview(ctx, wants)
}

// textMark makes a mark for the ends of texts: 80 bits, which nobody guesses while tmux writes a list.
func textMark() string { return rand.Text()[:16] }

// surveyCommands are the commands that list the server and all panes.
func surveyCommands(text string) []string {
	format := surveyFields
	for name := range strings.FieldsSeq(surveyTexts) {
		format += "#{" + name + "}" + text
	}
	return []string{"display-message", "-p", surveyServer, ";", "list-panes", "-a", "-F", format}
}

// wanted are those panes that can be asked for, as many as one call takes.
func wanted(wants []Want) (all []Want) {
	const one = 160 // bytes that it takes at most to ask for one
	for _, w := range wants {
		if isID(w.ID, '%') && w.PID > 1 && (len(all)+1)*one <= maxLine {
			all = append(all, w)
		}
	}
	return all
}

// surveyed reads a list, and the screens behind it. The error is of kind errRow when the list is not what was asked for.
func (s Server) surveyed(out, text, mark string, wants []Want) (*Snapshot, map[string]string, error) {
	parts := strings.Split(out, mark)
	snap, err := parseSurvey(parts[0], text)
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("tmux list-panes on server %s: %w", s, err)
	case s.pid != 0 && snap.PID != 0 && snap.PID != s.pid:
		return nil, nil, fmt.Errorf("tmux server %d on %s: %w: server %d is there now", s.pid, s, ErrAbsent, snap.PID)
	}
	if slices.ContainsFunc(snap.Panes, Pane.unreaped) {
		nudge(snap.PID)
	}
	screens := make(map[string]string, len(parts)-1)
	for _, part := range parts[1:] {
		who, screen, ok := strings.Cut(part, "\n")
		id, pid, _ := strings.Cut(who, ":")
		if n, err := strconv.Atoi(pid); ok && err == nil && slices.Contains(wants, Want{"%" + id, n}) {
			screens["%"+id] = screen
		}
	}
	return snap, screens, nil
}

// parseSurvey reads what surveyCommands print.
func parseSurvey(out, text string) (*Snapshot, error) {
	head, list, ok := strings.Cut(out, "\n")
	server := row{fields: strings.Split(head, "\t")}
	if !ok || len(server.fields) != 3 {
		return nil, fmt.Errorf("%.300q: %w", head, errRow)
	}
	pid, started, version := int(server.number()), server.number(), server.next()
	texts := strings.Split(list, text)
	tail := texts[len(texts)-1]
	if server.bad || pid <= 0 || len(texts)%numTexts != 1 || list != "" && (tail != surveyedTail || tail == list) {
		return nil, fmt.Errorf("%.300q: %w", out, errRow)
	}
	snap := &Snapshot{}
	for n := 0; n+numTexts < len(texts); n += numTexts {
		p, err := surveyedPane(texts[n:n+numTexts], n > 0)
		if err != nil {
			return nil, err
		}
		p.Server, p.Started = pid, started
		snap.Panes = append(snap.Panes, p)
	}
	if len(snap.Panes) > 0 {
		snap.PID, snap.Started, snap.Version = pid, time.Unix(started, 0), version
	}
	return snap, nil
}

// surveyedPane reads one pane. Each but the first has the end of the one before in front of it.
func surveyedPane(texts []string, follows bool) (p Pane, err error) {
	first := texts[0]
	if follows {
		var ok bool
		if first, ok = strings.CutPrefix(first, surveyedTail); !ok {
			return p, fmt.Errorf("%.300q: %w", first, errRow)
		}
	}
	r := row{fields: strings.SplitN(first, "\t", numSurveyed+1)}
	if len(r.fields) != numSurveyed+1 {
		return p, fmt.Errorf("%.300q: %w", first, errRow)
	}
	p = Pane{Session: r.id('$'), SessionCreated: r.time(), Attached: int(r.number()), ID: r.id('%'), PID: int(r.number()), Dead: r.flag()}
	p.Status, p.Signal, p.DeadAt = r.status(), r.signal(), r.moment()
	p.SessionName, p.Command, p.Title, p.Path, p.Owner = r.next(), texts[1], texts[2], texts[3], texts[4]
	if r.bad {
		return p, fmt.Errorf("%.300q: %w", first, errRow)
	}
	return p, nil
}
