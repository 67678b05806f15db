package overview

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tutti/internal/comms/exchange"
	"tutti/internal/comms/protocol"
	"tutti/internal/platform/smallfile"
)

// A box is a mailbox while it is looked at.
type box struct {
	Project
	warnings []Warning
	archive  []head // of the project, by the names that the messages had
}

func (b *box) warn(code, text string) {
	b.warnings = append(b.warnings, Warning{b.Name, code, text})
}

// find lists the mailboxes, each once, by path.
func find(o *Options) (boxes []*box, warnings []Warning) {
	var paths []string
	if len(o.Globs) == 0 {
		for _, root := range o.Office.ProjectRoots() {
			paths = append(paths, below(root)...)
		}
	}
	for _, glob := range o.Globs {
		found, err := filepath.Glob(Pattern(o.Office.Home, glob))
		if err != nil {
			warnings = append(warnings, Warning{"", WarnPattern, "the pattern " + glob + " is malformed"})
		}
		paths = append(paths, found...)
	}
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		info, err := os.Lstat(path)
		if err != nil || info.Mode().IsRegular() {
			continue // a link is reported as trouble when it is opened
		}
		boxes = append(boxes, &box{Project: Project{Project: Owner(path), Mailbox: path}})
	}
	return boxes, warnings
}

// below lists the mailboxes of the folders in a project folder. It is quicker than a pattern, and as a pattern would be it is
// silent about what it may not read.
func below(root string) []string {
	entries, err := smallfile.ReadDir(root, smallfile.Follow)
	if err != nil {
		return nil
	}
	var paths []string
	for _, e := range entries {
		if e.Type().IsRegular() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		path := filepath.Join(root, e.Name(), protocol.MailboxFolder)
		if _, err := os.Lstat(path); err == nil {
			paths = append(paths, path)
		}
	}
	return paths
}

// Pattern makes a pattern as users write it one of absolute paths.
func Pattern(home, glob string) string {
	switch {
	case glob == "~" || strings.HasPrefix(glob, "~/"):
		glob = home + glob[1:]
	case !filepath.IsAbs(glob):
		if abs, err := filepath.Abs(glob); err == nil {
			glob = abs
		}
	}
	return filepath.Clean(glob)
}

// Literal is a pattern that means one path, whatever characters it has.
func Literal(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// Owner is the project that a mailbox belongs to by its path: the folder that holds inbox/from-agents. A mailbox of another
// name, which a pattern may find, is taken for its own project.
func Owner(mailbox string) exchange.Project {
	path, ok := strings.CutSuffix(mailbox, "/"+protocol.MailboxFolder)
	if !ok || path == "" {
		path = mailbox
	}
	return exchange.Project{Name: filepath.Base(path), Path: path}
}
