package fast

import (
	"strings"
	"testing"

	"tutti/internal/faces/cli/kit"
)

// A body is broken at the edge of the terminal behind its bar, so that none of it comes to stand at the left edge.
func TestQuoted(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		columns    int
		line, want string
	}{
		{0, strings.Repeat("x", 200), "| " + strings.Repeat("x", 200) + "\n"},
		{20, "short", "| short\n"},
		{20, strings.Repeat("x", 18), "| " + strings.Repeat("x", 18) + "\n"},
		{12, "aaaaaaaaaabbbbbbbbbbcc", "| aaaaaaaaaa\n| bbbbbbbbbb\n| cc\n"},
		{12, "漢字漢字漢字", "| 漢字漢字漢\n| 字\n"},
		{12, "", "| \n"},
	} {
		c := &kit.Call{Input: &kit.Input{Under: kit.Tutti}, Columns: tc.columns}
		quoted(c, tc.line)
		if got := string(c.Out); got != tc.want {
			t.Errorf("quoted(%q) on %d columns:\ngot  %q\nwant %q", tc.line, tc.columns, got, tc.want)
		}
		for line := range strings.SplitSeq(strings.TrimSuffix(string(c.Out), "\n"), "\n") {
			if tc.columns > 0 && kit.Width(line) > tc.columns {
				t.Errorf("quoted(%q) on %d columns: %q is %d wide", tc.line, tc.columns, line, kit.Width(line))
			}
		}
	}
}
