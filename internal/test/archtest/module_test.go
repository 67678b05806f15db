package archtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestModulePath gives a copy of the source another module path: every import and build flag of ours has to follow.
func TestModulePath(t *testing.T) {
	t.Parallel()
	const path = "example.org/me/tutti"
	top, dir := root(t), t.TempDir()
	for _, name := range tracked(t, top) {
		data := readTracked(t, top, name)
		if data == nil {
			continue
		}
		to := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, data, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	run := func(name string, args ...string) string {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%.3000s", name, strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	run("git", "init", "-q")
	run("git", "add", "-A")
	run("make", "module", "PATH="+path)
	for _, p := range strings.Fields(run("go", "list", "-test", "-deps", "./...")) {
		if strings.HasPrefix(p, module+"/") {
			t.Errorf("%s is still imported", p)
		}
	}
	// The linker says nothing about a variable that it does not find.
	if build := run("make", "-n", "build"); !strings.Contains(build, "-X "+path+"/internal/faces/cli/kit.Build=") {
		t.Errorf("the build sets no build id:\n%s", build)
	}
}
