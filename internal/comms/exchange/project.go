package exchange

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"tutti/internal/comms/machines"
	"tutti/internal/comms/protocol"
	"tutti/internal/platform/smallfile"
)

// A Project is a folder that holds the folder .ai. Name is that of the folder.
type Project struct {
	Name string
	Path string // absolute
}

// A NoProjectError reports a project that there is not.
type NoProjectError struct {
	Name    string
	Machine string   // another one that was asked; "": this one
	Near    []string // names of projects that are alike
}

func (e *NoProjectError) Error() string {
	return fmt.Sprintf("there is no project %s on %s", e.Name, cmp.Or(e.Machine, "this machine"))
}

// Hint names what may have been meant, or how the projects are listed.
func (e *NoProjectError) Hint() string {
	switch {
	case len(e.Near) > 0:
		return meant(e.Near)
	case e.Machine != "":
		return fmt.Sprintf("\"tutti comms discover --enumerate-remote --peer %s\" lists the projects on %s", e.Machine, e.Machine)
	}
	return `"tutti comms discover" lists the projects of this machine`
}

// Is makes it a missing file for callers that check only that.
func (e *NoProjectError) Is(target error) bool { return target == fs.ErrNotExist }

// Slug is the name under which the project sends.
func (p Project) Slug() string {
	slug, _ := protocol.Slugify(p.Name)
	return slug
}

// Key names the records of the project: the slug of its name, and the first 8 hex digits of the SHA-256 of its path, because
// two projects may have one name. Both are those of the folder itself, so that it has one set of records, whichever links lead to it.
func (p Project) Key() string {
	if p.Path != "" {
		p.Path = resolved(p.Path)
		p.Name = filepath.Base(p.Path)
	}
	sum := sha256.Sum256([]byte(p.Path))
	slug := p.Slug()
	if slug == "" {
		slug = "project"
	}
	return slug + "-" + hex.EncodeToString(sum[:4])
}

// MailboxPath is where the messages of the project lie.
func (p Project) MailboxPath() string { return filepath.Join(p.Path, protocol.MailboxFolder) }

// resolved is the path of a folder without links, and the path as it is when that cannot be found out.
func resolved(path string) string {
	if path == "" {
		return ""
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

func (p Project) exists() bool {
	if p.Path == "" {
		return false
	}
	st, err := os.Stat(filepath.Join(p.Path, protocol.ProjectMark))
	return err == nil && st.IsDir()
}

// ProjectRoots are the folders that hold the projects, absolute.
func (o *Service) ProjectRoots() []string {
	if len(o.Roots) == 0 {
		return []string{filepath.Join(o.Home, "projects")}
	}
	roots := make([]string, 0, len(o.Roots))
	for _, r := range o.Roots {
		if r == "~" || strings.HasPrefix(r, "~/") {
			r = o.Home + r[1:]
		}
		if filepath.IsAbs(r) {
			roots = append(roots, filepath.Clean(r))
		}
	}
	return roots
}

// Project finds a project by its name in the project folders; the first that has it wins. A missing one is a *NoProjectError.
func (o *Service) Project(name string) (Project, error) {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return Project{}, &NoProjectError{Name: name}
	}
	for _, root := range o.ProjectRoots() {
		p := Project{Name: name, Path: filepath.Join(root, name)}
		if p.exists() {
			return p, nil
		}
	}
	return Project{}, &NoProjectError{Name: name, Near: o.near(name)}
}

// Projects lists all projects in the project folders by name. Of two that have one name, the one in the first folder is listed.
func (o *Service) Projects() ([]Project, error) {
	var all []Project
	var errs []error
	seen := map[string]bool{}
	for _, root := range o.ProjectRoots() {
		entries, err := smallfile.ReadDir(root, smallfile.Follow)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("list projects: %w", err))
		}
		for _, e := range entries {
			p := Project{Name: e.Name(), Path: filepath.Join(root, e.Name())}
			if e.Type().IsRegular() || strings.HasPrefix(p.Name, ".") || seen[p.Name] || !p.exists() {
				continue
			}
			seen[p.Name] = true
			all = append(all, p)
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all, errors.Join(errs...)
}

// near names projects similar to the typed name.
func (o *Service) near(name string) []string {
	all, _ := o.Projects()
	names := make([]string, 0, len(all))
	for _, p := range all {
		names = append(names, p.Name)
	}
	return machines.Near(name, names)
}

// BySlug finds the project that sends under slug; ok is false when there is none or more than one.
func (o *Service) BySlug(slug string) (p Project, ok bool) {
	if p, err := o.Project(slug); err == nil {
		return p, true // the common name is a slug already
	}
	all, _ := o.Projects()
	for _, q := range all {
		if q.Slug() != slug {
			continue
		}
		if ok {
			return Project{}, false
		}
		p, ok = q, true
	}
	return p, ok
}

// ProjectAt is the project that the folder dir is in: the nearest folder above that holds .ai, or dir itself.
func (o *Service) ProjectAt(dir string) (p Project, ok bool) {
	for dir = filepath.Clean(dir); ; dir = filepath.Dir(dir) {
		p := Project{Name: filepath.Base(dir), Path: dir}
		if p.exists() {
			return p, true
		}
		if dir == filepath.Dir(dir) {
			return Project{}, false
		}
	}
}
