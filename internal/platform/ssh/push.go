package ssh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// PushOptions say how a file is pushed.
type PushOptions struct {
	// IgnoreExisting leaves a file of that name as it is. Without it, the file is replaced whatever its time and size are.
	IgnoreExisting bool
}

// Push copies a file of this machine (an absolute path) to a path on the other one, as [Host.Dir] makes it. Its mode there is
// 0600, its time that of the file here. It appears there whole, by a rename, or not at all; a hidden file next to it may be left
// behind when the other machine loses its power. It reports whether anything was copied: with IgnoreExisting, false means that the
// name is taken. The error is an *Error, or wraps the cause of the context.
func (c *Client) Push(ctx context.Context, h Host, file, remote string, o PushOptions) (copied bool, err error) {
	fail := func(err error) (bool, error) { return false, fmt.Errorf("rsync %s: %w", h.Name, err) }
	if err := h.Check(); err != nil {
		return fail(err)
	}
	switch {
	case !filepath.IsAbs(file): // "a:b" would be a machine
		return fail(fmt.Errorf("path %q is not absolute", file))
	case remote == "" || strings.ContainsFunc(remote, isControl) || strings.HasSuffix(remote, "/"):
		return fail(fmt.Errorf("path %q there is none of a file", remote))
	}
	program, err := find(c.Rsync, "rsync")
	if err != nil {
		return false, err
	}
	shell, err := find(c.SSH, "ssh")
	if err != nil {
		return false, err
	}
	plain := c.plainPaths.Load()
	out, err := c.rsync(ctx, h, program, shell, file, remote, o, plain)
	if !plain && lacksProtection(err, out.Stderr) {
		c.plainPaths.Store(true)
		out, err = c.rsync(ctx, h, program, shell, file, remote, o, true)
	}
	return len(bytes.TrimSpace(out.Stdout)) > 0, err
}

// remoteRsync starts rsync in the home folder, which paths are relative to. The start-up files of the login shell there may have gone elsewhere,
// and their cd may print, which rsync would take for its peer.
const remoteRsync = "--rsync-path=cd >/dev/null; rsync"

// rsync pushes once. Plain says that this rsync cannot protect its arguments from the shell of the other side, so that they
// must need no protection.
func (c *Client) rsync(ctx context.Context, h Host, program, shell, file, remote string, o PushOptions, plain bool) (Output, error) {
	args := []string{"--times", "--chmod=F600", "--whole-file", "--timeout=" + strconv.Itoa(stall), "--out-format=%n", remoteRsync}
	switch {
	case !plain:
		args = append(args, "--protect-args")
	case strings.ContainsFunc(remote, needsQuotes):
		return Output{}, fmt.Errorf("rsync %s: path %q: this rsync has no --protect-args, and the path needs it", h.Name, remote)
	}
	if o.IgnoreExisting {
		args = append(args, "--ignore-existing")
	} else {
		args = append(args, "--ignore-times") // two signatures have one size and may have one time
	}
	target := h.target()
	if strings.Contains(h.Host, ":") { // an address of IPv6
		target = strings.TrimSuffix(target, h.Host) + "[" + h.Host + "]"
	}
	args = append(args, "-e", remoteShell(append([]string{shell}, c.options(h)...)), "--", file, target+":"+remote)
	return c.start(ctx, "rsync", h, c.limit(), exec.Command(program, args...), nil)
}

// remoteShell joins words as rsync splits them: at blanks, but not inside quotes, of which two in a row are one.
func remoteShell(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		if strings.ContainsAny(w, " '\"") || w == "" {
			w = "'" + strings.ReplaceAll(w, "'", "''") + "'"
		}
		quoted[i] = w
	}
	return strings.Join(quoted, " ")
}

func needsQuotes(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("./_-", r))
}

// lacksProtection tells whether an rsync does not know the option that keeps its arguments from the shell of the other side, as the
// one of OpenBSD and macOS. It says so before it connects.
func lacksProtection(err error, said []byte) bool {
	var e *Error
	return errors.As(err, &e) && e.Exit == rsyncUsage && bytes.Contains(said, []byte("protect-args"))
}
