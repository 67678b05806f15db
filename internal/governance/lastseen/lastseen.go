// Package lastseen remembers, for one user and outside every bus, how far that user's programs have read each negotiation. Other agents write
// the files of a bus; they have no reason to write here, so that a journal that was put back, or written anew, is found.
//
// There is one small file for each negotiation. One that cannot be read counts as not there: then nothing is compared, which is what a user
// who reads a negotiation for the first time gets, too. It protects against those who change a bus, not against a program of the same user
// that also looks for this folder.
package lastseen

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"tutti/internal/governance/negotiation"
	"tutti/internal/platform/atomicfile"
	"tutti/internal/platform/smallfile"
)

// folder is below the folder of what the programs of a user remember.
const folder = "agreements"

// maxFile bounds what is read of one file, in bytes.
const maxFile = 64 << 10

// A Memory is that of one bus. Of two programs that remember the same negotiation at once, one wins.
type Memory struct{ dir, bus string }

// Of returns the memory of a bus, by the place that it is opened at. state is the folder of what this user's programs remember; it need not
// exist.
func Of(state, bus string) *Memory { return &Memory{filepath.Join(state, folder), bus} }

// A record is one file.
type record struct {
	Bus         string `json:"bus"`
	Negotiation string `json:"negotiation"`
	negotiation.Seen
}

// Path is the file of a negotiation.
func (m *Memory) Path(id string) string {
	sum := sha256.Sum256([]byte(m.bus + "\n" + id))
	return filepath.Join(m.dir, hex.EncodeToString(sum[:16])+".json")
}

// Last returns what was seen last of a negotiation, the zero Seen when nothing was.
func (m *Memory) Last(id string) (negotiation.Seen, error) {
	data, _, err := smallfile.Read(m.Path(id), maxFile, smallfile.NoLinks)
	var r record
	if err != nil || json.Unmarshal(data, &r) != nil || r.Bus != m.bus || r.Negotiation != id {
		return negotiation.Seen{}, nil
	}
	return r.Seen, nil
}

// Keep remembers what was seen.
func (m *Memory) Keep(id string, s negotiation.Seen) error {
	data, err := json.MarshalIndent(record{m.bus, id, s}, "", "  ")
	if err == nil {
		err = os.MkdirAll(m.dir, 0o700)
	}
	if err == nil {
		err = atomicfile.WriteFile(m.Path(id), append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("remember how far %s was read: %w", id, err)
	}
	return nil
}
