package cmd

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"tutti/internal/agents/driver"
	"tutti/internal/agents/skill"
	"tutti/internal/faces/cli/cmd/setup"
	"tutti/internal/faces/cli/kit"
)

// What stands for something of the user's in the skill, where the parser is choosy.
var standsFor = strings.NewReplacer("--host HOST", "--host claude")

// Every command that the skill names is one that our parser takes: a model does what it reads.
func TestSkillCommands(t *testing.T) {
	t.Parallel()
	spans := regexp.MustCompile("`[^`\n]+`")
	n := 0
	for _, form := range []driver.Form{driver.Markdown, driver.Command} {
		for _, p := range skill.Parts(skill.Name, form, []string{"Gemini CLI"}) {
			for _, span := range spans.FindAllString(p.Text, -1) {
				words := quotedFields(standsFor.Replace(strings.Trim(span, "`")))
				if words[0] != "tutti" {
					continue
				}
				n++
				in, err := kit.Parse(verbs, kit.Tutti, "", words[1:])
				if err != nil || len(in.Warns) > 0 || in.Verb == nil && !in.Help {
					t.Errorf("%s: %s does not work: %v %v", p.Name, span, err, in.Warns)
				}
				if in.Verb != nil && in.Verb.Hidden {
					t.Errorf("%s: %s is hidden", p.Name, span)
				}
			}
			if at := regexp.MustCompile(`(?m)(^|[^/])\bh2a [a-z]+`).FindString(strings.ReplaceAll(p.Text, "of this page", "")); at != "" {
				t.Errorf("%s names a command of the older program: %q", p.Name, at)
			}
		}
	}
	if n < 40 {
		t.Errorf("only %d commands were found", n)
	}
}

// So is every command of the skills of the sessions, and each is there as soon as its verb is.
func TestSessionSkillCommands(t *testing.T) {
	t.Parallel()
	spans := regexp.MustCompile("`[^`\n]+`")
	stands := strings.NewReplacer("NAME", "api-creator-claude", "DIR", ".", "ID", "7gq2mzab", " …", "")
	n := 0
	for _, parts := range skill.Sessions(func(name string) bool { return verbs.Has(kit.Tutti, name) }) {
		for _, p := range parts {
			for _, span := range spans.FindAllString(p.Text, -1) {
				words := quotedFields(stands.Replace(strings.Trim(span, "`")))
				if words[0] != "tutti" || len(words) > 2 && !verbs.Has(kit.Tutti, words[1]+" "+words[2]) {
					continue
				}
				n++
				in, err := kit.Parse(verbs, kit.Tutti, "", words[1:])
				if err != nil || len(in.Warns) > 0 || in.Verb == nil && !in.Help {
					t.Errorf("%s: %s does not work: %v %v", p.Name, span, err, in.Warns)
				}
			}
		}
	}
	if n < 10 {
		t.Errorf("only %d commands were found", n)
	}
}

// Every route of the older skill is there as soon as its verbs are, and none is promised before.
func TestSkillRoutes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ route, verb string }{
		{"connect", "connect"},
		{"status", "status"},
		{"discover", "discover"},
		{"send", "send"},
		{"receive", "receive"},
		{"disconnect", "disconnect"},
		{"help", "help"},
		{"model", ""},
		{"conductor", "conductor"},
		{"conductor claim", "conductor claim"},
		{"conductor release", "conductor release"},
		{"conductor-launch-check", "conductor check"},
		{"conductor-launch", "conductor launch"},
		{"negotiate open", "negotiate open"},
		{"negotiate offer", "negotiate offer"},
		{"negotiate counter", "negotiate counter"},
		{"negotiate sign", "negotiate sign"},
		{"negotiate stabilize", "negotiate stabilize"},
		{"negotiate journal", "negotiate journal"},
	} {
		word, sub, _ := strings.Cut(c.verb, " ")
		can := c.verb == "" || verbs.Find(kit.Tutti, word, sub) != nil
		has := slices.ContainsFunc(skill.Routes[:], func(r skill.Route) bool { return r.Name == c.route })
		if can != has {
			t.Errorf("/h2a %s: is a route %v, and can be taken %v (skill.Routes)", c.route, has, can)
		}
	}
}

// The flag takes every program that is known, and completion shows them in the same order.
func TestSkillHosts(t *testing.T) {
	t.Parallel()
	var want []string
	for _, d := range driver.All() {
		want = append(want, d.Name)
	}
	if got := setup.SkillHosts; !slices.Equal(got, append(want, setup.EveryHost)) {
		t.Errorf("got %q, want %q and %s", got, want, setup.EveryHost)
	}
	if !slices.Equal(kit.HostNames, want) {
		t.Errorf("got %q, want %q", kit.HostNames, want)
	}
}
