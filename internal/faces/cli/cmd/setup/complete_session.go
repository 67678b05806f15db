package setup

import (
	"os"

	"tutti/internal/faces/cli/kit"
	"tutti/internal/sessions/registry"
)

// sessions offers the names of the sessions in the registry that is meant, as they were last read: nothing is started for an offer.
func (k *completer) sessions() {
	dir, err := os.Getwd()
	if err != nil {
		return
	}
	cache, err := k.c.App.CacheDir()
	if err != nil {
		return
	}
	path, _ := registry.PathOf(dir, k.registry, os.Getenv)
	rows, _ := registry.Cached(path, cache)
	for i := range rows {
		if i == maxOffered {
			return
		}
		if r := &rows[i]; harmless(r.Name) {
			k.say(r.Name, kit.Truncate(kit.Clean(string(r.Status)+" "+r.Kind()), maxRemark))
		}
	}
}
