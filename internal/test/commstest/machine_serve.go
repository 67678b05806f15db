package commstest

import (
	"context"
	"errors"
	"maps"
	"net"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"tutti/internal/platform/proc"
)

// hold takes a port that nobody else gets until the test ends, by a socket that is bound to it and never listens: while the machine
// is down, connections to it are refused.
func (m *Machine) hold() {
	m.t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		m.t.Fatal(err)
	}
	unix.CloseOnExec(fd)
	m.t.Cleanup(func() { _ = unix.Close(fd) })
	err = errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1),
		unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}),
	)
	if err != nil {
		m.t.Fatal(err)
	}
	at, err := unix.Getsockname(fd)
	if err != nil {
		m.t.Fatal(err)
	}
	m.port = at.(*unix.SockaddrInet4).Port
}

// Start lets the machine listen (again), at the same port as before.
func (m *Machine) Start() {
	m.t.Helper()
	beside := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		control := c.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
		})
		return errors.Join(control, err)
	}}
	l, err := beside.Listen(context.Background(), "tcp", m.Addr())
	if err != nil {
		m.t.Fatal(err)
	}
	m.mu.Lock()
	m.listener = l
	m.mu.Unlock()
	m.accepting.Go(func() { m.accept(l) })
}

func (m *Machine) accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return // closed
		}
		if err := m.serve(conn.(*net.TCPConn)); err != nil {
			m.t.Errorf("machine %s: %v", m.Name, err)
		}
	}
}

// serve hands a connection to an sshd of its own, as inetd does.
func (m *Machine) serve(conn *net.TCPConn) error {
	defer conn.Close()
	socket, err := conn.File()
	if err != nil {
		return err
	}
	defer socket.Close()
	log, err := os.OpenFile(m.in("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(m.sshd, "-i", "-e", "-f", m.in("config"))
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", marker + "=" + m.dir}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = socket, socket, log
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.listener == nil { // stopped in between
		return nil
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan struct{})
	m.serving[cmd] = done
	go func() {
		_ = cmd.Wait() // how a connection ends is told by the client
		m.mu.Lock()
		delete(m.serving, cmd)
		m.mu.Unlock()
		close(done)
	}()
	return nil
}

// Stop takes the machine from the network in an instant: nobody listens any more, and every process of it is killed.
func (m *Machine) Stop() {
	m.t.Helper()
	m.mu.Lock()
	l := m.listener
	m.listener = nil
	m.mu.Unlock()
	if l != nil {
		if err := l.Close(); err != nil {
			m.t.Error(err)
		}
	}
	m.accepting.Wait()
	m.mu.Lock()
	waits := slices.Collect(maps.Values(m.serving))
	m.mu.Unlock()
	m.Kill()
	for _, done := range waits {
		<-done
	}
}

// Kill kills every process of the machine, and lets it listen on.
func (m *Machine) Kill() {
	m.t.Helper()
	var roots []int
	m.mu.Lock()
	for cmd := range m.serving {
		roots = append(roots, cmd.Process.Pid)
	}
	m.mu.Unlock()
	all, err := proc.List()
	if err != nil {
		m.t.Error(err)
		return
	}
	var ids []proc.ID
	add := func(p proc.Process) {
		if !slices.Contains(ids, p.ID) && p.PID != os.Getpid() {
			ids = append(ids, p.ID)
		}
	}
	for _, p := range all {
		if slices.Contains(roots, p.PID) && p.Parent == os.Getpid() {
			for _, below := range proc.Tree(all, p.ID) {
				add(below)
			}
		}
	}
	for _, p := range proc.WithEnv(marker, m.dir) { // what has left the tree
		add(p)
	}
	for _, id := range ids {
		if err := proc.Signal(id, syscall.SIGKILL); err != nil && !errors.Is(err, proc.ErrGone) {
			m.t.Error(err)
		}
	}
	waitGone(ids, 10*time.Second)
}

// waitGone waits for the end of processes that were told to end; what is left then is killed.
func waitGone(ids []proc.ID, limit time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	for _, id := range proc.Gone(ctx, ids) {
		_ = proc.Signal(id, syscall.SIGKILL) // it may have ended by now
	}
}
