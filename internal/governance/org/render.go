package org

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Format is a way to draw an organisation.
type Format string

// The formats.
const (
	Tree    Format = "tree"    // text: roles, members, their capabilities and their recipients
	Mermaid Format = "mermaid" // text from which mermaid draws a chart
	Dot     Format = "dot"     // text from which graphviz draws one
	SVG     Format = "svg"     // a picture
)

// Render draws an organisation. It draws the manifest as it is, also if Problems finds faults: a member without an id is drawn
// as one, an edge to an unknown id leads to a node of that name. No text of the manifest means anything to the program that
// draws: all of it is escaped. A text that ends with a line feed is returned, nil for a format that there is not.
func Render(o *Org, f Format) []byte {
	p := plan(o)
	switch f {
	case Tree:
		return p.tree()
	case Mermaid:
		return p.mermaid()
	case Dot:
		return p.dot()
	case SVG:
		return p.svg()
	}
	return nil
}

// A box is a member in a picture, or an id that edges name and that is not a member.
type box struct {
	name, role string
	scopes     []string
	rights     []string
	stranger   bool
	to         []int // boxes that it speaks to
	x, y       int   // of a picture, in pixels
}

// A picture is an organisation as it is drawn: the boxes of a rank stand side by side.
type picture struct {
	title string
	boxes []box
	ranks []rank
}

type rank struct {
	role  string
	boxes []int
}

// unknownRank is the role of ids that are not members.
const unknownRank = "not declared"

// plan sorts the members into ranks, by authority; roles that there are not stand below.
func plan(o *Org) *picture {
	p := &picture{title: o.Scope}
	if o.Version != "" {
		p.title += " (version " + o.Version + ")"
	}
	at := map[string]int{}
	for i := range o.Members {
		m := &o.Members[i]
		if c := string(m.Instance.Canonical()); m.Instance != "" {
			if _, double := at[c]; !double {
				at[c] = len(p.boxes)
			}
		}
		p.boxes = append(p.boxes, box{name: string(m.Instance), role: m.Role, scopes: m.Scopes, rights: m.Rights})
	}
	place := func(name, canonical string) int {
		n, known := at[canonical]
		if !known {
			n = len(p.boxes)
			at[canonical] = n
			p.boxes = append(p.boxes, box{name: name, role: unknownRank, stranger: true})
		}
		return n
	}
	drawn := map[[2]int]bool{}
	for _, e := range o.Edges {
		from, to := place(string(e.From), string(e.From.Canonical())), place(string(e.To), string(e.To.Canonical()))
		if edge := [2]int{from, to}; !drawn[edge] {
			drawn[edge] = true
			p.boxes[from].to = append(p.boxes[from].to, to)
		}
	}
	ranked := map[string]int{}
	for _, role := range Roles {
		ranked[role] = len(p.ranks)
		p.ranks = append(p.ranks, rank{role: role})
	}
	for n := range p.boxes {
		if p.boxes[n].name == "" {
			p.boxes[n].name = "(no id)"
		}
		r, known := ranked[p.boxes[n].role]
		if !known {
			r = len(p.ranks)
			ranked[p.boxes[n].role] = r
			p.ranks = append(p.ranks, rank{role: p.boxes[n].role})
		}
		p.ranks[r].boxes = append(p.ranks[r].boxes, n)
	}
	p.ranks = slices.DeleteFunc(p.ranks, func(r rank) bool { return len(r.boxes) == 0 })
	return p
}

// tree draws with the lines that terminals have.
func (p *picture) tree() []byte {
	var b strings.Builder
	b.WriteString(p.title + "\n")
	branch := func(last bool) (here, below string) {
		if last {
			return "└─ ", "   "
		}
		return "├─ ", "│  "
	}
	for r, rank := range p.ranks {
		here, below := branch(r == len(p.ranks)-1)
		b.WriteString(here + rank.role + "\n")
		for i, n := range rank.boxes {
			box := &p.boxes[n]
			mine, under := branch(i == len(rank.boxes)-1)
			b.WriteString(below + mine + box.name)
			if len(box.scopes) > 0 {
				b.WriteString("  [" + strings.Join(box.scopes, ", ") + "]")
			}
			if len(box.rights) > 0 {
				b.WriteString("  may " + strings.Join(box.rights, ", "))
			}
			b.WriteByte('\n')
			for e, to := range box.to {
				arrow := "├→ "
				if e == len(box.to)-1 {
					arrow = "└→ "
				}
				b.WriteString(below + under + arrow + p.boxes[to].name + "\n")
			}
		}
	}
	return []byte(b.String())
}

// detail is what stands in a box below its name.
func (b *box) detail() []string {
	lines := []string{b.role}
	if len(b.scopes) > 0 {
		lines = append(lines, strings.Join(b.scopes, ", "))
	}
	if len(b.rights) > 0 {
		lines = append(lines, "may "+strings.Join(b.rights, ", "))
	}
	return lines
}

// mermaid writes a flowchart: one subgraph, ids of our own, everything else in quotes.
func (p *picture) mermaid() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "flowchart TD\n  subgraph org[\"%s\"]\n", mermaidText(p.title))
	for _, rank := range p.ranks {
		for _, n := range rank.boxes {
			box := &p.boxes[n]
			label := mermaidText(box.name)
			for _, line := range box.detail() {
				label += "<br/>" + mermaidText(line)
			}
			fmt.Fprintf(&b, "    n%d[\"%s\"]\n", n, label)
		}
	}
	b.WriteString("  end\n")
	for n := range p.boxes {
		for _, to := range p.boxes[n].to {
			fmt.Fprintf(&b, "  n%d --> n%d\n", n, to)
		}
	}
	return []byte(b.String())
}

// mermaidText writes a text for a label in quotes. All but letters, digits, blanks and a few marks becomes a code, which mermaid
// turns back when it draws: it takes HTML in labels, and backticks for Markdown.
func mermaidText(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == ' ', '0' <= r && r <= '9', 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', strings.ContainsRune(".,:~-_/()", r), r >= 0xa0:
			b.WriteRune(r)
		default:
			b.WriteString("#" + strconv.Itoa(int(r)) + ";")
		}
	}
	return b.String()
}

// dot writes a digraph with a row for each role.
func (p *picture) dot() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph org {\n  rankdir=TB;\n  labelloc=t;\n  label=%s;\n  node [shape=box];\n", dotText(p.title))
	for r, rank := range p.ranks {
		fmt.Fprintf(&b, "  { rank=same; /* rank %d */\n", r+1)
		for _, n := range rank.boxes {
			box := &p.boxes[n]
			style := ""
			if box.stranger {
				style = ", style=dashed"
			}
			fmt.Fprintf(&b, "    n%d [label=%s%s];\n", n, dotText(append([]string{box.name}, box.detail()...)...), style)
		}
		b.WriteString("  }\n")
	}
	for n := range p.boxes {
		for _, to := range p.boxes[n].to {
			fmt.Fprintf(&b, "  n%d -> n%d;\n", n, to)
		}
	}
	b.WriteString("}\n")
	return []byte(b.String())
}

// dotText writes lines as one quoted label. Graphviz turns entities back in labels, and reads a backslash as the beginning of
// something.
func dotText(lines ...string) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "&", "&amp;")
	for i := range lines {
		lines[i] = escape.Replace(lines[i])
	}
	return `"` + strings.Join(lines, `\n`) + `"`
}
