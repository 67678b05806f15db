package kit

import (
	"testing"
)

func TestFolded(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		s             string
		used, columns int
		want          string
	}{
		{"one two three", 0, 0, "one two three"},
		{"one two three", 2, 15, "one two three"},
		{"one two three", 2, 14, "one two\n  three"},
		{`now "tutti resume" lets`, 0, 14, "now\n\"tutti resume\"\nlets"},
		{`now "tutti resume" lets`, 0, 10, "now\n\"tutti resume\"\nlets"},
		{`no "end of it`, 0, 6, "no\n\"end of it"},
		{"tutti host setup --host claude", 13, 20, "tutti host setup --host claude"},
		{`add: export PATH="$HOME/a b":"$PATH"`, 0, 12, "add:\nexport PATH=\"$HOME/a b\":\"$PATH\""},
		{"ein Wörtchen", 0, 12, "ein Wörtchen"},
	} {
		if got := Folded(tc.s, tc.used, tc.columns); got != tc.want {
			t.Errorf("%q behind %d of %d columns: got %q, want %q", tc.s, tc.used, tc.columns, got, tc.want)
		}
	}
}

// TestFactsContinuationRow: a continuation row keeps its column, also when it wraps.
func TestFactsContinuationRow(t *testing.T) {
	t.Parallel()
	c := &Call{Columns: 30}
	c.Facts([][]string{{"  ~/.claude.json", "server h2a registered"}, {"", "before: the former one"}})
	const want = "  ~/.claude.json\n     server h2a registered\n     before: the former one\n"
	if got := string(c.Out); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
