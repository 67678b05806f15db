package main

import (
	"bufio"
	buf "bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
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

	"tutti/internal/address"
	"tutti/internal/envelope"
	agents "tutti/internal/registry"
	"tutti/internal/signature"
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
		{work: "`remote serve`, 32 connections, a message, against durable files written by 32 at a time", target: rateOfBase(0.5), round: remoteServe(0, false)},
		{work: "the same after 100,000 bad requests", target: rateOfBase(0.5), once: true, round: remoteServe(remoteBad, false)},
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
	pid  int
	root string
	mail [][]byte // signed, each to be taken once
	web  *http.Client
	cmd  *exec.Cmd
}

// remoteServe measures a message of many, and what the same bytes cost as durable files; or the memory.
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
		if err := p.sign(); err != nil { // now: it is fresh for five minutes
			return measured{}, err
		}
		began := time.Now()
		if err := p.parallel(len(p.mail), func(i int) error { return p.post(p.mail[i], http.StatusAccepted) }); err != nil {
			return measured{}, err
		}
		took := time.Since(began)
		if memory {
			return p.peak()
		}
		files, err := p.files()
		return measured{value: took.Seconds() / remoteMails, base: files.Seconds() / remoteMails}, err
	}
}

const (
	remoteFrom = address.Instance("claude:bench:aaaaaaaaaaa1")
	remoteTo   = address.Instance("codex:bench:bbbbbbbbbbb2")
)

var remoteSigner = signature.Generate()

func openEndpoint(e *env) (*endpoint, error) {
	dir, err := e.fresh()
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
	p.cmd = exec.CommandContext(e.ctx, e.tutti, "remote", "serve", "--port", "0", "--rate", "1000000", "--root", p.root)
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
	p.web = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: remoteConns, MaxConnsPerHost: remoteConns}, Timeout: time.Minute}
	return p, nil
}

func (p *endpoint) close() {
	if p.web != nil {
		p.web.CloseIdleConnections()
	}
	_ = p.cmd.Process.Signal(os.Interrupt)
	_ = p.cmd.Wait()
	_ = os.RemoveAll(p.root)
}

// sign makes the messages.
func (p *endpoint) sign() error {
	now := time.Now()
	for i := range remoteMails {
		d := envelope.Draft{
			ID: fmt.Sprintf("env-bench-%06d", i), Actor: envelope.Actor{Instance: remoteFrom, Role: agents.Agents, Scope: agents.DefaultScope},
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

func (p *endpoint) post(body []byte, status int) error {
	a, err := p.web.Post(p.url, "application/json", buf.NewReader(body))
	if err != nil {
		return err
	}
	text, err := io.ReadAll(a.Body)
	_ = a.Body.Close()
	if err == nil && a.StatusCode != status {
		err = fmt.Errorf("status %d, want %d: %s", a.StatusCode, status, text)
	}
	return err
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

// files writes the same bytes as durable files, by as many at a time.
func (p *endpoint) files() (time.Duration, error) {
	dir := filepath.Join(p.root, "bare")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return 0, err
	}
	folder, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer syscall.Close(folder)
	began := time.Now()
	err = p.parallel(len(p.mail), func(i int) error { return bareCreate(folder, strconv.Itoa(i), p.mail[i]) })
	return time.Since(began), err
}
