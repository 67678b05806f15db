package archtest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestModulePath gives a copy of the source another module path: every import and build flag of ours has to follow.
func TestModulePath(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"git", "make", "perl"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not installed: make module is NOT tested", name)
		}
	}
	const path = "example.org/me/tutti"
	top, dir := root(t), t.TempDir()
	copySource(t, top, dir)
	// What the user's settings or an outer make say must not reach the commands in the copy.
	env := slices.DeleteFunc(os.Environ(), func(s string) bool {
		return strings.HasPrefix(s, "GIT_") || strings.HasPrefix(s, "MAKE") || strings.HasPrefix(s, "MFLAGS=")
	})
	env = append(env, "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GOWORK=off", "GOFLAGS=")
	run := func(name string, args ...string) string {
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = dir, env
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
	for _, name := range strings.Fields(run("git", "ls-files", "*.go")) { // those for other systems, too
		if bytes.Contains(readTracked(t, dir, name), []byte(`"`+module+`/internal/`)) {
			t.Errorf("%s still has the former path", name)
		}
	}
	// The linker says nothing about a variable that it does not find.
	if build := run("make", "-n", "build"); !strings.Contains(build, "-X "+path+"/internal/faces/cli/kit.Build=") {
		t.Errorf("the build sets no build id:\n%s", build)
	}
}

// copySource copies the files of this work tree, new ones among them, and not what is built.
func copySource(t *testing.T, top, dir string) {
	t.Helper()
	names := tracked(t, top)
	if out, err := exec.Command("git", "-C", top, "ls-files", "-z", "-o", "--exclude-standard").Output(); err == nil {
		names = append(names, strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })...)
	}
	for _, name := range names {
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
}
