package web

import (
	"sort"
	"strings"

	"tutti/internal/core/termsafe"
)

// A node is an element of the page, or a text if it has no tag. The server writes nodes as HTML when a page is loaded, and sends them as JSON
// when they change. The script makes the same elements of them, so that each part of the page is described once.
//
// Tags and names of attributes are constants of this package. Everything else is escaped, and the script sets it by textContent or setAttribute.
type node struct {
	Tag   string            `json:"tag,omitempty"`
	Text  string            `json:"text,omitempty"`
	Attrs map[string]string `json:"attrs,omitempty"`
	Kids  []node            `json:"kids,omitempty"`
}

// el makes an element. head is its tag, with a class behind a dot if it has one.
func el(head string, kids ...node) node {
	tag, class, _ := strings.Cut(head, ".")
	n := node{Tag: tag, Kids: kids}
	if class != "" {
		n.Attrs = map[string]string{"class": class}
	}
	return n
}

// with adds attributes: name, value, name, value.
func (n node) with(pairs ...string) node {
	attrs := make(map[string]string, len(n.Attrs)+len(pairs)/2)
	for k, v := range n.Attrs {
		attrs[k] = v
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		attrs[pairs[i]] = termsafe.Clean(pairs[i+1])
	}
	n.Attrs = attrs
	return n
}

// keyed gives an element an id. The script keeps an element whose id and content did not change, with what was typed into it.
func (n node) keyed(id string) node { return n.with("id", id) }

// txt is a text of tutti.
func txt(s string) node { return node{Text: s} }

// peer is a text that an agent or another program wrote. It is sanitised, and cannot turn the direction of the text around it.
func peer(s string) node { return el("bdi.peer", txt(termsafe.CleanBlock(s))) }

// word is a short text that others chose, such as a name or a folder. It is sanitised.
func word(s string) node { return el("bdi", txt(termsafe.Clean(s))) }

// void are the tags without an end.
var void = map[string]bool{"input": true, "br": true, "meta": true, "link": true}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;", "\x00", "\ufffd")

// write adds the node as HTML.
func (n node) write(b *strings.Builder) {
	if n.Tag == "" {
		b.WriteString(escaper.Replace(n.Text))
		return
	}
	b.WriteByte('<')
	b.WriteString(n.Tag)
	names := make([]string, 0, len(n.Attrs))
	for name := range n.Attrs {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		b.WriteByte(' ')
		b.WriteString(name)
		if v := n.Attrs[name]; v != "" {
			b.WriteString(`="`)
			b.WriteString(escaper.Replace(v))
			b.WriteByte('"')
		}
	}
	b.WriteByte('>')
	if void[n.Tag] {
		return
	}
	text := n.Text
	if _, ages := n.Attrs["data-ago"]; ages {
		text = ago(n.Attrs["datetime"])
	}
	b.WriteString(escaper.Replace(text))
	for _, k := range n.Kids {
		k.write(b)
	}
	b.WriteString("</")
	b.WriteString(n.Tag)
	b.WriteByte('>')
}

func html(nodes ...node) string {
	var b strings.Builder
	for _, n := range nodes {
		n.write(&b)
	}
	return b.String()
}
