package vectortest

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tutti/internal/core/canonjson"
	"tutti/internal/halt"
)

func TestVectorsCrossAgent(t *testing.T) {
	runFile(t, "cross-agent", map[string]runner{
		"halt_state":  haltState,
		"halt_effect": haltEffect,

		"archive_name":      archiveName,
		"artifact_ref":      artifactRef,
		"conversation":      conversationState,
		"dedup":             receive,
		"destination":       destination,
		"exit_codes":        crossExitCodes,
		"filename_format":   filenameFormat,
		"filename_parse":    filenameParse,
		"mailbox_list":      mailboxList,
		"next_sequence":     nextSequence,
		"ordering":          messageOrder,
		"recv":              receive,
		"recv_order":        receiveOrder,
		"send_validate":     sendValidate,
		"signing_key_order": signingKeyOrder,
		"slugify":           crossSlugify,
		"status_pending":    statusPending,
		"status_sort":       statusSort,
		"watch_events":      watchEvents,
	})
}

func haltState(t *testing.T, c kase) {
	var v struct {
		ID, St, FS string
		Expect     struct {
			Halted, Unreadable bool
			Reason             *string // null: none could be read
		}
	}
	c.into(t, &v)
	layHalt(t, v.FS)
	got := readInTime(t)
	want := v.Expect
	if got.Halted != want.Halted || got.Unreadable != want.Unreadable {
		t.Errorf("%s: got halted %v, unreadable %v; want %v, %v", v.FS, got.Halted, got.Unreadable, want.Halted, want.Unreadable)
	}
	reason := ""
	if want.Reason != nil {
		reason = *want.Reason
	}
	if got.Reason != reason {
		t.Errorf("%s: got reason %q, want %q", v.FS, got.Reason, reason)
	}
	if err := halt.Check("send"); (err != nil) != want.Halted {
		t.Errorf("%s: Check gives %v", v.FS, err)
	}
}

// layHalt gives the test a home folder of its own in which HALT is what fs describes.
func layHalt(t *testing.T, fs string) {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	dir := filepath.Join(home, ".config", "cross-agent-comms")
	path := filepath.Join(dir, "HALT")
	if fs == "no config folder" {
		return
	}
	err := os.MkdirAll(dir, 0o700)
	quoted, isFile := strings.CutPrefix(fs, `regular file "`)
	switch {
	case err != nil || fs == "no HALT entry":
	case isFile:
		text, ok := canonjson.String([]byte(`"` + quoted)) // spelled with the escapes of JSON
		if !ok {
			t.Fatalf("%s: the content is not valid JSON string", fs)
		}
		err = os.WriteFile(path, []byte(text), 0o600)
	case fs == "regular file, 0 bytes":
		err = os.WriteFile(path, nil, 0o600)
	case fs == "directory named HALT":
		err = os.Mkdir(path, 0o700)
	case fs == "symlink to nowhere":
		err = os.Symlink(filepath.Join(home, "nowhere"), path)
	case strings.HasPrefix(fs, "fifo named HALT"):
		err = syscall.Mkfifo(path, 0o600)
	case fs == "file named halt only":
		err = os.WriteFile(filepath.Join(dir, "halt"), []byte("x"), 0o600)
	default:
		t.Fatalf("no test knows how to lay out %q", fs)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// readInTime reads the switch and fails if that takes longer than any file system does: a pipe must not block it.
func readInTime(t *testing.T) halt.State {
	t.Helper()
	done := make(chan halt.State, 1)
	go func() { done <- halt.Read() }()
	select {
	case s := <-done:
		return s
	case <-time.After(time.Minute):
		t.Fatal("reading the switch blocks")
		return halt.State{}
	}
}

// haltEffect runs what halt and resume do to the switch of this machine; exit status 0 is a nil error.
func haltEffect(t *testing.T, c kase) {
	switch {
	case c.name == "he-recv" || strings.HasPrefix(c.name, "he-send-"):
		commsHalted(t, c)
		return
	case strings.HasPrefix(c.name, "he-status"):
		statusHalted(t, c)
		return
	case strings.HasPrefix(c.name, "he-watch"):
		watchHalted(t, c)
		return
	}
	if c.name == "he-discover" || c.name == "he-systemctl-missing" || strings.HasPrefix(c.name, "he-tailnet-") {
		haltProgram(t, c)
		return
	}
	var v struct {
		ID, St, Component, When string
		Expect                  struct {
			Exit   int
			Reason string
		}
	}
	c.into(t, &v)
	if v.Expect.Exit != 0 {
		t.Fatalf("no test knows how a halt can end with %d here", v.Expect.Exit)
	}
	reason, isHalt := strings.CutPrefix(v.Component, "halt ")
	switch {
	case isHalt && v.When == "already halted":
		layHalt(t, `regular file "old reason"`)
		reason = strings.Trim(reason, `"`)
		if _, warnings, err := halt.Raise(reason); err != nil || len(warnings) > 0 {
			t.Errorf("Raise(%q): %v, warnings %v", reason, err, warnings)
		}
		if s := halt.Read(); !s.Halted || s.Reason != v.Expect.Reason {
			t.Errorf("got halted %v, reason %q; want reason %q", s.Halted, s.Reason, v.Expect.Reason)
		}
	case v.Component == "resume" && v.When == "no HALT":
		layHalt(t, "no HALT entry")
		if was, err := halt.Clear(); err != nil || was.Halted {
			t.Errorf("Clear: was halted %v, %v", was.Halted, err)
		}
		if s := halt.Read(); s.Halted {
			t.Error("halted after resume")
		}
	default:
		t.Fatalf("no test knows how to run %q when %q", v.Component, v.When)
	}
}
