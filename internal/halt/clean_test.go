package halt

import (
	"strings"
	"testing"
)

// Another machine is given the reason that this one keeps.
func TestCleanMatchesRaise(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	for _, text := range []string{"disk check", "two\nlines", " a\x1b[2Jb ", strings.Repeat("long ", 20<<10)} {
		if s, _, err := Raise(text); err != nil || s.Reason != Clean(text) {
			t.Errorf("Raise(%.40q) keeps %.40q (%d bytes), Clean gives %.40q (%d bytes), %v", text, s.Reason, len(s.Reason), Clean(text), len(Clean(text)), err)
		}
	}
}
