package server

import (
	"regexp"
	"slices"
	"testing"

	"tutti/internal/agents/driver"
	"tutti/internal/agents/skill"
)

// Every tool that the skill names exists, and of the tutti_ tools it names exactly those of the lean set.
func TestSkillTools(t *testing.T) {
	t.Parallel()
	named := map[string]bool{}
	for _, form := range []driver.Form{driver.Markdown, driver.Command} {
		for _, p := range skill.Parts(skill.Name, form, nil) {
			for _, name := range regexp.MustCompile(`\b(tutti|h2a)_[a-z_]+`).FindAllString(p.Text, -1) {
				named[name] = true
			}
		}
	}
	for name := range named {
		if !slices.ContainsFunc(tools, func(t tool) bool { return t.name == name }) {
			t.Errorf("the skill names %s, which is not a tool", name)
		}
	}
	for _, tool := range tools { // of the lean set, which most agents see
		if !tool.older && lean[tool.name] != named[tool.name] {
			t.Errorf("%s: lean %v, named by the skill %v", tool.name, lean[tool.name], named[tool.name])
		}
	}
}
