package archtest

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// The pages of the documentation, by their paths below the root of the tree, each with the anchors of its headings.
type pages map[string]map[string]bool

// TestLinks: what README.md and the pages of docs/ link to is there, heading included, and no page is left that nothing
// links to.
func TestLinks(t *testing.T) {
	t.Parallel()
	docs, err := filepath.Glob(filepath.Join(root(t), "docs", "*.md"))
	if err != nil || len(docs) < 5 {
		t.Fatalf("pages of docs/: %d, %v", len(docs), err)
	}
	texts := map[string]string{}
	all := pages{}
	for _, file := range append(docs, filepath.Join(root(t), "README.md")) {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, err := filepath.Rel(root(t), file)
		if err != nil {
			t.Fatal(err)
		}
		name = filepath.ToSlash(name)
		texts[name], all[name] = string(raw), anchors(string(raw))
	}
	exists := func(name string) bool {
		_, err := os.Stat(filepath.Join(root(t), filepath.FromSlash(name)))
		return err == nil
	}
	linked := map[string]bool{"README.md": true}
	for name, text := range texts {
		targets, faults := all.links(name, text, exists)
		for _, fault := range faults {
			t.Error(fault)
		}
		for _, target := range targets {
			linked[target] = linked[target] || target != name
		}
	}
	for name := range texts {
		if !linked[name] {
			t.Errorf("%s: nothing links to it", name)
		}
	}
}

func TestLinksSelf(t *testing.T) {
	t.Parallel()
	all := pages{"docs/a.md": anchors("# The `a` page, at last\n## Twice\n## Twice\n```\n# no heading\n```\n"), "README.md": {}}
	exists := func(name string) bool { return name == "docs/a.md" || name == "LICENSE" }
	for link, want := range map[string]string{
		"a.md":                     "",
		"a.md#the-a-page-at-last":  "",
		"#twice":                   "",
		"a.md#twice-1":             "",
		"../LICENSE":               "",
		"https://example.org/x.md": "",
		"b.md":                     "docs/a.md: b.md is not there",
		"docs/a.md":                "docs/a.md: docs/a.md is not there",
		"a.md#no-heading":          "docs/a.md: a.md#no-heading: no such heading",
		"#twice-2":                 "docs/a.md: #twice-2: no such heading",
		"../../outside.md":         "docs/a.md: ../../outside.md leads out of the tree",
		"/docs/a.md":               "docs/a.md: /docs/a.md leads out of the tree",
	} {
		_, faults := all.links("docs/a.md", "see [it]("+link+") there", exists)
		if got := strings.Join(faults, "; "); got != want {
			t.Errorf("link %s: got %q, want %q", link, got, want)
		}
	}
	const code = "`[x](gone.md)` and\n\n    [x](gone.md)\n\n```\n[x](gone.md)\n```\n"
	if targets, faults := all.links("docs/a.md", code, exists); len(targets)+len(faults) > 0 {
		t.Errorf("in code there are no links: got %q, %q", targets, faults)
	}
}

var (
	fenced  = regexp.MustCompile("(?ms)^```.*?^```$")
	quoted  = regexp.MustCompile("(?m)^    .*$|`[^`\n]*`")
	link    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	scheme  = regexp.MustCompile(`^[a-z]+:`)
)

// links is what a page links to in this tree, and what is wrong with that.
func (all pages) links(page, text string, exists func(string) bool) (targets, faults []string) {
	text = quoted.ReplaceAllString(fenced.ReplaceAllString(text, ""), "")
	for _, m := range link.FindAllStringSubmatch(text, -1) {
		if scheme.MatchString(m[1]) {
			continue // nothing is asked of the network
		}
		file, anchor, hasAnchor := strings.Cut(m[1], "#")
		target := page
		if file != "" {
			target = path.Join(path.Dir(page), file)
		}
		switch {
		case strings.HasPrefix(file, "/") || strings.HasPrefix(target, "../"):
			faults = append(faults, page+": "+m[1]+" leads out of the tree")
		case !exists(target):
			faults = append(faults, page+": "+m[1]+" is not there")
		case hasAnchor && !all[target][anchor]:
			faults = append(faults, page+": "+m[1]+": no such heading")
		default:
			targets = append(targets, target)
		}
	}
	slices.Sort(targets)
	return slices.Compact(targets), faults
}

// anchors names the headings of a page as the usual viewers of Markdown do: lower case, without punctuation, a dash for each
// space, and a number for each that has been there before.
func anchors(text string) map[string]bool {
	seen := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, m[1])
		free := name
		for n := 1; seen[free]; n++ {
			free = name + "-" + strconv.Itoa(n)
		}
		seen[free] = true
	}
	return seen
}
