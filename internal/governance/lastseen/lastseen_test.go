package lastseen

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"tutti/internal/governance/negotiation"
)

// TestMemory: a saved state is read back only for its bus and negotiation, and a damaged file counts as missing.
func TestMemory(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "state")
	m, other := Of(state, "/bus"), Of(state, "/other")
	want := negotiation.Seen{
		Count: 7, Entry: "sha256:ab", At: "5-1", When: time.Date(2026, 6, 12, 12, 0, 0, 0, time.UTC), State: negotiation.Stabilized, Settled: "sha256:cd",
		Late: map[int]time.Time{3: time.Date(2026, 6, 12, 11, 0, 0, 0, time.UTC)},
	}
	if got, err := m.Last("n:1"); err != nil || got.Count != 0 {
		t.Errorf("before: %+v, %v", got, err)
	}
	if err := m.Keep("n:1", want); err != nil {
		t.Fatal(err)
	}
	if got, err := m.Last("n:1"); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	if st, err := os.Stat(m.Path("n:1")); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v; want mode 0600", st, err)
	}
	for _, c := range []struct {
		m  *Memory
		id string
	}{{m, "n:2"}, {other, "n:1"}} {
		if got, err := c.m.Last(c.id); err != nil || got.Count != 0 {
			t.Errorf("%s of %s: %+v, %v", c.id, c.m.bus, got, err)
		}
	}
	if err := os.WriteFile(m.Path("n:1"), []byte(`{"entries":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := m.Last("n:1"); err != nil || got.Count != 0 {
		t.Errorf("damaged: %+v, %v", got, err)
	}
}
