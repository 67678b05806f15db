// Package ssh reaches other machines with the programs that people use for it, OpenSSH and rsync, as processes.
//
// What it promises: everything goes by argument lists, never through a shell of this machine. The command line of the other
// machine holds nothing but fixed text of ours: a script travels on the standard input, and behind it, as bytes, whatever comes
// from people ([Client.Run]). So it does not matter what a name or a reason holds, nor which login shell the other side has. A
// file is seen there whole or not at all ([Client.Push]). It never asks questions: a host whose key is unknown, or a key that
// needs a pass phrase, is an error. Every call has a time limit, what the other side prints is bounded, and a call that ends
// for whatever reason leaves no process here, unless several of them are to share a connection ([Client.Share]). Errors tell
// what may work the next time from what will not ([Retryable]).
//
// What it leaves to others: when a call is repeated, the halt switch (which ends the context), and showing people the texts
// of the other side in a fit form; [Error.Last] has no control characters, but output has what it has.
//
// Everything here is safe for concurrent use. It needs OpenSSH 7.6 and rsync 3.0 here, sh, dd and rsync on the other side.
package ssh

import (
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// A Host is another machine, and how it is reached.
type Host struct {
	Name    string   // what people call it
	Host    string   // name or address for ssh
	User    string   // "": ssh decides
	Port    int      // 0: ssh decides
	Options []string // of ssh_config, "Keyword=value"; each becomes one -o
	Root    string   // folder of the projects there: absolute, "~", "~/…" or relative to the home folder; "": DefaultRoot
}

// DefaultRoot is where projects lie when nothing else is said.
const DefaultRoot = "~/projects"

// A Client is how hosts are reached. The zero Client is ready; it must not be copied after its first use.
type Client struct {
	SSH            string        // program; "": ssh on PATH
	Rsync          string        // program; "": rsync on PATH
	ConnectTimeout time.Duration // in whole seconds; 0: DefaultConnect
	Limit          time.Duration // of one call; 0: DefaultLimit
	Extra          []string      // arguments of ssh before all others, so that they win: {"-F", "/dev/null"}
	Env            []string      // of the processes; nil: ours

	plainPaths atomic.Bool // this rsync cannot protect its arguments
	share      *share      // nil: each call has a connection of its own
}

const (
	DefaultConnect = 5 * time.Second  // for the connection
	DefaultLimit   = 30 * time.Second // for one call
	ProbeLimit     = 10 * time.Second // for a probe, all in all

	// alive is how often a silent connection is asked for a sign of life, and aliveTries how many may go unanswered: a connection that is
	// dead is noticed within 15 s.
	alive      = 5
	aliveTries = 2
	// stall is how long rsync waits for a byte, in seconds.
	stall = 20

	maxOutput = 1 << 20 // of one call
	maxSaid   = 8 << 10 // end of the standard error that is looked at
)

// Check tells whether the host can be handed to ssh: nothing in it may be taken for an option or split an argument.
func (h Host) Check() error {
	if err := checkWord("host", h.Host); err != nil {
		return err
	}
	if h.User != "" {
		if err := checkWord("user", h.User); err != nil {
			return err
		}
	}
	if h.Port < 0 || h.Port > 65535 {
		return fmt.Errorf("port %d: a port is a number from 1 to 65535", h.Port)
	}
	for _, o := range h.Options {
		if o == "" || strings.ContainsFunc(o, isControl) || o[0] == '-' || o[0] == ' ' || o[0] == '=' {
			return fmt.Errorf("ssh option %q: want Keyword=value", o)
		}
	}
	_, err := h.root()
	return err
}

// checkWord checks what becomes a part of user@host.
func checkWord(what, s string) error {
	switch {
	case s == "":
		return fmt.Errorf("%s: there is none", what)
	case s[0] == '-':
		return fmt.Errorf("%s %q: may not begin with a hyphen", what, s)
	case strings.ContainsFunc(s, func(r rune) bool { return isControl(r) || strings.ContainsRune(" @/\u00a0\u2028\u2029\ufffd", r) }):
		return fmt.Errorf("%s %q: may not hold blanks, control characters, @ or /", what, s)
	}
	return nil
}

func isControl(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }

// Dir returns a folder below the root of the projects, as the other machine understands it: absolute, or relative to the
// home folder, in which every call begins. Parts must be names that were checked.
func (h Host) Dir(parts ...string) (string, error) {
	root, err := h.root()
	if err != nil {
		return "", err
	}
	return strings.Join(append([]string{root}, parts...), "/"), nil
}

// root turns "~/x" into "./x": no shell will see it, so the sign would not be expanded.
func (h Host) root() (string, error) {
	root := h.Root
	if root == "" {
		root = DefaultRoot
	}
	if strings.ContainsFunc(root, isControl) {
		return "", fmt.Errorf("folder %q: may not hold control characters", root)
	}
	rest, home := strings.CutPrefix(root, "~")
	switch {
	case home && rest != "" && rest[0] != '/':
		return "", fmt.Errorf("folder %q: the home folder of another user cannot be found without a shell", root)
	case home:
		root = strings.TrimLeft(rest, "/")
	case root[0] == '/':
		if root = strings.TrimRight(root, "/"); root == "" {
			return "/.", nil
		}
		return root, nil
	}
	root = strings.TrimRight(root, "/")
	if root == "" {
		return ".", nil
	}
	return "./" + root, nil // whatever it begins with is then no option
}

// target is what ssh and rsync call the machine.
func (h Host) target() string {
	if h.User != "" {
		return h.User + "@" + h.Host
	}
	return h.Host
}

// Typed is what a person types in a shell to connect to the machine as its entry says.
func (h Host) Typed() string {
	words := []string{"ssh"}
	if h.Port != 0 && h.Port != defaultPort {
		words = append(words, "-p", strconv.Itoa(h.Port))
	}
	for _, o := range h.Options {
		words = append(words, "-o", quoted(o))
	}
	return strings.Join(append(words, quoted(h.target())), " ")
}

// quoted makes a text one word of a shell.
func quoted(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("@%+=:,./_-", r)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// defaultPort is that of sshd.
const defaultPort = 22

// Arguments that hold for every call. The first ones keep a dead network from looking like a slow one. The others disable
// settings that users make for interactive use (a command of their own, tunnels, a terminal, silence).
func (c *Client) options(h Host) []string {
	connect := c.ConnectTimeout
	if connect <= 0 {
		connect = DefaultConnect
	}
	args := append([]string(nil), c.Extra...)
	var shared []string
	if c.share != nil {
		shared = c.share.options(h)
	}
	for _, o := range append(shared, []string{
		"BatchMode=yes",
		"ConnectTimeout=" + strconv.Itoa(max(1, int(connect/time.Second))),
		"ServerAliveInterval=" + strconv.Itoa(alive),
		"ServerAliveCountMax=" + strconv.Itoa(aliveTries),
		"RemoteCommand=none", "PermitLocalCommand=no", "ClearAllForwardings=yes", "ForwardAgent=no", "ForwardX11=no",
		"RequestTTY=no", "LogLevel=INFO",
	}...) {
		args = append(args, "-o", o)
	}
	for _, o := range h.Options {
		args = append(args, "-o", o)
	}
	if h.Port != 0 {
		args = append(args, "-p", strconv.Itoa(h.Port))
	}
	return args
}

func find(program, name string) (string, error) {
	if program == "" {
		program = name
	}
	path, err := exec.LookPath(program)
	if errors.Is(err, exec.ErrNotFound) {
		return "", &Error{Op: name, Kind: Missing, Last: "no program of that name on PATH"}
	}
	return path, err
}

// HasRsync returns nil when files can be pushed from here: a program of that name exists. The error is an *Error.
func (c *Client) HasRsync() error {
	_, err := find(c.Rsync, "rsync")
	return err
}
