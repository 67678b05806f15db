package poll

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"tutti/internal/comms/exchange"
	"tutti/internal/comms/protocol"
	"tutti/internal/core/render"
	"tutti/internal/platform/atomicfile"
)

// A state is what a poll leaves to the next one, of one project and one session.
type state struct {
	known    bool              // there was a poll before
	Halted   bool              `json:"halted"` // the last poll met the halt switch
	Epoch    uint64            `json:"epoch"`  // halts at the time when the user last let the agent go on
	Empty    int               `json:"empty"`  // polls in a row that found nothing
	Deferred time.Time         `json:"deferred_at,omitzero"`
	Told     map[string]string `json:"told"`  // message to the code of the decision, of those that no ledger remembers
	Shown    map[string]string `json:"shown"` // open conversation and its partner, to the line by which it was shown last
}

// maxState bounds what is read: the names of ten thousand messages.
const maxState = 4 << 20

// statePath is where the state is. A session that claims messages counts for itself.
func statePath(o *exchange.Service, p exchange.Project, session string) string {
	name := p.Key()
	if slug, ok := protocol.Slugify(session); ok {
		name += "." + slug
	}
	return filepath.Join(o.StatePath("poll"), name+".json")
}

// readState reads the state. A file that cannot be read counts as none, but for a halt, which may have been recorded in it.
func readState(path string) state {
	var s state
	d, err := atomicfile.OpenDir(filepath.Dir(path))
	if err != nil {
		return s
	}
	defer d.Close()
	data, _, err := d.Read(filepath.Base(path), maxState)
	if err != nil {
		s.known = !errors.Is(err, fs.ErrNotExist)
		s.Halted = s.known
		return s
	}
	s.known, s.Halted = true, true
	if json.Unmarshal(data, &s) != nil {
		return state{known: true, Halted: true}
	}
	return s
}

func (s *state) write(path string) error {
	if s.Told == nil {
		s.Told = map[string]string{}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return atomicfile.WriteFile(path, render.JSON(s), 0o600)
}
