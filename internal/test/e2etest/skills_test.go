//go:build e2e

package e2etest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tutti/internal/agents/driver"
)

// withSkill is a desk where the skill was put for all programs, as for a user who has them all.
func withSkill(t *testing.T, a agent, m *model) desk {
	t.Helper()
	d := newDesk(t, a, t.TempDir(), m.http.URL)
	for _, p := range driver.All() {
		tutti(t, d.home, "install-skills", "--host", p.Name)
	}
	return d
}

// skillLine is in the text that a model is offered before it reads the skill, skillRule in the skill alone.
const (
	skillLine = "Work with the other coding agents of your user (Claude Code"
	skillRule = "**Not live is not idle.**"
)

// TestAgentsListTheSkill: each program offers it to the model once, although most of them look into several folders.
func TestAgentsListTheSkill(t *testing.T) {
	for _, a := range agents {
		t.Run(a.name, func(t *testing.T) {
			agentPrograms(t)
			m := newModel(t, a.steps(t))
			d := withSkill(t, a, m)
			out := d.run(t, a.ask("what can you do?")...)
			first := string(m.seen()[0].raw)
			if got := strings.Count(first, skillLine); got != 1 || strings.Contains(first, skillRule) {
				t.Errorf("%d descriptions of the skill in the first request; its text: %v", got, strings.Contains(first, skillRule))
			}
			if strings.Contains(strings.ToLower(out), "conflict") {
				t.Errorf("it complains: %s", out)
			}
		})
	}
}

// TestAgentsReadTheSkill: by a tool of the model, and by what a user types. The text reaches the model as it is.
func TestAgentsReadTheSkill(t *testing.T) {
	for _, c := range []struct {
		agent   agent
		typed   string
		tool    string // the model calls it first
		args    object
		flags   []string
		reaches string // beside the text
	}{
		{agent: claude("197"), typed: "go", tool: "Skill", args: object{"skill": "tutti", "args": "status now"}, reaches: "status now"},
		{agent: claude("330"), typed: "go", tool: "Skill", args: object{"skill": "tutti", "args": "status now"}, reaches: "status now"},
		{agent: claude("197"), typed: "/tutti status now", reaches: "ARGUMENTS: status now"},
		{agent: claude("330"), typed: "/tutti status now", reaches: "ARGUMENTS: status now"},
		{agent: codex, typed: "$tutti status now", reaches: "$tutti status now"},
		{agent: gemini, typed: "go", tool: "activate_skill", args: object{"name": "tutti"}, flags: []string{"--approval-mode", "yolo"}},
		{agent: gemini, typed: "/tutti status now", reaches: `\n\n/tutti status now`},
		{agent: opencode, typed: "go", tool: "skill", args: object{"name": "tutti"}},
	} {
		t.Run(c.agent.name+" "+c.typed, func(t *testing.T) {
			// opencode lists the files of a skill with a program that it would fetch; another one brings it.
			rg := filepath.Join(agentPrograms(t), "node_modules/codex/vendor/x86_64-unknown-linux-musl/codex-path")
			t.Setenv("PATH", rg+string(filepath.ListSeparator)+os.Getenv("PATH"))
			m := newModel(t, func(now turn) move {
				if c.tool != "" && len(now.done) == 0 {
					return move{tool: c.tool, args: c.args}
				}
				return move{say: "done"}
			})
			d := withSkill(t, c.agent, m)
			d.run(t, append(c.flags, c.agent.ask(c.typed)...)...)
			turns := m.seen()
			last := string(turns[len(turns)-1].raw)
			whole, err := os.ReadFile(filepath.Join(d.home, ".claude/skills/tutti/SKILL.md"))
			if err != nil {
				t.Fatal(err)
			}
			steps := string(whole[strings.Index(string(whole), "### receive"):strings.Index(string(whole), "### model")])
			for _, want := range []string{skillRule, strings.Trim(compact(steps), `"`), c.reaches} {
				if !strings.Contains(unescaped(last), unescaped(want)) {
					t.Errorf("the model was not told: %s", want)
				}
			}
		})
	}
}

// unescaped makes texts comparable that programs write as JSON in different manners.
func unescaped(s string) string {
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&", `\u2014`, "—").Replace(s)
}
