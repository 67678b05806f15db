package app

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"tutti/internal/bus/inventory"
	"tutti/internal/platform/smallfile"
)

// Roots are the buses that this user made or accepted, as the file ~/.local/state/tutti/roots has them. It lies with
// the user and not with the bus, because everybody who can write a bus could accept it there.
//
// The file has one record a line and is only ever added to, so that two programs cannot lose each other's line; of
// several records of one path the last counts:
//
//	accepted 64769 1312034 2026-03-01T10:04:00Z "/srv/api/.h2a"
//
// The words are the state, device and inode of the folder, the time, and its real path as a quoted Go string. A "named" record
// remembers that the user was shown a bus that is not used.
type Roots struct{ Records []Record }

// A Record is one line of the list of roots.
type Record struct {
	State string // "accepted", "named" or "dropped"
	ID    FolderID
	At    time.Time
	Path  string
}

// Words that a record begins with.
const (
	stateAccepted = "accepted"
	stateNamed    = "named"
	stateDropped  = "dropped"
)

// maxRoots bounds what is read of the list; more than 10,000 records fit.
const maxRoots = 1 << 20

type consent uint8

const (
	unknown  consent = iota
	named            // the user has been told of it
	accepted         // it may be used
	replaced         // the path was accepted, and another folder is there now
)

// state tells what is known of a folder.
func (r *Roots) state(path string, id FolderID) consent {
	answer := unknown
	for _, rec := range r.Records {
		switch {
		case rec.Path != path:
		case rec.State == stateAccepted && rec.ID == id:
			answer = accepted
		case rec.State == stateAccepted:
			answer = replaced
		case rec.State == stateNamed && rec.ID == id && answer == unknown:
			answer = named
		case rec.State == stateDropped:
			answer = unknown
		}
	}
	return answer
}

const rootsFile = "roots"

// loadRoots is Roots without the error: a list that cannot be trusted accepts nothing.
func (a *App) loadRoots() *Roots {
	r, err := a.Roots()
	if err != nil {
		return &Roots{}
	}
	return r
}

// Roots reads the list. A list that others may write, or that belongs to another user, is an error and accepts nothing.
func (a *App) Roots() (*Roots, error) {
	dir, err := a.StateDir()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, rootsFile)
	f, err := smallfile.Open(path, smallfile.NoLinks)
	if errors.Is(err, fs.ErrNotExist) {
		return &Roots{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read accepted roots: %w", err)
	}
	defer f.Close()
	if err := ours(f, path); err != nil {
		return nil, err
	}
	data, _ := io.ReadAll(io.LimitReader(f, maxRoots)) // what comes before a fault counts
	return parseRoots(string(data)), nil
}

// ours tells whether a file of the list may be believed.
func ours(f *os.File, path string) error {
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("read accepted roots: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() || int(st.Uid) != os.Geteuid() || info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("read accepted roots: %s is not a file of yours that only you can write; nothing in it counts", path)
	}
	if info.Size() > maxRoots {
		return fmt.Errorf("read accepted roots: %s has more than %d bytes; nothing in it counts", path, maxRoots)
	}
	return nil
}

// parseRoots reads records and skips what is none.
func parseRoots(text string) *Roots {
	r := &Roots{}
	for line := range strings.Lines(text) {
		word := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 5)
		if len(word) != 5 {
			continue
		}
		dev, err1 := strconv.ParseUint(word[1], 10, 64)
		ino, err2 := strconv.ParseUint(word[2], 10, 64)
		at, err3 := time.Parse(time.RFC3339, word[3])
		path, err4 := strconv.Unquote(word[4])
		if errors.Join(err1, err2, err3, err4) == nil {
			r.Records = append(r.Records, Record{State: word[0], ID: FolderID{dev, ino}, At: at, Path: path})
		}
	}
	return r
}

// Accepted returns the records of the buses that may be used, as they are now in the list; Still reports whether a folder still
// is the one that was accepted.
func (r *Roots) Accepted() []Record {
	var out []Record
	for i, rec := range r.Records {
		changed := func(later Record) bool { return later.Path == rec.Path && later.State != stateNamed }
		if rec.State == stateAccepted && !slices.ContainsFunc(r.Records[i+1:], changed) {
			out = append(out, rec)
		}
	}
	return out
}

// Still tells whether the folder is there and the one that was accepted.
func (rec Record) Still() bool {
	id, ok := folderID(rec.Path)
	return ok && id == rec.ID
}

// Accept lets the bus at path be used from the folders below its parent. It returns the real path.
func (a *App) Accept(path string, now time.Time) (string, error) {
	real, id, ok := identify(path)
	if !ok {
		return "", fmt.Errorf("accept %s: %w", path, fs.ErrNotExist)
	}
	if a.loadRoots().state(real, id) == accepted {
		return real, nil
	}
	return real, a.addRecord(stateAccepted, real, id, now)
}

// IsAccepted tells whether the folder at path may be used.
func (a *App) IsAccepted(path string) bool {
	real, id, ok := identify(path)
	return ok && a.loadRoots().state(real, id) == accepted
}

// Drop takes an acceptance back.
func (a *App) Drop(path string, now time.Time) (string, error) {
	real, id, ok := identify(path)
	if !ok { // a folder that is gone can still be dropped, by the path in the list
		var err error
		if real, err = filepath.Abs(path); err != nil {
			return "", err
		}
	}
	for _, rec := range a.loadRoots().Accepted() {
		if rec.Path == real {
			if state, err := a.StateDir(); err == nil { // what was used before needs no acceptance, so that is forgotten, too
				if err := inventory.Forget(state, inventory.Bus, real); err != nil {
					return real, err
				}
			}
			return real, a.addRecord(stateDropped, real, id, now)
		}
	}
	return real, fmt.Errorf("drop %s: it is not among the accepted roots: %w", path, fs.ErrNotExist)
}

// TellOnce returns the buses that were passed by and that the user has not been told of yet, and remembers them.
func (a *App) TellOnce(now time.Time) []Passed {
	if a.root == nil || len(a.root.Passed) == 0 {
		return nil
	}
	roots := a.loadRoots()
	var tell []Passed
	for _, p := range a.root.Passed {
		if state := roots.state(p.Path, p.ID); state == named || p.Replaced && roots.toldSince(p) {
			continue
		}
		tell = append(tell, p)
		_ = a.addRecord(stateNamed, p.Path, p.ID, now) // not remembered: it is said again, which does no harm
	}
	return tell
}

// toldSince reports whether the user was shown the folder that replaced an accepted one.
func (r *Roots) toldSince(p Passed) bool {
	return slices.ContainsFunc(r.Records, func(rec Record) bool { return rec.State == stateNamed && rec.Path == p.Path && rec.ID == p.ID })
}

// addRecord adds a line.
func (a *App) addRecord(state, path string, id FolderID, now time.Time) error {
	line := fmt.Sprintf("%s %d %d %s %s\n", state, id.Dev, id.Ino, now.UTC().Format(time.RFC3339), strconv.Quote(path))
	if err := a.AddState(rootsFile, line); err != nil {
		return fmt.Errorf("remember root: %w", err)
	}
	return nil
}
