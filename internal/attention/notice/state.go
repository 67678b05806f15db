package notice

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tutti/internal/platform/atomicfile"
	"tutti/internal/platform/smallfile"
)

// fileName is the file in the state folder of the user.
const fileName = "notices.json"

const maxState = 4 << 20

// A state is what survives a restart.
type state struct {
	Known   map[string]time.Time `json:"known"`   // conditions that are, since when; null: nothing was ever looked at
	Told    map[string]time.Time `json:"told"`    // things that caused a notice in the last minute
	Spoke   time.Time            `json:"spoke"`   // when the last notice was made
	Waiting []Condition          `json:"waiting"` // conditions without a notice so far
	Out     []Message            `json:"out"`     // notices that not every channel has accepted
	Last    []Message            `json:"last"`
}

// Open reads the state in a folder. An error says that it could not be read; it then begins anew.
func Open(dir string) (*Sender, error) {
	d := &Sender{dir: dir}
	raw, _, err := smallfile.Read(filepath.Join(dir, fileName), maxState, smallfile.NoLinks)
	if errors.Is(err, fs.ErrNotExist) {
		return d, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &d.state)
	}
	if err != nil {
		d.state = state{}
		return d, fmt.Errorf("%s: %w", fileName, err)
	}
	return d, nil
}

func (d *Sender) save() error {
	raw, err := json.Marshal(&d.state)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return err
	}
	dir, err := atomicfile.OpenDir(d.dir)
	if err != nil {
		return err
	}
	return errors.Join(dir.Replace(fileName, append(raw, '\n'), 0o600, true), dir.Close())
}

// Last returns the last notices, the newest first, with those that are not sent yet.
func (d *Sender) Last() []Message {
	all := append(slices.Clone(d.state.Last), d.state.Out...)
	slices.SortStableFunc(all, func(a, b Message) int { return b.At.Compare(a.At) })
	return all
}

// Refusing returns, for each channel that did not accept its newest notice, that try.
func (d *Sender) Refusing() (all []Try) {
	seen := map[string]bool{}
	for _, m := range d.Last() {
		for _, t := range m.Tries {
			if !seen[t.Channel] && t.State != Sent && t.Error != "" {
				all = append(all, t)
			}
			seen[t.Channel] = true
		}
	}
	return all
}
