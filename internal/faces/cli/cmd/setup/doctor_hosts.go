package setup

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/agents/setup"
	"tutti/internal/app"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/platform/smallfile"
)

// versionWithin is how long doctor waits for a program to say its version.
const versionWithin = 3 * time.Second

// checkHosts tells of agent programs whose settings start a tutti that is gone, or not this one. The settings are searched as
// text: to look closely is the work of host status.
func checkHosts(c *kit.Call, r *report) {
	home, err := c.App.Home()
	daemon, err2 := kit.FullPath()
	if err != nil || err2 != nil {
		return
	}
	self := filepath.Join(filepath.Dir(daemon), "tutti")
	place := driver.Site{Home: home, Env: os.Getenv}
	for _, d := range driver.All() {
		found, bad := 0, ""
		for _, path := range settingsOf(d, place) {
			for _, at := range namedIn(path) {
				found++
				if _, err := os.Stat(at); err != nil {
					bad = "starts " + c.App.Shown(at) + ", which is not there"
				} else if bad == "" && !app.SameFile(at, self) && !app.SameFile(at, daemon) {
					bad = "starts " + c.App.Shown(at) + ", which is another one than this"
				}
			}
		}
		switch {
		case bad != "":
			r.tell("hosts", d.Title+" "+bad, "tutti host setup --host "+d.Name)
		case found > 0:
			r.tell("hosts", d.Title+" starts this program", "")
		}
		if d.Hooks.Until > 0 {
			if version := setup.Version(versionWithin, d); !d.Hooks.Runs(version) {
				r.tell("hosts", d.Title+" "+kit.Clean(version)+" is not stopped by hooks: it runs none of ours", "end it yourself after a halt")
			}
		}
		checkReview(c, r, d, place)
	}
}

// settingsOf are the files of a user in which a program can name us.
func settingsOf(d *driver.Driver, p driver.Site) (paths []string) {
	for _, files := range [...][]driver.File{d.Servers.Files, d.Hooks.Files} {
		for _, f := range files {
			if f.Scope != driver.User {
				continue
			}
			for _, path := range f.All(p) {
				if !slices.Contains(paths, path) {
					paths = append(paths, path)
				}
			}
		}
	}
	return paths
}

// namedIn are the absolute paths in a file that lead to a program of our name.
func namedIn(path string) (all []string) {
	raw, _, err := smallfile.Read(path, maxSettings, smallfile.Follow)
	if err != nil {
		return nil
	}
	return pathsOfOurs(string(raw))
}

// maxSettings is the size from which settings are not searched; the largest seen have 2 MiB.
const maxSettings = 8 << 20

// pathsOfOurs finds them in the text of settings: each ends in /tutti, and begins behind a quote, or where there is none a blank.
func pathsOfOurs(text string) (all []string) {
	for line := range strings.Lines(text) {
		for from := 0; ; {
			i := strings.Index(line[from:], "/tutti")
			if i < 0 {
				break
			}
			end := from + i + len("/tutti")
			from = end
			if end < len(line) && !strings.ContainsRune(" \"'\\\r\n,]}", rune(line[end])) {
				continue // the name goes on
			}
			begin := 1 + strings.LastIndexAny(line[:end], `"'`)
			if begin == 0 || line[begin] != '/' {
				begin = 1 + strings.LastIndexAny(line[:end], " \t[=:\"'")
			}
			if at := line[begin:end]; filepath.IsAbs(at) && !slices.Contains(all, at) {
				all = append(all, at)
			}
		}
	}
	return all
}
