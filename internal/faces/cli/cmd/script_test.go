package cmd

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"tutti/internal/app/full"
	"tutti/internal/faces/cli/cmd/session"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/sessions/job"
	"tutti/internal/test/boundtest"
	"tutti/internal/test/jobtest"
	"tutti/internal/test/progfile"
	"tutti/internal/test/scriptprog"
)

// programs are the names under which the small program is called.
var programs = []string{"tutti", "h2a", "cross-agent-halt", "cross-agent-resume", "cross-agent-send", "cross-agent-recv", "cross-agent-discover", "cross-agent-status", "cross-agent-watch"}

// TestMain lets the test binary be tutti-full, also under the names of the small program: a tutti-full that tutti has executed
// keeps its name, as the real one does, and a test that starts this very binary has no other program.
func TestMain(m *testing.M) {
	full := func() {
		scriptprog.Prepare()
		session.JobToolsOf = testJobTools
		Main()
	}
	names := map[string]func(){"tutti-full": full}
	for _, name := range programs {
		names[name] = full
	}
	testscript.Main(withSmall{swept{m}}, names)
}

// withSmall puts the small program beside tutti-full before the tests run. Most of what a script starts is that one, and a start of
// the test binary, which links everything, takes three times as long.
type withSmall struct{ m swept }

func (w withSmall) Run() int {
	bin, _, _ := strings.Cut(os.Getenv("PATH"), string(filepath.ListSeparator)) // testscript's folder
	args := []string{"build", "-buildvcs=false", "-ldflags", "-s -w", "-o", filepath.Join(bin, "small"), "tutti/internal/test/scriptprog/tutti"}
	if boundtest.Race {
		args = slices.Insert(args, 1, "-race")
	}
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		log.Printf("build the small program: %v\n%s", err, out)
		return 1
	}
	for _, name := range programs {
		path := filepath.Join(bin, name)
		if err := errors.Join(os.Remove(path), os.Link(filepath.Join(bin, "small"), path)); err != nil {
			log.Print(err)
			return 1
		}
	}
	return w.m.Run()
}

// endServers ends the tmux servers that a script has left behind because it failed.
func endServers(dir string) {
	sockets, _ := filepath.Glob(filepath.Join(dir, "tmux-*", "*"))
	for _, path := range sockets {
		_ = exec.Command("tmux", "-S", path, "kill-server").Run() // most have ended
	}
}

// fakeSystemctl stands in for the user's service manager, which a test must not touch: it notes what it was asked and
// fails or hangs when it is told to.
const fakeSystemctl = `#!/bin/sh
echo "$@" >>"$WORK/systemctl.log"
case "$FAKE_SYSTEMCTL" in
fail) echo "Failed to connect to bus: No medium found" >&2; exit 1 ;;
hang) exec sleep 30 ;;
esac
`

// scripts returns the scripts to run: all of them, but with the race detector only the one whose verbs wait. The others
// start one goroutine each some 250 times, which takes the detector a second each time on a busy machine and shows it
// nothing.
func scripts() (dir string, files []string) {
	if boundtest.Race {
		return "", []string{"testdata/script/plumbing.txtar"}
	}
	return "testdata/script", nil
}

func TestScripts(t *testing.T) {
	t.Parallel()
	dir, files := scripts()
	testscript.Run(t, testscript.Params{
		Dir: dir, Files: files,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			home, fake := filepath.Join(e.WorkDir, "home of ana"), filepath.Join(e.WorkDir, "fake")
			for _, dir := range []string{home, fake, filepath.Join(home, "project")} {
				if err := os.MkdirAll(dir, 0o700); err != nil {
					return err
				}
			}
			e.Setenv("HOME", home)
			bin, _, _ := strings.Cut(e.Getenv("PATH"), string(filepath.ListSeparator))
			e.Setenv("BIN", bin) // with our programs alone
			e.Setenv("PATH", fake+string(filepath.ListSeparator)+e.Getenv("PATH"))
			e.Setenv("TZ", "UTC")
			if err := ownTmux(e); err != nil {
				return err
			}
			e.Setenv("FAKE_SYSTEMCTL", "")
			e.Setenv("TMUX_TMPDIR", e.WorkDir) // no script meets a server of who runs it
			e.Setenv("TMUX", "")
			e.Defer(func() { endServers(e.WorkDir) })
			e.Setenv(scriptprog.TopVariable, strconv.Itoa(os.Getpid()))
			e.Cd = filepath.Join(home, "project")
			if err := signedEnvelope(e.WorkDir); err != nil {
				return err
			}
			return progfile.Write(filepath.Join(fake, "systemctl"), []byte(fakeSystemctl), 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": cmdStatus, "isjson": cmdIsJSON, "bashcomplete": cmdBashComplete, "waitfor": cmdWaitFor, "plant": cmdPlant, "forge": cmdForge, "page": cmdPage,
		},
	})
}

// ownTmux keeps the tmux servers of a script apart from those of the user, and ends them with it. The folder has a short name,
// because the path of a socket may have 107 bytes.
func ownTmux(e *testscript.Env) error {
	dir, err := os.MkdirTemp("/tmp", "tc")
	if err != nil {
		return err
	}
	e.Setenv("TMUX_TMPDIR", dir)
	e.Defer(func() {
		sockets, _ := filepath.Glob(filepath.Join(dir, "*", "*"))
		for _, s := range sockets {
			_ = exec.Command("tmux", "-S", s, "kill-server").Run() // it may have ended with its last session
		}
		os.RemoveAll(dir)
	})
	return nil
}

// signedEnvelope writes an envelope that is signed with a key of the test, one that was changed afterwards, and the key.
func signedEnvelope(dir string) error {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	const body = `"id":"env:1","body":{"n":1.50},"actor":{"instance":"claude:api:3f2a9c01b7de"}`
	signed := `{"actor":{"instance":"claude:api:3f2a9c01b7de"},"body":{"n":1.5},"id":"env:1"}` // canonical
	value := base64.StdEncoding.EncodeToString(ed25519.Sign(key, []byte(signed)))
	envelope := `{` + body + `,"signatures":[{"by":"other:one","alg":"rsa","value":"x"},` +
		`{"by":"claude:api:3f2a9c01b7de","alg":"ed25519","value":"` + value + `"}]}`
	for name, data := range map[string]string{
		"pub.pem":       string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})),
		"envelope.json": envelope,
		"changed.json":  strings.Replace(envelope, "1.50", "1.51", 1),
		"signature":     value,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// cmdStatus runs a program and compares its exit status: "status 2 tutti doctor".
func cmdStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status number program [argument...]")
	}
	got := "0"
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := err.(*exec.ExitError)
		if !ok {
			ts.Fatalf("run: %v", err)
		}
		got = strings.TrimPrefix(exit.ProcessState.String(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("exit status: got %s, want %s", got, args[0])
	}
}

// cmdIsJSON checks that standard output is one JSON value in the layout of JSON.stringify(v, null, 2) and a line feed.
func cmdIsJSON(ts *testscript.TestScript, neg bool, args []string) {
	out := []byte(ts.ReadFile("stdout"))
	var want bytes.Buffer
	if err := json.Indent(&want, bytes.TrimSpace(out), "", "  "); err != nil {
		ts.Fatalf("standard output is not valid JSON: %v", err)
	}
	want.WriteByte('\n')
	if want.String() != string(out) {
		ts.Fatalf("layout: got\n%s\nwant\n%s", out, want.String())
	}
}

// cmdBashComplete lets bash complete a line with our script: "bashcomplete 'tutti st' store".
func cmdBashComplete(ts *testscript.TestScript, neg bool, args []string) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		ts.Fatalf("bash is needed: %v", err)
	}
	const script = `source "$1"; COMP_LINE="$2"; COMP_POINT=${#COMP_LINE}; _tutti_complete; printf '%s\n' "${COMPREPLY[@]}"`
	if err := ts.Exec(bash, "--norc", "-c", script, "bash", ts.MkAbs(args[0]), args[1]); err != nil {
		ts.Fatalf("bash: %v", err)
	}
	got := strings.Fields(ts.ReadFile("stdout"))
	if want := strings.Join(args[2:], " "); strings.Join(got, " ") != want {
		ts.Fatalf("completion of %q: got %q, want %q", args[1], got, want)
	}
}

// cmdWaitFor waits until a file exists, at most ten seconds.
func cmdWaitFor(ts *testscript.TestScript, neg bool, args []string) {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if _, err := os.Lstat(ts.MkAbs(args[0])); err == nil {
			return
		}
	}
	ts.Fatalf("%s did not appear", args[0])
}

// An interrupt ends a waiting verb with 130, also when it comes as a signal to be caught.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	cmd := exec.Command(self, "plumbing", "wait-halt")
	cmd.Args[0] = "tutti"
	cmd.Env = append(os.Environ(), "HOME="+home)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	limit := time.Now().Add(10 * time.Second)
	for !waits(cmd.Process.Pid) {
		if time.Now().After(limit) {
			cmd.Process.Kill()
			t.Fatal("the verb does not come to wait")
		}
		time.Sleep(5 * time.Millisecond)
	}
	cmd.Process.Signal(os.Interrupt)
	cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != kit.ExitInterrupted {
		t.Errorf("exit status after an interrupt: got %d, want %d", got, kit.ExitInterrupted)
	}
}

// waits tells whether a process has come to wait: it then has the kernel's watcher open, which the verb asks for after
// it has begun to catch signals.
func waits(pid int) bool {
	links, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/fd/*")
	for _, l := range links {
		if to, err := os.Readlink(l); err == nil && strings.Contains(to, "inotify") {
			return true
		}
	}
	return false
}

// testJobTools are a terminal and a broker that are files in a folder which the environment names.
func testJobTools() session.JobTools {
	dir := os.Getenv("TUTTI_TEST_JOBS")
	if dir == "" {
		return session.JobTools{Dial: full.DialBroker}
	}
	return session.JobTools{Deliver: jobtest.File(filepath.Join(dir, "typed")), Dial: func(context.Context, job.Broker) (job.Network, error) {
		if _, err := os.Stat(filepath.Join(dir, "down")); err == nil {
			return nil, errors.New("broker: connection refused")
		}
		f := jobtest.File(filepath.Join(dir, "broker"))
		return f, jobtest.File(filepath.Join(dir, "dialled")).Add("once more")
	}}
}
