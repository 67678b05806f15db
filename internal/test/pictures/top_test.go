package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	if slices.Contains(programs, filepath.Base(os.Args[0])) { // this program stands in for the agent CLIs
		if err := perform(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// The live screen and a conversation can still be recorded, and no process is left behind.
func TestRecorded(t *testing.T) {
	if os.Getenv("TUTTI_SOAK") == "" {
		t.Skip("it takes half a minute: TUTTI_SOAK is not set")
	}
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("SKIPPED: tmux is not installed")
	}
	bin := t.TempDir()
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", bin+"/", "tutti/cmd/tutti", "tutti/cmd/tutti-full")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got := map[string]string{}
	save := func(name, data string) error {
		got[name] = data
		return nil
	}
	screens, err := filepath.Abs("../../agents/driver/testdata/screens")
	if err != nil {
		t.Fatal(err)
	}
	for _, record := range []func(h *home) error{
		func(h *home) error {
			if err := h.people(screens); err != nil {
				return err
			}
			return h.live(save)
		},
		func(h *home) error { return h.talk(save) },
	} {
		h, err := newHome(t.Context(), bin)
		if err == nil {
			err = record(h)
		}
		if err != nil {
			t.Error(err)
		}
		h.leave()
		if left := h.left(); len(left) > 0 {
			t.Errorf("processes are left: %v", left)
		}
	}
	for name, wants := range map[string][]string{
		"top-200.svg": {"12 agents", "Do you want to proceed?", "a approve"}, "top-100.svg": {"12 agents", "limited?"}, "top-40.svg": {"12 agents"},
		"talk.svg": {"from codex:web, verified:", "from claude:api, verified:", "@keyframes"},
	} {
		for _, want := range wants {
			if !strings.Contains(got[name], want) {
				t.Errorf("%s does not show %q", name, want)
			}
		}
	}
}
