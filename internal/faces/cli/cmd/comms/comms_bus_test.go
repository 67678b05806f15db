package comms

import (
	"slices"
	"strings"
	"testing"

	"tutti/internal/comms/protocol"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
)

// The words that flags take are those of the protocol.
func TestLetterWords(t *testing.T) {
	t.Parallel()
	var types []string
	for _, kind := range protocol.Types() {
		types = append(types, string(kind))
	}
	if !slices.Equal(kit.MessageTypes, types) {
		t.Errorf("types: got %q, want %q", kit.MessageTypes, types)
	}
	if want := protocol.ReleaseStatuses(); !slices.Equal(kit.ReleaseStatuses, want) {
		t.Errorf("ends: got %q, want %q", kit.ReleaseStatuses, want)
	}
}

func TestAddressee(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		to   string
		want fast.Addressee
	}{
		{"claude:api", fast.AgentAddress},
		{"claude:api:3f2a9c01b7de", fast.AgentAddress},
		{"claude:v1.2", fast.AgentAddress},
		{"laptop.career", fast.ProjectAddress},
		{"local.a.b", fast.ProjectAddress},
		{"Laptop.career", fast.ProjectAddress},
		{"api", fast.BareAddress},
		{"", fast.BareAddress},
	} {
		if got := fast.AddresseeOf(c.to); got != c.want {
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
