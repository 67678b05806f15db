package registry

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tutti/internal/platform/gitexclude"
)

// Names of the registry, below the folder of a workspace.
const (
	Folder    = ".hermes"
	OldFolder = ".mam" // its name in later programs of others; used only where it is alone
	File      = "agent-sessions.yaml"
	Variable  = "AGENT_SESSIONS_YAML"
)

// PathOf returns where the registry of a workspace lies, whether it exists or not. A path of the user's wins: the flag, then the
// variable. The note, for people, is not empty when there is something to be said about the choice.
func PathOf(dir, flag string, env func(name string) string) (yamlPath, note string) {
	for _, given := range []string{flag, env(Variable)} {
		if given == "" {
			continue
		}
		if !filepath.IsAbs(given) {
			given = filepath.Join(dir, given)
		}
		return filepath.Clean(given), ""
	}
	ours, old := filepath.Join(dir, Folder, File), filepath.Join(dir, OldFolder, File)
	haveOurs, haveOld := registryIn(filepath.Join(dir, Folder)), registryIn(filepath.Join(dir, OldFolder))
	switch {
	case haveOld && haveOurs:
		return ours, "there are two registries, in " + Folder + " and in " + OldFolder + ": the one in " + Folder + " is used"
	case haveOld:
		return old, ""
	case !haveOurs:
		if found := inRepository(dir); found != "" {
			return found, ""
		}
	}
	return ours, ""
}

// inRepository finds the registry of the git repository that a folder belongs to: in the nearest folder above that has one, or in the same
// folders of the main work tree. "" where there is none. A folder above the repository is not looked at: its sessions are another project's.
func inRepository(dir string) string {
	top, common := gitexclude.WorkTree(dir)
	if found := upTo(dir, top); found != "" || top == "" || filepath.Base(common) != ".git" {
		return found
	}
	main := filepath.Dir(common)
	inside, err := filepath.Rel(top, dir)
	if err != nil || main == top || !slices.Contains(gitexclude.Twins(main), top) { // else the folder only says that it belongs there
		return ""
	}
	return upTo(filepath.Join(main, inside), main)
}

// upTo finds the registry of a folder, or of the nearest one above it, up to the top; "" for none.
func upTo(dir, top string) string {
	if top == "" {
		return ""
	}
	for ; ; dir = filepath.Dir(dir) {
		for _, folder := range [...]string{Folder, OldFolder} {
			if registryIn(filepath.Join(dir, folder)) {
				return filepath.Join(dir, folder, File)
			}
		}
		if dir == top || dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// Workspace is the folder that a registry belongs to, without links: the one above its own, or elsewhere for a registry that lies at
// another place.
func Workspace(yamlPath, elsewhere string) string {
	dir := filepath.Dir(yamlPath)
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	if name := filepath.Base(dir); name == Folder || name == OldFolder {
		return filepath.Dir(dir)
	}
	return elsewhere
}

// registryIn reports whether a folder has a registry, or at least its database.
func registryIn(folder string) bool {
	for _, name := range []string{File, "agent-sessions.db"} {
		if _, err := os.Stat(filepath.Join(folder, name)); err == nil {
			return true
		}
	}
	return false
}

// MaxSize is the largest registry that is read, in bytes: 400 rows with a full screen each.
const MaxSize = 8 << 20

// Database returns the path of the database that belongs to a registry.
func Database(yamlPath string) string {
	return strings.TrimSuffix(yamlPath, filepath.Ext(yamlPath)) + ".db"
}
