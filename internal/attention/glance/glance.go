// Package glance keeps in a small file how many things wait for the user, for prompts and status lines.
//
// It promises that a reader needs one read and no look at any agent, that the file is whole or absent, and that a file which is not
// believable is an error. What counts as waiting is decided by the caller, who also writes it.
package glance

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tutti/internal/platform/atomicfile"
	"tutti/internal/platform/smallfile"
)

// Name is the file, in the state folder of the user.
const Name = "glance.json"

const (
	maxFile  = 1 << 10
	maxCount = 1_000_000
)

// A Glance is what waited for the user at one moment.
type Glance struct {
	At      time.Time `json:"at"`
	Mail    int       `json:"mail"`    // unread messages for the user, and of agents that nothing wakes
	Waiting int       `json:"waiting"` // approvals, questions and other things to decide
}

// Write replaces the file in a folder, which it makes.
func Write(state string, g Glance) error {
	raw, err := json.Marshal(g)
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
	return errors.Join(d.Replace(Name, append(raw, '\n'), 0o600, false), d.Close())
}

// Read returns what the file says; nil: there is none.
func Read(state string) (*Glance, error) {
	raw, _, err := smallfile.Read(filepath.Join(state, Name), maxFile, smallfile.NoLinks)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	g := new(Glance)
	if err := json.Unmarshal(raw, g); err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	if g.At.IsZero() || g.Mail < 0 || g.Waiting < 0 || g.Mail > maxCount || g.Waiting > maxCount {
		return nil, fmt.Errorf("%s: the counts are not believable", Name)
	}
	return g, nil
}

// The ages from which a line says how old it is, and from which its counts are not shown.
const (
	shown = time.Minute
	stale = 24 * time.Hour
)

// Unknown is the line when the file cannot be read.
const Unknown = "tutti?"

// Line returns the counts in a few characters: "2✉ 1❗", or "2m 1!" where only ASCII can be shown. It is "" when nothing waits. A
// glance older than a minute has its age behind it; of one older than a day, only the age is shown.
func (g *Glance) Line(now time.Time, utf8 bool) string {
	age := now.Sub(g.At)
	if age > stale || age < -shown { // a clock that was set back
		return Unknown + " " + short(age)
	}
	mail, waiting := "m", "!"
	if utf8 {
		mail, waiting = "✉", "❗"
	}
	var parts []string
	if g.Mail > 0 {
		parts = append(parts, strconv.Itoa(g.Mail)+mail)
	}
	if g.Waiting > 0 {
		parts = append(parts, strconv.Itoa(g.Waiting)+waiting)
	}
	if len(parts) > 0 && age > shown {
		parts = append(parts, short(age))
	}
	return strings.Join(parts, " ")
}

// short is an age in a few characters.
func short(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + "m"
	case d < stale:
		return strconv.Itoa(int(d.Hours())) + "h"
	}
	return strconv.Itoa(int(d/stale)) + "d"
}
