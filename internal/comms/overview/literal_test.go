package overview

import (
	"os"
	"path/filepath"
	"testing"
)

// A folder may have a name that is a pattern of others.
func TestLiteral(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"[ab]", "a", `x\y`, "*", "?"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"[ab]", `x\y`, "*", "?"} {
		path := filepath.Join(dir, name)
		found, err := filepath.Glob(Pattern("/nowhere", Literal(path)))
		if err != nil || len(found) != 1 || found[0] != path {
			t.Errorf("%s: found %q, %v", name, found, err)
		}
	}
}
