package listen

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// serve opens a door for the length of a test and returns where.
func serve(t *testing.T, o Options) (addr string, d *Server) {
	t.Helper()
	l, err := Listen(Address{Host: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	o.Path = "/x"
	if o.MaxBody == 0 {
		o.MaxBody = 1000
	}
	if o.Handle == nil {
		o.Handle = func(_ context.Context, body []byte) Answer {
			return Answer{Status: 202, Body: fmt.Appendf(nil, "%d", len(body))}
		}
	}
	d = New(o)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- d.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return l.Addr().String(), d
}

func post(t *testing.T, addr string, body string) (int, string) {
	t.Helper()
	a, err := http.Post("http://"+addr+"/x", "", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, _ := io.ReadAll(a.Body)
	return a.StatusCode, string(text)
}

// TestBodies: every size up to the limit arrives whole, also in chunks, and what it took is given back.
func TestBodies(t *testing.T) {
	addr, d := serve(t, Options{MaxBody: 20_000})
	for _, n := range []int{0, 1, 4095, 4096, 4097, 8192, 19_999, 20_000} {
		if status, text := post(t, addr, strings.Repeat("a", n)); status != 202 || text != fmt.Sprint(n) {
			t.Errorf("%d bytes: got %d %s", n, status, text)
		}
		q, _ := http.NewRequest(http.MethodPost, "http://"+addr+"/x", io.MultiReader(strings.NewReader(strings.Repeat("a", n)))) // of unknown length
		a, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(a.Body)
		a.Body.Close()
		if a.StatusCode != 202 || string(text) != fmt.Sprint(n) {
			t.Errorf("%d bytes in chunks: got %d %s", n, a.StatusCode, text)
		}
	}
	for _, n := range []int{20_001, 30_000} {
		if status, _ := post(t, addr, strings.Repeat("a", n)); status != 413 {
			t.Errorf("%d bytes: got %d, want 413", n, status)
		}
	}
	if held := d.in.taken(); held != 0 {
		t.Errorf("%d bytes are still taken", held)
	}
}

// TestPanic: a handler that fails costs its own request, and what it failed with is not told to strangers.
func TestPanic(t *testing.T) {
	var said atomic.Int64
	addr, d := serve(t, Options{
		Log: func(string) { said.Add(1) },
		Handle: func(_ context.Context, body []byte) Answer {
			if string(body) == "bad" {
				panic(errors.New("secret"))
			}
			return Answer{Status: 200, Body: []byte("{}")}
		},
	})
	for range 20 {
		status, text := post(t, addr, "bad")
		if status != 500 || text != `{"ok":false,"error":"apply-failed"}` {
			t.Fatalf("got %d %s", status, text)
		}
	}
	if status, _ := post(t, addr, "good"); status != 200 {
		t.Errorf("after it: %d", status)
	}
	if n := said.Load(); n == 0 || n > 10 {
		t.Errorf("%d lines were said of twenty failures", n)
	}
	if held := d.in.taken(); held != 0 {
		t.Errorf("%d bytes are still taken", held)
	}
}

// TestRoomForBodies: bodies that do not fit in together are put off, and those that are in go on.
func TestRoomForBodies(t *testing.T) {
	in, out := make(chan struct{}), make(chan struct{})
	addr, _ := serve(t, Options{
		MaxBody: 8000, held: 16_004,
		Handle: func(_ context.Context, body []byte) Answer {
			if len(body) == 7000 {
				in <- struct{}{}
				<-out
			}
			return Answer{Status: 200, Body: []byte("{}")}
		},
	})
	first := make(chan int, 1)
	go func() { status, _ := post(t, addr, strings.Repeat("a", 7000)); first <- status }()
	<-in
	second := make(chan int, 1)
	go func() { status, _ := post(t, addr, strings.Repeat("a", 7000)); second <- status }()
	<-in
	if status, text := post(t, addr, "small"); status != 503 || !strings.Contains(text, "busy") {
		t.Errorf("no room: got %d %s", status, text)
	}
	close(out)
	if a, b := <-first, <-second; a != 200 || b != 200 {
		t.Errorf("those that were in: %d, %d", a, b)
	}
	if status, _ := post(t, addr, "small"); status != 200 {
		t.Errorf("afterwards: %d", status)
	}
}

// taken is how many bytes all bodies take.
func (b *bodies) taken() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}

// TestStalledBodies: stalled large bodies block no other client. The oldest is closed with the reason, the others stay.
func TestStalledBodies(t *testing.T) {
	addr, d := serve(t, Options{MaxBody: 8000, held: 16_004})
	stall := func(want int64) net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		if _, err := io.WriteString(c, "POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 7000\r\n\r\n"+strings.Repeat("a", 6999)); err != nil {
			t.Fatal(err)
		}
		for d.in.taken() < want {
			time.Sleep(time.Millisecond)
		}
		return c
	}
	first := stall(8001)
	second := stall(16_002)
	if status, text := post(t, addr, strings.Repeat("a", 7000)); status != 202 {
		t.Errorf("an honest body among stalled ones: got %d %s", status, text)
	}
	a, err := http.ReadResponse(bufio.NewReader(first), nil)
	if err != nil || a.StatusCode != 503 || a.Header.Get("Retry-After") == "" {
		t.Errorf("who dawdled longest: got %v %v, want 503 and when to come again", a, err)
	}
	if _, err := io.WriteString(second, "a"); err != nil {
		t.Fatal(err)
	}
	if a, err := http.ReadResponse(bufio.NewReader(second), nil); err != nil || a.StatusCode != 202 {
		t.Errorf("who was not in the way: got %v %v, want 202", a, err)
	}
	if held := d.in.taken(); held != 0 {
		t.Errorf("%d bytes are still taken", held)
	}
}

// TestUnreadAnswers: connections that do not read their answers are in the way like silent ones, and make way like them.
func TestUnreadAnswers(t *testing.T) {
	const crowd = 2
	worked := make(chan struct{}, crowd)
	addr, _ := serve(t, Options{conns: crowd, Handle: func(_ context.Context, body []byte) Answer {
		if string(body) != "greedy" {
			return Answer{Status: 202, Body: []byte("{}")}
		}
		defer func() { worked <- struct{}{} }()
		return Answer{Status: 202, Body: make([]byte, 64<<20)} // more than systems hold for who does not read
	}})
	for range crowd {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, "POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\ngreedy"); err != nil {
			t.Fatal(err)
		}
	}
	for range crowd {
		<-worked
	}
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for end := time.Now().Add(writeWithin / 2); ; time.Sleep(time.Millisecond) {
		a, err := c.Post("http://"+addr+"/x", "", strings.NewReader("new"))
		if err == nil {
			a.Body.Close()
			if a.StatusCode != 202 {
				t.Errorf("the newcomer got %d", a.StatusCode)
			}
			return
		}
		if time.Now().After(end) {
			t.Fatalf("no other connection was accepted: %v", err)
		}
	}
}

// TestDisplaced: when the room is full, the one who dawdles goes; those whose request is worked on stay.
func TestDisplaced(t *testing.T) {
	in, out := make(chan struct{}, 2), make(chan struct{})
	addr, d := serve(t, Options{
		conns: 2,
		Handle: func(_ context.Context, body []byte) Answer {
			if string(body) == "wait" {
				in <- struct{}{}
				<-out
			}
			return Answer{Status: 200, Body: []byte("{}")}
		},
	})
	worker := make(chan int, 1)
	go func() { status, _ := post(t, addr, "wait"); worker <- status }()
	<-in
	idle, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	for full := false; !full; time.Sleep(time.Millisecond) {
		d.room.mu.Lock()
		full = len(d.room.all) == 2
		d.room.mu.Unlock()
	}
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	a, err := c.Post("http://"+addr+"/x", "", strings.NewReader("new"))
	if err != nil {
		t.Fatal(err)
	}
	a.Body.Close()
	if a.StatusCode != 200 {
		t.Errorf("the newcomer got %d", a.StatusCode)
	}
	_ = idle.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := idle.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("who dawdled was not cut off: %v", err)
	}
	close(out)
	if status := <-worker; status != 200 {
		t.Errorf("whose request was worked on got %d", status)
	}
}

// TestHaltedReadsNothing: nothing is read while the switch is on.
func TestHaltedReadsNothing(t *testing.T) {
	addr, _ := serve(t, Options{Halted: func() error { return errors.New("halted") }, Handle: func(context.Context, []byte) Answer {
		t.Error("the handler was called")
		return Answer{}
	}})
	if status, text := post(t, addr, "x"); status != 503 || !strings.Contains(text, "halted") {
		t.Errorf("got %d %s", status, text)
	}
}

// TestPipelined: several requests on one connection are answered in order, and an invalid one ends it.
func TestPipelined(t *testing.T) {
	addr, _ := serve(t, Options{})
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	one := "POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
	bad := "POST /y HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
	go func() { _, _ = io.WriteString(c, one+one+bad+one+one) }()
	_ = c.SetReadDeadline(time.Now().Add(time.Minute))
	var got []int
	r := bufio.NewReader(c)
	for {
		a, err := http.ReadResponse(r, nil)
		if err != nil {
			break
		}
		_, _ = io.Copy(io.Discard, a.Body)
		got = append(got, a.StatusCode)
	}
	if fmt.Sprint(got) != "[202 202 404]" {
		t.Errorf("got %v, want [202 202 404]", got)
	}
}

// TestChunksAndLength: after a request with both headers nothing more is read from the connection. A proxy that uses the length would
// otherwise send what this endpoint takes for a second request.
func TestChunksAndLength(t *testing.T) {
	addr, _ := serve(t, Options{})
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const chunked = "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
	if _, err := io.WriteString(c, chunked+"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\na"); err != nil {
		t.Fatal(err)
	}
	got, _ := io.ReadAll(c)
	if n := bytes.Count(got, []byte("HTTP/1.1 ")); n != 1 || !bytes.Contains(got, []byte("Connection: close")) {
		t.Errorf("%d answers: %s", n, got)
	}
}

func TestListen(t *testing.T) {
	for _, c := range []struct {
		a  Address
		ok bool
	}{
		{Address{Host: "127.0.0.1"}, true},
		{Address{Host: "localhost"}, true},
		{Address{Host: "0.0.0.0"}, false},
		{Address{Host: "0.0.0.0", Exposed: true}, true},
		{Address{Host: "192.0.2.1"}, false},
		{Address{Host: ""}, false},
		{Address{Host: "example.org", Exposed: true}, false},
		{Address{Host: "127.0.0.1", Port: -1}, false},
		{Address{Host: "127.0.0.1", Port: 65536}, false},
	} {
		l, err := Listen(c.a)
		if (err == nil) != c.ok {
			t.Errorf("Listen(%+v): %v, want ok %v", c.a, err, c.ok)
		}
		if err == nil {
			l.Close()
		}
	}
	_, err := Listen(Address{Host: "0.0.0.0"})
	var exposed *ExposedError
	if !errors.As(err, &exposed) || !strings.Contains(exposed.Hint(), "--exposed") || !strings.Contains(exposed.Hint(), "clear text") {
		t.Errorf("the refusal does not say what it means: %v", err)
	}
}

// TestTLS: with a certificate the endpoint is one of https, and no other protocol is offered than HTTP/1.
func TestTLS(t *testing.T) {
	cert, key, pool := certificate(t)
	conf, err := TLS(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	addr, _ := serve(t, Options{TLS: conf})
	c := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}}
	a, err := c.Post("https://"+addr+"/x", "", bytes.NewReader(nil))
	if err != nil {
		t.Fatal(err)
	}
	a.Body.Close()
	if a.StatusCode != 202 || a.ProtoMajor != 1 {
		t.Errorf("got %s %d", a.Proto, a.StatusCode)
	}
	var silent sync.WaitGroup // who never shakes hands
	for range 20 {
		silent.Go(func() {
			if c, err := net.Dial("tcp", addr); err == nil {
				_, _ = io.WriteString(c, "\x16\x03")
				c.Close()
			}
		})
	}
	silent.Wait()
	if a, err = c.Post("https://"+addr+"/x", "", bytes.NewReader(nil)); err != nil {
		t.Fatal(err)
	}
	a.Body.Close()
	if _, err := TLS(cert, ""); !errors.Is(err, ErrNoTLS) {
		t.Errorf("a certificate without its key: %v", err)
	}
}

// certificate makes one for this machine.
func certificate(t *testing.T) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, b := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool, err = Roots(cert)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key, pool
}

// TestLateAnswer: an answer that took longer than most work does arrives all the same.
func TestLateAnswer(t *testing.T) {
	const late = 50 * time.Millisecond
	addr, _ := serve(t, Options{late: late, Handle: func(context.Context, []byte) Answer {
		time.Sleep(2 * late)
		return Answer{Status: 502, Body: []byte(`{"ok":false}`)}
	}})
	if status, text := post(t, addr, "x"); status != 502 || text != `{"ok":false}` {
		t.Errorf("got %d %q", status, text)
	}
}
