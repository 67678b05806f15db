package drill

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"tutti/internal/platform/atomicfile"
	"tutti/internal/platform/smallfile"
)

// file has the last drill of each CLI, below the folder of this user's state.
const file = "drills.json"

const maxRecord = 64 << 10

// Last returns the last drill of each CLI, by its name. A record that is missing or damaged is empty: the next drill writes it.
func Last(state string) map[string]Result {
	all := map[string]Result{}
	raw, _, err := smallfile.Read(filepath.Join(state, file), maxRecord, smallfile.NoLinks)
	if err == nil && json.Unmarshal(raw, &all) != nil {
		return map[string]Result{}
	}
	return all
}

// Record keeps a result until the next drill of the same CLI. One that was not tried does not replace one that was.
func Record(state string, r Result) error {
	if r.State == NotTried {
		return nil
	}
	all := Last(state)
	all[r.CLI] = r
	raw, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	d, err := atomicfile.OpenDir(state)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(state, 0o700); err == nil {
			d, err = atomicfile.OpenDir(state)
		}
	}
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Replace(file, append(raw, '\n'), 0o600, true)
}
