package agentproc

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"tutti/internal/platform/atomicfile"
	"tutti/internal/platform/smallfile"
)

// Killed is what one halt ended, for the user who later wants it started again.
type Killed struct {
	Halt     uint64          `json:"halt"` // its number, see halt.Memory; 0: not known
	Sessions []KilledSession `json:"sessions,omitempty"`
	Agents   []KilledAgent   `json:"agents,omitempty"`
}

// A KilledSession is a session of a registry.
type KilledSession struct {
	Registry string `json:"registry"` // path
	Name     string `json:"name"`
}

// A KilledAgent was started by hand. Conversation is the one that its own hook reported, "" for none.
type KilledAgent struct {
	CLI          string `json:"cli"`
	Dir          string `json:"dir,omitempty"`
	TTY          string `json:"tty,omitempty"`
	Conversation string `json:"conversation,omitempty"`
}

const (
	killedFile = "killed.json" // below the folder of this user's state
	maxKilled  = 1 << 20
)

// LastKilled returns what the last halt with --kill ended and what has not been started again since. A record that is missing is empty.
func LastKilled(state string) (k Killed, err error) {
	raw, _, err := smallfile.Read(filepath.Join(state, killedFile), maxKilled, smallfile.NoLinks)
	if errors.Is(err, fs.ErrNotExist) {
		return k, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &k)
	}
	return k, err
}

// RecordKilled keeps what a halt ended. What the same halt ended before stays in the record; what an earlier one ended does not.
func RecordKilled(state string, k Killed) error {
	if old, err := LastKilled(state); err == nil && old.Halt == k.Halt {
		k.Sessions, k.Agents = append(old.Sessions, k.Sessions...), append(old.Agents, k.Agents...)
	}
	return WriteKilled(state, k)
}

// WriteKilled replaces the record; an empty one is removed.
func WriteKilled(state string, k Killed) error {
	if len(k.Sessions)+len(k.Agents) == 0 {
		if err := os.Remove(filepath.Join(state, killedFile)); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	raw, err := json.MarshalIndent(k, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(state, 0o700); err != nil {
		return err
	}
	d, err := atomicfile.OpenDir(state)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Replace(killedFile, append(raw, '\n'), 0o600, true)
}
