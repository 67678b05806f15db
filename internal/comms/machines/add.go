package machines

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2/unstable"

	"tutti/internal/platform/atomicfile"
	"tutti/internal/platform/filelock"
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

// peersLock is the file, beside the list of peers, that is locked while the list is changed.
const peersLock = ".peers.lock"

// lockLimit is how long another change of the list may take.
const lockLimit = 10 * time.Second

// AddPeer writes a machine at the end of the list of peers; what is there stays as it is. added is false when the list has the same
// machine already. A name that means another machine, or this one, is a *PeerError.
func AddPeer(ctx context.Context, path string, h ssh.Host, local Local) (added bool, err error) {
	if !ValidMachine(h.Name) {
		return false, &PeerError{Name: h.Name, Why: "a name has lower-case letters, digits and hyphens, and begins with no hyphen"}
	}
	if slices.Contains(local.Names(), h.Name) {
		return false, &PeerError{h.Name, "that is a name of this machine", "choose another name: the other machine need not know it"}
	}
	err = changePeers(ctx, path, func(peers *Peers) ([]byte, error) {
		if old, ok := peers.Get(h.Name); ok {
			if old.Host == h.Host && old.User == h.User && old.Port == h.Port {
				return nil, nil
			}
			return nil, &PeerError{
				h.Name, "the list has another machine of that name: " + old.Typed(),
				"tutti comms peer remove " + h.Name + " removes it; or choose another name",
			}
		}
		text := append(bytes.Clone(peers.Raw), entry(h, len(peers.Raw) > 0)...)
		if now, err := ParsePeers(text); err != nil || len(now.List) != len(peers.List)+1 {
			return nil, &PeerError{h.Name, "nothing can be appended to " + path + " as it is written", "write the entry by hand"}
		}
		added = true
		return text, nil
	})
	return added && err == nil, err
}

// RemovePeer takes a machine out of the list of peers; the other machines, and comments outside of its entry, stay as they are. A machine
// that is not in the list is a *PeerError.
func RemovePeer(ctx context.Context, path, name string) error {
	return changePeers(ctx, path, func(peers *Peers) ([]byte, error) {
		if _, ok := peers.Get(name); !ok {
			return nil, &PeerError{name, "it is not in " + path, "tutti comms discover lists the machines"}
		}
		text := without(peers.Raw, name)
		rest := slices.DeleteFunc(slices.Clone(peers.List), func(h ssh.Host) bool { return h.Name == name })
		if now, err := ParsePeers(text); err != nil || !reflect.DeepEqual(now.List, rest) && len(now.List)+len(rest) > 0 {
			return nil, &PeerError{name, "its entry in " + path + " is not a table of its own", "remove it by hand"}
		}
		return text, nil
	})
}

// changePeers writes the list of peers anew as change wants it, nil for no change. Only one process changes it at a time.
func changePeers(ctx context.Context, path string, change func(peers *Peers) ([]byte, error)) (err error) {
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	d, err := atomicfile.OpenDir(folder)
	if err != nil {
		return err
	}
	defer d.Close()
	lock, err := filelock.Acquire(ctx, d.FD(), folder, filelock.Options{Kernel: peersLock, Timeout: lockLimit})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	peers, err := ReadPeers(path)
	if err != nil {
		return err
	}
	text, err := change(&peers)
	if err != nil || text == nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // the file may be a link of the user's
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return atomicfile.WriteFile(path, text, 0o600)
}

// without returns the text of a list without the tables of one machine.
func without(text []byte, name string) []byte {
	var p unstable.Parser
	p.Reset(text)
	rest, from, cut := []byte{}, 0, -1 // cut: where a table of the machine begins
	for p.NextExpression() {
		n := p.Expression()
		if n.Kind != unstable.Table && n.Kind != unstable.ArrayTable {
			continue
		}
		var keys []string
		at := keysOf(n, &keys)
		begin := 1 + bytes.LastIndexByte(text[:at.Raw.Offset], '\n')
		if cut >= 0 {
			from, cut = afterTable(text, cut, begin), -1
		}
		if len(keys) >= 2 && keys[0] == "peers" && keys[1] == name {
			rest, cut = append(rest, text[from:begin]...), begin
		}
	}
	if cut >= 0 {
		from = afterTable(text, cut, len(text))
	}
	if from == len(text) && bytes.HasSuffix(rest, []byte("\n\n")) { // AddPeer has written an empty line before it
		rest = rest[:len(rest)-1]
	}
	return append(rest, text[from:]...)
}

// afterTable returns where a table ends. Comments and empty lines behind it belong to the next one.
func afterTable(text []byte, begin, next int) int {
	for next > begin {
		line := 1 + bytes.LastIndexByte(text[:next-1], '\n')
		if word := bytes.TrimSpace(text[line:next]); len(word) > 0 && word[0] != '#' {
			break
		}
		next = line
	}
	return next
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
