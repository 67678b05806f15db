package remote

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/keyring"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/members"
	"tutti/internal/bus/presence"
	"tutti/internal/bus/registry"
	"tutti/internal/bus/trust"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/halt"
	"tutti/internal/remote/listen"
	"tutti/internal/store/filestore"
)

const (
	alice = address.Instance("claude:alice:aaaaaaaaaaa1")
	bob   = address.Instance("codex:bob:bbbbbbbbbbb2")
	eve   = address.Instance("gemini:eve:eeeeeeeeeee5")
)

// keys are those of the agents, made once.
var keys = map[address.Instance]*signature.Private{
	alice: signature.Generate(), bob: signature.Generate(), eve: signature.Generate(),
}

// A site is a bus with an endpoint.
type site struct {
	t    testing.TB
	root string
	s    *filestore.Store
	reg  *registry.Registry
	mail *mailbox.Mailbox
	r    *Receiver
	url  string
	addr string
	end  func()
}

// open opens a bus of its own for each site, with the agents registered, and serves it.
func open(t testing.TB, change ...func(*Receiver)) *site {
	t.Helper()
	x := reopen(t, filepath.Join(t.TempDir(), "bus"), change...)
	return x
}

// reopen serves a bus that may be there already, as a process does that was started again.
func reopen(t testing.TB, root string, change ...func(*Receiver)) *site {
	t.Helper()
	s, err := filestore.Open(root, filestore.Options{Create: true, CacheDir: filepath.Join(filepath.Dir(root), "cache")})
	if err != nil {
		t.Fatal(err)
	}
	x := &site{t: t, root: root, s: s, reg: registry.New(s), mail: mailbox.New(s)}
	for _, who := range []address.Instance{alice, bob} {
		x.register(who, keys[who].Public().PEM())
	}
	ring := keyring.Open(root)
	office := &mail.Service{
		Mail: x.mail, Book: &members.Book{Registry: x.reg, Presence: presence.New(s)}, Registry: x.reg, Ring: ring,
		Pins: trust.OpenPins(filepath.Join(filepath.Dir(root), "pins")), Halted: func(string) error { return nil }, Now: time.Now,
	}
	x.r = &Receiver{
		Office: office, Registry: x.reg, Store: s, Guard: &Guard{Memory: &Ledger{Log: s}}, Rates: &Rates{PerSecond: 1e6}, Now: time.Now,
		Log: func(line string) { t.Log("operator: " + line) },
	}
	for _, f := range change {
		f(x.r)
	}
	x.serve(listen.Options{Path: Path})
	return x
}

func (x *site) serve(o listen.Options) {
	x.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		x.t.Fatal(err)
	}
	x.addr = l.Addr().String()
	x.url = "http://" + x.addr + Path
	ctx, cancel := context.WithCancel(x.t.Context())
	done := make(chan error, 1)
	go func() { done <- x.r.Serve(ctx, l, o) }()
	ended := false
	x.end = func() {
		if ended {
			return
		}
		ended = true
		cancel()
		if err := <-done; err != nil {
			x.t.Errorf("serve ended with %v", err)
		}
		<-x.r.ended
		x.s.Close()
	}
	x.t.Cleanup(x.end)
}

func (x *site) register(who address.Instance, pem ...string) {
	x.t.Helper()
	raw := registry.Build(registry.Agent{Instance: who, PublicKeys: pem}, time.Now())
	if err := x.reg.Register(x.t.Context(), raw); err != nil && !strings.Contains(err.Error(), "already") {
		x.t.Fatal(err)
	}
}

// letter is a signed envelope from alice to bob; change may alter it before it is signed.
func letter(t testing.TB, id string, at time.Time, change ...func(raw []byte) []byte) []byte {
	t.Helper()
	raw, err := envelope.Draft{
		ID: id, Actor: envelope.Actor{Instance: alice, Role: "AGENTS", Scope: "scope:default"}, Target: bob, Created: at, Text: "hello",
	}.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		raw = f(raw)
	}
	raw, err = envelope.Sign(raw, alice, keys[alice])
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// set is a change of one member.
func set(name, value string) func([]byte) []byte {
	return func(raw []byte) []byte { return canonjson.Set(raw, name, []byte(value)) }
}

// post sends a body and returns status and answer.
func (x *site) post(body []byte) (int, string) {
	x.t.Helper()
	a, err := http.Post(x.url, "application/json", bytes.NewReader(body))
	if err != nil {
		x.t.Fatalf("post %.80q: %v", body, err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		x.t.Fatal(err)
	}
	return a.StatusCode, string(text)
}

// wants posts a body and compares the answer.
func (x *site) wants(what string, body []byte, status int, word string) {
	x.t.Helper()
	got, text := x.post(body)
	if got != status || !strings.Contains(text, word) {
		x.t.Errorf("%s: got %d %s, want %d with %q", what, got, text, status, word)
	}
}

// raw sends bytes as they are and returns the first line of what comes back, "" when the connection was cut.
func (x *site) raw(text string) string {
	x.t.Helper()
	c, err := net.Dial("tcp", x.addr)
	if err != nil {
		x.t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(c, text); err != nil {
		return ""
	}
	line, _ := bufio.NewReader(c).ReadString('\n')
	return strings.TrimSpace(line)
}

// box is how many messages lie in the mailbox of an agent.
func (x *site) box(who address.Instance) int {
	x.t.Helper()
	all, bad, err := x.mail.Read(x.t.Context(), who)
	if err != nil || len(bad) > 0 {
		x.t.Fatal(err, bad)
	}
	return len(all)
}

// alive shows that the endpoint still takes good envelopes.
func (x *site) alive(what string) {
	x.t.Helper()
	x.wants("after "+what, letter(x.t, fmt.Sprintf("env-alive-%d", time.Now().UnixNano()), time.Now()), http.StatusAccepted, `"ok":true`)
}

func haltedError() error { return halt.State{Halted: true, Reason: "test"}.Err("take mail") }
