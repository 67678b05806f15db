package lifecycle

import (
	"context"
	"path/filepath"

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

// conversation finds the conversation of the session, and how that is proven: the one that its agent CLI names itself or has open, or of
// which its hooks told last. Else it is the one that the row has, with no new proof.
func (s *stopping) conversation(ctx context.Context) (id string, by Evidence) {
	if s.sight.Foreign && !s.bare { // what runs there is not the program of the row
		return s.row.Conversation(), ""
	}
	if v, ok := s.sheet(); ok && v.Conversation != "" {
		return v.Conversation, SelfReport
	}
	if s.bare || s.life.ResumeBy == "" {
		return s.row.Conversation(), ""
	}
	if id := observe.OpenTranscript(&s.life.Find, s.place, s.kin); id != "" {
		return id, OpenFile
	}
	if d, ok := driver.Kind(s.row.Kind()); ok {
		if id, err := s.m.heard(ctx, d, &s.row); err == nil && id != "" && s.m.there(d, s.place.Dir, id) {
			return id, HookReport
		}
	}
	return s.row.Conversation(), ""
}
