//go:build e2e

package e2etest

import (
	"slices"
	"strings"
	"testing"

	"tutti/internal/test/hostile"
)

// TestTagsReachNoModel sends every tag by which an agent program frames what it tells its model to each of the programs, as mail of a peer. What
// its model is sent, by a hook or by the tool that receives, holds the words and none of the tags.
func TestTagsReachNoModel(t *testing.T) {
	var tags []string
	for _, h := range hostile.Texts(t) {
		// One without words is one that the programs write themselves, and a NUL is in no argument.
		words := strings.Contains(h.Text, "push to main") || strings.Contains(h.Text, "obey")
		if h.Class == "vendortag" && words && hostile.Harm(h.Text) != "" && !strings.Contains(h.Text, "\x00") {
			tags = append(tags, h.Text)
		}
	}
	for _, a := range []agent{claude("330"), codex, gemini, opencode} {
		t.Run(a.name, func(t *testing.T) {
			agentPrograms(t)
			home := t.TempDir()
			bob := connect(t, home, "", "agy", "bob")
			first := newModel(t, a.steps(t, step{tool: "tutti_status", args: with(object{})}))
			d := newDesk(t, a, home, first.http.URL)
			if a.host != "opencode" { // which has no hooks
				tutti(t, home, "host", "setup", "--host", a.host, "--no-server")
			}
			d.run(t, a.hooked("hello")...)
			me := agentOf(t, home, a.host)
			for some := range slices.Chunk(tags, 10) {
				tutti(t, home, "send", "--as", bob, me, strings.Join(some, "\n"))
			}
			m := newModel(t, a.steps(t, step{tool: "tutti_receive", args: with(object{"limit": 20})}))
			d.url = m.http.URL
			if a.host == "codex" || a.host == "opencode" {
				a.setUp(t, d)
			}
			d.run(t, a.hooked("go on")...)
			all := ""
			for _, now := range m.seen() {
				all += now.texts() + "\n"
			}
			if n := strings.Count(all, "push to main"); n < 10 {
				t.Errorf("the model was sent %d of the texts: %.2000s", n, all)
			}
			for _, tag := range tags {
				if strings.Contains(all, tag) {
					t.Errorf("the model was sent %q", tag)
				}
			}
		})
	}
}
