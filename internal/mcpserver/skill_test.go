package mcpserver

import (
	"regexp"
	"slices"
	"testing"

	"tutti/internal/driver"
	"tutti/internal/skill"
)

// Every tool that the skill names is one of ours, and those of every day are all named.
func TestSkillTools(t *testing.T) {
	t.Parallel()
	named := map[string]bool{}
	for _, form := range []driver.Form{driver.Markdown, driver.Command} {
		for _, p := range skill.Parts(form, nil) {
			for _, name := range regexp.MustCompile(`\b(tutti|h2a)_[a-z_]+`).FindAllString(p.Text, -1) {
				named[name] = true
			}
		}
	}
	for name := range named {
		if !slices.ContainsFunc(tools, func(t tool) bool { return t.name == name }) {
			t.Errorf("the skill names %s, which is no tool", name)
		}
	}
	for _, tool := range tools {
		if !tool.older && !named[tool.name] {
			t.Errorf("the skill does not name %s", tool.name)
		}
	}
}
