package site

import (
	"fmt"
	"html"
	"path"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// A menu is the sections of docs/README.md.
type menu []section

type section struct {
	title string
	pages []listed
}

// A listed page has the title that docs/README.md gives it.
type listed struct{ source, title string }

func (m menu) has(source string) bool {
	for _, s := range m {
		for _, l := range s.pages {
			if l.source == source {
				return true
			}
		}
	}
	return false
}

// menuOf reads the sections of the list of pages: its headings of the second level, and the links below each.
func menuOf(p *page) (m menu) {
	_ = ast.Walk(p.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			if n.Level == 2 {
				m = append(m, section{title: plainText(n, p.text)})
			}
		case *ast.Link:
			file, _, _ := strings.Cut(string(n.Destination), "#")
			if s := len(m) - 1; s >= 0 && path.Ext(file) == ".md" {
				m[s].pages = append(m[s].pages, listed{path.Join(path.Dir(p.source), file), plainText(n, p.text)})
			}
		}
		return ast.WalkContinue, nil
	})
	return m
}

// frame puts a body between the head and the menu. The menu is below the text, where a phone shows it; a wide screen shows it beside the text.
// No heading can have an id that begins with a dot.
func (b *builder) frame(name, title string, m menu, body, head string) []byte {
	var items strings.Builder
	item := func(to, label string) {
		current := ""
		if to == name {
			current = ` aria-current="page"`
		}
		fmt.Fprintf(&items, "<li><a href=\"%s\"%s>%s</a></li>\n", to, current, html.EscapeString(label))
	}
	for _, s := range m {
		fmt.Fprintf(&items, "<h2>%s</h2>\n<ul>\n", html.EscapeString(s.title))
		for _, l := range s.pages {
			item(nameOf(l.source), l.title)
		}
		items.WriteString("</ul>\n")
	}
	back := ""
	if b.back != "" {
		back = fmt.Sprintf(`<a href="%s">your agents</a>`, html.EscapeString(b.back))
	}
	full := title + " · tutti"
	if title == "tutti" {
		full = title
	}
	return fmt.Appendf(nil, layout, html.EscapeString(full), head, back, body, items.String())
}

// layout has the title, more of the head, the way back, the body and the menu. Where pages are served with a policy of their own, both apply.
const layout = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>%s</title>
<link rel="icon" href="icon.svg">
<link rel="stylesheet" href="site.css">
%s</head>
<body>
<a class="skip" href="#.text">to the text</a>
<header>
<a class="brand" href="index.html">tutti</a>
<a class="narrow" href="#.menu">pages</a>
%s
<form role="search" action="search.html"><input type="search" name="q" aria-label="Search" placeholder="Search" autocomplete="off" maxlength="200">
<button>Search</button></form>
</header>
<main id=".text">
%s</main>
<nav id=".menu" aria-label="pages">
<p><a href="pages.html">all pages</a></p>
%s</nav>
</body>
</html>
`

const searchHead = `<script src="search-index.js" defer></script>
<script src="search.js" defer></script>
`

const searchBody = `<h1>Search</h1>
<noscript><p>The search needs JavaScript. <a href="pages.html">All pages</a> can be read without it.</p></noscript>
<p id=".said" role="status" aria-live="polite"></p>
<ol id=".found"></ol>
`
