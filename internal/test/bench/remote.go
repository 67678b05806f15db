package main

import (
	"bufio"
	buf "bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tutti/internal/bus/envelope"
	agents "tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/signature"
	"tutti/internal/store/filestore"
)

// What an endpoint is put to: as many connections as a busy team has agents, each of which sends as fast as it is answered.
const (
	remoteConns = 32
	remoteMails = 2000
	remoteBad   = 100_000
)

func remoteRows() []row {
	all := []row{
		{work: "messages taken by `remote serve` over 32 connections, against durable files written by 32 at a time", unit: rate, target: rateOfBase(0.4), round: remoteServe(0, false)},
		{work: "the same after 100,000 bad requests", unit: rate, target: rateOfBase(0.4), once: true, round: remoteServe(remoteBad, false)},
		{work: "most memory of `remote serve` meanwhile (VmHWM)", unit: bytes, target: within(64 << 20), once: true, round: remoteServe(0, true)},
		{work: "the same after 100,000 bad requests", unit: bytes, target: within(64 << 20), once: true, round: remoteServe(remoteBad, true)},
	}
	for i := range all {
		all[i].subject = "remote"
	}
	return all
}

// An endpoint is a running server with its bus.
type endpoint struct {
	e    *env
	url  string
	host string
	path string
	pid  int
	root string
	mail [][]byte // signed, each to be taken once
	ways chan *way
	cmd  *exec.Cmd
}

// A way is one connection. It writes and reads what HTTP asks for and no more: what an asker costs is no business of the endpoint, and
// both have the same processors.
type way struct {
	conn net.Conn // nil: none is open
	in   *bufio.Reader
	out  buf.Buffer
}

// remoteServe measures a message of many, and what the same bytes cost as durable files; or the memory. What comes after bad requests is
// measured as often as other rows are, on the server that has had them.
func remoteServe(bad int, memory bool) func(*env) (measured, error) {
	return func(e *env) (measured, error) {
		p, err := openEndpoint(e)
		if err != nil {
			return measured{}, err
		}
		defer p.close()
		if err := p.parallel(bad, func(i int) error { return p.rubbish(i) }); err != nil {
			return measured{}, err
		}
		n := 1
		if bad > 0 && !memory {
			n = rounds
		}
		best, err := bestOf(n, rateOfBase(0), func(i int) (measured, error) { return p.measure(strconv.Itoa(i)) })
		if err == nil && memory {
			return p.peak()
		}
		return best, err
	}
}

// measure has messages taken, and writes them as files.
func (p *endpoint) measure(name string) (m measured, err error) {
	if err := p.sign(name); err != nil { // now: it is fresh for five minutes
		return m, err
	}
	before, err := p.files("before-"+name, len(p.mail)/2) // half of them before and half after, as the load of a machine changes
	if err != nil {
		return m, err
	}
	began := time.Now()
	if err := p.parallel(len(p.mail), func(i int) error { return p.post(p.mail[i], http.StatusAccepted) }); err != nil {
		return m, err
	}
	took := time.Since(began)
	after, err := p.files("after-"+name, len(p.mail)-len(p.mail)/2)
	return measured{value: took.Seconds() / remoteMails, base: (before + after).Seconds() / remoteMails}, err
}

const (
	remoteFrom = address.Instance("claude:bench:aaaaaaaaaaa1")
	remoteTo   = address.Instance("codex:bench:bbbbbbbbbbb2")
)

var remoteSigner = signature.Generate()

func openEndpoint(e *env) (*endpoint, error) {
	dir, err := e.apart()
	if err != nil {
		return nil, err
	}
	p := &endpoint{e: e, root: filepath.Join(dir, "bus")}
	s, err := filestore.Open(p.root, filestore.Options{Create: true})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	reg := agents.New(s)
	for who, key := range map[address.Instance][]string{remoteFrom: {remoteSigner.Public().PEM()}, remoteTo: nil} {
		if err := reg.Register(e.ctx, agents.Build(agents.Agent{Instance: who, PublicKeys: key}, time.Now())); err != nil {
			return nil, err
		}
	}
	p.cmd = exec.CommandContext(e.ctx, e.tutti, "remote", "serve", "--port", "0", "--rate", "1000000", "--unread", "1000000000", "--root", p.root)
	p.cmd.Env, p.cmd.Dir = home(dir), dir
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(os.Interrupt) }
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if p.url = strings.TrimSpace(line[max(0, strings.Index(line, "http")):]); err != nil || !strings.HasPrefix(p.url, "http") {
		p.close()
		return nil, fmt.Errorf("the endpoint did not come up: %q %w", line, err)
	}
	p.pid = p.cmd.Process.Pid
	at, err := url.Parse(p.url)
	if err != nil {
		p.close()
		return nil, err
	}
	p.host, p.path, p.ways = at.Host, at.Path, make(chan *way, remoteConns)
	for range remoteConns {
		p.ways <- &way{}
	}
	return p, nil
}

// close ends the server. The files stay until all is measured: where thousands were removed a moment ago, some file systems take long to
// make the next ones.
func (p *endpoint) close() {
	for range cap(p.ways) {
		(<-p.ways).close()
	}
	_ = p.cmd.Process.Signal(os.Interrupt)
	_ = p.cmd.Wait()
}

// sign makes the messages, each of which is one more when they are made again.
func (p *endpoint) sign(name string) error {
	now := time.Now()
	p.mail = nil
	for i := range remoteMails {
		d := envelope.Draft{
			ID: fmt.Sprintf("env-bench-%s-%06d", name, i), Actor: envelope.Actor{Instance: remoteFrom, Role: agents.Agents, Scope: agents.DefaultScope},
			Target: remoteTo, Created: now, Text: strings.Repeat("the schema has changed; ", 10),
		}
		raw, err := d.Signed(remoteFrom, remoteSigner)
		if err != nil {
			return err
		}
		p.mail = append(p.mail, raw)
	}
	return nil
}

// parallel does n things, by as many at a time as there are connections.
func (p *endpoint) parallel(n int, do func(i int) error) error {
	var next atomic.Int64
	var all sync.WaitGroup
	failed := make(chan error, remoteConns)
	for range remoteConns {
		all.Go(func() {
			for i := int(next.Add(1) - 1); i < n && p.e.ctx.Err() == nil; i = int(next.Add(1) - 1) {
				if err := do(i); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	all.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return p.e.ctx.Err()
	}
}

// post sends a body over one of the connections, and wants an answer of this status.
func (p *endpoint) post(body []byte, status int) error {
	w := <-p.ways
	defer func() { p.ways <- w }()
	a, err := w.ask(p, body)
	if err != nil {
		w.close()
		return err
	}
	text, err := io.ReadAll(a.Body)
	if _ = a.Body.Close(); err != nil || a.Close {
		w.close()
	}
	if err == nil && a.StatusCode != status {
		err = fmt.Errorf("status %d, want %d: %s", a.StatusCode, status, text)
	}
	return err
}

func (w *way) ask(p *endpoint, body []byte) (*http.Response, error) {
	if w.conn == nil {
		conn, err := (&net.Dialer{}).DialContext(p.e.ctx, "tcp", p.host)
		if err != nil {
			return nil, err
		}
		w.conn, w.in = conn, bufio.NewReader(conn)
	}
	w.out.Reset()
	fmt.Fprintf(&w.out, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", p.path, p.host, len(body))
	w.out.Write(body)
	err := w.conn.SetDeadline(time.Now().Add(time.Minute))
	if err == nil {
		_, err = w.conn.Write(w.out.Bytes())
	}
	if err != nil {
		return nil, err
	}
	return http.ReadResponse(w.in, nil)
}

func (w *way) close() {
	if w.conn != nil {
		_ = w.conn.Close()
		w.conn = nil
	}
}

// rubbish sends something that is refused: by its form, by its signature, or by its length.
func (p *endpoint) rubbish(i int) error {
	switch i % 4 {
	case 0:
		return p.post([]byte("{"), http.StatusBadRequest)
	case 1:
		return p.post([]byte(`{"protocol":"sentropic.h2a","signatures":[null]}`), http.StatusBadRequest)
	case 2:
		d := envelope.Draft{
			ID: "env-bad-" + strconv.Itoa(i), Actor: envelope.Actor{Instance: remoteFrom, Role: agents.Agents, Scope: "s"}, Target: remoteTo, Created: time.Now(),
		}
		raw, err := d.Signed(remoteFrom, strangeSigner)
		if err != nil {
			return err
		}
		return p.post(raw, http.StatusUnauthorized)
	}
	return p.post(buf.Repeat([]byte("["), 64<<10), http.StatusBadRequest)
}

var strangeSigner = signature.Generate()

// peak is the most memory that the process held.
func (p *endpoint) peak() (measured, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	if err != nil {
		return measured{}, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.Atoi(strings.Fields(rest)[0])
			return measured{value: float64(kib) * 1024}, err
		}
	}
	return measured{}, errors.New("the system does not say how much memory a process held")
}

// files writes n of the same bytes as durable files, by as many at a time: each file is synced, then its folder.
func (p *endpoint) files(name string, n int) (time.Duration, error) {
	dir := filepath.Join(p.root, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return 0, err
	}
	folder, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer syscall.Close(folder)
	began := time.Now()
	err = p.parallel(n, func(i int) error { return bareCreate(folder, strconv.Itoa(i), p.mail[i]) })
	return time.Since(began), err
}
