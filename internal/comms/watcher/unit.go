package watcher

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tutti/internal/comms/overview"
	"tutti/internal/comms/protocol"
	"tutti/internal/core/termsafe"
	"tutti/internal/platform/atomicfile"
	"tutti/internal/platform/smallfile"
)

// The units by which systemd runs the watcher for a user. The path unit starts the service once a mailbox exists, and again whenever
// it has ended: who stops them stops the path unit first.
const (
	PathUnit    = "cross-agent-watch.path"
	ServiceUnit = "cross-agent-watch.service"
)

// mark is in the first line of the units that were written here. Others are left alone.
const mark = "written by \"tutti service install\""

// managerTime bounds what is asked of systemd.
const managerTime = 10 * time.Second

// A Service is the watcher as a service of the user. Home and Program are needed.
type Service struct {
	Home    string                   // absolute
	Program string                   // absolute path of cross-agent-watch
	Roots   []string                 // folders that hold projects, absolute; none: Home/projects
	Env     func(name string) string // nil: os.Getenv
	// Manager calls systemctl and returns what it prints; nil: the one on PATH. exec.ErrNotFound says that there is none.
	Manager func(ctx context.Context, args ...string) (string, error)
}

// A Unit is one of the two as it is now.
type Unit struct {
	Name    string `json:"name"`
	Path    string `json:"path"`
	There   bool   `json:"exists"`
	Own     bool   `json:"own"`               // it was written here
	Current bool   `json:"current"`           // it is what Install would write
	Active  string `json:"active,omitempty"`  // what systemd says, "active", "inactive", "failed"; "": it cannot be asked
	Enabled string `json:"enabled,omitempty"` // "enabled", "disabled", "static"; "": it cannot be asked
}

// A Report is what was done. Trouble with systemd is a warning: the units are files, and take effect when it reads them.
type Report struct {
	Units    []Unit   `json:"units"`
	Changed  []string `json:"changed"` // paths that were written or removed
	Warnings []string `json:"warnings"`
}

// newReport is a report on nothing yet, whose lists are lists for programs as well.
func newReport() Report { return Report{Changed: []string{}, Warnings: []string{}} }

// A ForeignUnitError reports a unit of that name that is not ours.
type ForeignUnitError struct{ Path string }

func (e *ForeignUnitError) Error() string {
	return fmt.Sprintf("%s was not written by tutti and is left as it is", e.Path)
}

// Hint says what to type.
func (e *ForeignUnitError) Hint() string {
	return "move it away, or set up what differs with systemctl --user edit"
}

func (s Service) env(name string) string {
	if s.Env != nil {
		return s.Env(name)
	}
	return os.Getenv(name)
}

// folder is where units of a user lie.
func (s Service) folder() string {
	if dir := s.env("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "systemd", "user")
	}
	return filepath.Join(s.Home, ".config", "systemd", "user")
}

// texts are the units as Install writes them.
func (s Service) texts() [2]struct{ name, text string } {
	roots := s.Roots
	if len(roots) == 0 {
		roots = []string{filepath.Join(s.Home, "projects")}
	}
	var globs strings.Builder
	for _, r := range roots {
		globs.WriteString("PathExistsGlob=" + s.specifier(overview.Literal(r)) + "/*/" + protocol.MailboxFolder + "\n")
	}
	return [2]struct{ name, text string }{
		{ServiceUnit, "# " + ServiceUnit + " (user unit), " + mark + `
[Unit]
Description=Cross-agent message watcher
[Service]
ExecStart=` + quoted(s.specifier(s.Program)) + ` --quiet
Restart=on-failure
RestartSec=5
`},
		{PathUnit, "# " + PathUnit + " (user unit), " + mark + `: starts the service once a mailbox exists
[Path]
` + globs.String() + `Unit=` + ServiceUnit + `
[Install]
WantedBy=default.target
`},
	}
}

// specifier writes a path for systemd: %h is the home folder.
func (s Service) specifier(path string) string {
	if rest, ok := strings.CutPrefix(path, s.Home+"/"); ok {
		return "%h/" + strings.ReplaceAll(rest, "%", "%%")
	}
	return strings.ReplaceAll(path, "%", "%%")
}

// quoted makes a path one word of a command line of systemd.
func quoted(s string) string {
	s = strings.ReplaceAll(s, "$", "$$")
	if !strings.ContainsAny(s, " \t\"'\\;") {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// Install writes the units where they differ and has systemd start the watcher, unless start is false, as while everything is
// halted: then it begins with the next session of the user. A unit that is not ours is a *ForeignUnitError, and nothing is
// written.
func (s Service) Install(ctx context.Context, start bool) (Report, error) {
	r := newReport()
	if strings.ContainsAny(s.Program+s.Home, "\n\r") || !filepath.IsAbs(s.Program) {
		return r, fmt.Errorf("install service: %q is not a path that a unit can hold", s.Program)
	}
	for _, u := range s.look() {
		if u.There && !u.Own && !u.Current {
			return r, &ForeignUnitError{u.Path}
		}
	}
	if err := os.MkdirAll(s.folder(), 0o700); err != nil {
		return r, fmt.Errorf("install service: %w", err)
	}
	for _, t := range s.texts() {
		path := filepath.Join(s.folder(), t.name)
		if old, _, err := smallfile.Read(path, maxUnit, smallfile.Follow); err == nil && string(old) == t.text {
			continue
		}
		if err := atomicfile.WriteFile(path, []byte(t.text), 0o600); err != nil {
			return r, fmt.Errorf("install service: %w", err)
		}
		r.Changed = append(r.Changed, path)
	}
	steps := [][]string{{"daemon-reload"}}
	if names := s.session(); len(names) > 0 { // notices need the session bus
		steps = append(steps, append([]string{"import-environment"}, names...))
	}
	if start {
		steps = append(steps, []string{"enable", "--now", PathUnit})
	} else {
		steps = append(steps, []string{"enable", PathUnit})
	}
	s.manage(ctx, &r, steps...)
	r.Units = s.states(ctx)
	return r, nil
}

// session names the variables of the session that are set.
func (s Service) session() []string {
	var names []string
	for _, name := range []string{"DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS"} {
		if s.env(name) != "" {
			names = append(names, name)
		}
	}
	return names
}

// Remove stops the watcher and removes the units. Those that are not ours stay, with a warning; none is not an error.
func (s Service) Remove(ctx context.Context) (Report, error) {
	r := newReport()
	any := false
	for _, u := range s.look() {
		any = any || u.There && (u.Own || u.Current)
	}
	if any {
		s.manage(ctx, &r, []string{"disable", "--now", PathUnit}, []string{"stop", ServiceUnit})
	}
	var errs []error
	for _, u := range s.look() {
		switch {
		case !u.There:
		case !u.Own && !u.Current:
			r.Warnings = append(r.Warnings, (&ForeignUnitError{u.Path}).Error())
		default:
			if err := os.Remove(u.Path); err != nil {
				errs = append(errs, fmt.Errorf("remove service: %w", err))
				continue
			}
			r.Changed = append(r.Changed, u.Path)
		}
	}
	if len(r.Changed) > 0 {
		s.manage(ctx, &r, []string{"daemon-reload"})
	}
	r.Units = s.states(ctx)
	return r, errors.Join(errs...)
}

// Show tells how the units are. Trouble with systemd is a warning.
func (s Service) Show(ctx context.Context) Report {
	r := newReport()
	r.Units = s.states(ctx)
	if len(r.Units) > 0 && r.Units[0].Active == "" {
		r.Warnings = append(r.Warnings, noManager)
	}
	return r
}

// maxUnit bounds a unit that is read, in bytes.
const maxUnit = 64 << 10

// look reads the units.
func (s Service) look() []Unit {
	var list []Unit
	for _, t := range s.texts() {
		u := Unit{Name: t.name, Path: filepath.Join(s.folder(), t.name)}
		text, _, err := smallfile.Read(u.Path, maxUnit, smallfile.Follow)
		u.There = !errors.Is(err, fs.ErrNotExist)
		first, _, _ := bytes.Cut(text, []byte("\n"))
		u.Own, u.Current = bytes.Contains(first, []byte(mark)), string(text) == t.text
		list = append(list, u)
	}
	return list
}

// states is look with what systemd says.
func (s Service) states(ctx context.Context) []Unit {
	list := s.look()
	for i := range list {
		out, err := s.call(ctx, "show", "--property=ActiveState,UnitFileState", list[i].Name)
		if err != nil {
			continue
		}
		for line := range strings.Lines(out) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			switch key {
			case "ActiveState":
				list[i].Active = value
			case "UnitFileState":
				list[i].Enabled = value
			}
		}
	}
	return list
}

const noManager = "systemd cannot be asked here: the watcher starts by itself only where systemd serves this user; \"tutti comms watch\" runs it by hand"

// manage asks systemd for some steps. Without systemd, or where it does not serve this user, that is one warning; a step that fails is one of
// its own.
func (s Service) manage(ctx context.Context, r *Report, steps ...[]string) {
	for _, step := range steps {
		_, err := s.call(ctx, step...)
		if errors.Is(err, exec.ErrNotFound) {
			r.Warnings = append(r.Warnings, noManager)
			return
		}
		switch {
		case err == nil:
		case strings.Contains(err.Error(), "connect to bus"): // each step would say so; some do their part all the same
			if !slices.Contains(r.Warnings, noManager) {
				r.Warnings = append(r.Warnings, noManager)
			}
		default:
			r.Warnings = append(r.Warnings, fmt.Sprintf("systemctl --user %s: %v", strings.Join(step, " "), err))
		}
	}
}

func (s Service) call(ctx context.Context, args ...string) (string, error) {
	args = append([]string{"--user"}, args...)
	if s.Manager != nil {
		return s.Manager(ctx, args...)
	}
	ctx, cancel := context.WithTimeout(ctx, managerTime)
	defer cancel()
	c := exec.CommandContext(ctx, "systemctl", args...)
	var out, said bytes.Buffer
	c.Stdout, c.Stderr, c.WaitDelay = &out, &said, time.Second
	if err := c.Run(); err != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n")
		if first = termsafe.Cut(termsafe.Clean(first), 400); first == "" {
			return "", err
		}
		return "", fmt.Errorf("%w: %s", err, first)
	}
	return out.String(), nil
}
