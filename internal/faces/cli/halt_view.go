package cli

import (
	"encoding/json"
	"os"
	"path/filepath"

	"tutti/internal/attention/haltreport"
	"tutti/internal/core/canonjson"
	"tutti/internal/halt"
	"tutti/internal/sessions/agentproc"
)

// A haltView is what "tutti halt --json" prints.
type haltView struct {
	OK      bool   `json:"ok"`
	Halted  bool   `json:"halted"`
	Path    string `json:"path"`
	Reason  string `json:"reason,omitempty"`
	Since   string `json:"since,omitempty"`
	Watcher string `json:"watcher"`
	// Report is missing where it is not available; Unavailable says why.
	Report      *haltreport.Report `json:"report,omitempty"`
	Unavailable string             `json:"unavailable,omitempty"`
	Ended       []endedView        `json:"ended,omitempty"`
	Machines    json.RawMessage    `json:"machines,omitempty"`

	agents []agentproc.Agent
}

// sayHalted prints the report as text.
func (c *Call) sayHalted(v *haltView) {
	if c.json {
		return
	}
	if v.Report == nil {
		c.prose("", 0, "Halted. The report is not available: "+v.Unavailable+".")
		return
	}
	c.prose("", 0, v.Report.First())
	lines := v.Report.Lines()
	if len(lines) > 0 {
		c.line("")
	}
	for _, line := range lines {
		c.prose("", 4, Clean(line))
	}
	for _, p := range v.Report.Problems {
		c.warn("%s", Clean(p))
	}
}

// halfHalted is a halt without the program that reports: err says why that could not be started. The switch is set.
func (c *Call) halfHalted(err error, state halt.State, watcher string) error {
	v := haltView{OK: true, Halted: true, Path: state.Path, Watcher: watcher, Unavailable: Clean(err.Error())}
	if c.json {
		c.emit(haltJSON(state, watcher, nil, noMore(v.Unavailable)))
	} else {
		c.sayHalted(&v)
	}
	switch {
	case c.on("tailnet"):
		return alone(c.Verb.Name, err)
	case c.on("kill"):
		return failIO(installHint, nil, "--kill: nothing was ended: %s", Clean(err.Error()))
	}
	return nil
}

// unitFolders are where units of a user may be, below the home folder and elsewhere.
func unitFolders() []string {
	home, _ := os.UserHomeDir()
	config := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(config) {
		config = filepath.Join(home, ".config")
	}
	return []string{
		filepath.Join(config, "systemd/user"), filepath.Join(home, ".local/share/systemd/user"), "/etc/systemd/user", "/usr/local/lib/systemd/user",
		"/usr/lib/systemd/user", "/run/systemd/user",
	}
}

// watcherInstalled tells whether the units of the mail watcher exist.
func watcherInstalled() bool {
	for _, folder := range unitFolders() {
		for _, unit := range [...]string{watchPath, watchService} {
			if _, err := os.Lstat(filepath.Join(folder, unit)); err == nil {
				return true
			}
		}
	}
	return false
}

// noMore adds why there is no report.
func noMore(why string) func(o *canonjson.Object) {
	return func(o *canonjson.Object) { o.Str("unavailable", why) }
}

// An endedView is one agent that --kill was about, as JSON.
type endedView struct {
	CLI    string `json:"cli"`
	PID    int    `json:"pid"`
	Tools  int    `json:"tools"`  // processes of its tools
	Killed bool   `json:"killed"` // SIGKILL was needed
	Left   []int  `json:"left,omitempty"`
}
