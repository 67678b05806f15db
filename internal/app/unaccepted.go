package app

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"tutti/internal/bus/inventory"
	"tutti/internal/platform/gitexclude"
)

// An UnacceptedError reports a bus that H2A_ROOT names and that is not used, because others may have made it: a repository can set
// variables, too.
type UnacceptedError struct {
	Path  string // real path
	Shown string
	Why   string
}

func (e *UnacceptedError) Error() string {
	return fmt.Sprintf("the bus %s, which H2A_ROOT names, is not used: %s, and you have not accepted it", e.Shown, e.Why)
}

// Hint says what to type to use it.
func (e *UnacceptedError) Hint() string { return AcceptHint(e.Path) }

// unaccepted tells why the bus that a variable names is not used; nil: it is used. A bus that this user has used before needs no acceptance.
func (a *App) unaccepted(path string) *UnacceptedError {
	if a.set.Original || OnServer(path) || !IsBus(path) {
		return nil
	}
	real, why, known := a.foreign(path)
	if why == "" || known == accepted {
		return nil
	}
	if state, err := a.StateDir(); err == nil && inventory.Has(state, inventory.Bus, real) {
		return nil
	}
	return &UnacceptedError{Path: real, Shown: a.Shown(real), Why: why}
}

// foreign tells why others may have made a bus, "" when they cannot have: it is outside every git work tree and belongs to this user, or
// it is the default one. known tells whether the user has accepted it.
func (a *App) foreign(path string) (real, why string, known consent) {
	real, id, ok := identify(path)
	if !ok {
		return real, "", unknown
	}
	var st syscall.Stat_t
	if top, _ := gitexclude.WorkTree(real); top != "" {
		why = "it is in the git work tree " + a.Shown(top)
	} else if syscall.Stat(real, &st) == nil && int(st.Uid) != os.Geteuid() {
		why = "it belongs to another user"
	}
	if home, err := a.Home(); why == "" || err == nil && SameFolder(real, filepath.Join(home, defaultRoot)) {
		return real, "", unknown
	}
	return real, why, a.loadRoots().state(real, id)
}
