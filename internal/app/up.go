package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"tutti/internal/platform/atomicfile"
	"tutti/internal/platform/filelock"
	"tutti/internal/platform/proc"
)

// An Up is the long-running program of this user that looks after a bus. The record of it lies with the user, in a file of its
// own for each bus: ~/.local/state/tutti/up/KEY.json, where KEY is made of the real path of the bus:
//
//	{"pid":4711,"start":"861204","boot":"…","since":"2026-03-01T10:04:00Z","root":"/home/ana/h2a-workspace/.h2a"}
//
// The lock of the kernel beside it, KEY.lock, decides who may run. What the record names counts only while that process runs.
type Up struct {
	ID    proc.ID
	Since time.Time
	Root  string // real path
}

// An upRecord is the file.
type upRecord struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start,string"`
	Boot  string `json:"boot"`
	Since string `json:"since"`
	Root  string `json:"root"`
}

// An UpError reports that there is one already.
type UpError struct {
	Shown string // the bus, for people
	Up    *Up    // nil: it has just started, or is about to end
}

func (e *UpError) Error() string {
	text := "tutti up runs already for " + e.Shown
	if e.Up != nil {
		text += fmt.Sprintf(": process %d, since %s", e.Up.ID.PID, e.Up.Since.Local().Format("2006-01-02 15:04:05"))
	}
	return text
}

// Hint says what to type.
func (e *UpError) Hint() string {
	if e.Up == nil {
		return "try again in a moment"
	}
	return fmt.Sprintf("Ctrl-C in its terminal ends it, or: kill %d", e.Up.ID.PID)
}

// maxUp bounds what is read of a record.
const maxUp = 16 << 10

// upPlace returns where the record of a bus lies: the folder, and the name without its ending.
func upPlace(a *App, root string) (dir, key, real string, err error) {
	state, err := a.StateDir()
	if err != nil {
		return "", "", "", err
	}
	if real = root; !OnServer(root) {
		if real, err = filepath.EvalSymlinks(Absolute(root)); err != nil {
			return "", "", "", err
		}
	}
	sum := sha256.Sum256([]byte(real))
	return filepath.Join(state, "up"), hex.EncodeToString(sum[:8]), real, nil
}

// RunningUp returns the process that watches a bus, nil when there is none, or that is unknown.
func RunningUp(a *App, root string) *Up {
	dir, key, _, err := upPlace(a, root)
	if err != nil {
		return nil
	}
	d, err := atomicfile.OpenDir(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	return readUp(d, key)
}

func readUp(d *atomicfile.Dir, key string) *Up {
	raw, _, err := d.Read(key+".json", maxUp)
	var r upRecord
	if err != nil || json.Unmarshal(raw, &r) != nil || r.PID < 2 {
		return nil
	}
	u := &Up{ID: proc.ID{PID: r.PID, Start: r.Start, Boot: r.Boot}, Root: r.Root}
	u.Since, _ = time.Parse(time.RFC3339, r.Since)
	if !u.ID.Alive() {
		return nil
	}
	return u
}

// HoldUp makes this process the one that looks after a bus, until release. A *UpError says that another one does.
func HoldUp(ctx context.Context, a *App, root string) (release func(), err error) {
	dir, key, real, err := upPlace(a, root)
	if err != nil {
		return nil, fmt.Errorf("look for another tutti up: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("look for another tutti up: %w", err)
	}
	d, err := atomicfile.OpenDir(dir)
	if err != nil {
		return nil, fmt.Errorf("look for another tutti up: %w", err)
	}
	lock, err := filelock.Acquire(ctx, d.FD(), dir, filelock.Options{Kernel: key + ".lock", Timeout: -1})
	if _, held := errors.AsType[*filelock.HeldError](err); held {
		err = &UpError{Shown: a.Shown(real), Up: readUp(d, key)}
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	end := func() {
		_ = lock.Release() // it ends with the process in any case
		_ = d.Close()
	}
	if u := readUp(d, key); u != nil { // the file system knows no locks of the kernel
		end()
		return nil, &UpError{Shown: a.Shown(real), Up: u}
	}
	me := proc.Self()
	raw, err := json.Marshal(upRecord{me.PID, me.Start, me.Boot, time.Now().UTC().Format(time.RFC3339), real})
	if err == nil {
		err = d.Replace(key+".json", append(raw, '\n'), 0o600, false)
	}
	if err != nil {
		end()
		return nil, fmt.Errorf("put tutti up on record: %w", err)
	}
	return func() {
		_ = d.Remove(key + ".json") // what names a process that is gone counts for nothing
		end()
	}, nil
}
