package truepath_test

import (
	"os"
	"path/filepath"
	"testing"

	"tutti/internal/platform/truepath"
)

func TestOf(t *testing.T) {
	t.Parallel()
	dir := truepath.Of(t.TempDir())
	for _, d := range []string{"a/b", "A"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil && d != "A" {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "a/b/f"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{"link": "a/b", "a/up": "..", "a/b/l": "f", "loose": "a/none", "deep": "link/none/at/all", "chain": "loose", "loop": "loop", "tick": "tock/x", "tock": "tick/x", "abs": filepath.Join(dir, "a"), "A/far": "../link"} {
		if err := os.Symlink(to, filepath.Join(dir, from)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"a/b/f": "a/b/f", "link/f": "a/b/f", "link/l": "a/b/f", "a/./b//f": "a/b/f", "a/x/../b/f": "a/b/f", "abs/b/f": "a/b/f",
		"a/up/link/f": "a/b/f", "a/b/new": "a/b/new", "link/new/er": "a/b/new/er", "loose": "a/none", "deep/x": "a/b/none/at/all/x", "chain/x": "a/none/x", "loop": "loop", "loop/x": "loop/x", "none/x": "none/x",
		"link/../x": "a/x", "link/../../x": "x", "link/../b/f": "a/b/f", "link/./..//none/../y": "a/y", "A/far/../new/z": "a/new/z", "A/far/f": "a/b/f",
		"deep/../x": "a/b/none/at/x", "loose/../x": "a/x", "chain/../../link/f": "a/b/f", "none/../link/../x": "a/x", "link/f/": "a/b/f", "link/../../../../../../../../../../../..": "/",
	} {
		whole := filepath.Join(dir, want)
		if filepath.IsAbs(want) {
			whole = want
		}
		if got := truepath.Of(dir + "/" + path); got != whole {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
		if got := truepath.Below(dir, path); got != whole {
			t.Errorf("%s below its folder: %s, want %s", path, got, want)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "a/B")); err == nil { // here the system does not tell them apart
		if got := truepath.Of(filepath.Join(dir, "A/B/F")); got != filepath.Join(dir, "a/b/f") {
			t.Errorf("in capitals: %s", got)
		}
	}
	if got := truepath.Of("/"); got != "/" {
		t.Errorf("/: %s", got)
	}
}
