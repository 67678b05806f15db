package cmd

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tutti/internal/bus/presence"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/remote/mirror"
	"tutti/internal/store/filestore"
	"tutti/internal/test/boundtest"
)

// started starts the program; it is ended with the test.
func (p *pact) started(out *os.File, args ...string) *exec.Cmd {
	p.Helper()
	cmd := p.tutti(args...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	return cmd
}

// mirrored starts a mirror that believes all agents of a bus, and returns its URL.
func (p *pact) mirrored(of *pact) (*exec.Cmd, string) {
	p.Helper()
	var list []string
	for n, i := range of.who {
		list = append(list, fmt.Sprintf(`{"instance":%q,"key":%s}`, i, canonjson.AppendString(nil, of.keys[n].Public().PEM())))
	}
	file := filepath.Join(p.home, "enrolled")
	if err := os.WriteFile(file, []byte("["+strings.Join(list, ",")+"]"), 0o600); err != nil {
		p.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { r.Close() })
	cmd := p.started(w, "remote", "mirror-serve", "--port", "0", "--enrolled-keys-file", file, "--rate", "1000000")
	w.Close()
	line, err := bufio.NewReader(r).ReadString('\n')
	_, url, ok := strings.Cut(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		p.Fatalf("it says %q, %v", line, err)
	}
	return cmd, url
}

func sessionOf(n int) address.SessionID { return address.SessionID(fmt.Sprint("sess:mirrored-", n)) }

// TestMirrorServeKilled kills a mirror at any moment, some times in a row, while agents push: what it had taken is not taken again by the
// next one, which takes the next push of each, and shows each agent once.
func TestMirrorServeKilled(t *testing.T) {
	if boundtest.Race {
		t.Skip("what runs is in other processes")
	}
	t.Parallel()
	rounds := 3
	if os.Getenv("TUTTI_SOAK") != "" {
		rounds = 100
	}
	from, to := newPact(t, 3), newPact(t, 0)
	s, err := filestore.Open(from.root, filestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	here := presence.New(s)
	for n, who := range from.who {
		if _, err := here.Open(t.Context(), presence.Start{SessionID: sessionOf(n), Instance: who}, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	var serial atomic.Int64
	base := time.Now().Add(-time.Minute)
	body := func(n int, url string) []byte { // each push is a millisecond younger than the one before
		at := base.Add(time.Duration(serial.Add(1)) * time.Millisecond)
		raw, err := (&mirror.Source{Registry: registry.New(s), Presence: here, Instance: from.who[n], Key: from.keys[n]}).Envelope(t.Context(), url, at)
		if err != nil {
			t.Error(err)
		}
		return raw
	}
	client := &http.Client{Timeout: time.Minute}
	post := func(url string, raw []byte) int {
		a, err := client.Post(url, "application/json", bytes.NewReader(raw))
		if err != nil {
			return 0
		}
		_, _ = io.Copy(io.Discard, a.Body)
		a.Body.Close()
		return a.StatusCode
	}
	all := 0
	for range rounds {
		cmd, url := to.mirrored(from)
		var pushing sync.WaitGroup
		taken := make([][][]byte, len(from.who))
		for n := range from.who {
			pushing.Go(func() {
				for {
					raw := body(n, url)
					switch post(url, raw) {
					case 202:
						taken[n] = append(taken[n], raw)
					case 0:
						return
					}
				}
			})
		}
		time.Sleep(time.Duration(20+rand.IntN(150)) * time.Millisecond) // any moment will do
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		pushing.Wait()
		cmd, url = to.mirrored(from)
		for n := range from.who {
			all += len(taken[n])
			for _, raw := range taken[n][max(0, len(taken[n])-3):] {
				if got := post(url, raw); got != 409 {
					t.Errorf("what was taken by the one that was killed: got %d, want 409", got)
				}
			}
			if got := post(url, body(n, url)); got != 202 {
				t.Errorf("the next push: got %d, want 202", got)
			}
		}
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("ended by an interrupt: %v", err)
		}
	}
	t.Logf("%d pushes were taken by those that were killed", all)
	out, err := to.tutti("status", "--json").Output()
	for n := range from.who {
		if strings.Count(string(out), string(sessionOf(n))) != 1 {
			t.Errorf("%s: %v\n%s", sessionOf(n), err, out)
		}
	}
}

// TestMirrorLoop: a push that gets no answer is not joined by others, an interrupt ends the loop all the same, and one that was killed leaves
// nothing that keeps the next one from pushing.
func TestMirrorLoop(t *testing.T) {
	if boundtest.Race {
		t.Skip("what runs is in other processes")
	}
	t.Parallel()
	from, to := newPact(t, 1), newPact(t, 0)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	came := make(chan net.Conn, 100)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			came <- c // and is never read
		}
	}()
	loop := func(url string) *exec.Cmd {
		return from.started(nil, "remote", "mirror", "--instance", string(from.who[0]), "--url", url, "--interval-ms", "5000")
	}
	stalled := "http://" + l.Addr().String() + mirror.Path
	cmd := loop(stalled)
	held := []net.Conn{<-came}
	if os.Getenv("TUTTI_SOAK") != "" {
		time.Sleep(12 * time.Second) // more than two of its intervals
	}
	if n := len(came); n > 0 {
		t.Errorf("%d more pushes have begun while the first one waits", n)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 130 {
		t.Errorf("after an interrupt: %v, want status 130", err)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s to end", took)
	}
	cmd = loop(stalled)
	held = append(held, <-came)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	for _, c := range held {
		c.Close()
	}
	_, url := to.mirrored(from)
	if out, err := from.tutti("remote", "mirror", "--instance", string(from.who[0]), "--url", url).CombinedOutput(); err != nil || !bytes.Contains(out, []byte("taken")) {
		t.Errorf("after one that was killed: %v\n%s", err, out)
	}
}
