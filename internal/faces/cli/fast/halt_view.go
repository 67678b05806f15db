package fast

import (
	"encoding/json"
	"os"
	"path/filepath"

	"tutti/internal/attention/haltreport"
	"tutti/internal/core/canonjson"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/halt"
	"tutti/internal/sessions/agentproc"
)

// A HaltView is what "tutti halt --json" prints.
type HaltView struct {
	OK      bool   `json:"ok"`
	Halted  bool   `json:"halted"`
	Path    string `json:"path"`
	Reason  string `json:"reason,omitempty"`
	Since   string `json:"since,omitempty"`
	Watcher string `json:"watcher"`
	// Report is missing where it is not available; Unavailable says why.
	Report      *haltreport.Report `json:"report,omitempty"`
	Unavailable string             `json:"unavailable,omitempty"`
	Ended       []EndedView        `json:"ended,omitempty"`
	Machines    json.RawMessage    `json:"machines,omitempty"`

	// Agents are for --kill alone. Their command lines can hold prompts and keys.
	Agents []agentproc.Agent `json:"-"`
}

// SayHalted prints the report as text.
func SayHalted(c *kit.Call, v *HaltView) {
	if c.JSON {
		return
	}
	if v.Report == nil {
		c.Prose("", 0, "Halted. The report is not available: "+v.Unavailable+".")
		return
	}
	c.Prose("", 0, v.Report.First())
	lines := v.Report.Lines()
	if len(lines) > 0 {
		c.Line("")
	}
	for _, line := range lines {
		c.Prose("", 4, kit.Clean(line))
	}
	for _, p := range v.Report.Problems {
		c.Warn("%s", kit.Clean(p))
	}
}

// halfHalted is a halt without the program that reports: err says why that could not be started. The switch is set.
func halfHalted(c *kit.Call, err error, state halt.State, watcher string) error {
	v := HaltView{OK: true, Halted: true, Path: state.Path, Watcher: watcher, Unavailable: kit.Clean(err.Error())}
	if c.JSON {
		c.Emit(HaltJSON(state, watcher, nil, noMore(v.Unavailable)))
	} else {
		SayHalted(c, &v)
	}
	switch {
	case c.On("tailnet"):
		return alone(c.Verb.Name, err)
	case c.On("kill"):
		return kit.FailIO(kit.InstallHint, nil, "--kill: nothing was ended: %s", kit.Clean(err.Error()))
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

// An EndedView is one agent that --kill was about, as JSON.
type EndedView struct {
	CLI    string `json:"cli"`
	PID    int    `json:"pid"`
	Tools  int    `json:"tools"`  // processes of its tools
	Killed bool   `json:"killed"` // SIGKILL was needed
	Left   []int  `json:"left,omitempty"`
}
