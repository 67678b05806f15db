package spelling

import (
	"strings"
	"testing"
)

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"send", "send", 0},
		{"send", "sned", 1},
		{"send", "sen", 1},
		{"send", "sendx", 1},
		{"send", "bend", 1},
		{"", "abc", 3},
		{"halt", "resume", 6},
		{"tset", "test", 1},
		{"kitten", "sitting", 3},
		{"ca", "abc", 3},
		{"send", "status", 5},
		{strings.Repeat("a", MaxWord+1), "a", MaxWord},
	} {
		if got, back := Distance(c.a, c.b), Distance(c.b, c.a); got != c.want || back != c.want {
			t.Errorf("%q and %q: %d and %d, want %d", c.a, c.b, got, back, c.want)
		}
	}
}
