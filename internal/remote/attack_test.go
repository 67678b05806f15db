package remote

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestOddRequests: an invalid request gets the error of its kind, and the endpoint keeps running.
func TestOddRequests(t *testing.T) {
	x := open(t)
	body := string(letter(t, "env-odd", time.Now()))
	length := fmt.Sprintf("Content-Length: %d\r\n", len(body))
	const host = "Host: x\r\n"
	for _, c := range []struct{ what, text, want string }{
		{"another path", "POST /h2a HTTP/1.1\r\n" + host + length + "\r\n" + body, "404"},
		{"path with a dot", "POST /h2a/./envelopes HTTP/1.1\r\n" + host + length + "\r\n" + body, "404"},
		{"path in disguise", "POST /h2a%2Fenvelopes HTTP/1.1\r\n" + host + length + "\r\n" + body, "404"},
		{"two slashes", "POST //h2a/envelopes HTTP/1.1\r\n" + host + length + "\r\n" + body, "404"},
		{"root", "GET / HTTP/1.1\r\n" + host + "\r\n", "404"},
		{"GET", "GET /h2a/envelopes HTTP/1.1\r\n" + host + "\r\n", "405"},
		{"PUT", "PUT /h2a/envelopes HTTP/1.1\r\n" + host + length + "\r\n" + body, "405"},
		{"HEAD", "HEAD /h2a/envelopes HTTP/1.1\r\n" + host + "\r\n", "405"},
		{"OPTIONS *", "OPTIONS * HTTP/1.1\r\n" + host + "\r\n", "404"},
		{"CONNECT", "CONNECT example:443 HTTP/1.1\r\n" + host + "\r\n", "40"},
		{"lower case", "post /h2a/envelopes HTTP/1.1\r\n" + host + length + "\r\n" + body, "405"},
		{"length too large", "POST /h2a/envelopes HTTP/1.1\r\n" + host + "Content-Length: 1073741824\r\n\r\n", "413"},
		{"length beyond all numbers", "POST /h2a/envelopes HTTP/1.1\r\n" + host + "Content-Length: 99999999999999999999\r\n\r\n", "400"},
		{"negative length", "POST /h2a/envelopes HTTP/1.1\r\n" + host + "Content-Length: -1\r\n\r\n", "400"},
		{"two lengths", "POST /h2a/envelopes HTTP/1.1\r\n" + host + length + "Content-Length: 1\r\n\r\n" + body, "400"},
		{"length and chunks, not closed", "POST /h2a/envelopes HTTP/1.1\r\n" + host + length + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"},
		{"unknown coding", "POST /h2a/envelopes HTTP/1.1\r\n" + host + "Transfer-Encoding: gzip\r\n\r\n", "501"},
		{"coding in disguise", "POST /h2a/envelopes HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked, identity\r\n\r\n", "501"},
		{"bad chunk", "POST /h2a/envelopes HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", "400"},
		{"blank before the colon", "POST /h2a/envelopes HTTP/1.1\r\n" + host + "Content-Length : 3\r\n\r\n{}\n", "400"},
		{"long head", "POST /h2a/envelopes HTTP/1.1\r\n" + host + "X: " + strings.Repeat("a", 64<<10) + "\r\n\r\n", "431"},
		{"no host", "POST /h2a/envelopes HTTP/1.1\r\n\r\n", "400"},
		{"other protocol", "SSH-2.0-OpenSSH_9.6\r\n\r\n", "400"},
		{"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "404"},
		{"TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + strings.Repeat("\r\n", 4), "400"},
	} {
		line := x.raw(c.text)
		if !strings.Contains(line, " "+c.want) && !(strings.HasPrefix(line, "HTTP/1.") && len(c.want) == 2 && strings.Contains(line, " "+c.want)) {
			t.Errorf("%s: got %q, want status %s", c.what, line, c.want)
		}
	}
	if n := x.box(bob); n != 0 {
		t.Errorf("%d messages were taken", n)
	}
	for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded", "application/json; charset=utf-7"} {
		good := string(letter(t, "env-type-"+strings.Map(letterOnly, kind), time.Now()))
		head := "POST /h2a/envelopes?x=/y HTTP/1.1\r\n" + host + "Content-Type: " + kind + "\r\n" + fmt.Sprintf("Content-Length: %d\r\n\r\n", len(good))
		if line := x.raw(head + good); !strings.Contains(line, " 202") {
			t.Errorf("type %q: got %q; the proof is the signature, and no header counts", kind, line)
		}
	}
	x.alive("odd requests")
}

func letterOnly(r rune) rune {
	if r >= 'a' && r <= 'z' {
		return r
	}
	return -1
}

// TestEndlessBody: a body without an end is cut off at the limit, whatever it claims, and nothing of it is kept.
func TestEndlessBody(t *testing.T) {
	x := open(t)
	for what, head := range map[string]string{
		"claimed": "Content-Length: 1073741824\r\n\r\n",
		"chunked": "Transfer-Encoding: chunked\r\n\r\n",
	} {
		c, err := net.Dial("tcp", x.addr)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		answer := make(chan string, 1)
		go func() {
			text, _ := io.ReadAll(io.LimitReader(c, 1024))
			answer <- string(text)
		}()
		sent := 0
		if _, err = io.WriteString(c, "POST "+Path+" HTTP/1.1\r\nHost: x\r\n"+head); err == nil {
			chunk := "10000\r\n" + strings.Repeat(" ", 0x10000) + "\r\n"
			for sent < 1<<30 && err == nil {
				var n int
				n, err = io.WriteString(c, chunk)
				sent += n
			}
		}
		if sent > 64<<20 {
			t.Errorf("%s: %d bytes were taken", what, sent)
		}
		if got := <-answer; got != "" && !strings.Contains(got, " 413 ") { // a reset may swallow the answer
			t.Errorf("%s: got %q, want 413", what, got)
		}
		c.Close()
	}
	x.alive("endless bodies")
}

// TestSilentConnections: connections that send little or nothing block no other client: the oldest is closed.
func TestSilentConnections(t *testing.T) {
	x := open(t)
	const crowd = 600 // more than twice the room
	var all []net.Conn
	defer func() {
		for _, c := range all {
			c.Close()
		}
	}()
	for i := range crowd {
		c, err := net.Dial("tcp", x.addr)
		if err != nil {
			t.Skipf("the system grants %d connections: %v", i, err)
		}
		all = append(all, c)
		switch i % 3 {
		case 1:
			_, _ = io.WriteString(c, "POST "+Path+" HTTP/1.1\r\nHost: x\r\n")
		case 2:
			_, _ = io.WriteString(c, "POST "+Path+" HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n{")
		}
	}
	began := time.Now()
	x.alive("a silent crowd")
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s to be served in a crowd", took)
	}
}

// TestManyBad: bad requests of all kinds leave nothing behind.
func TestManyBad(t *testing.T) {
	x := open(t)
	stale := letter(t, "env-stale", time.Now().Add(-time.Hour))
	for i := range 300 {
		switch i % 4 {
		case 0:
			x.wants("stale", stale, 422, "expired")
		case 1:
			x.wants("rubbish", []byte("{{{{"), 400, "malformed")
		case 2:
			a, err := http.Get(x.url)
			if err != nil {
				t.Fatal(err)
			}
			a.Body.Close()
		case 3:
			x.raw("\x00\x01\x02\r\n\r\n")
		}
	}
	if len(x.r.Rates.all) != 0 || len(x.r.Guard.busy) != 0 {
		t.Errorf("remembered: %d shares, %d claims", len(x.r.Rates.all), len(x.r.Guard.busy))
	}
	x.alive("bad requests")
}
