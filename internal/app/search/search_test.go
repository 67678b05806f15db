package search

import (
	"strings"
	"testing"
)

// TestFind: the excerpt surrounds the match in any script, and never cuts a character.
func TestFind(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 100)
	for _, c := range []struct{ words, text, want string }{
		{"two", "one two three", "one two three"},
		{"one two", "ONE\n  Two", "ONE Two"},
		{"x", long + " x " + long, "…" + strings.Repeat("ä", 39) + " x " + strings.Repeat("ä", 39) + "…"},
		{"ı", "İı", "İı"}, // the first one is longer in small letters
	} {
		s := &search{words: flatten(strings.ToLower(c.words))}
		if got, ok := s.find(c.text); !ok || got != c.want {
			t.Errorf("find %q in %q: got %q, %v, want %q", c.words, c.text, got, ok, c.want)
		}
	}
	if got, ok := (&search{words: "absent"}).find("there"); ok {
		t.Errorf("found what is not there: %q", got)
	}
}
