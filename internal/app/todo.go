package app

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"tutti/internal/comms/exchange"
	"tutti/internal/comms/overview"
	talks "tutti/internal/comms/protocol"
	"tutti/internal/platform/smallfile"
	"tutti/internal/sessions/job"
	"tutti/internal/store"
)

// waitingKinds are the kinds of items in a bus that can wait for an agent or user.
var waitingKinds = [...]store.Kind{store.Escalation, store.Blockage, store.Negotiation, store.Quarantine}

// MayWait reports whether a bus, or the jobs of a workspace ("" for none), may have items that wait for an agent or user. It
// looks whether there are such folders: most have none, and only the full program can read their content.
func MayWait(root, workspace string) bool {
	for _, k := range waitingKinds {
		top, _, _ := strings.Cut(k.Spec().Path, "/")
		if AnyIn(filepath.Join(root, top)) {
			return true
		}
	}
	if workspace == "" {
		return false
	}
	b, _, err := job.At(workspace)
	return err == nil && AnyIn(b.Dir())
}

// AnyIn tells whether a folder has anything in it, or may: what cannot be opened is for the full program to name.
func AnyIn(dir string) bool {
	d, err := smallfile.OpenDir(dir, smallfile.NoLinks)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer d.Close()
	names, _ := d.Readdirnames(1)
	return len(names) > 0
}

// OverviewOptions is a look at all mailboxes in which that of a project (with no path: none) is one, also where it lies outside the project
// folders.
func (a *App) OverviewOptions(o *exchange.Service, p exchange.Project) overview.Options {
	look := overview.Options{Office: o}
	if p.Path == "" || slices.Contains(o.ProjectRoots(), filepath.Dir(p.Path)) {
		return look
	}
	for _, root := range o.ProjectRoots() {
		look.Globs = append(look.Globs, filepath.Join(overview.Literal(root), "*", talks.MailboxFolder))
	}
	look.Globs = append(look.Globs, overview.Literal(p.MailboxPath()))
	return look
}
