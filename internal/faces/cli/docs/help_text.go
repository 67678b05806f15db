package docs

import (
	"slices"
	"strings"

	"tutti/internal/faces/cli/kit"
)

// helpColumns is the width that help is laid out for here.
func helpColumns(c *kit.Call) int {
	if c.Columns == 0 {
		return kit.HelpWidth
	}
	return min(max(c.Columns, kit.MinHelp), kit.MaxHelp)
}

// Unbroken makes words stay on one line in filled text.
func Unbroken(words string) string { return strings.ReplaceAll(words, " ", "\x00") }

// Fill breaks text into lines of at most width columns; a longer word stands alone. An empty line parts paragraphs, which
// the result keeps as an empty line.
func Fill(text string, width int) []string {
	var lines []string
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if len(lines) > 0 {
			lines = append(lines, "")
		}
		line, used := "", 0
		for word := range strings.FieldsSeq(paragraph) {
			word = strings.ReplaceAll(word, "\x00", " ")
			w := kit.Width(word)
			switch {
			case line == "":
				line, used = word, w
			case used+1+w <= width:
				line, used = line+" "+word, used+1+w
			default:
				lines = append(lines, line)
				line, used = word, w
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// filled prints text in lines that fit.
func filled(c *kit.Call, text string) {
	for _, line := range Fill(text, helpColumns(c)) {
		c.Line(line)
	}
}

// helpRow prints a name and what is said about it, in a column that begins at indent. A name that is too wide for its
// column stands on a line of its own.
func helpRow(c *kit.Call, name, text string, indent int) {
	left := kit.Pad(name+" ", indent)
	if kit.Width(left) > indent {
		c.Line(name)
		left = strings.Repeat(" ", indent)
	}
	for _, line := range Fill(text, max(helpColumns(c)-indent, 20)) {
		c.Line(strings.TrimRight(left+line, " "))
		left = strings.Repeat(" ", indent)
	}
}

// ExitRows takes a line of exit status apart: "0 done; 1 wrong usage" has two rows, each of the number and its meaning.
func ExitRows(exit string) [][2]string {
	var rows [][2]string
	for part := range strings.SplitSeq(exit, "; ") {
		number, meaning, _ := strings.Cut(part, " ")
		rows = append(rows, [2]string{number, meaning})
	}
	return rows
}

// ExitOf is the exit status under a name: the older commands have numbers of their own.
func ExitOf(v *kit.Verb, under kit.Names) string {
	if under == kit.Cross && v.CrossExit != "" {
		return v.CrossExit
	}
	if under == kit.Tutti && v.Halt == kit.Makes && !strings.Contains(v.Exit, "; 5 ") {
		const refused = "; 5 halted, and an agent asks"
		if before, interrupted, ok := strings.Cut(v.Exit, "; 130 "); ok {
			return before + refused + "; 130 " + interrupted
		}
		return v.Exit + refused
	}
	return v.Exit
}

// Explained is what help says about a flag.
func Explained(f *kit.Flag) string {
	text := f.Help
	if len(f.Choices) > 0 {
		text += ": " + strings.Join(f.Choices, ", ")
	}
	if f.Default != "" {
		text += " (default: " + f.Default + ")"
	}
	return text
}

// maxRelated is the size up to which the verbs of a family name each other; a larger family has no common subject.
const maxRelated = 8

// Related names the verbs to read about next: those that the table says, and the others of the family.
func Related(t kit.Table, v *kit.Verb, under kit.Names) []string {
	var names []string
	for name := range strings.SplitSeq(v.See, ", ") {
		word, sub, _ := strings.Cut(name, " ")
		if found := t.Find(under, word, sub); found != nil && found != v {
			names = append(names, name)
		}
	}
	var others []string
	family, _, _ := strings.Cut(v.Name, " ")
	for other := range t.Shown(under) {
		first, _, _ := strings.Cut(other.Name, " ")
		if other != v && first == family && !slices.Contains(names, other.Name) {
			others = append(others, other.Name)
		}
	}
	if len(others) < maxRelated {
		names = append(names, others...)
	}
	return names
}
