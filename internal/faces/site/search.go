package site

import (
	"html"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/util"
)

// An entry of the index of the search is a section of a page. It has each word once: that is half the size of the text.
type entry struct {
	Address string `json:"a"`
	Page    string `json:"p"`
	Heading string `json:"h"`
	Begin   string `json:"b"` // how its first paragraph begins
	Words   string `json:"w"` // lower case, sorted, each with a space before it
}

// beginLength is how much of a section a result shows, in bytes.
const beginLength = 160

// entriesOf makes an entry of each section of a page.
func entriesOf(p *page) (all []entry) {
	now := entry{Address: p.name, Page: p.title, Heading: p.title}
	var words []string
	end := func() {
		now.Words = distinct(append(words, now.Heading))
		all = append(all, now)
	}
	for n := p.root.FirstChild(); n != nil; n = n.NextSibling() {
		text := plainText(n, p.text)
		h, isHeading := n.(*ast.Heading)
		switch {
		case isHeading && h.Level > 1:
			end()
			id, _ := h.AttributeString("id")
			now = entry{Address: p.name + "#" + string(id.([]byte)), Page: p.title, Heading: text}
			words = nil
		case !isHeading:
			words = append(words, text)
			if now.Begin == "" && n.Kind() == ast.KindParagraph {
				now.Begin = shortened(text)
			}
		}
	}
	end()
	return all
}

// distinct returns the words of texts as an entry has them.
func distinct(texts []string) string {
	seen := map[string]bool{}
	for _, t := range texts {
		for _, w := range strings.FieldsFunc(strings.ToLower(t), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			seen[w] = true
		}
	}
	var b strings.Builder
	for _, w := range slices.Sorted(maps.Keys(seen)) {
		b.WriteString(" " + w)
	}
	return b.String()
}

func shortened(text string) string {
	if len(text) <= beginLength {
		return text
	}
	cut := strings.LastIndexByte(text[:beginLength], ' ')
	if cut < 0 {
		return ""
	}
	return text[:cut] + " …"
}

// plainText is the text of an element, on one line.
func plainText(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if n.Type() == ast.TypeBlock {
			b.WriteByte(' ') // cells and paragraphs are apart
		}
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			part := n.Segment.Value(source)
			if !n.IsRaw() { // in code, backslashes and "&" are themselves
				part = []byte(html.UnescapeString(string(util.UnescapePunctuations(part))))
			}
			b.Write(part)
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.AutoLink:
			b.Write(n.Label(source))
		case *ast.CodeBlock, *ast.FencedCodeBlock:
			b.Write(n.Lines().Value(source))
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}
