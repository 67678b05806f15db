// Package site turns README.md and the pages of docs/ into HTML for browsers. No program links it: "make build" puts the result into tutti-full,
// and "make site" into a folder.
//
// It promises that each link, anchor and picture leads to something that is there, and that docs/README.md lists each page. Otherwise [Make]
// returns an error, beside the files. A page has no inline script or style and loads nothing from other servers; only the search needs a script.
package site

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// The pages that have a part of their own.
const (
	front    = "README.md"      // the first page
	contents = "docs/README.md" // lists the others, in sections
	searcher = "search.html"    // the page that searches
)

//go:embed files/site.css
var style []byte

//go:embed files/search.js
var script []byte

//go:embed files/icon.svg
var icon []byte

// A page is one Markdown file.
type page struct {
	source  string // its path in the tree
	name    string // its file in the site
	title   string
	text    []byte
	root    ast.Node
	anchors anchors
}

// A builder makes a site and collects what is wrong with it.
type builder struct {
	tree   fs.FS
	back   string
	pages  map[string]*page // by source
	files  map[string][]byte
	faults []error
}

// Make makes the site of a tree and returns its files by name, also those with faults. back is the address of a page to which each page links; ""
// for none.
func Make(tree fs.FS, back string) (map[string][]byte, error) {
	b := &builder{tree: tree, back: back, pages: map[string]*page{}, files: map[string][]byte{}}
	sources, err := sourcesOf(tree)
	if err != nil {
		return nil, err
	}
	for _, source := range sources {
		if err := b.read(source); err != nil {
			return nil, err
		}
	}
	for _, required := range []string{front, contents} {
		if b.pages[required] == nil {
			return nil, fmt.Errorf("%s is missing", required)
		}
	}
	menu := menuOf(b.pages[contents])
	var index []entry
	for _, source := range inOrder(sources, menu) {
		p := b.pages[source]
		if strings.HasPrefix(source, "docs/") && source != contents && !menu.has(source) {
			b.fault(p, "%s does not list it", contents)
		}
		index = append(index, entriesOf(p)...)
	}
	for _, source := range sources { // after the index, which reads the titles: links change the tree of a page
		b.link(b.pages[source])
	}
	for _, source := range sources {
		if err := b.render(b.pages[source], menu); err != nil {
			return nil, err
		}
	}
	b.files[searcher] = b.frame(searcher, "Search", menu, searchBody, searchHead)
	data, err := json.Marshal(index)
	if err != nil {
		return nil, err
	}
	b.files["search-index.js"] = fmt.Appendf(nil, "const sections = %s;\n", data)
	b.files["search.js"] = script
	b.files["icon.svg"] = icon
	b.files["site.css"] = style
	return b.files, errors.Join(b.faults...)
}

// sourcesOf finds the pages of a tree.
func sourcesOf(tree fs.FS) ([]string, error) {
	top, err := fs.Glob(tree, "*.md")
	if err != nil {
		return nil, err
	}
	docs, err := fs.Glob(tree, "docs/*.md")
	return append(top, docs...), err
}

// nameOf is the file of a page in the site. Pages at the top of the tree get a prefix: there are two pages named security.
func nameOf(source string) string {
	base := strings.ToLower(strings.TrimSuffix(path.Base(source), ".md"))
	switch {
	case source == front:
		return "index.html"
	case source == contents:
		return "pages.html"
	case !strings.HasPrefix(source, "docs/"):
		base = "project-" + base
	}
	return base + ".html"
}

func (b *builder) fault(p *page, format string, args ...any) {
	b.faults = append(b.faults, fmt.Errorf("%s: %w", p.source, fmt.Errorf(format, args...)))
}

// inOrder sorts pages as the menu has them: the first page, the menu, the others.
func inOrder(sources []string, m menu) []string {
	order := []string{front, contents}
	for _, s := range m {
		for _, e := range s.pages {
			order = append(order, e.source)
		}
	}
	rank := func(source string) int {
		if i := slices.Index(order, source); i >= 0 {
			return i
		}
		return len(order)
	}
	sorted := slices.Clone(sources)
	slices.SortStableFunc(sorted, func(x, y string) int { return rank(x) - rank(y) })
	return sorted
}
