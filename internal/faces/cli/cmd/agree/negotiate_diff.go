package agree

import (
	"context"
	"strconv"
	"strings"

	"tutti/internal/app"
	"tutti/internal/core/canonjson"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/governance/negotiation"
)

type diffOptions struct {
	argumentOption
	From, To string
}

func runNegotiateDiff(ctx context.Context, d *deal, opt *diffOptions) error {
	x, err := d.bus.Negotiations().Diff(ctx, d.id, opt.From, opt.To)
	if err != nil {
		return dealFault(d.Call, err)
	}
	if d.JSON {
		d.Result(x.View(d.id))
		return nil
	}
	comparison(d.Call, x)
	if len(x.Changes) > 0 {
		d.Line("next:  tutti negotiate sign " + kit.Clean(app.QuoteArg(d.id)) + " " + x.To.Hash)
	}
	return nil
}

const (
	diffColumns = 80 // without a terminal
	diffGap     = " │ "
	// maxDiffLines is the most lines that one value takes; --json shows all of it.
	maxDiffLines = 12
)

// comparison shows two offers side by side, member by member.
func comparison(c *kit.Call, x *negotiation.Comparison) {
	columns := diffColumns
	if c.Columns >= 2*diffLeast+len(" | ") {
		columns = c.Columns
	}
	half := (columns - kit.Width(diffGap)) / 2
	head := func(f negotiation.Offered) string {
		return "entry " + strconv.Itoa(f.Index) + " by " + kit.Name(f.By)
	}
	beside(c, half, "", []string{head(x.From), shortHash(x.From.Hash)}, []string{head(x.To), shortHash(x.To.Hash)})
	if len(x.Changes) == 0 {
		c.Line("no difference")
		return
	}
	for _, ch := range x.Changes {
		c.Line("")
		path := kit.Clean(ch.Path)
		if path == "" {
			path = "the whole"
		}
		c.Line(c.Paint(kit.Bold, kit.Truncate(path, columns)))
		beside(c, half, "difference", []string{valueText(ch.Old)}, []string{valueText(ch.New)})
	}
}

// diffLeast is the least width of a readable column.
const diffLeast = 20

// valueText returns a JSON value in one line.
func valueText(raw []byte) string {
	if raw == nil {
		return "(none)"
	}
	return kit.Clean(string(canonjson.Compact(raw)))
}

// beside prints two texts in two columns. Colours tell the old from the new.
func beside(c *kit.Call, half int, kind string, left, right []string) {
	var a, b []string
	for _, s := range left {
		a = append(a, chopped(s, half)...)
	}
	for _, s := range right {
		b = append(b, chopped(s, half)...)
	}
	for n := range max(len(a), len(b)) {
		l, r := at(a, n), at(b, n)
		l += strings.Repeat(" ", max(0, half-kit.Width(l)))
		if kind != "" {
			l, r = c.Paint(kit.Red, l), c.Paint(kit.Green, r)
		}
		c.Line(strings.TrimRight(l+diffGap+r, " "))
	}
}

func at(lines []string, n int) string {
	if n < len(lines) {
		return lines[n]
	}
	return ""
}

// chopped breaks a text into lines of a width, at most maxDiffLines.
func chopped(s string, width int) []string {
	var out []string
	var line strings.Builder
	used := 0
	for _, r := range s {
		w := kit.RuneWidth(r)
		if used+w > width {
			out = append(out, line.String())
			line.Reset()
			used = 0
			if len(out) == maxDiffLines {
				return append(out, "… --json shows all")
			}
		}
		line.WriteRune(r)
		used += w
	}
	return append(out, line.String())
}
