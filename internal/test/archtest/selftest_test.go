package archtest

import (
	"regexp"
	"strings"
	"testing"
)

// invent makes a graph from lines "package: import import". Packages without a slash or dot in the first element that
// are not ours count as the standard library's.
func invent(lines ...string) graph {
	g := graph{}
	add := func(path string) *pkg {
		if g[path] == nil {
			first, _, _ := strings.Cut(path, "/")
			g[path] = &pkg{ImportPath: path, Doc: "Package documented.", GoFiles: []string{"a.go"}, Standard: !strings.Contains(first, ".") && first != module}
		}
		return g[path]
	}
	for _, l := range lines {
		name, imports, _ := strings.Cut(l, ":")
		p := add(name)
		for _, imp := range strings.Fields(imports) {
			add(imp)
			p.Imports = append(p.Imports, imp)
		}
	}
	return g
}

func TestRulesFindFaults(t *testing.T) {
	t.Parallel()
	plan := []group{
		{"halt", nil, nil},
		{"core", nil, nil},
		{"platform", []string{"core"}, []string{"golang.org/x/sys"}},
		{"faces", []string{"platform", "core"}, []string{"any"}},
		{"test", []string{"any"}, []string{"any"}},
	}
	grouped := func(g graph) []string { return checkGroups(g, plan) }
	hot := func(g graph) []string { return checkHot(g, []string{"cmd/tutti"}) }
	where := func(g graph) []string { return checkPlaces(g, plan) }
	for _, c := range []struct {
		name  string
		rule  func(graph) []string
		lines []string
		want  []string // one regular expression a fault, none: the graph is fine
	}{
		{"down", grouped, []string{"tutti/internal/platform/proc: tutti/internal/core/text fmt"}, nil},
		{"up", grouped, []string{"tutti/internal/core/text: tutti/internal/platform/proc"}, []string{`group core may not import group platform`}},
		{"within a group", grouped, []string{"tutti/internal/core/text: tutti/internal/core/address"}, nil},
		{"halt", grouped, []string{"tutti/internal/core/text: tutti/internal/halt"}, nil},
		{"halt on a group", grouped, []string{"tutti/internal/halt: tutti/internal/core/text"}, []string{`group halt may not import group core`}},
		{"test support in a program", grouped, []string{"tutti/cmd/tutti: tutti/internal/test/suite"}, []string{`for tests only`}},
		{"tests import everything", grouped, []string{"tutti/internal/test/suite: tutti/internal/faces/web golang.org/x/net"}, nil},
		{"a module that is allowed", grouped, []string{"tutti/internal/platform/proc: golang.org/x/sys/unix os"}, nil},
		{"a module that is not", grouped, []string{"tutti/internal/platform/proc: golang.org/x/system"}, []string{`imports golang.org/x/system`}},
		{"halt on x/sys", grouped, []string{"tutti/internal/halt: golang.org/x/sys/unix"}, []string{`halt imports golang.org/x/sys/unix`}},

		{"hot enough", hot, []string{"tutti/cmd/tutti: tutti/internal/faces/cli/fast", "tutti/internal/faces/cli/fast: fmt crypto/ed25519"}, nil},
		{
			"chain through the standard library", hot,
			[]string{"tutti/cmd/tutti: tutti/internal/faces/cli/fast", "tutti/internal/faces/cli/fast: expvar", "expvar: net/http", "net/http: crypto/tls"},
			[]string{
				`cmd/tutti links crypto/tls:\n\ttutti/cmd/tutti\n\t  tutti/internal/faces/cli/fast\n\t    expvar\n\t      net/http\n\t        crypto/tls$`,
				`cmd/tutti links net/http:\n\ttutti/cmd/tutti\n\t  tutti/internal/faces/cli/fast\n\t    expvar\n\t      net/http$`,
			},
		},
		{
			"shortest chain", hot,
			[]string{"tutti/cmd/tutti: tutti/internal/faces/cli/fast tutti/internal/core/text", "tutti/internal/faces/cli/fast: tutti/internal/core/text", "tutti/internal/core/text: go.yaml.in/yaml/v3"},
			[]string{`cmd/tutti links go.yaml.in/yaml/v3:\n\ttutti/cmd/tutti\n\t  tutti/internal/core/text\n\t    go.yaml`},
		},
		{"the other program may", hot, []string{"tutti/cmd/tutti-full: tutti/internal/faces/web", "tutti/internal/faces/web: net/http html/template modernc.org/sqlite"}, nil},

		{"stranger", where, []string{"tutti/internal/stranger:"}, []string{`stranger stands in no group`}},
		{"known package", where, []string{"tutti/internal/core/text:"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := c.rule(invent(c.lines...))
			if len(got) != len(c.want) {
				t.Fatalf("graph %q: got %d faults %q, want %d", c.lines, len(got), got, len(c.want))
			}
			for i, want := range c.want {
				if !regexp.MustCompile(want).MatchString(got[i]) {
					t.Errorf("graph %q: fault %d is %q, want a match of %q", c.lines, i, got[i], want)
				}
			}
		})
	}
}

func TestMissingCommentAndLoadErrorAreFound(t *testing.T) {
	t.Parallel()
	g := invent("tutti/internal/halt:", "tutti/internal/platform/proc:")
	g["tutti/internal/halt"].Doc = ""
	g["tutti/internal/platform/proc"].Err = "does not parse"
	got := strings.Join(checkPlaces(g, groups), "\n")
	want := "tutti/internal/halt has no package comment\ntutti/internal/platform/proc: does not parse"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestSkipsWithoutReasonAreFound(t *testing.T) {
	t.Parallel()
	const head = "package p\nfunc f(t *testing.T) { "
	for src, want := range map[string]int{
		`t.Skip()`:                          1,
		`t.SkipNow()`:                       1,
		`t.Skip("later")`:                   1,
		`tb.Skipf("%s", why)`:               0,
		`t.Skip("no tmux on this machine")`: 0,
		`t.Skip(why)`:                       0,
		`scanner.Skip()`:                    0,
	} {
		if got := skipsIn("p_test.go", []byte(head+src+" }")); len(got) != want {
			t.Errorf("%s: got %d faults %q, want %d", src, len(got), got, want)
		}
	}
}

func TestForbiddenWordsAreFound(t *testing.T) {
	t.Parallel()
	words := forbiddenWords("/srv/build/main")
	for _, c := range []struct {
		name, text string
		want       int
	}{
		{"a.md", "see /srv/build/other/x.go", 1},
		{"a.md", `path="/srv/build/main"`, 1},
		{"a.md", "the folder /mnt/srv/build/main is another one", 0},
		{"a.md", "fetched from pro" + "xy.example.org once", 1},
		{"a.sum", "fetched from pro" + "xy.example.org once", 0},
		{"a.go", "// TO" + "DO later", 1},
		{"a.md", "a TO" + "DO list", 0},
		{"a.bin", "/srv/build/main\x00", 0},
		{"a.go", "package a // fine", 0},
	} {
		if got := checkText(c.name, []byte(c.text), words); len(got) != c.want {
			t.Errorf("%s with %q: got %q, want %d faults", c.name, c.text, got, c.want)
		}
	}
	if got := checkText("a.md", []byte("put it below /tmp/x"), forbiddenWords("/tmp/main")); len(got) != 0 {
		t.Errorf("a checkout in /tmp: got %q, want none", got)
	}
}
