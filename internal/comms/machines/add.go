package machines

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tutti/internal/platform/atomicfile"
	"tutti/internal/platform/ssh"
)

// A PeerError reports a machine that cannot be added to the list of peers.
type PeerError struct {
	Name string
	Why  string
	Next string // what to do; "" when Why says all
}

func (e *PeerError) Error() string { return fmt.Sprintf("peer %s: %s", e.Name, e.Why) }

// Hint says what to do.
func (e *PeerError) Hint() string { return e.Next }

// ParseTarget reads [USER@]HOST[:PORT]. An IPv6 address with a port is written in brackets.
func ParseTarget(target string) (h ssh.Host, err error) {
	h.Host = target
	if user, host, named := strings.Cut(target, "@"); named {
		if user == "" {
			return h, errors.New("there is no user before the @")
		}
		h.User, h.Host = user, host
	}
	if strings.HasPrefix(h.Host, "[") || strings.Count(h.Host, ":") == 1 {
		host, port, err := net.SplitHostPort(h.Host)
		if err != nil {
			return h, err
		}
		if h.Port, err = strconv.Atoi(port); err != nil || h.Port < 1 || h.Port > 65535 {
			return h, fmt.Errorf("port %q: must be between 1 and 65535", port)
		}
		h.Host = host
	}
	return h, h.Check()
}

// AddPeer writes a machine at the end of the list of peers; what is there stays as it is. added is false when the list has the same
// machine already. A name that means another machine, or this one, is a *PeerError.
func AddPeer(path string, h ssh.Host, local Local) (added bool, err error) {
	if !ValidMachine(h.Name) {
		return false, &PeerError{Name: h.Name, Why: "a name has lower-case letters, digits and hyphens, and begins with no hyphen"}
	}
	if slices.Contains(local.Names(), h.Name) {
		return false, &PeerError{h.Name, "that is a name of this machine", "choose another name: the other machine need not know it"}
	}
	peers, err := ReadPeers(path)
	if err != nil {
		return false, err
	}
	if old, ok := peers.Get(h.Name); ok {
		if old.Host == h.Host && old.User == h.User && old.Port == h.Port {
			return false, nil
		}
		return false, &PeerError{h.Name, "the list has another machine of that name: " + old.Typed(), "choose another name, or change the entry in " + path}
	}
	text := append(bytes.Clone(peers.Raw), entry(h, len(peers.Raw) > 0)...)
	if now, err := ParsePeers(text); err != nil || len(now.List) != len(peers.List)+1 {
		return false, &PeerError{h.Name, "nothing can be appended to " + path + " as it is written", "write the entry by hand"}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return false, err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // the file may be a link of the user's
	} else if !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	return true, atomicfile.WriteFile(path, text, 0o600)
}

// entry is the table of a machine. Check lets no character through that TOML and Go quote in different ways.
func entry(h ssh.Host, behind bool) string {
	var b strings.Builder
	if behind {
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "[peers.%s]\nhost = %q\n", h.Name, h.Host)
	if h.User != "" {
		fmt.Fprintf(&b, "ssh_user = %q\n", h.User)
	}
	if h.Port != 0 {
		fmt.Fprintf(&b, "port = %d\n", h.Port)
	}
	return b.String()
}
