package notify

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"tutti/internal/test/progfile"
)

// fake puts a program in the place of the one that shows notices; it writes down its arguments and its bus.
func fake(t *testing.T, body string) (said string) {
	t.Helper()
	if runtime.GOOS == "darwin" {
		t.Skip("DOES NOT APPLY: the program is another one there")
	}
	dir := t.TempDir()
	said = filepath.Join(dir, "said")
	text := "#!/bin/sh\nfor a in \"$@\" \"$DBUS_SESSION_BUS_ADDRESS\"; do printf '%s\\n' \"$a\" >> " + said + "; done\n" + body
	if err := progfile.Write(filepath.Join(dir, sender), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	return said
}

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for _, p := range pairs {
			if n, v, _ := strings.Cut(p, "="); n == name {
				return v
			}
		}
		return ""
	}
}

// TestNoticeText: nothing of a notice is an option, markup or a control character.
func TestNoticeText(t *testing.T) {
	said := fake(t, "")
	d := Desktop{Env: env("DBUS_SESSION_BUS_ADDRESS=unix:path=/somewhere")}
	if !d.There() {
		t.Fatal("no desktop is seen")
	}
	told, err := d.Say(t.Context(), "--expire-time=0", "a <b>bold</b> & \x1b[31mred\nline $(touch x) `id`")
	got, _ := os.ReadFile(said)
	want := "--app-name=tutti\n--\n--expire-time=0\na &lt;b&gt;bold&lt;/b&gt; &amp; [31mredline $(touch x) `id`\nunix:path=/somewhere\n"
	if !told || err != nil || string(got) != want {
		t.Errorf("said %q, %v, %v; want %q", got, told, err, want)
	}
}

// TestFindSessionBus: the session bus is found at its standard path if the environment was not passed on.
func TestFindSessionBus(t *testing.T) {
	said := fake(t, "")
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
	run, err := os.MkdirTemp("", "bus") // the name of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(run) })
	path := filepath.Join(run, "bus")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d := Desktop{Env: env("XDG_RUNTIME_DIR=" + run)}
	if told, err := d.Say(t.Context(), "title", "text"); told || err != nil || d.There() {
		t.Errorf("a file is not a bus: %v, %v", told, err)
	}
	os.Remove(path)
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	told, err := d.Say(t.Context(), "title", "text")
	got, _ := os.ReadFile(said)
	if !told || err != nil || !strings.HasSuffix(string(got), "\ntext\nunix:path="+path+"\n") {
		t.Errorf("said %q, %v, %v", got, told, err)
	}
}

func TestNoDesktop(t *testing.T) {
	said := fake(t, "")
	d := Desktop{Env: env("DBUS_SESSION_BUS_ADDRESS=disabled:", "XDG_RUNTIME_DIR=/run")}
	if told, err := d.Say(t.Context(), "title", "text"); told || err != nil || d.There() {
		t.Errorf("switched off: %v, %v", told, err)
	}
	t.Setenv("PATH", t.TempDir())
	d = Desktop{Env: env("DBUS_SESSION_BUS_ADDRESS=unix:path=/somewhere")}
	if told, err := d.Say(t.Context(), "title", "text"); told || err != nil || d.There() {
		t.Errorf("without the program: %v, %v", told, err)
	}
	if _, err := os.Stat(said); err == nil {
		t.Error("something was started")
	}
}

// TestDesktopFails: the error is the program's output, on one line; a program that hangs ends with its caller.
func TestDesktopFails(t *testing.T) {
	fake(t, "echo 'the name is\033 not owned' >&2; echo more >&2; exit 1\n")
	d := Desktop{Env: env("DBUS_SESSION_BUS_ADDRESS=unix:path=/somewhere")}
	told, err := d.Say(t.Context(), "title", "text")
	if want := "notify-send: exit status 1: the name is not owned"; !told || err == nil || err.Error() != want {
		t.Errorf("got %v, %v; want %q", told, err, want)
	}
	said := fake(t, "exec sleep 600\n")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(said); err == nil {
				cancel()
			}
			time.Sleep(time.Millisecond)
		}
	}()
	if _, err := d.Say(ctx, "title", "text"); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
}
