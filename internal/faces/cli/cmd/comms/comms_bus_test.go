package comms

import (
	"slices"
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
