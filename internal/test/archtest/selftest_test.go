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
	places := map[string]place{
		"leaf": {tier: 0}, "leaf2": {tier: 0}, "halt": {tier: 0}, "contract": {tier: 1}, "first": {tier: 3, line: 1}, "first2": {tier: 3, line: 1},
		"second": {tier: 3, line: 2}, "face": {tier: 6}, "web": {tier: 6, heavy: true}, "cmd/tutti": {tier: 7},
		"cmd/tuttid": {tier: 7, heavy: true}, "suite": {tier: 8, test: true},
	}
	tiers := func(g graph) []string { return checkTiers(g, places) }
	light := func(g graph) []string { return checkLight(g, places, []string{"cmd/tutti"}) }
	outside := func(g graph) []string { return checkOutside(g, places) }
	where := func(g graph) []string { return checkPlaces(g, places) }
	for _, c := range []struct {
		name  string
		rule  func(graph) []string
		lines []string
		want  []string // one regular expression a fault, none: the graph is fine
	}{
		{"down", tiers, []string{"tutti/internal/contract: tutti/internal/leaf fmt"}, nil},
		{"up", tiers, []string{"tutti/internal/leaf: tutti/internal/contract"}, []string{`leaf imports .*contract: tier 0 imports tier 1`}},
		{"sideways", tiers, []string{"tutti/internal/leaf: tutti/internal/leaf2"}, []string{`both stand in tier 0`}},
		{"second line on first", tiers, []string{"tutti/internal/second: tutti/internal/first"}, nil},
		{"first line on second", tiers, []string{"tutti/internal/first: tutti/internal/second"}, []string{`both stand in tier 3`}},
		{"first line on first", tiers, []string{"tutti/internal/first: tutti/internal/first2"}, []string{`both stand in tier 3`}},
		{"light on heavy", tiers, []string{"tutti/cmd/tutti: tutti/internal/web"}, []string{`light package may not import a heavy`}},
		{"heavy on heavy", tiers, []string{"tutti/cmd/tuttid: tutti/internal/web"}, nil},
		{"suite in a program", tiers, []string{"tutti/internal/face: tutti/internal/suite"}, []string{`for tests only`}},
		{"suite imports upwards", tiers, []string{"tutti/internal/suite: tutti/cmd/tuttid"}, nil},

		{"leaf on x/sys", outside, []string{"tutti/internal/leaf: golang.org/x/sys/unix os"}, nil},
		{"leaf on a module", outside, []string{"tutti/internal/leaf: golang.org/x/system"}, []string{`leaf imports golang.org/x/system`}},
		{"halt on x/sys", outside, []string{"tutti/internal/halt: golang.org/x/sys/unix"}, []string{`halt imports golang.org/x/sys/unix`}},

		{"light enough", light, []string{"tutti/cmd/tutti: tutti/internal/face", "tutti/internal/face: fmt crypto/ed25519"}, nil},
		{
			"chain through the standard library", light,
			[]string{"tutti/cmd/tutti: tutti/internal/face", "tutti/internal/face: expvar", "expvar: net/http", "net/http: crypto/tls"},
			[]string{
				`cmd/tutti links crypto/tls:\n\ttutti/cmd/tutti\n\t  tutti/internal/face\n\t    expvar\n\t      net/http\n\t        crypto/tls$`,
				`cmd/tutti links net/http:\n\ttutti/cmd/tutti\n\t  tutti/internal/face\n\t    expvar\n\t      net/http$`,
			},
		},
		{
			"shortest chain", light,
			[]string{"tutti/cmd/tutti: tutti/internal/face tutti/internal/leaf", "tutti/internal/face: tutti/internal/leaf", "tutti/internal/leaf: go.yaml.in/yaml/v3"},
			[]string{`cmd/tutti links go.yaml.in/yaml/v3:\n\ttutti/cmd/tutti\n\t  tutti/internal/leaf\n\t    go.yaml`},
		},
		{"a light package that no program links", light, []string{"tutti/internal/first: github.com/nats-io/nats.go"}, []string{`internal/first links github.com/nats-io`}},
		{"heavy may", light, []string{"tutti/cmd/tuttid: tutti/internal/web", "tutti/internal/web: net/http html/template modernc.org/sqlite"}, nil},

		{"unknown package", where, []string{"tutti/internal/stranger:"}, []string{`stranger stands in no row`}},
		{"known package", where, []string{"tutti/internal/leaf:"}, nil},
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
	g := invent("tutti/internal/halt:", "tutti/internal/proc:")
	g["tutti/internal/halt"].Doc = ""
	g["tutti/internal/proc"].Err = "does not parse"
	got := strings.Join(checkPlaces(g, table), "\n")
	want := "tutti/internal/halt has no package comment\ntutti/internal/proc: does not parse"
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
