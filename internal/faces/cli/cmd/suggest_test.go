package cmd

import (
	"slices"
	"strings"
	"testing"

	"tutti/internal/faces/cli/kit"
)

// A word that is none of ours leads to verbs that exist, and one that is ours leads to itself.
func TestWordSuggestions(t *testing.T) {
	t.Parallel()
	words := verbs.Words(kit.Tutti, "")
	for _, word := range strings.Fields(`stop kill freeze abort panic quit start continue go restart list ls agents
		peers who ps read mail check messages msg message tell write post join login respond follow tail listen logs
		history conversation threads mcp serve server tools me id`) {
		others := kit.OtherWords(word)
		if len(others) == 0 || slices.Contains(words, word) {
			t.Errorf("%s leads to %q; it is a verb: %v", word, others, slices.Contains(words, word))
		}
		if got := kit.VerbsMeant(word, words); !slices.Equal(got, others) {
			t.Errorf("%s: got %q, want %q", word, got, others)
		}
	}
	for word, want := range map[string]string{"mirror": "remote mirror", "simulate": "drumbeat simulate"} {
		if got := kit.VerbsMeant(word, words); len(got) != 0 {
			t.Errorf("%s: %q before %q", word, got, want)
		}
		if got := verbs.Ending(word); len(got) != 1 || got[0] != want {
			t.Errorf("%s: got %q, want %s", word, got, want)
		}
	}
	if got := verbs.Ending("nonsense"); len(got) != 0 {
		t.Errorf("nonsense leads to %q", got)
	}
	for word, want := range map[string]string{"snd": "send", "hlt": "halt", "stat": "status"} {
		if got := kit.VerbsMeant(word, words); len(got) == 0 || got[0] != want {
			t.Errorf("%s: got %q, want %s first", word, got, want)
		}
	}
}
