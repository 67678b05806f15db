package commstest

import (
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tutti/internal/platform/ssh"
	"tutti/internal/test/hometest"
)

// A Machine is another machine: a home folder, and a real sshd on the loopback that lets the user of the test log into it. Each
// connection has an sshd process of its own, started when it comes, so that no port has to be guessed and no daemon is left behind.
type Machine struct {
	Name string // in lists of peers
	Home string // of whoever logs in
	Bin  string // first folder on the PATH there

	t     testing.TB
	dir   string // keys, settings and log of sshd
	user  string
	sshd  string
	shell string
	port  int

	mu       sync.Mutex
	env      map[string]string
	listener net.Listener
	serving  map[*exec.Cmd]chan struct{} // closed when the process was waited for

	accepting sync.WaitGroup
}

// MachineOptions say how a machine differs from the usual one.
type MachineOptions struct {
	Shell string            // login shell; "": /bin/sh
	Env   map[string]string // more of the login environment; a name that is already there is replaced
}

// marker is in the environment of everything that runs on a machine.
const marker = "TUTTI_TEST_MACHINE"

// NewMachine makes a machine with an empty home and lets it listen. Its login environment has the home, a PATH with Bin and the usual
// folders, and nothing of ours.
func NewMachine(t testing.TB, name string, o MachineOptions) *Machine {
	t.Helper()
	Need(t, "sshd", "ssh", "ssh-keygen", "rsync")
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	top := hometest.Dir(t)
	m := &Machine{
		Name: name, Home: filepath.Join(top, "h"), Bin: filepath.Join(top, "bin"), t: t, dir: filepath.Join(top, "d"),
		user: me.Username, sshd: Program("sshd"), shell: o.Shell, serving: map[*exec.Cmd]chan struct{}{},
	}
	if m.shell == "" {
		m.shell = "/bin/sh"
	}
	m.env = map[string]string{
		"HOME": m.Home, "PATH": m.path(), "USER": m.user, "LOGNAME": m.user, "SHELL": m.shell, "LC_ALL": "C.UTF-8", marker: m.dir,
	}
	maps.Copy(m.env, o.Env)
	for _, dir := range []string{m.Home, m.Bin, m.dir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	m.lay()
	m.hold()
	m.Start()
	t.Cleanup(m.Stop)
	return m
}

// path is the PATH there: Bin, where the programs of the test and of the system lie, and where rsync was found.
func (m *Machine) path() string {
	dirs := []string{m.Bin, filepath.Dir(Program("rsync")), "/usr/local/bin", "/usr/bin", "/bin"}
	return strings.Join(slices.Compact(dirs), ":")
}

// lay writes the keys and settings of sshd.
func (m *Machine) lay() {
	m.t.Helper()
	identity, err := userKey()
	if err != nil {
		m.t.Fatal(err)
	}
	public, err := os.ReadFile(identity + ".pub")
	if err != nil {
		m.t.Fatal(err)
	}
	m.write("authorized", string(public), 0o600)
	m.write("config", strings.Join([]string{
		"HostKey " + m.in("host"),
		"AuthorizedKeysFile " + m.in("authorized"),
		"ForceCommand " + m.in("login"),
		"SetEnv HOME=" + m.Home, // the start-up files of the user's real shell must not be those of the real home
		"StrictModes no",        // the folders above are those of the system's temporary files
		"UsePAM no",
		"PasswordAuthentication no",
		"KbdInteractiveAuthentication no",
		"PermitRootLogin prohibit-password",
		"PidFile none",
		"PrintMotd no",
		"LogLevel VERBOSE",
		"",
	}, "\n"), 0o600)
	m.writeLogin()
	if os.Geteuid() == 0 { // where sshd locks its unprivileged half in
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			m.t.Fatal(err)
		}
	}
	m.NewHostKey()
	m.Trust()
}

// writeLogin writes the program that runs every command here. sshd begins in the real home folder and with the real login shell of
// the user; this one goes to the home and the shell of the machine.
func (m *Machine) writeLogin() {
	var b strings.Builder
	b.WriteString("#!/bin/sh\n")
	for _, name := range slices.Sorted(maps.Keys(m.env)) {
		fmt.Fprintf(&b, "export %s=%s\n", name, quote(m.env[name]))
	}
	fmt.Fprintf(&b, "unset SSH_AUTH_SOCK XDG_RUNTIME_DIR DBUS_SESSION_BUS_ADDRESS\ncd %s || exit 96\n", quote(m.Home))
	fmt.Fprintf(&b, "exec %s -c \"$SSH_ORIGINAL_COMMAND\"\n", quote(m.shell))
	m.write("login", b.String(), 0o700)
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func (m *Machine) in(name string) string { return filepath.Join(m.dir, name) }

// write puts a file in place by a rename, because an sshd may be reading the old one.
func (m *Machine) write(name, text string, perm os.FileMode) {
	m.t.Helper()
	tmp := m.in("." + name)
	err := os.WriteFile(tmp, []byte(text), perm)
	if err == nil {
		err = os.Rename(tmp, m.in(name))
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

// userKey returns the key with which the user of the test logs in, made once.
var userKey = sync.OnceValues(func() (string, error) {
	top, err := shared.dir()
	if err != nil {
		return "", err
	}
	return newKey(filepath.Join(top, "u"))
})

func newKey(path string) (string, error) {
	_, err := runProgram(os.Environ(), "", "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", path)
	return path, err
}

// NewHostKey gives the machine another host key. Whoever knew the old one refuses to connect, until [Machine.Trust] is called.
func (m *Machine) NewHostKey() {
	m.t.Helper()
	tmp, err := newKey(m.in("host-new"))
	if err != nil {
		m.t.Fatal(err)
	}
	for _, end := range []string{".pub", ""} {
		if err := os.Rename(tmp+end, m.in("host")+end); err != nil {
			m.t.Fatal(err)
		}
	}
}

// Trust lets us know the host key that the machine has now.
func (m *Machine) Trust() {
	m.t.Helper()
	public, err := os.ReadFile(m.in("host.pub"))
	if err != nil {
		m.t.Fatal(err)
	}
	m.write("known", m.address()+" "+string(public), 0o600)
}

// Forget lets us know no host key of the machine.
func (m *Machine) Forget() {
	m.t.Helper()
	m.write("known", "", 0o600)
}

// Lock takes our key from the list of those that may log in.
func (m *Machine) Lock() {
	m.t.Helper()
	m.write("authorized", "", 0o600)
}

// SetEnv changes the login environment, for connections from now on.
func (m *Machine) SetEnv(name, value string) {
	m.t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.env[name] = value
	m.writeLogin()
}

// Env is the login environment, to run a program as if it had been typed on that machine.
func (m *Machine) Env() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var env []string
	for _, name := range slices.Sorted(maps.Keys(m.env)) {
		env = append(env, name+"="+m.env[name])
	}
	return env
}

// Install makes a program of this machine one of that machine.
func (m *Machine) Install(name, program string) {
	m.t.Helper()
	if err := os.Symlink(program, filepath.Join(m.Bin, name)); err != nil {
		m.t.Fatal(err)
	}
}

// Project makes a project there, and returns its folder.
func (m *Machine) Project(name string) string {
	m.t.Helper()
	dir := filepath.Join(m.Home, "projects", name)
	if err := os.MkdirAll(filepath.Join(dir, ".ai"), 0o700); err != nil {
		m.t.Fatal(err)
	}
	return dir
}

// address is the name of the host, which leads to the loopback.
func (m *Machine) address() string { return m.Name + ".example" }

// Addr is where sshd listens.
func (m *Machine) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(m.port)) }

// Host is how the machine is reached.
func (m *Machine) Host() ssh.Host { return m.host(m.port) }

// Through is how the machine is reached through a proxy.
func (m *Machine) Through(p *Proxy) ssh.Host { return m.host(p.Port) }

func (m *Machine) host(port int) ssh.Host {
	identity, err := userKey()
	if err != nil {
		m.t.Fatal(err)
	}
	// The key exchange is the cheapest one: the default takes more than half of the time of a connection.
	return ssh.Host{
		Name: m.Name, Host: m.address(), User: m.user, Port: port, Root: ssh.DefaultRoot,
		Options: []string{
			"HostName=127.0.0.1", "HostKeyAlias=" + m.address(), "UserKnownHostsFile=" + m.in("known"),
			"GlobalKnownHostsFile=/dev/null", "KexAlgorithms=curve25519-sha256", "StrictHostKeyChecking=yes", "IdentityFile=" + identity, "IdentitiesOnly=yes",
			"IdentityAgent=none",
		},
	}
}

// Client is ssh without the settings of the user, and with the patience of [NewClient].
func (m *Machine) Client() *ssh.Client { return NewClient() }

// NewClient is ssh without the settings of the user. It is patient, because on a loaded machine a handshake has been seen to take 10 s; who
// tests a limit sets it.
func NewClient() *ssh.Client {
	return &ssh.Client{
		Extra:          []string{"-F", "/dev/null", "-o", "ServerAliveInterval=30"},
		ConnectTimeout: time.Minute,
		Limit:          2 * time.Minute,
	}
}

// PeerTOML is the table of a host in a list of peers.
func PeerTOML(h ssh.Host) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[peers.%s]\nhost = %q\nssh_user = %q\nport = %d\nprojects_root = %q\nssh_options = [", h.Name, h.Host, h.User, h.Port, h.Root)
	for i, o := range h.Options {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", o)
	}
	b.WriteString("]\n")
	return b.String()
}

// Log returns what sshd wrote so far.
func (m *Machine) Log() string {
	text, err := os.ReadFile(m.in("log"))
	if err != nil && !os.IsNotExist(err) {
		m.t.Error(err)
	}
	return string(text)
}
