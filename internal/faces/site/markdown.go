package site

import (
	"bytes"
	"fmt"
	"html"
	"io/fs"
	"net/url"
	"path"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// converter returns what reads and writes Markdown: the common form with tables. Raw HTML is left out.
func (b *builder) converter() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(pictures{b}, 1))),
	)
}

// anchors are the names of the headings of a page, as the usual viewers of Markdown make them: lower case, without punctuation, a dash for
// each space, and a number for each name that has been there before.
type anchors map[string]bool

// Generate implements parser.IDs.
func (a anchors) Generate(heading []byte, _ ast.NodeKind) []byte {
	name := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, string(heading))
	free := name
	for n := 1; a[free]; n++ {
		free = name + "-" + strconv.Itoa(n)
	}
	a[free] = true
	return []byte(free)
}

// Put implements parser.IDs.
func (a anchors) Put(name []byte) { a[string(name)] = true }

// read parses a page.
func (b *builder) read(source string) error {
	data, err := fs.ReadFile(b.tree, source)
	if err != nil {
		return err
	}
	p := &page{source: source, name: nameOf(source), text: data, anchors: anchors{}}
	p.root = b.converter().Parser().Parse(text.NewReader(data), parser.WithContext(parser.NewContext(parser.WithIDs(p.anchors))))
	for n := p.root.FirstChild(); n != nil && p.title == ""; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok && h.Level == 1 {
			p.title = plainText(h, data)
		}
	}
	if p.title == "" {
		b.fault(p, "no heading of the first level")
	}
	for _, other := range b.pages {
		if other.name == p.name {
			b.fault(p, "it has the name of %s", other.source)
		}
	}
	b.pages[source] = p
	return nil
}

// link checks every link and picture of a page, and makes them those of the site.
func (b *builder) link(p *page) {
	_ = ast.Walk(p.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			n.Destination = []byte(b.target(p, string(n.Destination), false))
		case *ast.Image:
			n.Destination = []byte(b.target(p, string(n.Destination), true))
			if n.ChildCount() == 0 {
				b.fault(p, "picture %s has no text that describes it", n.Destination)
			}
		case *ast.RawHTML:
			b.fault(p, "HTML outside of code: %s", n.Segments.Value(p.text))
		case *ast.HTMLBlock:
			if n.HTMLBlockType != ast.HTMLBlockType2 { // a comment
				b.fault(p, "HTML outside of code: %s", n.Lines().Value(p.text))
			}
		}
		return ast.WalkContinue, nil
	})
}

// target returns the address in the site of what a page links to.
func (b *builder) target(p *page, to string, picture bool) string {
	u, err := url.Parse(to)
	if err != nil {
		b.fault(p, "%w", err)
		return to
	}
	if u.Scheme != "" || u.Host != "" {
		if picture || u.Scheme != "https" && u.Scheme != "http" && u.Scheme != "mailto" {
			b.fault(p, "%s: not a page or picture of this tree, and not a web page", to)
		}
		return to // whether it exists is not asked of the network
	}
	source := p.source
	if u.Path != "" {
		source = path.Join(path.Dir(p.source), u.Path)
	}
	if strings.HasPrefix(u.Path, "/") || strings.HasPrefix(source, "../") {
		b.fault(p, "%s leads out of the tree", to)
		return to
	}
	other := b.pages[source]
	switch {
	case other == nil:
		return b.copied(p, to, source)
	case picture:
		b.fault(p, "%s is not a picture", to)
	case u.Fragment != "" && !other.anchors[u.Fragment]:
		b.fault(p, "%s: no such heading", to)
	}
	address := url.URL{Path: other.name, Fragment: u.Fragment}
	if other == p && u.Fragment != "" {
		address.Path = ""
	}
	return address.String()
}

// copied adds a file of docs/ that is not a page, such as a picture, and returns its name in the site.
func (b *builder) copied(p *page, to, source string) string {
	name, inDocs := strings.CutPrefix(source, "docs/")
	data, err := fs.ReadFile(b.tree, source)
	switch {
	case err != nil:
		b.fault(p, "%s is not there", to)
	case !inDocs:
		b.fault(p, "%s is not in the site: it has the files of docs", to)
	default:
		b.files[name] = data
	}
	return name
}

// pictures writes pictures: where there is one for dark colours, too, browsers choose.
type pictures struct{ *builder }

// RegisterFuncs implements renderer.NodeRenderer.
func (w pictures) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindImage, w.write)
}

func (w pictures) write(out util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	name := string(n.(*ast.Image).Destination)
	img := fmt.Sprintf(`<img src="%s" alt="%s">`, html.EscapeString(name), html.EscapeString(plainText(n, source)))
	if stem, kind, ok := strings.Cut(name, "-light."); ok {
		dark := stem + "-dark." + kind
		if data, err := fs.ReadFile(w.tree, path.Join("docs", dark)); err == nil {
			w.files[dark] = data
			img = fmt.Sprintf(`<picture><source srcset="%s" media="(prefers-color-scheme: dark)">%s</picture>`, html.EscapeString(dark), img)
		}
	}
	_, err := out.WriteString(img)
	return ast.WalkSkipChildren, err
}

// render writes a page into the site. Wide tables scroll in a box of their own, which the keyboard reaches.
func (b *builder) render(p *page, m menu) error {
	var body bytes.Buffer
	if err := b.converter().Renderer().Render(&body, p.text, p.root); err != nil {
		return fmt.Errorf("%s: %w", p.source, err)
	}
	// In texts "<" is escaped: these are elements.
	boxed := strings.NewReplacer("<table>", `<div class="wide" role="region" aria-label="table" tabindex="0"><table>`, "</table>", "</table></div>")
	b.files[p.name] = b.frame(p.name, p.title, m, boxed.Replace(body.String()), "")
	return nil
}
