package registry

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ dir, agent, want string }{
		{"/srv/landing_page/refer_landing_page", "claude", "landing-page-refer-landing-page-creator-claude"},
		{"/srv/x/a.b:c", "codex", "x-a-b-c-creator-codex"},
		{"/Alone", "agy", "alone-creator-agy"},
		{"/", "claude", "root-creator-claude"},
		{"/日本/語", "claude", "root-creator-claude"},
		{"/a//--b__/", "claude", "a-b-creator-claude"},
		{"/x/#(touch y);\n'\"", "claude", "x-touch-y-creator-claude"},
		{"/x/" + strings.Repeat("y", 300), "my tool", "x-" + strings.Repeat("y", 98) + "-creator-my-tool"},
		{"/x/y", "", "x-y-creator-custom"},
	} {
		got := Name(c.dir, c.agent, nil)
		if got != c.want {
			t.Errorf("Name(%q, %q) = %q, want %q", c.dir, c.agent, got, c.want)
		}
		if err := CheckName(got); err != nil {
			t.Errorf("Name(%q) = %q: %v", c.dir, got, err)
		}
	}
}

func TestNameCollisions(t *testing.T) {
	t.Parallel()
	have := map[string]string{}
	taken := func(name, cwd string) bool { at, ok := have[name]; return ok && at != cwd }
	form := regexp.MustCompile(`^x-a-b(-[0-9a-f]{6})?-creator-claude$`)
	for _, dir := range []string{"/one/x/a_b", "/two/x/a_b", "/one/x/a-b", "/one/x/a.b"} {
		name := Name(dir, "claude", taken)
		if !form.MatchString(name) {
			t.Errorf("%s is called %q", dir, name)
		}
		if at, ok := have[name]; ok {
			t.Errorf("%s and %s are both called %q", at, dir, name)
		}
		have[name] = dir
		if again := Name(dir, "claude", taken); again != name {
			t.Errorf("%s is called %q and then %q", dir, name, again)
		}
	}
	long := "/" + strings.Repeat("z", 200)
	all := func(string, string) bool { return true }
	if name := Name(long, "claude", all); CheckName(name) != nil {
		t.Errorf("with everything taken: %q", name)
	}
}

func TestNameFollowsLinks(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "real", "place"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "real", "place"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if got := Name(filepath.Join(dir, "link"), "claude", nil); got != "real-place-creator-claude" {
		t.Errorf("through a link: %q", got)
	}
}

func TestCheckName(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "a.b", "a:b", "-a", "_watch", "=a", "$1", "@1", "%1", "a b", "a\n", "a;", "#(x)", "é", "{x}", "a*", strings.Repeat("a", 129)} {
		if CheckName(bad) == nil {
			t.Errorf("CheckName(%q) took it", bad)
		}
	}
	for _, bad := range []string{"", "a/b", "../x", "a.b", strings.Repeat("a", 65)} {
		if ValidServer(bad) {
			t.Errorf("ValidServer(%q) took it", bad)
		}
	}
	if !ValidServer("agents_2-x") {
		t.Error("ValidServer refused a word")
	}
}

func TestPlace(t *testing.T) {
	t.Parallel()
	none := func(string) string { return "" }
	given := func(path string) func(string) string {
		return func(name string) string {
			if name == Variable {
				return path
			}
			return ""
		}
	}
	for _, c := range []struct {
		have       []string
		flag       string
		env        func(string) string
		want, note string
	}{
		{nil, "", none, ".hermes/agent-sessions.yaml", ""},
		{[]string{".mam/agent-sessions.yaml"}, "", none, ".mam/agent-sessions.yaml", ""},
		{[]string{".mam/agent-sessions.db"}, "", none, ".mam/agent-sessions.yaml", ""},
		{[]string{".mam/agent-sessions.yaml", ".hermes/jobs/x"}, "", none, ".mam/agent-sessions.yaml", ""},
		{[]string{".mam/agent-sessions.yaml", ".hermes/agent-sessions.yaml"}, "", none, ".hermes/agent-sessions.yaml", "two registries"},
		{[]string{".hermes/agent-sessions.yaml"}, "", given("else/where.yaml"), "else/where.yaml", ""},
		{nil, "flag.yaml", given("else/where.yaml"), "flag.yaml", ""},
	} {
		dir := t.TempDir()
		for _, f := range c.have {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, f)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, f), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, note := PathOf(dir, c.flag, c.env)
		if got != filepath.Join(dir, c.want) || !strings.Contains(note, c.note) || (c.note == "") != (note == "") {
			t.Errorf("with %v: %s (%s), want %s (%s)", c.have, got, note, c.want, c.note)
		}
	}
	if got, _ := PathOf("/x", "/abs/./y.yaml", none); got != "/abs/y.yaml" || Database(got) != "/abs/y.db" {
		t.Errorf("absolute: %s, %s", got, Database(got))
	}
}

// TestPathInRepository: below the folder with the registry, and in the other work trees of its repository, it is found; elsewhere it is not.
func TestPathInRepository(t *testing.T) {
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	make := func(path, text string) {
		t.Helper()
		path = filepath.Join(base, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	make(".hermes/agent-sessions.yaml", "")
	make("api/.git/objects/x", "")
	make("api/sub/deep/x", "")
	make("api/.git/worktrees/fix/commondir", "../..\n")
	make("api/.git/worktrees/fix/gitdir", filepath.Join(base, "api-fix", ".git")+"\n")
	make("api-fix/.git", "gitdir: "+filepath.Join(base, "api/.git/worktrees/fix")+"\n")
	make("api-fix/sub/deep/x", "")
	make("stranger/.git", "gitdir: "+filepath.Join(base, "api/.git/worktrees/fix")+"\n")
	none := func(string) string { return "" }
	path := func(dir string) string {
		got, _ := PathOf(filepath.Join(base, dir), "", none)
		rel, err := filepath.Rel(base, got)
		if err != nil {
			t.Fatal(err)
		}
		return rel
	}
	if got := path("api/sub"); got != "api/sub/.hermes/agent-sessions.yaml" { // that above the repository is another project's
		t.Errorf("without one: %s", got)
	}
	make("api/.hermes/agent-sessions.yaml", "")
	for dir, want := range map[string]string{
		"api": "api", "api/sub/deep": "api", "api-fix": "api", "api-fix/sub/deep": "api", "stranger": "stranger",
	} {
		if got := path(dir); got != want+"/.hermes/agent-sessions.yaml" {
			t.Errorf("%s: %s", dir, got)
		}
	}
	make("api-fix/sub/.mam/agent-sessions.yaml", "")
	if got := path("api-fix/sub/deep"); got != "api-fix/sub/.mam/agent-sessions.yaml" {
		t.Errorf("the nearest one: %s", got)
	}
}
