package daemon

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"tutti/internal/sessions/monitor"
	"tutti/internal/sessions/registry"
	"tutti/internal/sessions/registry/yaml"
)

// openRegistry opens a registry as the program does.
func openRegistry(path string) (registry.Registry, error) {
	reg, err := yaml.Open(path)
	if err != nil {
		return nil, err
	}
	return reg, nil
}

// TestSessions: the daemon maintains the registry of the folder as soon as it exists and no other monitor does, and the other named
// registries too.
func TestSessions(t *testing.T) {
	sockets, err := os.MkdirTemp("/tmp", "td") // the path of a socket may have 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(sockets) })
	t.Setenv("TMUX_TMPDIR", sockets)
	server := "tutti-up-" + strconv.Itoa(os.Getpid())
	_, pid := tmuxPane(t, server)
	dir := t.TempDir()
	t.Chdir(dir)
	folder := filepath.Join(dir, registry.Folder)
	row := func(name, boot string, pid int) string {
		return "  - {name: " + name + ", status: running, tmux_server: " + server + ", boot_id: " + boot + ", pane: {pid: " + strconv.Itoa(pid) + ", cmd: claude, cwd: " + dir + "}}\n"
	}
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path+".new", []byte("tmux_sessions:\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	begin := func(regOf string) (out *page, end func()) {
		t.Helper()
		s, out := service(t)
		s.Open, s.Up.Registry = openRegistry, regOf
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = serve(ctx, s, []Part{{"sessions", sessions}})
		}()
		return out, func() { cancel(); <-done }
	}
	path := filepath.Join(folder, registry.File)
	out, end := begin("")
	out.shows(t, " up: sessions keeps "+path+" up to date\n")
	if _, err := os.Stat(folder); err == nil {
		t.Error("a folder was made where there is no registry")
	}
	write(path, row("lost", "before", 4242))
	out.shows(t, " sessions: lost: the machine was started anew; terminated\n")
	if beat, ok := monitor.ReadBeat(path); !ok || beat.Process.PID != os.Getpid() {
		t.Errorf("the beat: %+v, %v", beat, ok)
	}
	// A second one waits, and takes over.
	second, endSecond := begin(path + ", " + path)
	second.shows(t, path+": process "+strconv.Itoa(os.Getpid())+" watches these sessions already; this one does when that ends\n")
	if strings.Count(second.String(), " up: sessions keeps ") != 1 || strings.Count(second.String(), path) != 2 {
		t.Errorf("it says\n%s", second)
	}
	end()
	endSecond()
	// Several that are named; what tmux tells is heard.
	other := filepath.Join(t.TempDir(), "other.yaml")
	write(other, row("other", "before", 4242))
	write(path, "")
	both, endBoth := begin(path + "," + other)
	defer endBoth()
	both.shows(t, " sessions: other: the machine was started anew; terminated\n")
	_ = syscall.Kill(pid, syscall.SIGKILL) // our sleep
	if raw, err := os.ReadFile(other); err != nil || !strings.Contains(string(raw), "status: terminated") {
		t.Errorf("%v: %s", err, raw)
	}
}
