package kit

import (
	"bytes"
	"iter"
	"strings"
)

// A Grid is rows of cells that are printed in aligned columns, two blanks apart. What comes in is clean.
type Grid struct {
	Rows   [][]string
	Widths []int // of each column
}

// Add adds a row. The last cell of a row has nothing behind it that would have to be aligned.
func (g *Grid) Add(cells ...string) {
	g.Rows = append(g.Rows, cells)
	for i, cell := range cells {
		if i == len(g.Widths) {
			g.Widths = append(g.Widths, 0)
		}
		if w := Width(cell); i < len(cells)-1 && w <= maxColumn {
			g.Widths[i] = max(g.Widths[i], w)
		}
	}
}

// What a row does on a terminal that is too narrow for it: its cells go on in the next line, that far in. The last cell,
// which is what the others are there for, goes there when fewer than leastLast columns would be left for it.
const (
	goOn      = 5
	leastLast = 24
)

// TableRow prints one row. On a terminal it is broken between cells, and the last one is cut at the edge, or with whole goes on
// below itself; elsewhere nothing of that happens, because a program may read it.
func (c *Call) TableRow(row []string, widths []int, whole bool) {
	used := 0
	for i, cell := range row {
		last := i == len(row)-1
		if c.Columns > 0 && used > goOn && used+needed(cell, widths, i, last) > c.Columns {
			c.Out = bytes.TrimRight(c.Out, " ")
			if n := len(c.Out); n > 0 && c.Out[n-1] != '\n' { // a row that begins with empty cells makes no empty line
				c.Out = append(c.Out, '\n')
			}
			used = 0
			c.pad(goOn, &used)
		}
		if last {
			c.lastCell(cell, used, whole)
			continue
		}
		wide := Width(cell)
		c.Out = append(c.Out, cell...)
		used += wide
		c.pad(max(0, widths[i]-wide)+2, &used)
	}
}

// lastCell prints the last cell of a row, which begins behind so many columns. A word that is too long for a line is left to the
// terminal: it may have to be copied.
func (c *Call) lastCell(cell string, used int, whole bool) {
	room := max(c.Columns-used, 8)
	switch {
	case c.Columns == 0:
	case !whole:
		cell = Truncate(cell, room)
	default:
		cell = Broken(cell, strings.FieldsSeq(cell), used, room)
	}
	if cell == "" {
		c.Out = bytes.TrimRight(c.Out, " ")
	}
	c.Line(cell)
}

// Broken is text with line breaks between words, where more than room columns would be needed. It goes on behind so many blanks.
func Broken(s string, words iter.Seq[string], blanks, room int) string {
	if Width(s) <= room {
		return s
	}
	var out strings.Builder
	left := room
	for word := range words {
		w := Width(word)
		switch {
		case left == room: // the first one of a line
		case w >= left:
			out.WriteByte('\n')
			out.WriteString(strings.Repeat(" ", blanks))
			left = room
		default:
			out.WriteByte(' ')
			left--
		}
		out.WriteString(word)
		left -= w
	}
	return out.String()
}

// Folded is a sentence for a terminal of so many columns, 0 for none: broken between words, but not within what stands between
// double quotes, nor where it is nothing but a line to type, because that is copied from there. used columns stand before it, and it
// goes on behind as many blanks.
func Folded(s string, used, columns int) string {
	if columns == 0 || used+Width(s) <= columns || isTyped(s) {
		return s
	}
	return Broken(s, phrases(s), used, max(columns-used, 8))
}

// isTyped tells whether a hint is nothing but a line to type.
func isTyped(s string) bool {
	for _, program := range [...]string{"tutti ", "h2a ", "export ", "mkdir ", "chmod ", "rm "} {
		if strings.HasPrefix(s, program) {
			return true
		}
	}
	return false
}

// phrases are the words of a sentence; what stands between double quotes is one, and so is "export" with what it exports.
func phrases(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		from, quoted := 0, false
		for i := range len(s) {
			switch {
			case s[i] == '"':
				quoted = !quoted
			case s[i] == ' ' && !quoted && s[from:i] != "export":
				if from < i && !yield(s[from:i]) {
					return
				}
				from = i + 1
			}
		}
		if from < len(s) {
			yield(s[from:])
		}
	}
}

// Prose prints a sentence. On a terminal it is broken between words, and goes on below its own beginning: behind head, which
// has that width and may be coloured.
func (c *Call) Prose(head string, width int, s string) {
	c.Out = append(c.Out, head...)
	c.lastCell(s, width, true)
}

// needed is the room without which a cell goes to the next line.
func needed(cell string, widths []int, i int, last bool) int {
	if last {
		return min(Width(cell), leastLast)
	}
	return max(widths[i], Width(cell))
}

func (c *Call) pad(n int, used *int) {
	for range n {
		c.Out = append(c.Out, ' ')
	}
	*used += n
}

// Rows prints rows in aligned columns, and cleans them.
func (c *Call) Rows(rows [][]string) { c.aligned(rows, false) }

// Facts is a table of which nothing may be cut, on a terminal of any width.
func (c *Call) Facts(rows [][]string) { c.aligned(rows, true) }

func (c *Call) aligned(rows [][]string, whole bool) {
	var g Grid
	for _, row := range rows {
		for i, cell := range row {
			row[i] = Clean(cell)
		}
		g.Add(row...)
	}
	for _, row := range g.Rows {
		c.TableRow(row, g.Widths, whole)
	}
}

// Long prints a grid that may be long, and writes it as it goes.
func (c *Call) Long(g *Grid) error {
	for _, row := range g.Rows {
		c.TableRow(row, g.Widths, false)
		if err := c.FlushLong(); err != nil {
			return err
		}
	}
	return nil
}

// TextShown is how many columns of a message the screen shows where no terminal sets the limit.
const TextShown = 60
