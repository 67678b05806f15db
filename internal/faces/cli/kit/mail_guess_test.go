package kit

import (
	"slices"
	"testing"

	"tutti/internal/bus/members"
	"tutti/internal/core/address"
)

// TestChannelOf: a host and name, typed as discover shows them, lead to the agent of that name.
func TestChannelOf(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		id, name string
		want     []string
	}{
		{"claude:ana:445c8f261864", "Web Shop", []string{"claude:ana", "claude:web-shop"}},
		{"Claude:ana:445c8f261864", "", []string{"claude:ana"}},
	} {
		r := &members.Row{Instance: address.Instance(tc.id), Name: tc.name}
		if got := channelOf(r); !slices.Equal(got, tc.want) {
			t.Errorf("%s called %q: got %q, want %q", tc.id, tc.name, got, tc.want)
		}
	}
}
