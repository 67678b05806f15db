package setup

import (
	"errors"
	"io/fs"
	"os"

	"tutti/internal/faces/cli/cmd/session"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/sessions/registry"
)

// sessions offers the names of the sessions in the registry that is meant. Nothing is made for an offer.
func (k *completer) sessions() {
	dir, err := os.Getwd()
	if err != nil {
		return
	}
	path, _ := registry.PathOf(dir, k.registry, os.Getenv)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return
	}
	reg, err := session.OpenRegistry(path)
	if err != nil {
		return
	}
	rows, _, err := reg.Rows(k.ctx)
	if err != nil {
		return
	}
	for i := range rows {
		if i == maxOffered {
			return
		}
		if r := &rows[i]; harmless(r.Name) {
			k.say(r.Name, kit.Truncate(kit.Clean(string(r.Status)+" "+r.Kind()), maxRemark))
		}
	}
}
