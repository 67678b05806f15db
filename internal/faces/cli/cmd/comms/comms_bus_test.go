package comms

import (
	"slices"
	"testing"

	"tutti/internal/bus/members"
	"tutti/internal/comms/protocol"
	"tutti/internal/faces/cli/kit"
)

// The words that flags take are those of the protocol.
func TestFlagValues(t *testing.T) {
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
		want members.Addressee
	}{
		{"claude:api", members.AgentAddress},
		{"claude:api:3f2a9c01b7de", members.AgentAddress},
		{"claude:v1.2", members.AgentAddress},
		{"laptop.career", members.ProjectAddress},
		{"local.a.b", members.ProjectAddress},
		{"Laptop.career", members.ProjectAddress},
		{"api", members.BareAddress},
		{"", members.BareAddress},
	} {
		if got := members.AddresseeOf(c.to); got != c.want {
			t.Errorf("addresseeOf(%q): got %d, want %d", c.to, got, c.want)
		}
	}
}
