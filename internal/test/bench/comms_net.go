package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"tutti/internal/platform/ssh"
	"tutti/internal/test/progfile"
)

// others is how many machines answer.
const others = 5

// A network is machines that are reached by a real sshd on the loopback. Each connection has an sshd of its own, started when it
// comes, so that no daemon can be left behind.
type network struct {
	o     *office
	sshd  string
	dir   string
	user  string
	ports []net.Listener
	all   sync.WaitGroup
}

// network makes keys for the machines and for who logs in.
func (o *office) network() (*network, error) {
	sshd, err := exec.LookPath("sshd")
	if err != nil {
		sshd = "/usr/sbin/sshd" // where not every user looks
	}
	for _, name := range []string{sshd, "ssh", "ssh-keygen"} {
		if _, err := exec.LookPath(name); err != nil {
			return nil, &noVerbError{"halt --tailnet, for there is no " + filepath.Base(name)}
		}
	}
	me, err := user.Current()
	if err != nil {
		return nil, err
	}
	n := &network{o: o, sshd: sshd, dir: o.dir, user: me.Username}
	for _, name := range []string{"host", "user"} {
		out, err := exec.CommandContext(o.e.ctx, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "bench", "-f", n.in(name)).CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("ssh-keygen: %w: %s", err, out)
		}
	}
	host, err := os.ReadFile(n.in("host.pub"))
	if err != nil {
		return nil, err
	}
	if os.Geteuid() == 0 { // where sshd locks its unprivileged half in
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			return nil, err
		}
	}
	return n, os.WriteFile(n.in("known"), append([]byte("bench "), host...), 0o600)
}

func (n *network) in(name string) string { return filepath.Join(n.dir, name) }

// listen takes a port. Without a machine nobody ever says a word there: the system takes the connection, and that is all.
func (n *network) listen() (l net.Listener, peer func(name string) string, err error) {
	if l, err = (&net.ListenConfig{}).Listen(n.o.e.ctx, "tcp", "127.0.0.1:0"); err != nil {
		return nil, nil, err
	}
	n.ports = append(n.ports, l)
	port := l.Addr().(*net.TCPAddr).Port
	return l, func(name string) string {
		return fmt.Sprintf("[peers.%s]\nhost = %q\nssh_user = %q\nport = %d\nssh_options = [\"HostName=127.0.0.1\", \"HostKeyAlias=bench\", "+
			"\"UserKnownHostsFile=%s\", \"GlobalKnownHostsFile=/dev/null\", \"StrictHostKeyChecking=yes\", \"IdentityFile=%s\", "+
			"\"IdentitiesOnly=yes\", \"IdentityAgent=none\"]\n", name, name+".example", n.user, port, n.in("known"), n.in("user"))
	}, nil
}

// machine lets a machine listen, and returns what the list of peers says of it.
func (n *network) machine(name string) (string, error) {
	home, config, login := n.in(name+"-home"), n.in(name+".config"), n.in(name+".login")
	settings := strings.Join([]string{
		"HostKey " + n.in("host"), "AuthorizedKeysFile " + n.in("user.pub"), "ForceCommand " + login, "SetEnv HOME=" + home, "StrictModes no", "UsePAM no",
		"PasswordAuthentication no", "KbdInteractiveAuthentication no", "PermitRootLogin prohibit-password", "PidFile none", "PrintMotd no", "",
	}, "\n")
	// Commands run in the home folder of the machine, and reach nothing that runs for the real user.
	script := fmt.Sprintf("#!/bin/sh\nexport HOME='%s'\nunset SSH_AUTH_SOCK XDG_RUNTIME_DIR DBUS_SESSION_BUS_ADDRESS XDG_CONFIG_HOME\ncd '%s' || exit 96\n"+
		"exec /bin/sh -c \"$SSH_ORIGINAL_COMMAND\"\n", home, home)
	err := errors.Join(os.Mkdir(home, 0o700), progfile.Write(config, []byte(settings), 0o600), progfile.Write(login, []byte(script), 0o700))
	if err != nil {
		return "", err
	}
	l, peer, err := n.listen()
	if err != nil {
		return "", err
	}
	n.all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // closed
			}
			n.all.Go(func() { n.serve(conn.(*net.TCPConn), config) })
		}
	})
	return peer(name), nil
}

// serve hands a connection to an sshd, as inetd does. What goes wrong is seen by who connects.
func (n *network) serve(conn *net.TCPConn, config string) {
	socket, err := conn.File()
	conn.Close()
	if err != nil {
		return
	}
	defer socket.Close()
	cmd := exec.CommandContext(n.o.e.ctx, n.sshd, "-i", "-e", "-f", config)
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin"}
	cmd.Stdin, cmd.Stdout = socket, socket
	_ = cmd.Run()
}

func (n *network) close() {
	for _, l := range n.ports {
		l.Close()
	}
	n.all.Wait()
}

// halted halts all machines of the list, and makes sure that the right number of them is halted.
func (n *network) halted(peers, want string) (time.Duration, error) {
	if err := n.o.configure("peers.toml", peers); err != nil {
		return 0, err
	}
	cmd := n.o.command("", "halt", "--tailnet", "--no-stop-watcher", "a measurement")
	began := time.Now()
	out, err := cmd.CombinedOutput()
	took := time.Since(began)
	if errors.As(err, new(*exec.ExitError)) {
		err = nil // who was not reached is an exit status; the last line says who
	}
	if err == nil && !strings.Contains(string(out), want) {
		err = fmt.Errorf("halt --tailnet printed %q, want %q in it", out, want)
	}
	return took, err
}

// haltOfAll compares with the slowest of the five, each asked alone, and what a connection may take at most. Machines that were asked one
// after the other would take the times of the other four beside that.
func haltOfAll(e *env) (measured, error) {
	o, err := e.office("halt")
	if err != nil {
		return measured{}, err
	}
	defer o.leave()
	n, err := o.network()
	if err != nil {
		return measured{}, err
	}
	defer n.close()
	var five []string
	for i := range others {
		peer, err := n.machine(fmt.Sprint("m", i))
		if err != nil {
			return measured{}, err
		}
		five = append(five, peer)
	}
	_, peer, err := n.listen()
	if err != nil {
		return measured{}, err
	}
	m, err := inTurns(e.ctx, 3,
		func(int) (time.Duration, error) {
			return n.halted(peer("hole")+strings.Join(five, ""), "PARTIAL HALT: 6/7 machines halted. hole.example needs manual halt.")
		},
		func(int) (slowest time.Duration, err error) {
			for _, one := range five {
				took, err := n.halted(one, "HALT: 2/2 machines halted.")
				if err != nil {
					return 0, err
				}
				slowest = max(slowest, took)
			}
			return slowest, nil
		})
	m.base += ssh.DefaultConnect.Seconds()
	return m, err
}
