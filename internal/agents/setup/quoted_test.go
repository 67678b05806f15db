package setup

import (
	"os/exec"
	"strings"
	"testing"

	"tutti/internal/agents/driver"
)

// TestPluginQuotes gives the commands of a hook to a shell: whatever an id and a root hold is one word, and runs nothing.
func TestPluginQuotes(t *testing.T) {
	t.Parallel()
	claude, _ := driver.Get("claude")
	const id, root = `claude:a'; echo ran; '$(echo ran):1`, "/srv/`echo ran` \"x\" & y"
	p := PluginFor(claude, id, "paused", root)
	for command, want := range map[string]string{
		p.Record:  "drumbeat|record|--instance|" + id + "|--status|paused|--command|claude -c|--resume-command|claude -c|--tmux-session||--tmux-pane||--root|" + root + "|",
		p.Receive: "drive|receive|--to|" + id + "|--stdin|--ignore-non-drive|--root|" + root + "|",
		p.Poll:    "drumbeat|scan|--root|" + root + "|",
	} {
		c := exec.Command("sh", "-c", `h2a() { printf '%s|' "$@"; }; tmux() { :; }; `+command)
		c.Env = []string{"PATH=/usr/bin:/bin"}
		if out, err := c.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("%s\ngot  %s, %v\nwant %s", command, out, err, want)
		}
	}
}
