package docs

import (
	"fmt"
	"strings"

	"tutti/internal/faces/cli/kit"
)

// A Roff writes a manual page in the man macros that groff and mandoc share. The same input gives the same bytes.
type Roff struct{ B []byte }

// PageMark is the first line of each page that we write. It tells our pages from a stranger's of the same name.
const PageMark = `.\" written by "tutti man" from the table of verbs, which it is rewritten from: mark 2d1f7c40b95e`

// newPage begins a page of section 1.
func newPage(name string) *Roff {
	r := &Roff{}
	r.raw(PageMark)
	r.raw(`.TH "` + EscapeRoff(strings.ToUpper(name)) + `" 1 "" "tutti ` + EscapeRoff(kit.Version) + `" "tutti manual"`)
	r.raw(".nh") // what is not hyphenated can be copied
	r.raw(".ad l")
	return r
}

func (r *Roff) raw(line string) { r.B = append(append(r.B, line...), '\n') }

// section begins a section; the title is ours and has no special characters.
func (r *Roff) section(title string) { r.raw(".SH " + title) }

// part begins a part of a section.
func (r *Roff) part(title string) { r.raw(`.SS "` + EscapeRoff(title) + `"`) }

// Line writes one line of text that is escaped already; nothing in it is taken for a request.
func (r *Roff) Line(escaped string) {
	if strings.HasPrefix(escaped, ".") || escaped == "" {
		escaped = `\&` + escaped
	}
	r.raw(escaped)
}

// prose writes paragraphs, which an empty line parts. Each is one line of input, so that no end of a line is taken for the
// end of a sentence.
func (r *Roff) prose(text string) {
	first := true
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if !first {
			r.raw(".PP")
		}
		first = false
		r.Line(EscapeRoff(strings.Join(strings.Fields(paragraph), " ")))
	}
}

// tagged writes a name in bold and, indented, what is said about it.
func (r *Roff) tagged(name, text string) {
	r.raw(".TP")
	r.Line(boldRoff(name))
	r.Line(EscapeRoff(strings.Join(strings.Fields(text), " ")))
}

// code writes lines as they are, indented.
func (r *Roff) code(text string) {
	r.raw(".RS 4")
	r.raw(".nf")
	for line := range strings.SplitSeq(text, "\n") {
		r.Line(EscapeRoff(line))
	}
	r.raw(".fi")
	r.raw(".RE")
}

// pages writes references to other pages of section 1.
func (r *Roff) pages(names []string) {
	var refs []string
	for _, name := range names {
		refs = append(refs, boldRoff(name)+"(1)")
	}
	r.Line(strings.Join(refs, ", "))
}

func boldRoff(text string) string { return `\fB` + EscapeRoff(text) + `\fR` }

// EscapeRoff makes text stand for itself. Hyphens become the minus of ASCII and quotes the straight ones, so that what is
// copied from a page works in a shell; other characters go by their number, whatever the page is read with.
func EscapeRoff(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\\':
			b.WriteString(`\(rs`)
		case r == '-':
			b.WriteString(`\-`)
		case r == '\'':
			b.WriteString(`\(aq`)
		case r == '"':
			b.WriteString(`\(dq`)
		case r == '`':
			b.WriteString(`\(ga`)
		case r == '^':
			b.WriteString(`\(ha`)
		case r == '~':
			b.WriteString(`\(ti`)
		case r >= 0x80:
			fmt.Fprintf(&b, `\[u%04X]`, r)
		case r >= ' ' && r != 0x7f:
			b.WriteRune(r)
		}
	}
	return b.String()
}
