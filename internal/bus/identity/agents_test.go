package identity

import (
	"slices"
	"testing"

	"tutti/internal/platform/proc"
)

func TestWrappers(t *testing.T) {
	t.Parallel()
	tmux, shell, login := process(10, "/usr/bin/tmux", "tmux", "-L", "x"), process(20, "/bin/bash", "-bash"), process(1, "/sbin/init")
	node := process(30, "/usr/bin/node", "node", "/opt/node_modules/@openai/codex/bin/codex.js")
	native := process(31, "/opt/codex/codex", "codex")
	script := process(40, "/bin/bash", "bash", "/home/ana/bin/start-codex")
	claude := process(50, "/opt/claude", "claude")
	call := process(60, "/bin/bash", "bash", "-c", "codex exec 'x'")
	for name, c := range map[string]struct {
		above []Process
		want  []int
	}{
		"no agent":                      {[]Process{shell, tmux, login}, nil},
		"a program of its user's":       {[]Process{script, tmux, login}, []int{40}},
		"the program itself":            {[]Process{native, tmux, login}, nil},
		"the script of its package":     {[]Process{native, node, tmux, login}, []int{30}},
		"in a shell":                    {[]Process{native, node, shell, tmux, login}, []int{30}},
		"through a script of its user":  {[]Process{native, node, script, tmux, login}, []int{30, 40}},
		"below another agent":           {[]Process{native, node, call, claude, tmux, login}, []int{30, 60}},
		"below another one of its kind": {[]Process{native, call, node, tmux, login}, []int{60}},
		"not known, below another one":  {[]Process{script, call, claude, shell}, []int{40, 60}},
		"a tool of it":                  {[]Process{call, native, node, tmux, login}, []int{30}},
	} {
		f := facts().below(c.above...)
		var want []proc.ID
		for _, p := range c.above {
			if slices.Contains(c.want, p.ID.PID) {
				want = append(want, p.ID)
			}
		}
		if got := f.Wrappers("codex"); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
