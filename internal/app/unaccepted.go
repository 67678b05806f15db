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

// unaccepted tells why the bus that a variable names is not used, nil when it is. Within a work tree, or with another owner, it needs
// the user's word; a bus that this user has made, accepted or used before has it.
func (a *App) unaccepted(path string) *UnacceptedError {
	if a.set.Original || OnServer(path) || !IsBus(path) {
		return nil
	}
	real, id, ok := identify(path)
	if !ok {
		return nil
	}
	why := ""
	var st syscall.Stat_t
	if top, _ := gitexclude.WorkTree(real); top != "" {
		why = "it lies in the git work tree " + a.Shown(top)
	} else if syscall.Stat(real, &st) == nil && int(st.Uid) != os.Geteuid() {
		why = "it belongs to another user"
	}
	if why == "" || a.loadRoots().state(real, id) == accepted {
		return nil
	}
	if home, err := a.Home(); err == nil && SameFolder(real, filepath.Join(home, defaultRoot)) {
		return nil
	}
	if state, err := a.StateDir(); err == nil && inventory.Has(state, inventory.Bus, real) {
		return nil
	}
	return &UnacceptedError{Path: real, Shown: a.Shown(real), Why: why}
}
