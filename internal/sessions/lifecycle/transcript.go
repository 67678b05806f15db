package lifecycle

import (
	"context"
	"path/filepath"
	"slices"

	"tutti/internal/agents/driver"
	"tutti/internal/platform/atomicfile"
	"tutti/internal/platform/proc"
	"tutti/internal/sessions/observe"
)

// placeOf is where the program of the session finds its own files: as its own environment says, and ours where that is silent.
func (s *stopping) placeOf() driver.Site {
	dir := s.row.Pane.Cwd
	if dir == "" {
		dir = s.sight.Pane.Path
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	p := s.m.place(dir)
	if s.first.PID <= 1 || !s.first.Alive() {
		return p
	}
	first, ours := s.first.PID, p.Env
	if home, ok, err := proc.Getenv(first, "HOME"); err == nil && ok && filepath.IsAbs(home) {
		p.Home = home
	}
	known := map[string]string{} // it is asked for while the program lives, and has ended when files are deleted
	for _, name := range placeVariables {
		if v, ok, err := proc.Getenv(first, name); err == nil && ok {
			known[name] = v
		}
	}
	p.Env = func(name string) string {
		if v, ok := known[name]; ok {
			return v
		}
		return ours(name)
	}
	return p
}

// placeVariables say where programs keep their files.
var placeVariables = [...]string{"CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"}

// sheet is what the program of the session says of itself, if it does.
func (s *stopping) sheet() (driver.SelfReport, bool) {
	if s.life.Sheet == nil || s.life.ReadSheet == nil {
		return driver.SelfReport{}, false
	}
	for _, p := range s.kin {
		if !p.Alive() {
			continue
		}
		file := s.life.Sheet(s.place, p.PID)
		d, err := atomicfile.OpenDir(filepath.Dir(file))
		if err != nil {
			return driver.SelfReport{}, false
		}
		raw, _, err := d.Read(filepath.Base(file), driver.MaxSheet)
		_ = d.Close() // only read
		if err != nil {
			continue
		}
		if v, ok := s.life.ReadSheet(raw); ok && v.PID == p.PID && (v.Start == 0 || v.Start == p.Start) {
			return v, true
		}
	}
	return driver.SelfReport{}, false
}

// onlyOne is the one conversation of the folder that was begun and worked on in the time of the session, and belongs to nobody else; ""
// when there are none or several.
func (s *stopping) onlyOne(ctx context.Context) string {
	began := s.row.CreatedAt
	if s.row.ResumedAt.After(began) {
		began = s.row.ResumedAt
	}
	if began.IsZero() {
		return ""
	}
	rows, _, err := s.m.o.Registry.Rows(ctx)
	if err != nil {
		return ""
	}
	var found []Candidate
	for _, c := range observe.Transcripts(&s.life.Find, s.place) {
		if !c.Changed.Before(began) && !slices.ContainsFunc(found, func(o Candidate) bool { return o.ID == c.ID }) {
			found = append(found, Candidate{ID: c.ID, Began: c.Began, Changed: c.Changed})
		}
	}
	found, sure := itsOwn(rows, &s.row, found)
	d, ok := driver.Kind(s.row.Kind())
	if len(found) != 1 || !sure || !ok {
		return ""
	}
	if p, used := s.m.inUse(d, s.place.Dir, found[0].ID); used && !slices.ContainsFunc(s.kin, func(k proc.Process) bool { return k.ID == p.ID }) {
		return "" // somebody else is in it
	}
	return found[0].ID
}

// conversation finds the conversation of the session: the one that its program names itself or has open, the one of which its hooks
// told last, the one that the row has, or, where nothing is deleted, the only one on disk that can be it. "" when that is not certain.
func (s *stopping) conversation(ctx context.Context) string {
	if s.sight.Foreign && !s.bare { // what runs there is not the program of the row
		return s.row.Conversation()
	}
	if v, ok := s.sheet(); ok && v.Conversation != "" {
		return v.Conversation
	}
	if s.bare || s.life.ResumeBy == "" { // of a program without conversations nobody tells
		return s.row.Conversation()
	}
	if id := observe.OpenTranscript(&s.life.Find, s.place, s.kin); id != "" {
		return id
	}
	if d, ok := driver.Kind(s.row.Kind()); ok {
		if id, err := s.m.heard(ctx, d, &s.row); err == nil && id != "" && s.m.there(d, s.place.Dir, id) {
			return id
		}
	}
	if id := s.row.Conversation(); id != "" || s.q.Purge { // what is deleted is its own for certain
		return id
	}
	return s.onlyOne(ctx)
}
