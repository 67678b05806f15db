package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/platform/atomicfile"
)

// Names are what agents of this user were renamed to. They lie with the user, one JSON line for each:
//
//	{"instance":"claude:api:3f2a9c01b7de","name":"api, second pair of hands","at":"2026-03-01T10:04:00.000Z"}
//
// A registration is never changed, so the name in it is the first one only; presence has the present name, and ends with the
// session. The name remembered here is for the next session; until then only this user sees it.

// maxNames bounds what is read of the file: some 10,000 agents.
const maxNames = 1 << 20

const namesFile = "names"

// RememberedName returns what an agent was renamed to last, "" when it never was.
func (a *App) RememberedName(i address.Instance) string {
	return a.RememberedNames()[i.Canonical()]
}

// RememberedNames returns what agents were renamed to last, by their canonical ids.
func (a *App) RememberedNames() map[address.Instance]string {
	lines, err := a.names()
	if err != nil {
		return nil // a name is for display
	}
	all := make(map[address.Instance]string, len(lines))
	for _, line := range lines {
		if who, name := nameOf(line); who != "" {
			all[address.Instance(who)] = name
		}
	}
	return all
}

// RememberName keeps the name of an agent. Of two programs that do so at one moment for two agents one name may be lost,
// which is why presence has it as well.
func (a *App) RememberName(i address.Instance, name string, now time.Time) error {
	dir, err := a.StateDir()
	if err != nil {
		return err
	}
	path := filepath.Join(dir, namesFile)
	lines, err := a.names()
	if err != nil {
		return err
	}
	var all []byte
	for _, line := range lines {
		if who, _ := nameOf(line); who != "" && who != string(i.Canonical()) {
			all = append(append(all, line...), '\n')
		}
	}
	var o canonjson.Object
	o.Str("instance", string(i.Canonical()))
	o.Str("name", name)
	o.Str("at", now.UTC().Format("2006-01-02T15:04:05.000Z"))
	all = append(append(all, o.Bytes()...), '\n')
	if len(all) > maxNames {
		return fmt.Errorf("remember name: %s is full", path)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("remember name: %w", err)
	}
	if err := atomicfile.WriteFile(path, all, 0o600); err != nil {
		return fmt.Errorf("remember name: %w", err)
	}
	return nil
}

func (a *App) names() ([]string, error) {
	data, err := a.ReadState(namesFile, maxNames)
	if err != nil {
		return nil, fmt.Errorf("read names: %w", err)
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n"), nil
}

func nameOf(line string) (instance, name string) {
	var v [2][]byte
	canonjson.Pick([]byte(line), []string{"instance", "name"}, v[:])
	instance, _ = canonjson.String(v[0])
	name, _ = canonjson.String(v[1])
	return instance, name
}
