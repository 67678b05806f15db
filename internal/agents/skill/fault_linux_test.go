package skill

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// childVariable names the home folder that a test hands to a process of its own, for what holds for whole processes.
const childVariable = "TUTTI_SKILL_TEST_HOME"

// TestFileSizeLimit: where not a byte can be written the files that were there stay, and none is half there.
func TestFileSizeLimit(t *testing.T) {
	if home := os.Getenv(childVariable); home != "" {
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 100, Max: 100}); err != nil {
			t.Fatal(err)
		}
		q := request(t, "claude", "codex")
		q.Place.Home, q.Force = home, true
		fmt.Println("REPORT", q.lines(Install(q)))
		return
	}
	t.Parallel()
	q := request(t, "claude")
	path := q.write(t, ".claude/skills/tutti/SKILL.md", "mine")
	cmd := exec.Command(os.Args[0], "-test.run=^TestFileSizeLimit$")
	cmd.Env = append(os.Environ(), childVariable+"="+q.Place.Home)
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "failed .") != 2 || !strings.Contains(string(out), syscall.EFBIG.Error()) {
		t.Errorf("%v\n%s", err, out)
	}
	if got := files(t, q.Place.Home); len(got) != 1 || textOf(t, path) != "mine" {
		t.Errorf("afterwards: %q with %q", got, textOf(t, path))
	}
}

// TestReadOnly: the user may not write in the folder. Root may write everywhere, so it becomes another user.
func TestReadOnly(t *testing.T) {
	if home := os.Getenv(childVariable); home != "" || os.Geteuid() != 0 {
		q := request(t, "claude")
		if home == "" {
			home = q.Place.Home
			if err := os.Chmod(home, 0o500); err != nil {
				t.Fatal(err)
			}
		}
		q.Place.Home = home
		if r := Install(q); !errors.Is(r.Err(), fs.ErrPermission) || r.Complete() {
			t.Errorf("%q", q.lines(r))
		}
		return
	}
	home, err := os.MkdirTemp("", "home") // the folder of the test is closed to others
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	tmp := filepath.Join(home, "tmp")
	if err := errors.Join(os.Chmod(home, 0o755), os.Mkdir(tmp, 0o700), os.Chown(tmp, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestReadOnly$", "-test.v")
	cmd.Dir, cmd.Env = "/", append(os.Environ(), childVariable+"="+home, "TMPDIR="+tmp)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestReadOnly") {
		t.Errorf("%v\n%s", err, out)
	}
	if got := files(t, home); len(got) != 0 {
		t.Errorf("there is %q", got)
	}
}

func TestReadOnlySystem(t *testing.T) {
	t.Parallel()
	q := request(t, "claude", "codex")
	q.Place.Env = func(name string) string { return map[string]string{"CLAUDE_CONFIG_DIR": "/proc/self"}[name] }
	r := Install(q)
	if r.Err() == nil || r.Complete() || !strings.Contains(r.Err().Error(), "/proc/self/skills") {
		t.Errorf("%q: %v", q.lines(r), r.Err())
	}
	if got := r.Files[len(r.Files)-1]; got.State != Written || got.Path != filepath.Join(q.Place.Home, ".agents/skills/tutti/SKILL.md") {
		t.Errorf("the other program: %+v", got)
	}
}
