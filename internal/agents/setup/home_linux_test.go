package setup

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tutti/internal/agents/driver"
)

// nobody is a user without an account and without rights of its own.
const nobody = 54321

// homeVariable names the home folder that a test hands to a process of another user.
const homeVariable = "TUTTI_HOST_TEST_HOME"

// asNobody runs the test again in a process that has no rights on the home folder that is handed to it but to read; root has them
// all, and no test of rights means anything with it. done: this is the process that handed it over.
func asNobody(t *testing.T, fill func(d *desk)) (d *desk, done bool) {
	t.Helper()
	d = newDesk(t)
	if home := os.Getenv(homeVariable); home != "" {
		d.home, d.q.Place.Home, d.q.Place.Dir = home, home, home
		return d, false
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	home, err := os.MkdirTemp("", "home") // the folder of the test is closed to others
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	d.home = home
	fill(d)
	err = filepath.Walk(home, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		return os.Chmod(path, info.Mode().Perm()|0o055)
	})
	if err != nil {
		t.Fatal(err)
	}
	before := d.files()
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Dir, cmd.Env = "/", append(os.Environ(), homeVariable+"="+home, "TMPDIR="+tmpOf(t))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("as uid %d: %v\n%s", nobody, err, out)
	}
	d.same(before, "afterwards")
	return nil, true
}

// tmpOf is a folder in which nobody may write.
func tmpOf(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "tmp")
	if err == nil {
		err = os.Chown(dir, nobody, nobody)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// A home folder in which this user may not write: nothing is changed, and that is said of the place.
func TestHomeNotWritable(t *testing.T) {
	d, done := asNobody(t, func(d *desk) {
		d.write(".codex/config.toml", "a = 1\n", 0o644)
		d.write(".gemini/settings.json", "{}", 0o644)
	})
	if done {
		return
	}
	for name, at := range map[string]string{"claude": "", "codex": ".codex", "gemini": ".gemini", "opencode": ""} {
		_, err := d.setup(name)
		if e, ok := errors.AsType[*ReadOnlyError](err); !ok || e.Path != filepath.Join(d.home, at) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	d.q.Remove = true
	for _, name := range []string{"claude", "codex"} {
		if p, err := d.setup(name); err != nil || p.Changed() {
			t.Errorf("%s, removal of nothing: %v", name, err)
		}
	}
}

// TestReadOnlySystem: setup on a read-only file system, where even root cannot write.
func TestReadOnlySystem(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.q.Place.Env = func(name string) string { return map[string]string{"CODEX_HOME": "/proc/self"}[name] }
	before := d.files()
	_, err := d.setup("codex")
	if err == nil || !strings.Contains(err.Error(), "/proc/") {
		t.Errorf("got %v", err)
	}
	d.same(before, "afterwards")
	codex, _ := driver.Get("codex")
	if s := d.q.Look(t.Context(), codex); len(s.Hooks) != 1 || s.Hooks[0].State != Missing {
		t.Errorf("got %+v", s.Hooks)
	}
}
