package setup

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/agents/setup"
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
		for _, path := range settingsOf(d, place, driver.User) {
			for _, at := range namedIn(path) {
				found++
				if _, err := os.Stat(at); err != nil {
					bad = "starts " + c.App.Shown(at) + ", which is not there"
				} else if bad == "" && !sameProgram(at, self) && !sameProgram(at, daemon) {
					bad = "starts " + c.App.Shown(at) + ", which is another one than this"
				}
			}
		}
		switch {
		case bad != "":
			r.tell("hosts", d.Title+" "+bad, "tutti host setup --host "+d.Name)
		case found > 0:
			r.tell("hosts", d.Title+" starts this program", "")
		case callable(d) && !connected(d, driver.Site{Home: home, Dir: c.App.WorkDir(), Env: os.Getenv}):
			r.tell("hosts", d.Title+" is not connected: messages and a halt do not reach it", "tutti host setup --host "+d.Name)
		}
		if d.Hooks.Until > 0 {
			if version := setup.Version(versionWithin, d); !d.Hooks.Runs(version) {
				r.tell("hosts", d.Title+" "+kit.Clean(version)+" is not stopped by hooks: it runs none of ours", "end it yourself after a halt")
			}
		}
		checkReview(c, r, d, place)
	}
}

// entries are what an entry of ours has, of the server or of a hook. The name alone may be that of a folder.
var entries = [][]byte{[]byte("mcp-serve"), []byte("tutti hook "), []byte("h2a hook "), []byte("tutti' hook "), []byte(`"tutti":`)}

// connected tells whether any settings have an entry of ours, also without a path, or whether there are none in which one could be.
func connected(d *driver.Driver, p driver.Site) bool {
	all := settingsOf(d, p, driver.User, driver.Project, driver.Local)
	return len(all) == 0 || slices.ContainsFunc(all, func(path string) bool {
		raw, _, err := smallfile.Read(path, maxSettings, smallfile.Follow)
		return err == nil && slices.ContainsFunc(entries, func(entry []byte) bool { return bytes.Contains(raw, entry) })
	})
}

// settingsOf are the files in which a program can name us.
func settingsOf(d *driver.Driver, p driver.Site, scopes ...driver.Scope) (paths []string) {
	for _, files := range [...][]driver.File{d.Servers.Files, d.Hooks.Files} {
		for _, f := range files {
			if !slices.Contains(scopes, f.Scope) {
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
			if key := strings.TrimLeft(strings.TrimLeft(line[end:], `"'`), " \t"); strings.HasPrefix(key, ":") || strings.HasPrefix(key, "]") && strings.HasPrefix(line, "[") {
				continue // a folder that has settings of its own
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
