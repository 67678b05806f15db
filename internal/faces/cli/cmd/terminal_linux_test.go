package cmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tutti/internal/faces/cli/kit"
)

// onTerminal runs the program with a terminal of the given width as its output and returns what it showed there.
func onTerminal(t *testing.T, columns uint16, env []string, args ...string) string {
	t.Helper()
	shown, _ := typedOnTerminal(t, columns, "", env, args...)
	return shown
}

// typedOnTerminal is onTerminal for a program that asks: typed is what it reads, below an interactive shell, as a person has it. It also
// returns the exit status.
func typedOnTerminal(t *testing.T, columns uint16, typed string, env []string, args ...string) (string, int) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatalf("a pseudo-terminal is needed: %v", err)
	}
	defer master.Close()
	fd := int(master.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns})
	}
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	self, err := exec.LookPath("tutti") // where tutti-full lies beside it
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Args[0] = "tutti"
	if typed != "" {
		cmd = exec.Command("/bin/bash", "--noprofile", "--rcfile", shellLine(t, self, args))
	}
	cmd.Env = append(append(os.Environ(), "TERM=xterm", "NO_COLOR=", "HISTFILE="), env...)
	cmd.Stdout, cmd.Stderr = slave, slave
	if typed != "" {
		cmd.Stdin = slave
		cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
		if _, err := master.WriteString(typed); err != nil {
			t.Fatal(err)
		}
	}
	err = cmd.Start()
	slave.Close()
	if err != nil {
		t.Fatal(err)
	}
	var shown strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := master.Read(buf)
		shown.Write(buf[:n])
		if err != nil {
			break // EIO: the program has closed its end
		}
	}
	cmd.Wait()
	text := strings.ReplaceAll(shown.String(), "\r\n", "\n")
	if typed != "" {
		text = strings.TrimSuffix(text, "exit\n") // the shell's
	}
	return text, cmd.ProcessState.ExitCode()
}

// shellLine returns a file with the lines by which an interactive shell runs a program and ends with its exit status.
func shellLine(t *testing.T, program string, args []string) string {
	t.Helper()
	var line strings.Builder
	for _, a := range append([]string{program}, args...) {
		line.WriteString("'" + strings.ReplaceAll(a, "'", `'\''`) + "' ")
	}
	path := filepath.Join(t.TempDir(), "rc")
	if err := os.WriteFile(path, []byte(line.String()+"\nexit $?\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Colours, cutting and cleaning are for terminals; each way to switch the colours off works.
func TestTerminal(t *testing.T) {
	t.Parallel()
	home := "HOME=" + t.TempDir()
	const title = "\x1b[1mStop everything\x1b[0m"
	for _, tc := range []struct {
		env  []string
		args []string
		want bool
	}{
		{nil, []string{"help", "more"}, true},
		{nil, []string{"help", "more", "--no-color"}, false},
		{[]string{"NO_COLOR=1"}, []string{"help", "more"}, false},
		{[]string{"TERM=dumb"}, []string{"help", "more"}, false},
	} {
		shown := onTerminal(t, 80, append(tc.env, home), tc.args...)
		if got := strings.Contains(shown, title); got != tc.want || !strings.Contains(shown, "Stop everything") {
			t.Errorf("%v %v: coloured: got %v, want %v\n%s", tc.env, tc.args, got, tc.want, shown)
		}
	}
	shown := onTerminal(t, 60, []string{home}, "store", "kinds")
	for line := range strings.Lines(shown) {
		if w := kit.Width(strings.TrimSuffix(line, "\n")); w > 60 {
			t.Errorf("a line of a table takes %d of 60 columns: %q", w, line)
		}
	}
	if !strings.Contains(shown, "remote-replay/{name}.json") {
		t.Errorf("a path is cut although the next line has room for it:\n%s", shown)
	}
	if shown := onTerminal(t, 80, []string{home}, "nosuchverb"); !strings.Contains(shown, "tutti: \x1b[31merror:\x1b[0m ") {
		t.Errorf("the word error is not coloured: %q", shown)
	}
}

// A sentence on standard error is broken between words, and what is to be typed stays in one piece.
func TestTerminalBreaksSentences(t *testing.T) {
	t.Parallel()
	env := []string{"HOME=" + t.TempDir(), "NO_COLOR=1"}
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"send", "bob", "x"}, "tutti: error: "},
		{[]string{"host", "setup", "--host", "cursor"}, "tutti: hint: one of: claude, codex, gemini, opencode, agy,\n             hermes, all\n"},
		{[]string{"keys", "list", "claude:" + strings.Repeat("a", 60)}, " --instance\n             claude:" + strings.Repeat("a", 60) + "\n"},
	} {
		shown := onTerminal(t, 60, env, tc.args...)
		if !strings.Contains(shown, tc.want) {
			t.Errorf("%v: got\n%s\nwant %q in it", tc.args, shown, tc.want)
		}
	}
}

// TestHookAtTerminal: a person who runs a hook by hand gets an answer, although a hook prints nothing for the calling program.
func TestHookAtTerminal(t *testing.T) {
	t.Parallel()
	env := []string{"HOME=" + t.TempDir(), "NO_COLOR=1"}
	for _, args := range [][]string{{"hook"}, {"hook", "claude", "Start"}, {"hook", "claude", "SessionStart"}} {
		shown, code := typedOnTerminal(t, 80, "\n", env, args...)
		if code != 0 || !strings.Contains(shown, "agent programs call this") {
			t.Errorf("%v: exit status %d, got %q", args, code, shown)
		}
	}
}

// TestTerminalEscapesAreRemoved: text from the bus cannot control the terminal.
func TestTerminalEscapesAreRemoved(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	env := []string{"HOME=" + home}
	onTerminal(t, 80, env, "init")
	onTerminal(t, 80, env, "plumbing", "store-put", "policy", "demo", `{"x":"\u202e"}`)
	evil := "{\"x\":\"\x9b31m \x1b]52;c;QQ==\a \u202e\"}"
	if err := os.WriteFile(home+"/h2a-workspace/.h2a/policies/evil.json", []byte(evil), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(home+"/h2a-workspace/.h2a/policies/\x1b[2J.json", []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"store", "show", "policy", "evil"},
		{"store", "list", "policy"},
		{"store", "check"},
		{"halt", "\x1b[2J\u202e"},
		{"store", "kinds", "--no-color"},
		{"resume"},
	} {
		shown := onTerminal(t, 80, append(env, "NO_COLOR=1", "PATH=/nowhere"), args...)
		if i := strings.IndexAny(shown, "\x1b\a\u202e\u009b"); i >= 0 || shown == "" {
			t.Errorf("%v: something reached the terminal, or nothing at all: %q", args, shown)
		}
	}
}
