package app

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// A Source says where the root came from.
type Source string

// The sources, in the words that doctor reports.
const (
	FromFlag    Source = "flag"
	FromEnv     Source = "env"
	FromDir     Source = "cwd"
	FromDefault Source = "default"
)

// Why says it in a sentence for people.
func (s Source) Why() string {
	switch s {
	case FromFlag:
		return "named by --root"
	case FromEnv:
		return "named by H2A_ROOT"
	case FromDir:
		return "the nearest .h2a that you accepted"
	}
	return "the default; --root, H2A_ROOT or an accepted .h2a in this folder or above would name another"
}

// A Root is the selected bus.
type Root struct {
	Path   string // as given by the user; absolute when it was found
	Source Source
	Passed []Passed // buses on the way that were not used, nearest first
	// Unaccepted says why this bus is not opened; nil: it may be.
	Unaccepted *UnacceptedError
}

// A Passed is a bus that lies nearer than the one that is used, and is not used because this user has not accepted it.
type Passed struct {
	Path     string // real path
	Replaced bool   // one of that path was accepted, and this is another folder
	ID       FolderID
}

func (p Passed) String() string {
	if p.Replaced {
		return p.Path + " is another folder than the bus you accepted there; it is not used"
	}
	return p.Path + " is a bus that you have not accepted; it is not used"
}

// Hint says what to type to use it.
func (p Passed) Hint() string { return AcceptHint(p.Path) }

// AcceptHint says how a bus at path comes to be used.
func AcceptHint(path string) string {
	return fmt.Sprintf("\"tutti root accept %s\" lets it be used, if you trust who made it", QuoteArg(path))
}

// A FolderID tells a folder from another one of the same path.
type FolderID struct{ Dev, Ino uint64 }

func folderID(path string) (id FolderID, ok bool) {
	var st syscall.Stat_t
	if syscall.Stat(path, &st) != nil || st.Mode&syscall.S_IFMT != syscall.S_IFDIR {
		return id, false
	}
	return FolderID{uint64(st.Dev), st.Ino}, true
}

// IsBus tells whether a folder holds a bus: a sentinel or a registry. A server has one as soon as it is used.
func IsBus(path string) bool {
	if OnServer(path) {
		return true
	}
	var st syscall.Stat_t
	if syscall.Stat(path, &st) != nil {
		return false // what nearly every folder above the working directory says, in one call
	}
	return syscall.Lstat(path+"/.h2a-schema.json", &st) == nil ||
		syscall.Stat(path+"/registry", &st) == nil && st.Mode&syscall.S_IFMT == syscall.S_IFDIR
}

// Root returns the selected bus. It looks once; nothing is made.
func (a *App) Root() (*Root, error) {
	if a.root != nil {
		return a.root, nil
	}
	r := &Root{Path: a.set.Root, Source: FromFlag}
	if r.Path == "" {
		if r.Path, r.Source = a.set.Getenv("H2A_ROOT"), FromEnv; r.Path != "" {
			r.Unaccepted = a.unaccepted(r.Path)
		}
	}
	if r.Path == "" {
		home, err := a.Home()
		if err != nil {
			return nil, err
		}
		r.Path, r.Source = filepath.Join(home, defaultRoot), FromDefault
		a.fromDir(r, home)
	}
	a.root = r
	return r, nil
}

// defaultRoot is below the home folder.
const defaultRoot = "h2a-workspace/.h2a"

// fromDir puts the nearest accepted bus into r, and those it passed by.
func (a *App) fromDir(r *Root, home string) {
	var roots *Roots
	for _, path := range a.above(home) {
		if SameFolder(path, r.Path) {
			break // the default needs no consent, and nothing above it is nearer
		}
		if roots == nil {
			roots = a.loadRoots() // an unreadable list accepts nothing
		}
		real, id, ok := identify(path)
		if !ok {
			continue
		}
		known := roots.state(real, id)
		if known == accepted {
			r.Path, r.Source = real, FromDir
			return
		}
		r.Passed = append(r.Passed, Passed{Path: real, ID: id, Replaced: known == replaced})
	}
}

// above returns the .h2a folders from the working directory upwards that hold a bus. It stops at the home folder and at
// the border of a file system: what lies above belongs to other people.
func (a *App) above(home string) (found []string) {
	dir := a.set.Dir
	if dir == "" {
		var err error
		if dir, err = os.Getwd(); err != nil {
			return nil
		}
	}
	first, ok := folderID(dir)
	for ok {
		if path := filepath.Join(dir, ".h2a"); IsBus(path) {
			found = append(found, path)
		}
		up := filepath.Dir(dir)
		if dir == home || up == dir {
			break
		}
		var id FolderID
		if id, ok = folderID(up); id.Dev != first.Dev {
			break
		}
		dir = up
	}
	return found
}

// identify returns the real path and the identity of a folder.
func identify(path string) (real string, id FolderID, ok bool) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", id, false
	}
	if real, err = filepath.Abs(real); err != nil {
		return "", id, false
	}
	id, ok = folderID(real)
	return real, id, ok
}

// SameFolder tells whether two paths lead to one folder.
func SameFolder(a, b string) bool {
	if a == b {
		return true
	}
	one, ok1 := folderID(a)
	two, ok2 := folderID(b)
	return ok1 && ok2 && one == two
}

// OtherRoots returns the buses that are in play beside the one that is used: those from the working directory upwards,
// and the default one. Two roots in play are the commonest reason why agents do not find each other.
func (a *App) OtherRoots() []string {
	root, err := a.Root()
	if err != nil {
		return nil
	}
	home, err := a.Home()
	if err != nil {
		return nil
	}
	var others []string
	all := a.above(home)
	if path := filepath.Join(home, defaultRoot); IsBus(path) && root.Source != FromFlag && root.Source != FromEnv {
		all = append(all, path)
	}
	for _, path := range all {
		same := func(other string) bool { return SameFolder(other, path) }
		if !same(root.Path) && !slices.ContainsFunc(others, same) {
			others = append(others, path)
		}
	}
	return others
}

// SameFile tells whether two paths lead to one file.
func SameFile(a, b string) bool {
	one, err1 := os.Stat(a)
	two, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(one, two)
}
