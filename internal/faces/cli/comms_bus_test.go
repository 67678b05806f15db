package cli

import (
	"slices"
	"strings"
	"testing"

	"tutti/internal/comms/protocol"
)

// The words that flags take are those of the protocol.
func TestLetterWords(t *testing.T) {
	t.Parallel()
	var types []string
	for _, kind := range protocol.Types() {
		types = append(types, string(kind))
	}
	if !slices.Equal(messageTypes, types) {
		t.Errorf("types: got %q, want %q", messageTypes, types)
	}
	if want := protocol.ReleaseStatuses(); !slices.Equal(releaseStatuses, want) {
		t.Errorf("ends: got %q, want %q", releaseStatuses, want)
	}
}

func TestAddressee(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		to   string
		want addressee
	}{
		{"claude:api", agentAddress},
		{"claude:api:3f2a9c01b7de", agentAddress},
		{"claude:v1.2", agentAddress},
		{"laptop.career", projectAddress},
		{"local.a.b", projectAddress},
		{"Laptop.career", projectAddress},
		{"api", bareAddress},
		{"", bareAddress},
	} {
		if got := addresseeOf(c.to); got != c.want {
			t.Errorf("addresseeOf(%q): got %d, want %d", c.to, got, c.want)
		}
	}
}

// What is shown of a text is around the words, whatever letters it has, and never half a character.
func TestFind(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 100)
	for _, c := range []struct{ words, text, want string }{
		{"two", "one two three", "one two three"},
		{"one two", "ONE\n  Two", "ONE Two"},
		{"x", long + " x " + long, "…" + strings.Repeat("ä", 39) + " x " + strings.Repeat("ä", 39) + "…"},
		{"ı", "İı", "İı"}, // the first one is longer in small letters
	} {
		s := &search{words: searchable(c.words)}
		if got, ok := s.find(c.text); !ok || got != c.want {
			t.Errorf("find %q in %q: got %q, %v, want %q", c.words, c.text, got, ok, c.want)
		}
	}
	if got, ok := (&search{words: "absent"}).find("there"); ok {
		t.Errorf("found what is not there: %q", got)
	}
}

func TestSlugOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Where do the figures come from?": "where-do-the-figures", "???": "question", "": "question",
	} {
		if got := slugOf(text); got != want {
			t.Errorf("slugOf(%q): got %q, want %q", text, got, want)
		}
	}
}
