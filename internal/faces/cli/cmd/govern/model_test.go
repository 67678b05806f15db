package govern

import (
	"slices"
	"testing"

	"tutti/internal/faces/cli/kit"
	"tutti/internal/governance/model"
	"tutti/internal/governance/profile"
)

// TestModelTopics checks that the words that package kit offers for completion are the topics of model show.
func TestModelTopics(t *testing.T) {
	t.Parallel()
	if !slices.Equal(kit.ProfileWords, profile.IDs) {
		t.Errorf("profiles: %q, want %q", kit.ProfileWords, profile.IDs)
	}
	var all []string
	for _, r := range modelRows() {
		all = append(all, r[0])
	}
	want := slices.Clone(kit.ModelTopics)
	for _, p := range model.Library {
		want = append(want, p.ID)
	}
	if want = append(want, profile.IDs...); !slices.Equal(all, want) {
		t.Errorf("topics: %q, want %q", all, want)
	}
}
