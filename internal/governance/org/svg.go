package org

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"tutti/internal/bus/registry"
	"tutti/internal/core/termsafe"
)

// Measures of the picture, in pixels. The letters are of one width, so that what fits a box is known without the font.
const (
	letter   = 8   // width of a letter at 12 pixels, a little more than fonts have
	lineHigh = 16  // from one line of a text to the next
	inBox    = 10  // from the edge of a box to its text
	maxChars = 34  // of a line in a box; what is longer ends in …
	gap      = 28  // between the boxes of a row
	rowGap   = 64  // between two rows, for the arrows
	margin   = 24  // around everything
	titleTop = 40  // for the title
	roleWide = 110 // for the names of roles at the left
	perRow   = 6   // boxes of a row; those of a larger rank stand in several
)

// fill is the colour of the boxes of a role, pale enough for black letters.
func fill(role string) string {
	switch role {
	case registry.Principal:
		return "#fde2c4"
	case registry.Executif:
		return "#fbf0c0"
	case registry.Conductor:
		return "#d5e8fb"
	case registry.Control:
		return "#f6d5d9"
	case registry.Mandataire:
		return "#e6dcf5"
	case registry.Agents:
		return "#dcf1dc"
	}
	return "#eee"
}

// A sheet is a picture with places for its boxes.
type sheet struct {
	*picture
	wide, high    int // of the whole
	boxWide       int
	rowTop        []int // of the rows of boxes
	rowRole       []string
	boxHigh, rows []int // of each box; the row that it is in
}

// svg draws rows of boxes by role, with arrows from senders to recipients.
func (p *picture) svg() []byte {
	s := &sheet{picture: p, boxHigh: make([]int, len(p.boxes)), rows: make([]int, len(p.boxes))}
	s.lay()
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="ui-monospace, monospace" font-size="12">`+"\n",
		s.wide, s.high, s.wide, s.high)
	fmt.Fprintf(&b, "<title>%s</title>\n", xmlText(p.title))
	b.WriteString(`<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8z" fill="#555"/></marker></defs>` + "\n")
	b.WriteString(`<rect width="100%" height="100%" fill="#fff"/>` + "\n")
	fmt.Fprintf(&b, `<text x="%d" y="%d" font-size="16" font-weight="bold">%s</text>`+"\n", margin, margin+8, xmlText(cut(p.title, (s.wide-2*margin)/10)))
	for n, role := range s.rowRole {
		if role != "" {
			fmt.Fprintf(&b, `<text x="%d" y="%d" fill="#777">%s</text>`+"\n", margin, s.rowTop[n]+lineHigh, xmlText(cut(role, roleWide/letter)))
		}
	}
	for n := range p.boxes {
		for _, to := range p.boxes[n].to {
			fmt.Fprintf(&b, `<path d="%s" fill="none" stroke="#555" marker-end="url(#tip)"/>`+"\n", s.arrow(n, to))
		}
	}
	for n := range p.boxes {
		s.draw(&b, n)
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

// lay gives every box its place.
func (s *sheet) lay() {
	chars := 12
	for n := range s.boxes {
		for _, l := range s.boxes[n].lines() {
			chars = max(chars, min(utf8.RuneCountInString(l), maxChars))
		}
		s.boxHigh[n] = 2*inBox + lineHigh*len(s.boxes[n].lines()) - 4
	}
	s.boxWide = chars*letter + 2*inBox
	top, columns := margin+titleTop, 1
	for _, rank := range s.ranks {
		role := rank.role
		for from := 0; from < len(rank.boxes); from += perRow {
			row := rank.boxes[from:min(from+perRow, len(rank.boxes))]
			high := 0
			for i, n := range row {
				s.boxes[n].x = margin + roleWide + i*(s.boxWide+gap)
				s.boxes[n].y = top
				s.rows[n] = len(s.rowTop)
				high = max(high, s.boxHigh[n])
			}
			columns = max(columns, len(row))
			s.rowTop, s.rowRole = append(s.rowTop, top), append(s.rowRole, role)
			role = ""
			top += high + rowGap
		}
	}
	s.wide = 2*margin + roleWide + columns*(s.boxWide+gap) - gap
	s.high = top - rowGap + margin
	if len(s.rowTop) == 0 {
		s.high = top
	}
}

// lines are those of a box: its name, its scopes, what it may. Its role stands at the left.
func (b *box) lines() []string { return append([]string{b.name}, b.detail()[1:]...) }

func (s *sheet) draw(b *strings.Builder, n int) {
	box := &s.boxes[n]
	dash := ""
	if box.stranger {
		dash = ` stroke-dasharray="4 3"`
	}
	fmt.Fprintf(b, `<g><title>%s</title><rect x="%d" y="%d" width="%d" height="%d" rx="6" fill="%s" stroke="#555"%s/>`,
		xmlText(strings.Join(append([]string{box.name}, box.detail()...), " · ")), box.x, box.y, s.boxWide, s.boxHigh[n], fill(box.role), dash)
	for i, l := range box.lines() {
		weight := ""
		if i == 0 {
			weight = ` font-weight="bold"`
		}
		fmt.Fprintf(b, `<text x="%d" y="%d"%s>%s</text>`, box.x+inBox, box.y+inBox+8+i*lineHigh, weight, xmlText(cut(l, maxChars)))
	}
	b.WriteString("</g>\n")
}

// arrow is the way from one box to another: from below to above where they stand in different rows, else in a bow below them. One
// to itself is a loop at its side.
func (s *sheet) arrow(from, to int) string {
	a, b := &s.boxes[from], &s.boxes[to]
	mid := func(b *box) int { return b.x + s.boxWide/2 }
	aBottom, bBottom := a.y+s.boxHigh[from], b.y+s.boxHigh[to]
	switch {
	case from == to:
		x, y := a.x+s.boxWide, a.y+s.boxHigh[from]/2
		return fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x, y-6, x+22, y-16, x+22, y+16, x, y+6)
	case s.rows[from] < s.rows[to]:
		// The two directions of one pair go side by side.
		bend := (b.y - aBottom) / 2
		return fmt.Sprintf("M%d %dC%d %d %d %d %d %d", mid(a)-8, aBottom, mid(a)-8, aBottom+bend, mid(b)-8, b.y-bend, mid(b)-8, b.y)
	case s.rows[from] > s.rows[to]:
		bend := (a.y - bBottom) / 2
		return fmt.Sprintf("M%d %dC%d %d %d %d %d %d", mid(a)+8, a.y, mid(a)+8, a.y-bend, mid(b)+8, bBottom+bend, mid(b)+8, bBottom)
	}
	low := max(aBottom, bBottom) + rowGap/2
	shift := 8
	if a.x > b.x {
		shift = -8
	}
	return fmt.Sprintf("M%d %dC%d %d %d %d %d %d", mid(a)+shift, aBottom, mid(a)+shift, low, mid(b)-shift, low, mid(b)-shift, bBottom)
}

// cut shortens a text to so many characters.
func cut(s string, chars int) string {
	if utf8.RuneCountInString(s) <= chars {
		return s
	}
	runes := []rune(s)
	return string(runes[:max(chars-1, 0)]) + "…"
}

// xmlText writes a text so that no reader of XML takes any of it for markup, nor refuses a character.
func xmlText(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;", "\ufffe", "", "\uffff", "").Replace(termsafe.Clean(s))
}
