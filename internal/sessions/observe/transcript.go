package observe

import (
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

// A Transcript is a conversation of the folder of a session, as it lies on disk.
type Transcript struct {
	driver.Conversation
	File    string    // path, for people
	Changed time.Time // of the file
	Cut     bool      // only its beginning is read
}

// Transcripts are those of a folder.
func Transcripts(f *driver.Finder, p driver.Site) (all []Transcript) {
	if f.Roots == nil || f.Read == nil || f.Files == nil {
		return nil
	}
	d := TranscriptRoot(f, p)
	if d == nil {
		return nil
	}
	defer d.Close()
	for _, pattern := range f.Files(p) {
		for _, name := range Below(d, pattern) {
			if c, ok := ReadTranscript(f, p, d, name); ok && c.Dir == p.Dir {
				all = append(all, c)
			}
		}
	}
	return all
}

// TranscriptRoot opens the folder below which they lie, nil when there is none: the first that has one, or the last.
func TranscriptRoot(f *driver.Finder, p driver.Site) *atomicfile.Dir {
	roots := f.Roots(p)
	for i, root := range roots {
		d, err := atomicfile.OpenDir(root)
		if err != nil {
			continue
		}
		if i == len(roots)-1 || len(Below(d, f.Holds)) > 0 {
			return d
		}
		_ = d.Close() // only looked at
	}
	return nil
}

// ReadTranscript reads the beginning of a file that is not a link.
func ReadTranscript(f *driver.Finder, p driver.Site, d *atomicfile.Dir, name string) (c Transcript, ok bool) {
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

// Below are the names below a folder that match a pattern, in order. No step on the way is a link.
func Below(d *atomicfile.Dir, pattern string) (found []string) {
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
		for _, deeper := range Below(sub, rest) {
			found = append(found, name+"/"+deeper)
		}
		_ = sub.Close() // only looked at
	}
	return found
}

// A Keeping is what is kept of a conversation.
type Keeping uint8

const (
	NotKept Keeping = iota
	Silent          // something of its name, with which its program does not go on: nothing was said in it
	Kept
)

// Keeps tells what is kept of a conversation. Where a program keeps them elsewhere than in files it counts as kept.
func Keeps(d *driver.Driver, place driver.Site, id string) (most Keeping) {
	f := &d.Life.Find
	if f.Artefacts == nil {
		return Kept
	}
	for _, a := range f.Artefacts(place, id) {
		if !a.Folder {
			most = max(most, keptAs(f, place, &a, id))
		}
	}
	return most
}

func keptAs(f *driver.Finder, p driver.Site, a *driver.Artefact, id string) (most Keeping) {
	root, err := atomicfile.OpenDir(a.Root)
	if err != nil {
		return NotKept
	}
	defer root.Close()
	for _, name := range Below(root, a.Path) {
		if !a.Check {
			return Kept
		}
		switch c, ok := ReadTranscript(f, p, root, name); {
		case !ok && c.Cut, ok && c.ID == id && !c.Silent: // of one that is cut its name has to do
			return Kept
		case !ok || c.ID == id:
			most = Silent
		}
	}
	return most
}

// OpenTranscript is the conversation whose file one of the processes has open for writing, and no other one; "" where that is not so. What is
// only read tells nothing: Gemini reads those of the folder when it starts, and on a busy machine still has one open much later.
func OpenTranscript(f *driver.Finder, place driver.Site, members []proc.Process) (id string) {
	if f.Roots == nil {
		return ""
	}
	d := TranscriptRoot(f, place)
	if d == nil {
		return ""
	}
	defer d.Close()
	root, err := filepath.EvalSymlinks(d.Path())
	if err != nil {
		return ""
	}
	fits := func(rel string) bool {
		return slices.ContainsFunc(f.Files(place), func(pattern string) bool { ok, err := path.Match(pattern, rel); return ok && err == nil })
	}
	for _, p := range members {
		open, err := proc.Written(p.ID)
		if errors.Is(err, errors.ErrUnsupported) {
			return ""
		}
		for _, name := range open {
			rel, below := strings.CutPrefix(name, root+"/")
			if !below || !fits(rel) {
				continue
			}
			c, ok := ReadTranscript(f, place, d, rel)
			switch {
			case !ok || c.Dir != place.Dir || c.ID == id:
			case id != "":
				return ""
			default:
				id = c.ID
			}
		}
	}
	return id
}
