package bus

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"tutti/internal/app"
	"tutti/internal/core/address"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/platform/atomicfile"
)

// schemaVersion is the only version of a bus that there is.
const schemaVersion = "1"

// A renaming is a name of an old release with its new one.
type renaming struct {
	From   string `json:"from"`
	To     string `json:"to"`
	Status string `json:"status"` // what was done
}

// A migration is the old names and their new ones.
type migration struct {
	OK        bool       `json:"ok"`
	Root      string     `json:"root"`   // the bus
	DryRun    bool       `json:"dryRun"` // nothing was changed
	Renamed   []renaming `json:"renamed"`
	Conflicts []renaming `json:"conflicts"` // names that are taken already
}

// An unmigrated says that there is nothing to migrate.
type unmigrated struct {
	OK      bool   `json:"ok"`
	From    string `json:"fromVersion"`
	To      string `json:"toVersion"`
	Changed bool   `json:"changed"` // false
	DryRun  bool   `json:"dryRun"`
	Root    string `json:"root"` // the bus
}

type storeMigrateOptions struct {
	From, To              string
	SanitizePaths, DryRun bool
}

// runStoreMigrate changes old names to the present form. Between versions there is nothing to do yet.
func runStoreMigrate(_ context.Context, c *kit.Call, opt *storeMigrateOptions) error {
	from, to := orDefault(opt.From, schemaVersion), orDefault(opt.To, schemaVersion)
	if from != schemaVersion || to != schemaVersion {
		return kit.Refuse("only version 1 exists", "store migrate: no way from version %s to %s", kit.Clean(from), kit.Clean(to))
	}
	root, err := c.App.Root()
	if err != nil {
		return err
	}
	c.SayRoot(root)
	if !opt.SanitizePaths {
		return migrated(c, opt, root.Path, from, to)
	}
	if !app.IsBus(root.Path) {
		_, err := c.ReadBus()
		return err
	}
	done, conflicts, err := sanitize(root.Path, opt.DryRun)
	if err != nil {
		return kit.FailIO("", err, "store migrate")
	}
	showRenamings(c, opt, root.Path, done, conflicts)
	if len(conflicts) > 0 {
		return kit.BadState("move one of the two away and run it again", "store migrate: %s taken already", kit.Plural(len(conflicts), "name"))
	}
	return nil
}

func orDefault(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func migrated(c *kit.Call, opt *storeMigrateOptions, root, from, to string) error {
	if !c.JSON {
		c.Line("nothing to do: version " + to + " is the present one")
		return nil
	}
	c.Result(unmigrated{true, from, to, false, opt.DryRun, root})
	return nil
}

// renamed lists the folders whose entries have names made from ids, and whether these are files with an ending.
var renamed = [...]struct {
	folder string
	files  bool
}{
	{"negotiations", false},
	{"inbox", false},
	{"outbox", false},
	{"contracts", false},
	{"engagements", false},
	{"policies", true},
	{"presence", true},
}

// sanitize renames the entries that old releases named with characters that a path should not have. A taken name is a conflict.
func sanitize(root string, dry bool) (done, conflicts []renaming, err error) {
	d, err := atomicfile.OpenDir(root)
	if err != nil {
		return nil, nil, err
	}
	defer d.Close()
	for _, r := range renamed {
		sub, err := d.Sub(r.folder)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return done, conflicts, err
		}
		names, err := sub.Names()
		for _, name := range names {
			if err != nil {
				break
			}
			var one renaming
			if one, err = renameOne(sub, name, r.files, dry); one.Status == "conflict" {
				conflicts = append(conflicts, inFolder(one, r.folder))
			} else if one.Status != "" {
				done = append(done, inFolder(one, r.folder))
			}
		}
		sub.Close()
		if err != nil {
			return done, conflicts, err
		}
	}
	return done, conflicts, nil
}

func inFolder(r renaming, folder string) renaming {
	return renaming{folder + "/" + r.From, folder + "/" + r.To, r.Status}
}

func renameOne(sub *atomicfile.Dir, name string, files, dry bool) (renaming, error) {
	want := address.Segment(name)
	if dot := strings.LastIndexByte(name, '.'); files && dot > 0 {
		want = address.Segment(name[:dot]) + name[dot:]
	}
	info, err := sub.Stat(name)
	if want == name || strings.HasPrefix(name, ".") || err != nil || info.Regular() != files {
		return renaming{}, nil
	}
	one := renaming{name, want, "renamed"}
	if _, err := sub.Stat(want); err == nil {
		one.Status = "conflict"
		return one, nil
	}
	if dry {
		one.Status = "would-rename"
		return one, nil
	}
	err = sub.Rename(name, sub, want, false)
	if errors.Is(err, fs.ErrExist) {
		one.Status, err = "conflict", nil
	}
	return one, err
}

func showRenamings(c *kit.Call, opt *storeMigrateOptions, root string, done, conflicts []renaming) {
	if c.JSON {
		c.Result(migration{len(conflicts) == 0, root, opt.DryRun, render.List(done), render.List(conflicts)})
		return
	}
	var rows [][]string
	for _, r := range append(done, conflicts...) {
		rows = append(rows, []string{r.Status, r.From, r.To})
	}
	c.Rows(rows)
	if len(rows) == 0 {
		c.Line("all names are in the present form")
	}
}
