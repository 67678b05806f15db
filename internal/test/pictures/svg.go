package main

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"image/color"
	"regexp"
	"strings"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// Sizes of a picture, in pixels.
const (
	cellWidth  = 8.4 // of the usual monospace fonts at this size; other fonts are stretched to it
	cellHeight = 17
	fontSize   = 14
	baseline   = 13 // of a line, below its top
	margin     = 12
	titleBar   = 28
)

// The colours of the terminal: the first sixteen, its text and its background.
var colours = [16]string{
	"#3b4048", "#f07178", "#98c379", "#e5c07b", "#61afef", "#c792ea", "#56c8d8", "#d4d7dd",
	"#7f848e", "#ff8b92", "#b5e08d", "#ffd580", "#82bfff", "#ddb3ff", "#7fdbe8", "#ffffff",
}

const (
	ink   = "#d4d7dd"
	paper = "#1b1e24"
)

// rows are the lines of a captured screen as elements of SVG, each as if it were the first line. An empty line is "".
func rows(capture string, columns, lines int) []string {
	screen := uv.NewScreenBuffer(columns, lines)
	uv.NewStyledString(strings.TrimSuffix(capture, "\n")).Draw(screen, uv.Rect(0, 0, columns, lines))
	all := make([]string, lines)
	for y := range all {
		all[y] = row(screen.Line(y))
	}
	return all
}

// row draws the runs of a line: neighbours of one style.
func row(line uv.Line) string {
	var out strings.Builder
	for x := 0; x < len(line); {
		start, style := x, line[x].Style
		var text strings.Builder
		for x < len(line) && line[x].Style.Equal(&style) {
			text.WriteString(cmp.Or(line[x].Content, " "))
			x += max(1, line[x].Width)
		}
		out.WriteString(run(start, x-start, text.String(), style))
	}
	return out.String()
}

var words = regexp.MustCompile(`\S+( \S+)*`)

// run draws a text of that many columns. Words that are more than a blank apart are placed each for itself, so that columns are straight in any font.
func run(at, columns int, text string, style uv.Style) string {
	fore, back := paint(style.Fg, ink), paint(style.Bg, "")
	if style.Attrs&uv.AttrReverse != 0 {
		fore, back = cmp.Or(back, paper), fore
	}
	var out strings.Builder
	if back != "" {
		fmt.Fprintf(&out, `<rect x="%s" width="%s" height="%d" fill="%s"/>`, px(at), px(columns), cellHeight, back)
	}
	look := ""
	if fore != ink {
		look += ` fill="` + fore + `"`
	}
	if style.Attrs&uv.AttrBold != 0 {
		look += ` font-weight="700"`
	}
	if style.Attrs&uv.AttrFaint != 0 {
		look += ` opacity=".65"`
	}
	if style.Attrs&uv.AttrItalic != 0 {
		look += ` font-style="italic"`
	}
	if style.Underline != ansi.UnderlineNone {
		look += ` text-decoration="underline"`
	}
	for _, m := range words.FindAllStringIndex(text, -1) {
		part := text[m[0]:m[1]]
		wide := ansi.StringWidth(part)
		length := ""
		if wide > 1 {
			length = fmt.Sprintf(` textLength="%s"`, px(wide))
		}
		fmt.Fprintf(&out, `<text x="%s" y="%d"%s%s>%s</text>`, px(at+ansi.StringWidth(text[:m[0]])), baseline, look, length, escaped(part))
	}
	return out.String()
}

// escaped is a text as XML has it; what XML cannot have becomes U+FFFD.
func escaped(text string) string {
	var out strings.Builder
	_ = xml.EscapeText(&out, []byte(text)) // a builder takes everything
	return out.String()
}

// px is a number of columns in pixels.
func px(columns int) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(columns)*cellWidth), ".0")
}

// paint is a colour of a terminal as SVG has it.
func paint(c color.Color, none string) string {
	switch c := c.(type) {
	case nil:
		return none
	case ansi.BasicColor:
		return colours[c&15]
	default:
		r, g, b, _ := c.RGBA()
		return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
	}
}

// A window is a terminal in a picture.
type window struct {
	title          string
	columns, lines int
	view           int // lines that are seen; a longer screen scrolls; 0: all
}

func (w *window) seen() int {
	if w.view > 0 {
		return w.view
	}
	return w.lines
}

func (w *window) width() float64 { return float64(w.columns)*cellWidth + 2*margin }
func (w *window) height() int    { return w.seen()*cellHeight + titleBar + margin }

// A frame is what all windows show from a moment on.
type frame struct {
	at      time.Duration
	screens [][]string // for each window its rows
}

// A movie is windows side by side. With one frame it is a still picture. Its animation is CSS: an image in a page runs no script.
type movie struct {
	about   string // for those who cannot see it
	windows []window
	frames  []frame
	hold    time.Duration // how long the last frame is shown

	css     strings.Builder
	classes map[string]string // the class of an animation, by its steps
}

// svg draws the movie. It repeats for ever, and shows its last frame only to those who do not want movement.
func (m *movie) svg() string {
	m.classes = map[string]string{}
	width, height := float64(0), 0
	var body strings.Builder
	for i := range m.windows {
		w := &m.windows[i]
		fmt.Fprintf(&body, `<g transform="translate(%.1f)"><rect width="%.1f" height="%d" rx="8" fill="%s"/>`, width, w.width(), w.height(), paper)
		fmt.Fprintf(&body, `<text class="t" x="%.1f" y="19">%s</text>`, w.width()/2, escaped(w.title))
		fmt.Fprintf(&body, `<svg x="%d" y="%d" width="%s" height="%d">`, margin, titleBar, px(w.columns), w.seen()*cellHeight)
		m.draw(&body, i)
		body.WriteString("</svg></g>\n")
		width += w.width() + margin
		height = max(height, w.height())
	}
	width -= margin
	about := escaped(m.about)
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.1f %d" width="%.0f" height="%d" fill="%s" role="img" aria-label="%s">
<title>%s</title>
<style>svg{font:%dpx "DejaVu Sans Mono",ui-monospace,Menlo,Consolas,monospace}.t{font-size:12px;fill:#9aa0aa;text-anchor:middle}%s</style>
%s</svg>
`, width, height, width, height, ink, about, about, fontSize, m.css.String(), body.String())
}

// draw draws a window: each row that is the same in neighbouring frames once.
func (m *movie) draw(out *strings.Builder, window int) {
	w := &m.windows[window]
	var moves []step
	for i := range m.frames {
		last := 0
		for y, markup := range m.frames[i].screens[window] {
			if markup != "" {
				last = y + 1
			}
		}
		up := max(0, last-w.seen()) * cellHeight
		if len(moves) == 0 || moves[len(moves)-1].value != up {
			moves = append(moves, step{m.frames[i].at, up})
		}
	}
	fmt.Fprintf(out, "<g%s>\n", m.scrolled(moves))
	for y := range w.lines {
		for from := 0; from < len(m.frames); {
			markup, to := m.frames[from].screens[window][y], from+1
			for to < len(m.frames) && m.frames[to].screens[window][y] == markup {
				to++
			}
			if markup != "" {
				fmt.Fprintf(out, `<g transform="translate(0 %d)"%s>%s</g>`+"\n", y*cellHeight, m.shown(from, to), markup)
			}
			from = to
		}
	}
	out.WriteString("</g>")
}

// A step is a value from a moment on.
type step struct {
	at    time.Duration
	value int
}

func (m *movie) total() time.Duration { return m.frames[len(m.frames)-1].at + m.hold }

func (m *movie) percent(at time.Duration) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", 100*float64(at)/float64(m.total())), "0"), ".") + "%"
}

// shown is the attribute of what is seen in these frames only.
func (m *movie) shown(from, to int) string {
	const off, on = "{visibility:hidden}", "{visibility:visible}"
	frames := ""
	if from > 0 {
		frames = "0%" + off
	}
	frames += m.percent(m.frames[from].at) + on
	last := to == len(m.frames)
	if last {
		frames += "100%" + on
	} else {
		frames += m.percent(m.frames[to].at) + off + "100%" + off
	}
	if from == 0 && last {
		return ""
	}
	return m.animated(frames, last)
}

// scrolled is the attribute of what moves up.
func (m *movie) scrolled(moves []step) string {
	last := moves[len(moves)-1].value
	if len(moves) == 1 {
		if last == 0 {
			return ""
		}
		return fmt.Sprintf(` transform="translate(0 -%d)"`, last)
	}
	frames := ""
	for _, s := range moves {
		frames += fmt.Sprintf("%s{transform:translateY(-%dpx)}", m.percent(s.at), s.value)
	}
	return fmt.Sprintf(` transform="translate(0 -%d)"`, last) + m.animated(frames+fmt.Sprintf("100%%{transform:translateY(-%dpx)}", last), true)
}

// animated is the attribute for an animation; stays says that its last state is the one to show where nothing moves.
func (m *movie) animated(frames string, stays bool) string {
	name, ok := m.classes[frames]
	if !ok {
		if len(m.classes) == 0 {
			m.css.WriteString("@media(prefers-reduced-motion:reduce){g{animation:none!important}.x{visibility:hidden}}")
		}
		name = fmt.Sprintf("a%d", len(m.classes))
		m.classes[frames] = name
		fmt.Fprintf(&m.css, "@keyframes %s{%s}.%s{animation:%s %.1fs step-end infinite}", name, frames, name, name, m.total().Seconds())
	}
	if !stays {
		name += " x"
	}
	return ` class="` + name + `"`
}
