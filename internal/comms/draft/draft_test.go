package draft

import "testing"

func TestSlugOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Where do the figures come from?": "where-do-the-figures", "???": "question", "": "question",
	} {
		if got := SlugOf(text); got != want {
			t.Errorf("SlugOf(%q): got %q, want %q", text, got, want)
		}
	}
}
