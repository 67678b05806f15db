package registry

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"tutti/internal/core/canonjson"
	"tutti/internal/core/termsafe"
)

// Limits of what is read and written.
const (
	maxName        = 128 // bytes of a name of ours; tmux takes more
	maxForeignName = 300 // bytes of a foreign name: the longest that tmux was seen to take
	maxServer      = 64  // bytes of a server name: the path of the socket has to fit into 108

	maxMembers = 1000 // of a row, and of its pane: people and programs use some dozens

	// What is kept of a screen: enough to see how a session ended.
	screenLines = 200
	screenBytes = 16 << 10
)

// Check returns an *InvalidError unless the row has what callers act upon.
func (r *Row) Check() error {
	bad := func(format string, args ...any) error {
		return &InvalidError{Name: r.Name, Reason: fmt.Sprintf(format, args...)}
	}
	switch {
	case r.Name == "":
		return bad("it has no name")
	case len(r.Name) > maxForeignName || !utf8.ValidString(r.Name) || strings.ContainsFunc(r.Name, termsafe.Unsafe) || strings.ContainsAny(r.Name, "\t\n"):
		return bad("its name is longer than %d bytes or has control characters in it", maxForeignName)
	case r.Status == "":
		return bad("its status is missing; it may be running, stopped, terminated or archived")
	case !r.Status.Known():
		return bad("its status is %q; it may be running, stopped, terminated or archived", r.Status)
	case r.Server != "" && !ValidServer(r.Server):
		return bad("%q cannot be the name of a tmux server", r.Server)
	case r.VisibleStatus != "" && !r.VisibleStatus.Known():
		return bad("its last_visible_status is %q", r.VisibleStatus)
	case r.Pane.Cwd != "" && !filepath.IsAbs(r.Pane.Cwd):
		return bad("its pane.cwd %q is not absolute", r.Pane.Cwd)
	}
	for _, m := range r.blank {
		null := canonjson.IsNull(m.Raw)
		switch {
		case m.Name == "pane":
			return bad("its pane is not a mapping")
		case m.Name == "tmux_server" && !null, m.Name == "role" && !null:
			return bad("its %s is not a word", m.Name)
		}
	}
	for _, m := range r.Pane.blank {
		if m.Name == "pid" && !canonjson.IsNull(m.Raw) && r.Pane.PID == 0 && string(m.Raw) != "0" {
			return bad("its pane.pid is not a process id")
		}
	}
	return nil
}

// ErrRole is in the chain of the error about a change of a role that was set.
var ErrRole = errors.New("a role that was set may not change")

// ErrServer is in the chain of the error about a name that is taken on another tmux server.
var ErrServer = errors.New("the name is taken on another tmux server")

// CheckChange returns an error unless a row may become another one: the name is the key, a role stays, and a name stands for one
// session on one server.
func CheckChange(before, after *Row) error {
	if err := after.Check(); err != nil {
		return err
	}
	switch {
	case before.Name != after.Name:
		return fmt.Errorf("session %s: the name of a row may not change", before.Name)
	case before.Role != "" && before.Role != after.Role:
		return fmt.Errorf("session %s: role %q to %q: %w", before.Name, before.Role, after.Role, ErrRole)
	case before.ServerName() != after.ServerName():
		return fmt.Errorf("session %s: there is a row of this name on server %s, and none can be made on %s: %w",
			before.Name, before.ServerName(), after.ServerName(), ErrServer)
	}
	return nil
}

// ValidServer reports whether a word can be the name of a tmux server: it becomes part of the path of a socket.
func ValidServer(name string) bool {
	return name != "" && len(name) <= maxServer && onlyWord(name)
}

func onlyWord(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// Screen returns what a row keeps of a screen: its last lines, without control characters and without blank lines at its end.
func Screen(text string) string {
	text = strings.TrimRight(termsafe.CleanBlock(text), " \t\r\n")
	if len(text) > screenBytes {
		text = text[len(text)-screenBytes:]
		for text != "" && !utf8.RuneStart(text[0]) {
			text = text[1:]
		}
	}
	for i, n := len(text), 0; i > 0; n++ {
		if i = strings.LastIndexByte(text[:i], '\n'); n == screenLines-1 && i >= 0 {
			return text[i+1:]
		}
	}
	return text
}
