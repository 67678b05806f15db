package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	"tutti/internal/platform/proc"
	"tutti/internal/test/progfile"
)

// A home is a home folder with a tmux of its own. No agent, bus or halt switch of the user is seen in it.
type home struct {
	ctx  context.Context
	top  string // of all that is in it
	dir  string // HOME
	tty  string // folder of the sockets of tmux
	env  []string
	user string // the name under which this runs, which no picture shows
}

// newHome makes a home whose PATH has the programs of tutti and the agent CLIs of this package.
func newHome(ctx context.Context, bin string) (*home, error) {
	top, err := os.MkdirTemp("/tmp", "tp") // the path of a socket may have 107 bytes
	if err != nil {
		return nil, err
	}
	h := &home{ctx: ctx, top: top, dir: filepath.Join(top, "home"), tty: filepath.Join(top, "tty")}
	if u, err := user.Current(); err == nil {
		h.user = u.Username
	}
	clis := filepath.Join(top, "bin")
	exe, err := os.Executable()
	if err != nil {
		return h, err
	}
	self, err := os.ReadFile(exe)
	err = errors.Join(err, os.Mkdir(h.dir, 0o700), os.Mkdir(h.tty, 0o700), os.Mkdir(clis, 0o700))
	for _, name := range programs { // processes are recognised by the name of their file
		err = errors.Join(err, progfile.Write(filepath.Join(clis, name), self, 0o700))
	}
	h.env = []string{
		"HOME=" + h.dir, "PATH=" + clis + ":" + bin + ":" + os.Getenv("PATH"), "TMUX_TMPDIR=" + h.tty, "TMPDIR=" + top, "TERM=xterm-256color",
		"LANG=C.UTF-8", "USER=eva", "GIT_AUTHOR_NAME=eva", "GIT_AUTHOR_EMAIL=eva@example.org", "GIT_COMMITTER_NAME=eva", "GIT_COMMITTER_EMAIL=eva@example.org",
	}
	return h, err
}

// leave ends the tmux servers with all that runs in them, and removes the folder.
func (h *home) leave() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(h.ctx), 10*time.Second)
	defer cancel()
	sockets, _ := filepath.Glob(filepath.Join(h.tty, "tmux-*", "*"))
	for _, socket := range sockets {
		cmd := exec.CommandContext(ctx, "tmux", "-S", socket, "kill-server")
		cmd.Env = h.env
		_ = cmd.Run() // it may have ended with its last session
	}
	for range 200 { // hooks and servers see that their agent CLI has ended
		if len(h.left()) == 0 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	_ = os.RemoveAll(h.top) // it is a folder for temporary files
}

// left are the processes of this home that still run.
func (h *home) left() (all []int) {
	for _, id := range proc.WithEnv("HOME", h.dir) {
		all = append(all, id.PID)
	}
	return all
}

func (h *home) command(dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(h.ctx, name, args...)
	if !strings.Contains(name, "/") {
		for entry := range strings.SplitSeq(strings.TrimPrefix(h.env[1], "PATH="), ":") {
			if _, err := os.Stat(filepath.Join(entry, name)); err == nil {
				cmd = exec.CommandContext(h.ctx, filepath.Join(entry, name), args...)
				break
			}
		}
	}
	cmd.Env, cmd.Dir = h.env, filepath.Join(h.dir, dir)
	return cmd
}

// run runs a program in a folder of the home, and returns what it printed.
func (h *home) run(dir string, env []string, name string, args ...string) (string, error) {
	cmd := h.command(dir, name, args...)
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// open starts a program in a terminal of that size, in a tmux server of that name.
func (h *home) open(server, dir string, w window, argv ...string) error {
	args := append([]string{"-u", "-f", "/dev/null", "-L", server, "new-session", "-d", "-x", fmt.Sprint(w.columns), "-y", fmt.Sprint(w.lines), "--"}, argv...)
	_, err := h.run(dir, nil, "tmux", args...)
	return err
}

// press sends keys to the terminal of a server.
func (h *home) press(server string, keys ...string) error {
	_, err := h.run("", nil, "tmux", append([]string{"-u", "-L", server, "send-keys"}, keys...)...)
	return err
}

// capture returns what a terminal shows, with its colours and without the name of the user.
func (h *home) capture(server string) (string, error) {
	out, err := h.run("", nil, "tmux", "-u", "-L", server, "capture-pane", "-p", "-e")
	return strings.ReplaceAll(out, "halted by "+h.user+" ", "halted by eva "), err
}

// until waits until a terminal shows all of these texts, and returns what it shows.
func (h *home) until(server string, want ...string) (got string, err error) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if got, err = h.capture(server); err != nil {
			return "", err
		}
		if shows(got, want) {
			return got, nil
		}
	}
	return "", fmt.Errorf("the terminal does not show %q:\n%s", want, got)
}

// private reports what a text tells about this machine, "" for nothing.
func (h *home) private(text string) string {
	host, _ := os.Hostname() // "": then it is in no text
	for _, secret := range []string{host, h.top} {
		if secret != "" && strings.Contains(text, secret) {
			return secret
		}
	}
	return ""
}

func shows(screen string, want []string) bool {
	for _, text := range want {
		if !strings.Contains(screen, text) {
			return false
		}
	}
	return true
}

// record captures terminals until they show all of these texts; servers and windows belong together.
func (h *home) record(m *movie, servers []string, last ...string) error {
	began := time.Now()
	before := ""
	for end := began.Add(2 * time.Minute); time.Now().Before(end); time.Sleep(40 * time.Millisecond) {
		f := frame{at: time.Since(began)}
		all := ""
		for i, server := range servers {
			got, err := h.capture(server)
			if err != nil {
				return err
			}
			all += got
			f.screens = append(f.screens, rows(got, m.windows[i].columns, m.windows[i].lines))
		}
		if all != before {
			if before = all; len(m.frames) == 0 {
				f.at = 0
			}
			m.frames = append(m.frames, f)
		}
		if shows(all, last) {
			return nil
		}
	}
	return fmt.Errorf("%q was not shown:\n%s", last, before)
}
