package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tutti/internal/test/progfile"
)

// bin is a folder that outlives each test.
var bin string

// programs builds both programs once, into one folder, where they find each other.
var programs = sync.OnceValue(func() error {
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", bin+"/", "tutti/cmd/tutti", "tutti/cmd/tutti-full")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
})

func TestMain(m *testing.M) {
	var err error
	if bin, err = os.MkdirTemp("", "demo-programs-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(bin)
	os.Exit(code)
}

func build(t *testing.T, name string) string {
	t.Helper()
	if err := programs(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(bin, name)
}

// script makes a program that the demo can start in the place of tutti-full.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tutti-full")
	if err := progfile.Write(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// elsewhere puts the folders of the demo below one of the test, and returns what lies there.
func elsewhere(t *testing.T) func() []string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	return func() []string {
		all, err := filepath.Glob(filepath.Join(dir, "tutti-demo-*"))
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
}

func TestAllSteps(t *testing.T) {
	left := elsewhere(t)
	server := build(t, "tutti-full")
	var out bytes.Buffer
	if err := Run(context.Background(), Options{Server: server, Version: "test", Out: &out}); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{
		"joins as claude:ana:", "gets: presence.peer_joined codex:bob:", "delivered: env:", "stored and signed in inbox/codex__bob__",
		"gets: inbox.envelope_arrived env:", "— new key —", "— verified —", "2 calls in all", "to kim: deposited",
		"when you are back", "tutti_send to codex:zoe is refused", "tutti_send to bob is refused: halt active", "tutti resume",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("nothing was said of %q in\n%s", want, out.String())
		}
	}
	if got := left(); len(got) > 0 {
		t.Errorf("left behind: %q", got)
	}
}

func TestKeep(t *testing.T) {
	left := elsewhere(t)
	server := build(t, "tutti-full")
	var out bytes.Buffer
	if err := Run(context.Background(), Options{Server: server, Version: "test", Out: &out, Keep: true}); err != nil {
		t.Fatal(err)
	}
	got := left()
	if len(got) != 1 || !strings.Contains(out.String(), "kept: "+got[0]) {
		t.Fatalf("kept %q, said\n%s", got, out.String())
	}
	if _, err := os.Stat(filepath.Join(got[0], "bus", "registry")); err != nil {
		t.Error(err)
	}
	_, line, _ := strings.Cut(out.String(), "to look around: ")
	sh := exec.Command("sh", "-c", strings.Replace(line, " tutti ", " "+server+" ", 1))
	if said, err := sh.CombinedOutput(); err != nil || !strings.Contains(string(said), "gemini:kim:") {
		t.Errorf("%s: %v\n%s", line, err, said)
	}
}

// A reader that goes away ends the play, and nothing is left behind.
func TestClosedOutput(t *testing.T) {
	left := elsewhere(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	err = Run(context.Background(), Options{Server: build(t, "tutti-full"), Version: "test", Out: w})
	if !errors.Is(err, syscall.EPIPE) {
		t.Errorf("got %v, want a broken pipe", err)
	}
	if got := left(); len(got) > 0 {
		t.Errorf("left behind: %q", got)
	}
}

// The command would be killed by a signal, as its standard output is the pipe.
func TestClosedOutputCommand(t *testing.T) {
	left := elsewhere(t)
	cmd := exec.Command(build(t, "tutti"), "demo")
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || errs.Len() > 0 {
		t.Errorf("got %v and %q, want silence", err, errs.String())
	}
	if got := left(); len(got) > 0 {
		t.Errorf("left behind: %q", got)
	}
}

// TestInvalidServers: a program that is not a server must not block the demo, and the failed step is named.
func TestInvalidServers(t *testing.T) {
	for name, text := range map[string]string{
		"answers nothing": "exec sleep 60\n",
		"ends at once":    "exit 0\n",
		"talks nonsense":  "while :; do echo hello; sleep 0.1; done\n",
		"says why":        "echo 'it is broken' >&2; exit 3\n",
	} {
		t.Run(name, func(t *testing.T) {
			left := elsewhere(t)
			server := script(t, text)
			began := time.Now()
			var out bytes.Buffer
			err := Run(context.Background(), Options{Server: server, Version: "test", Out: &out})
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("it took %s", took)
			}
			e, ok := errors.AsType[*Error](err)
			if !ok || e.Step != "ana joins" {
				t.Fatalf("got %v, want an error in the step that ana joins\n%s", err, out.String())
			}
			if name == "says why" && !strings.Contains(err.Error(), "it is broken") {
				t.Errorf("the words of the server are missing: %v", err)
			}
			if strings.TrimSpace(out.String()) != "" {
				t.Errorf("reported without being seen: %s", out.String())
			}
			if got := left(); len(got) > 0 {
				t.Errorf("left behind: %q", got)
			}
		})
	}
}

func TestInterrupted(t *testing.T) {
	left := elsewhere(t)
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(200*time.Millisecond, cancel)
	began := time.Now()
	err := Run(ctx, Options{Server: script(t, "exec sleep 60\n"), Version: "test", Out: new(bytes.Buffer)})
	if !errors.Is(err, context.Canceled) || time.Since(began) > 4*time.Second {
		t.Errorf("got %v after %s, want it cancelled", err, time.Since(began))
	}
	if got := left(); len(got) > 0 {
		t.Errorf("left behind: %q", got)
	}
}

func TestFold(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text    string
		columns int
		want    string
	}{
		{"one two  three", 0, "one two  three"},
		{"one two three", 13, "one two\n      three"},
		{"one two three", 14, "one two\n      three"},
		{"one two three", 19, "one two three"},
		{"alongwordthatfitsnowhere and", 12, "alongwordthatfitsnowhere\n      and"},
		{"— ééé x", 11, "— ééé\n      x"},
		{"", 1, ""},
	} {
		if got := fold(tc.text, tc.columns); got != tc.want {
			t.Errorf("%q in %d columns: got %q, want %q", tc.text, tc.columns, got, tc.want)
		}
	}
}
