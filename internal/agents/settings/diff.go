package settings

import (
	"bytes"
	"fmt"
	"strings"
)

// The lines around a change that are shown with it, and the work that is put into finding a small one: comparisons of lines.
const (
	around  = 3
	maxWork = 4 << 20
)

// Diff returns the difference between two texts for people: in the unified form, without names of files; "" when there is none.
// Control characters in the texts are in it as they are.
func Diff(before, after []byte) string {
	if bytes.Equal(before, after) {
		return ""
	}
	a, b := splitLines(before), splitLines(after)
	ops := compare(a, b)
	var out strings.Builder
	for i := 0; i < len(ops); {
		if ops[i].mark == ' ' {
			i++
			continue
		}
		from := max(0, i-around)
		to, same := i, 0 // behind the last change of this hunk
		for j := i; j < len(ops) && same <= 2*around; j++ {
			if ops[j].mark == ' ' {
				same++
			} else {
				to, same = j+1, 0
			}
		}
		i = to
		hunk(&out, ops[from:min(len(ops), to+around)])
	}
	return out.String()
}

// A lineOp is a line with what became of it, and where it stood.
type lineOp struct {
	mark byte // ' ', '-' or '+'
	text string
	a, b int // lines before it in the two texts
}

func splitLines(text []byte) []string {
	if len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n")+noEnd(text), "\n")
}

// noEnd marks a last line that has no end, so that it differs from the same line with one.
func noEnd(text []byte) string {
	if bytes.HasSuffix(text, []byte("\n")) {
		return ""
	}
	return "\x00"
}

func compare(a, b []string) []lineOp {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var ops []lineOp
	i, j := 0, 0
	put := func(mark byte) {
		o := lineOp{mark: mark, a: i, b: j}
		if mark == '+' {
			o.text = b[j]
		} else {
			o.text = a[i]
			i++
		}
		if mark != '-' {
			j++
		}
		ops = append(ops, o)
	}
	for i < head {
		put(' ')
	}
	for _, mark := range middle(a[head:len(a)-tail], b[head:len(b)-tail]) {
		put(mark)
	}
	for i < len(a) {
		put(' ')
	}
	return ops
}

// middle compares by the longest common sequence of lines; where that is too much work, everything is another.
func middle(a, b []string) []byte {
	if len(a)*len(b) > maxWork {
		return append(bytes.Repeat([]byte("-"), len(a)), bytes.Repeat([]byte("+"), len(b))...)
	}
	w := len(b) + 1
	common := make([]int32, (len(a)+1)*w)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i*w+j] = common[(i+1)*w+j+1] + 1
			} else {
				common[i*w+j] = max(common[(i+1)*w+j], common[i*w+j+1])
			}
		}
	}
	var out []byte
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, ' ')
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[(i+1)*w+j] >= common[i*w+j+1]:
			out = append(out, '-')
			i++
		default:
			out = append(out, '+')
			j++
		}
	}
	return out
}

func hunk(out *strings.Builder, ops []lineOp) {
	a, b := 0, 0
	for _, o := range ops {
		if o.mark != '+' {
			a++
		}
		if o.mark != '-' {
			b++
		}
	}
	fmt.Fprintf(out, "@@ -%s +%s @@\n", span(ops[0].a, a), span(ops[0].b, b))
	for _, o := range ops {
		out.WriteByte(o.mark)
		text, cut := strings.CutSuffix(o.text, "\x00")
		out.WriteString(text + "\n")
		if cut {
			out.WriteString("\\ No newline at end of file\n")
		}
	}
}

// span is a range of lines as the form wants it: from one, and the line before an empty one.
func span(before, n int) string {
	if n == 0 {
		return fmt.Sprintf("%d,0", before)
	}
	return fmt.Sprintf("%d,%d", before+1, n)
}
