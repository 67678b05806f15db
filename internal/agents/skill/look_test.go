package skill

import (
	"os"
	"path/filepath"
	"testing"

	"tutti/internal/agents/driver"
)

// TestLook: Look distinguishes an installed skill, one of another release, an edited one and none. It changes nothing.
func TestLook(t *testing.T) {
	t.Parallel()
	now := Parts(Name, driver.Markdown, nil)
	earlier := sealed(Name, "of an earlier release\n", "<!-- ", " -->")
	link := func(t *testing.T, q *Request, text string) {
		t.Helper()
		to := filepath.Dir(q.write(t, "shared/tutti/SKILL.md", text))
		q.write(t, "shared/tutti/references/model.md", now[0].Text)
		if err := os.MkdirAll(filepath.Join(q.Place.Home, ".claude/skills"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, filepath.Join(q.Place.Home, ".claude/skills/tutti")); err != nil {
			t.Fatal(err)
		}
	}
	const skill, beside = ".claude/skills/tutti/SKILL.md", ".claude/skills/tutti/references/model.md"
	for _, c := range []struct {
		name string
		make func(t *testing.T, q *Request)
		want State
	}{
		{"nothing", func(*testing.T, *Request) {}, Written},
		{"as it should be", func(_ *testing.T, q *Request) { Install(q) }, Same},
		{"of an earlier release", func(t *testing.T, q *Request) { t.Helper(); q.write(t, skill, earlier) }, Updated},
		{"edited", func(t *testing.T, q *Request) { t.Helper(); q.write(t, skill, now[1].Text+"mine\n") }, Left},
		{"what it names is gone", func(t *testing.T, q *Request) { t.Helper(); q.write(t, skill, now[1].Text) }, Updated},
		{"what it names is old", func(t *testing.T, q *Request) {
			t.Helper()
			q.write(t, skill, now[1].Text)
			q.write(t, beside, earlier)
		}, Updated},
		{"what it names is edited", func(t *testing.T, q *Request) {
			t.Helper()
			q.write(t, skill, now[1].Text)
			q.write(t, beside, "mine")
		}, Left},
		{"a link", func(t *testing.T, q *Request) { t.Helper(); link(t, q, now[1].Text) }, Same},
		{"a link to an earlier one", func(t *testing.T, q *Request) { t.Helper(); link(t, q, earlier) }, Updated},
		{"a link to an edited one", func(t *testing.T, q *Request) { t.Helper(); link(t, q, "mine") }, Left},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			q := request(t, "claude")
			c.make(t, q)
			before := files(t, q.Place.Home)
			got := Look(q)
			if len(got) != 1 || got[0].State != c.want || got[0].Path != filepath.Join(q.Place.Home, skill) {
				t.Errorf("got %+v, want %s", got, c.want)
			}
			if after := files(t, q.Place.Home); len(after) != len(before) {
				t.Errorf("there is %q now", after)
			}
			if Install(q); c.want != Left {
				if got := Look(q); c.name != "a link to an earlier one" && got[0].State != Same {
					t.Errorf("after Install: %+v", got)
				}
			}
		})
	}
	q := request(t, "codex", "gemini")
	if got := Look(q); len(got) != 1 || got[0].Path != filepath.Join(q.Place.Home, ".agents/skills/tutti/SKILL.md") {
		t.Errorf("of two programs: %+v", got)
	}
	old := q.write(t, ".codex/skills/tutti/SKILL.md", earlier)
	Install(q)
	q.write(t, ".codex/skills/tutti/SKILL.md", earlier)
	if got := Look(q); len(got) != 2 || got[0].State != Same || got[1].Path != old || got[1].State != Updated {
		t.Errorf("with a folder of old: %+v", got)
	}
}
