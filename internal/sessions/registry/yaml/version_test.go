package yaml

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLibc: compares the linked C library with the one that the database is made for. Another one builds, and fails at run time in ways
// that are hard to trace to it.
func TestLibc(t *testing.T) {
	t.Parallel()
	list := func(format, module string) string {
		out, err := exec.Command("go", "list", "-m", "-f", format, module).Output()
		if err != nil {
			t.Skipf("no go command here: %v", err)
		}
		return strings.TrimSpace(string(out))
	}
	text, err := os.ReadFile(filepath.Join(list("{{.Dir}}", "modernc.org/sqlite"), "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`modernc\.org/libc (v\S+)`).FindSubmatch(text)
	if m == nil {
		t.Fatalf("no libc in\n%s", text)
	}
	if have := list("{{.Version}}", "modernc.org/libc"); have != string(m[1]) {
		t.Errorf("libc %s is linked, and sqlite wants %s: go get modernc.org/libc@%s", have, m[1], m[1])
	}
}
