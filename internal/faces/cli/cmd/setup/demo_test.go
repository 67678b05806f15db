package setup

import "testing"

// The demo waits for its reader at a terminal only.
func TestPace(t *testing.T) {
	t.Parallel()
	if pace(0, "") != 0 || pace(80, "true") != 0 || pace(80, "") == 0 {
		t.Errorf("in a pipe %s, in CI %s, at a terminal %s", pace(0, ""), pace(80, "true"), pace(80, ""))
	}
}
