// Package commstest gives tests other people and other machines: homes of gpg with real keys in them, and machines that are
// reached by a real sshd on the loopback, each with a home folder, a host key and a login environment of its own.
//
// Nothing of the user is touched: no keyring, no agent, no settings of ssh, no file below the real home folder. Everything
// ends with its test, also what a test has left running. Keys are made once in a test process, in about a quarter of a second; a home or a
// machine is then a few copied files. A test that needs a program which is not installed is skipped and says so.
//
// A test package that uses keys calls [Main] from its TestMain, so that the folder with the keys is removed at the end.
package commstest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// Main runs the tests of a package and removes what all of them shared. It returns the exit status.
func Main(m *testing.M) int {
	code := m.Run()
	shared.remove()
	return code
}

// shared is the folder of this process, made when it is first needed. Its path is short: a socket, such as that of an agent of gpg, may have
// a path of 107 bytes, and the folders that the testing package makes are longer than that.
var shared folder

type folder struct {
	once sync.Once
	path string
	err  error
}

func (f *folder) dir() (string, error) {
	f.once.Do(func() { f.path, f.err = os.MkdirTemp("/tmp", "ct") })
	return f.path, f.err
}

func (f *folder) remove() {
	if f.path != "" {
		_ = os.RemoveAll(f.path) // nothing of value, and nobody to tell
	}
}

// Need skips the test when one of the programs is not installed.
func Need(t testing.TB, programs ...string) {
	t.Helper()
	for _, name := range programs {
		if Program(name) == "" {
			t.Skipf("SKIPPED: %s is not installed: nothing that needs it is tested", name)
		}
	}
}

// Program returns the path of an installed program, "" when there is none. Some, such as sshd, lie where not every user looks.
func Program(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		if path, err = filepath.Abs(path); err == nil {
			return path
		}
	}
	for _, dir := range []string{"/usr/sbin", "/sbin", "/usr/local/sbin"} {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// setupLimit is how long one program may take that makes a key or a home; on a loaded machine they have been seen to take 2 s.
const setupLimit = time.Minute

// runProgram runs a program with an environment, and returns what it prints.
func runProgram(env []string, stdin, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), setupLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = env
	cmd.WaitDelay = time.Second
	if stdin != "" {
		cmd.Stdin = readerOf(stdin)
	}
	var out, said collector
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %q: %w\n%s", name, args, err, said.String())
	}
	return out.String(), nil
}
