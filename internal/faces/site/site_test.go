package site

import (
	"encoding/json"
	"io"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

// Every page of the project is in the site, its links lead somewhere, and docs/README.md lists it.
func TestProject(t *testing.T) {
	t.Parallel()
	files, err := Make(os.DirFS("../../.."), "")
	if err != nil {
		t.Fatal(err)
	}
	sources, err := sourcesOf(os.DirFS("../../.."))
	if err != nil || len(sources) < 30 {
		t.Fatalf("%d pages: %v", len(sources), err)
	}
	for _, source := range sources {
		if len(files[nameOf(source)]) == 0 {
			t.Errorf("%s is not in the site", source)
		}
	}
	carried := 0
	for _, data := range files {
		carried += len(data)
	}
	if carried > 3<<20 {
		t.Errorf("the documentation, which tutti-full carries, has %d bytes, more than 3 MiB", carried)
	}
	menu := string(files["index.html"])
	for _, want := range []string{"Start here", "Everyday", "Several machines and agreements", "Reference"} {
		if !strings.Contains(menu, "<h2>"+want+"</h2>") {
			t.Errorf("the menu has no section %q", want)
		}
	}
}

var (
	address = regexp.MustCompile(`(?:href|src|srcset|action)="([^"]*)"`)
	element = regexp.MustCompile(`<[a-z][^>]*>`)
	inline  = regexp.MustCompile(`^<style|^<script(?:>| [^s])|\s(?:style|on[a-z]+)=`)
	ids     = regexp.MustCompile(`\sid="([^"]*)"`)
)

// TestFiles: every reference in the site's files is a file of the site or a link to a web page. None needs a looser content policy.
func TestFiles(t *testing.T) {
	t.Parallel()
	files, err := Make(os.DirFS("../../.."), "/")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range files {
		if path.Ext(name) != ".html" {
			continue
		}
		own := map[string]bool{}
		for _, m := range ids.FindAllSubmatch(data, -1) {
			if own[string(m[1])] {
				t.Errorf("%s: the id %s is there twice", name, m[1])
			}
			own[string(m[1])] = true
		}
		for _, e := range element.FindAllString(string(data), -1) {
			if inline.MatchString(e) {
				t.Errorf("%s: %s", name, e)
			}
			m := address.FindStringSubmatch(e)
			if m == nil || m[1] == "/" || strings.HasPrefix(e, "<a ") && strings.HasPrefix(m[1], "https://") {
				continue
			}
			file, anchor, _ := strings.Cut(m[1], "#")
			if file != "" && files[file] == nil || file == "" && !own[anchor] {
				t.Errorf("%s: %s leads nowhere", name, e)
			}
		}
	}
}

// The index has an entry for each section, and its address leads there.
func TestIndex(t *testing.T) {
	t.Parallel()
	files, err := Make(os.DirFS("../../.."), "")
	if err != nil {
		t.Fatal(err)
	}
	text, ok := strings.CutPrefix(string(files["search-index.js"]), "const sections = ")
	if !ok {
		t.Fatalf("the index begins %.60q", files["search-index.js"])
	}
	var all []entry
	dec := json.NewDecoder(strings.NewReader(text))
	if err := dec.Decode(&all); err != nil {
		t.Fatal(err)
	}
	if rest, _ := io.ReadAll(dec.Buffered()); string(rest) != ";\n" {
		t.Errorf("the index ends %q", rest)
	}
	for _, e := range all {
		file, anchor, hasAnchor := strings.Cut(e.Address, "#")
		if !strings.Contains(string(files[file]), ` id="`+anchor+`"`) && hasAnchor || files[file] == nil {
			t.Errorf("the entry %s leads nowhere", e.Address)
		}
	}
	for address, words := range map[string]string{
		"index.html":                 " coding",
		"reference.html#tutti-halt":  " reason",
		"web.html#who-gets-in":       " rebinding",
		"dependencies.html#programs": " strace",
	} {
		found := false
		for _, e := range all {
			found = found || e.Address == address && strings.Contains(e.Words, words)
		}
		if !found {
			t.Errorf("no entry %s with the word%s", address, words)
		}
	}
}

// small is a tree that is in order, with the text of one page.
func small(text string) fstest.MapFS {
	tree := fstest.MapFS{}
	for name, data := range map[string]string{
		"README.md":           "# tutti\n",
		"LICENSE":             "MIT",
		"docs/README.md":      "# Documentation\n## Start\n| page |\n| --- |\n| [b](b.md) |\n| [a](a.md) |\n",
		"docs/a.md":           "# The `a` page, at last\n## Twice\n## Twice\n```\n# no heading\n```\n" + text,
		"docs/b.md":           "# B\n",
		"docs/p/x-light.png":  "light",
		"docs/p/x-dark.png":   "dark",
		"docs/p/unused.png":   "unused",
		"docs/p/y-light.webp": "light only",
	} {
		tree[name] = &fstest.MapFile{Data: []byte(data)}
	}
	return tree
}

func TestLinks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"[x](b.md)":                           "",
		"[x](a.md#the-a-page-at-last)":        "",
		"[x](#twice) [x](a.md#twice-1)":       "",
		"[x](../README.md)":                   "",
		"[x](https://example.org/x.md)":       "",
		"![x](p/x-light.png)":                 "",
		"`[x](gone.md)`":                      "",
		"[x](gone.md)":                        "docs/a.md: gone.md is not there",
		"[x](docs/a.md)":                      "docs/a.md: docs/a.md is not there",
		"[x](b.md#no-heading)":                "docs/a.md: b.md#no-heading: no such heading",
		"[x](#twice-2)":                       "docs/a.md: #twice-2: no such heading",
		"[x](#no-heading)":                    "docs/a.md: #no-heading: no such heading",
		"[x](../../outside.md)":               "docs/a.md: ../../outside.md leads out of the tree",
		"[x](/docs/a.md)":                     "docs/a.md: /docs/a.md leads out of the tree",
		"[x](../LICENSE)":                     "docs/a.md: ../LICENSE is not in the site: it has the files of docs",
		"[x](javascript:1)":                   "docs/a.md: javascript:1: not a page or picture of this tree, and not a web page",
		"[x][r]\n\n[r]: gone.md":              "docs/a.md: gone.md is not there",
		"![x](p/gone.png)":                    "docs/a.md: p/gone.png is not there",
		"![](p/x-light.png)":                  "docs/a.md: picture p/x-light.png has no text that describes it",
		"![x](b.md)":                          "docs/a.md: b.md is not a picture",
		"![x](https://example.org/x.png)":     "docs/a.md: https://example.org/x.png: not a page or picture of this tree, and not a web page",
		"a <b>bold</b>":                       "docs/a.md: HTML outside of code: <b>\ndocs/a.md: HTML outside of code: </b>",
		"<!-- a comment -->\n":                "",
		"\n<script>\nalert(1)\n</script>":     "docs/a.md: HTML outside of code: <script>\nalert(1)\n",
		"[x](gone.md) and ![x](p/gone.png)\n": "docs/a.md: gone.md is not there\ndocs/a.md: p/gone.png is not there",
	} {
		_, err := Make(small(text), "")
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

func TestUnlisted(t *testing.T) {
	t.Parallel()
	tree := small("")
	tree["docs/c.md"] = &fstest.MapFile{Data: []byte("# C\n")}
	if _, err := Make(tree, ""); err == nil || err.Error() != "docs/c.md: docs/README.md does not list it" {
		t.Errorf("a page that is not listed: %v", err)
	}
	delete(tree, "docs/README.md")
	if _, err := Make(tree, ""); err == nil {
		t.Error("no list of pages: no error")
	}
}

func TestPage(t *testing.T) {
	t.Parallel()
	files, err := Make(small("\n| n |\n| ---: |\n| 1 |\n\n[x](b.md) [x](../README.md#tutti) ![the \\<x\\> &amp; `&amp;`](p/x-light.png) ![y](p/y-light.webp)\n"), "/back")
	if err != nil {
		t.Fatal(err)
	}
	got := string(files["a.html"])
	for _, want := range []string{
		"<title>The a page, at last · tutti</title>",
		`<h1 id="the-a-page-at-last">`, `<h2 id="twice-1">`,
		`<td align="right">1</td>`,
		`<a href="b.html">x</a> <a href="index.html#tutti">x</a>`,
		`<source srcset="p/x-dark.png" media="(prefers-color-scheme: dark)"><img src="p/x-light.png" alt="the &lt;x&gt; &amp; &amp;amp;">`,
		`<img src="p/y-light.webp" alt="y">`,
		`<li><a href="a.html" aria-current="page">a</a></li>`, `<li><a href="b.html">b</a></li>`,
		`<a href="/back">your agents</a>`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	if files["p/x-dark.png"] == nil || files["p/unused.png"] != nil {
		t.Error("the site does not have exactly the pictures that it shows")
	}
	if strings.Contains(string(files["index.html"]), "tutti · tutti") {
		t.Error("the title of the first page has the name twice")
	}
}
