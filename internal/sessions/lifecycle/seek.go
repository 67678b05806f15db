package lifecycle

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/platform/atomicfile"
	"tutti/internal/platform/proc"
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

// conversation finds the conversation of the session: the one that its program names itself or has open, the one of which its hooks
// told last, the one that the row has, or, where nothing is deleted, the only one on disk that can be it. "" when that is not certain.
func (s *stopping) conversation(ctx context.Context) string {
	if s.sight.Foreign && !s.bare { // what runs there is not the program of the row
		return s.row.Conversation()
	}
	if v, ok := s.sheet(); ok && v.Conversation != "" {
		return v.Conversation
	}
	if s.bare || s.life.Resume == nil { // of a program without conversations nobody tells
		return s.row.Conversation()
	}
	if id := opened(&s.life.Find, s.place, s.kin); id != "" {
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
	for _, c := range conversations(&s.life.Find, s.place) {
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

// A conversation is one of the folder of a session, as it lies on disk.
type conversation struct {
	driver.Conversation
	File    string    // path, for people
	Changed time.Time // of the file
	Cut     bool      // only its beginning is read
}

// conversations are those of a folder.
func conversations(f *driver.Finder, p driver.Site) (all []conversation) {
	if f.Roots == nil || f.Read == nil || f.Files == nil {
		return nil
	}
	d := conversationRoot(f, p)
	if d == nil {
		return nil
	}
	defer d.Close()
	for _, pattern := range f.Files(p) {
		for _, name := range below(d, pattern) {
			if c, ok := readConversation(f, p, d, name); ok && c.Dir == p.Dir {
				all = append(all, c)
			}
		}
	}
	return all
}

// conversationRoot opens the folder below which they lie, nil when there is none: the first that has one, or the last.
func conversationRoot(f *driver.Finder, p driver.Site) *atomicfile.Dir {
	roots := f.Roots(p)
	for i, root := range roots {
		d, err := atomicfile.OpenDir(root)
		if err != nil {
			continue
		}
		if i == len(roots)-1 || len(below(d, f.Holds)) > 0 {
			return d
		}
		_ = d.Close() // only looked at
	}
	return nil
}

// readConversation reads the beginning of a file, which is no link.
func readConversation(f *driver.Finder, p driver.Site, d *atomicfile.Dir, name string) (c conversation, ok bool) {
	file, info, err := d.Open(name, false, 0)
	if err != nil {
		return c, false
	}
	defer file.Close()
	c.Cut = info.Size > driver.MaxHead
	head := make([]byte, min(info.Size, driver.MaxHead))
	n, err := file.Pread(head, 0)
	if err != nil {
		return c, false
	}
	c.File, c.Changed = filepath.Join(d.Path(), filepath.FromSlash(name)), time.Unix(0, info.Mtime)
	c.Conversation, ok = f.Read(p, name, head[:n])
	return c, ok
}

// below are the names below a folder that match a pattern, in order. No step on the way is a link.
func below(d *atomicfile.Dir, pattern string) (found []string) {
	step, rest, more := strings.Cut(pattern, "/")
	names := []string{step}
	if strings.ContainsAny(step, `*?[\`) {
		all, err := d.Names()
		if err != nil {
			return nil
		}
		names = slices.DeleteFunc(all, func(name string) bool {
			ok, err := path.Match(step, name)
			return !ok || err != nil || strings.HasPrefix(name, ".")
		})
		slices.Sort(names)
	}
	for _, name := range names {
		if !more {
			if _, err := d.Stat(name); !errors.Is(err, fs.ErrNotExist) {
				found = append(found, name)
			}
			continue
		}
		sub, err := d.Sub(name)
		if err != nil {
			continue // a file, a link, or nothing
		}
		for _, deeper := range below(sub, rest) {
			found = append(found, name+"/"+deeper)
		}
		_ = sub.Close() // only looked at
	}
	return found
}
