// Package notify says a word to the person who sits at this machine, by the notices of their desktop.
//
// It promises that what it is given is shown as text, started without a shell and never taken for an option, and that it comes
// back within a few seconds whatever the desktop does. A machine without a desktop, or an unattended one, is not a fault: then
// nothing is shown, and the caller learns that. Whether anybody has read a notice cannot be known. The caller decides what to
// say, which user to notify and how often.
package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"tutti/internal/core/termsafe"
)

// A Desktop is that of the user of this process.
type Desktop struct {
	// Env reads the environment; nil: that of the process. Agent programs pass on only a part of it.
	Env func(name string) string
}

// limit is how long the program that shows notices may take. It takes some milliseconds; if the session bus does not answer it
// would wait for half a minute.
const limit = 5 * time.Second

// The programs that show notices.
const (
	sender = "notify-send" // of libnotify: freedesktop.org's way
	script = "osascript"   // of macOS
)

// script takes its words from its arguments, so that none of them is read as a program.
var scriptLines = [...]string{
	"on run argv", "display notification (item 2 of argv) with title (item 1 of argv)", "end run",
}

const busVariable = "DBUS_SESSION_BUS_ADDRESS"

// There tells whether there is a way to show anything. Nothing is started for that.
func (d Desktop) There() bool {
	_, _, err := d.way()
	return err == nil
}

var errNone = errors.New("there is no desktop")

// way finds the program, and the bus by which it reaches the desktop, "" where it finds that by itself.
func (d Desktop) way() (program, bus string, err error) {
	name := sender
	if runtime.GOOS == "darwin" {
		name = script
	}
	if program, err = exec.LookPath(name); err != nil {
		return "", "", err
	}
	if name == script {
		return program, "", nil
	}
	env := d.Env
	if env == nil {
		env = os.Getenv
	}
	switch bus = env(busVariable); {
	case strings.HasPrefix(bus, "disabled:"): // as other programs take it, too
		return "", "", errNone
	case bus != "":
		return program, bus, nil
	}
	dir := env("XDG_RUNTIME_DIR")
	if dir == "" {
		dir = "/run/user/" + strconv.Itoa(os.Getuid())
	}
	path := filepath.Join(dir, "bus")
	at, err := os.Stat(path)
	if err != nil || at.Mode().Type() != fs.ModeSocket || strings.ContainsAny(path, ",;%=") { // these would have to be escaped
		return "", "", errNone
	}
	return program, "unix:path=" + path, nil
}

// Say shows a notice: a title and a line of text. told is false where there is no desktop; an error means that there is one that
// could not be reached or did not take it.
func (d Desktop) Say(ctx context.Context, title, text string) (told bool, err error) {
	program, bus, err := d.way()
	if err != nil {
		return false, nil //nolint:nilerr // it is an answer
	}
	title, text = termsafe.Clean(title), termsafe.Clean(text)
	var args []string
	if filepath.Base(program) == script {
		for _, line := range scriptLines {
			args = append(args, "-e", line)
		}
		args = append(args, "--", title, text)
	} else {
		// The text may hold marks of its own; the title is text everywhere.
		args = []string{"--app-name=tutti", "--", title, escaped.Replace(text)}
	}
	return true, run(ctx, program, args, bus)
}

var escaped = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// run starts the program and waits for its end.
func run(ctx context.Context, program string, args []string, bus string) error {
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c := exec.CommandContext(within, program, args...)
	c.Env = os.Environ()
	if bus != "" {
		c.Env = append(c.Env, busVariable+"="+bus)
	}
	var said bytes.Buffer
	c.Stderr = &said
	c.WaitDelay = time.Second // a process that it has left behind may hold its output
	err := c.Run()
	name := filepath.Base(program)
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", name, ctx.Err())
	case within.Err() != nil:
		return fmt.Errorf("%s: no end within %s", name, limit)
	}
	return fmt.Errorf("%s: %w%s", name, err, firstLine(said.String()))
}

// maxSaid is how much of what the program said goes into an error, in bytes.
const maxSaid = 160

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	if s = termsafe.Clean(s); s == "" {
		return ""
	}
	if len(s) > maxSaid {
		s = strings.ToValidUTF8(s[:maxSaid], "")
	}
	return ": " + s
}
