package setup

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tutti/internal/app"
	"tutti/internal/app/config"
	"tutti/internal/app/full"
	"tutti/internal/core/canonjson"
	"tutti/internal/faces/cli/cmd/status"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/store"
	"tutti/internal/store/filestore"
)

// askTime bounds the question to tutti-full; it answers in milliseconds.
const askTime = 2 * time.Second

func countInstances(ctx context.Context, path string) (n int) {
	s, err := filestore.Open(path, filestore.Options{ReadOnly: true, AllowVersionMismatch: true})
	if err != nil {
		return 0
	}
	defer s.Close()
	for _, err := range s.Read(ctx, store.Key{Kind: store.Instances}, "") {
		if err == nil {
			n++
		}
	}
	return n
}

// checkPrograms looks at the two programs and at what the shell finds under our names.
func checkPrograms(ctx context.Context, c *kit.Call, r *report) {
	daemon, err := kit.FullPath()
	if err != nil {
		r.tell("programs", err.Error(), kit.InstallHint)
		return
	}
	self := filepath.Join(filepath.Dir(daemon), "tutti") // the names lead there; what runs here is mostly tutti-full
	r.tell("programs", c.App.Shown(self)+" "+kit.Version+" (build "+kit.BuildID()+")", "")
	build, err := kit.BuildID(), error(nil)
	if real, e := os.Executable(); e != nil || real != daemon { // the program that runs is not the one in that place
		build, err = askBuild(ctx, daemon)
	}
	switch {
	case err != nil:
		r.tell("programs", "tutti-full does not answer: "+err.Error(), kit.InstallHint)
	case build != kit.BuildID():
		r.tell("programs", "tutti-full is of another build: "+build, kit.InstallHint)
	default:
		r.tell("programs", c.App.Shown(daemon)+" is of the same build", "")
	}
	checkNames(c, r, self)
}

// askBuild asks a tutti-full for its build.
func askBuild(ctx context.Context, daemon string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, daemon, "version", "--json")
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return "", err
	}
	raw, _ := canonjson.Get(out, "build")
	build, _ := canonjson.String(raw)
	return build, nil
}

// checkNames says which of our names lead elsewhere or nowhere.
func checkNames(c *kit.Call, r *report, self string) {
	var missing, others []string
	for _, name := range append([]string{"tutti"}, linkNames(c)...) {
		path := kit.FirstInPath(name)
		if path == "" {
			missing = append(missing, name)
			continue
		}
		if real, err := filepath.EvalSymlinks(path); err != nil || !sameProgram(real, self) {
			others = append(others, path)
		}
	}
	if len(missing) > 0 {
		r.tell("names", "not in PATH: "+strings.Join(missing, ", "), namesCure(c, missing))
	}
	if len(others) > 0 {
		r.tell("names", "another program than this one: "+strings.Join(others, ", "), "put the folder of tutti first in PATH, or remove them")
	}
	if len(missing)+len(others) == 0 {
		r.tell("names", "all lead here", "")
	}
}

// namesCure says how names come into PATH. Where install has put them it is only the folder that is missing there.
func namesCure(c *kit.Call, names []string) string {
	home, err := c.App.Home()
	if err != nil {
		return kit.InstallHint
	}
	dir := filepath.Join(home, ".local/bin")
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return `"tutti install" puts them there`
		}
	}
	return "they are in " + c.App.Shown(dir) + "; " + pathLine(c, dir)
}

// checkSystem looks at the kernel's watcher and at the cache.
func checkSystem(c *kit.Call, r *report) {
	home, err := c.App.Home()
	if err != nil {
		r.tell("home", err.Error(), "export HOME")
		return
	}
	if err := app.WatcherFault(home); err != nil {
		r.tell("watcher", "none is to be had, so everything is looked at now and then: "+err.Error(),
			"sysctl fs.inotify.max_user_instances fs.inotify.max_user_watches")
	} else {
		r.tell("watcher", "changes are noticed at once", "")
	}
	cache, err := c.App.CacheDir()
	if err != nil {
		return
	}
	info, err := os.Lstat(cache)
	switch {
	case os.IsNotExist(err):
		r.tell("cache", c.App.Shown(cache)+" (not made yet)", "")
	case err != nil:
		r.tell("cache", err.Error(), "it may be removed at any time: rm -r "+app.QuoteArg(cache))
	case !info.IsDir() || info.Mode().Perm()&0o077 != 0 || int(info.Sys().(*syscall.Stat_t).Uid) != os.Geteuid():
		r.tell("cache", c.App.Shown(cache)+" is not a folder of yours that only you can enter; it is not used", "chmod 700 "+app.QuoteArg(cache))
	default:
		r.tell("cache", c.App.Shown(cache), "")
	}
}

// checkSettings shows what counts, and where each value came from. A file that cannot be understood fails the check: verbs
// that need a rule from it refuse to work. Where there is no tutti-full that could show them, only those rules are looked at.
func checkSettings(c *kit.Call, r *report) {
	all, err := full.Effective(c.App)
	if err != nil {
		r.add(false, "settings", err.Error(), kit.HintOf(err))
		return
	}
	if _, err := status.Keys(c.App); err != nil { // only top needs them
		r.add(false, "settings", err.Error(), kit.HintOf(err))
	}
	usual := 0
	for _, s := range all {
		if s.From == config.UsualValue && !c.Verbose && !c.JSON {
			usual++
			continue
		}
		r.tell("settings", s.Name+" = "+s.Value+" ("+s.From+")", "")
	}
	if usual > 0 {
		r.tell("settings", kit.Plural(usual, "default")+" in force; --verbose lists them", "")
	}
}
