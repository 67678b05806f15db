package remote

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/envelope"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/remote"
	"tutti/internal/remote/instruct"
	"tutti/internal/remote/mirror"
)

// soak says that the long versions are to be run.
var soak = os.Getenv("TUTTI_SOAK") != ""

const (
	boss   = address.Instance("claude:boss:aaaaaaaaaaa1")
	worker = address.Instance("codex:worker:bbbbbbbbbbb2")
	far    = address.Instance("claude:far:ccccccccccc3")
)

var keys = map[address.Instance]*signature.Private{boss: signature.Generate(), worker: signature.Generate(), far: signature.Generate()}

// TestMain keeps the user's halt switch out of the tests.
func TestMain(m *testing.M) {
	home, err := os.MkdirTemp("", "remoting")
	if err != nil {
		panic(err)
	}
	os.Setenv("HOME", home)
	status := m.Run()
	os.RemoveAll(home)
	os.Exit(status)
}

// A target is one endpoint, as an attacker sees it.
type target struct {
	name, path string
	most       int                                      // bytes of a body
	serve      func(*app.World, *Endpoint) error        // as its verb does
	good       func(t *testing.T, change change) []byte // a signed body that is taken, as change leaves it before it is signed
	url, addr  string
	end        func()
}

// A change alters a body before it is signed; nil: it stays.
type change func(raw []byte) []byte

// serial makes ids, and numbers of pushes, that were not there before.
var serial atomic.Int64

func (c change) apply(raw []byte) []byte {
	if c == nil {
		return raw
	}
	return c(raw)
}

func signed(t *testing.T, raw []byte, by address.Instance) []byte {
	t.Helper()
	done, err := envelope.Sign(raw, by, keys[by])
	if err != nil {
		return raw // the change has left nothing that could be signed
	}
	return done
}

func letter(t *testing.T, change change) []byte {
	t.Helper()
	raw, err := envelope.Draft{
		ID: fmt.Sprint("env-", serial.Add(1)), Actor: envelope.Actor{Instance: boss, Role: "AGENTS", Scope: "scope:default"}, Target: worker, Created: time.Now(), Text: "hello",
	}.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return signed(t, change.apply(raw), boss)
}

func push(t *testing.T, change change) []byte {
	t.Helper()
	now := time.Now()
	reg := registry.Build(registry.Agent{Instance: far, PublicKeys: []string{keys[far].Public().PEM()}, Name: "Far"}, now)
	body := fmt.Appendf(nil, `{"kind":%q,"registrations":[%s],"presence":[{"sessionId":"ses-far","instance":%q,"host":"claude","startedAt":%q,"heartbeatAt":%[4]q,"state":"live",`+
		`"interests":{"scopes":["scope:default"],"negotiations":[]},"subscribedTopics":[],"name":"Far","workspace":{"id":"ws:1","path":"/x","host":"h","label":"l"}}],"seq":%d,`+
		`"subagents":[{"id":%[6]q,"parentInstance":%[3]q,"name":"tests","createdAt":%[4]q,"capabilities":[]}]}`,
		mirror.Kind, reg, far, envelope.Stamp(now), now.UnixMilli()-10_000_000+serial.Add(1), string(far)+"~tests")
	raw, err := envelope.Draft{
		ID: fmt.Sprint("mirror-", serial.Add(1)), Actor: envelope.Actor{Instance: far, Role: "AGENTS", Scope: "scope:default"}, Target: far, Created: now, Body: body,
	}.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return signed(t, change.apply(raw), far)
}

func order(t *testing.T, change change) []byte {
	t.Helper()
	return change.apply(orderOf(t, boss))
}

// orderOf is an instruction of some agent for the worker.
func orderOf(t *testing.T, from address.Instance) []byte {
	t.Helper()
	l, err := instruct.Write(from, worker, "go on", fmt.Sprint("n", serial.Add(1)), "", keys[from], time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return []byte(`{"line":` + string(canonjson.AppendString(nil, l.String())) + `}`)
}

// A site is a bus of its own with an endpoint of each kind, put together as the verbs do it.
type site struct {
	t    *testing.T
	home string
	w    *app.World
	all  []*target
	end  func()
}

func open(t *testing.T) *site {
	t.Helper()
	x := reopen(t, t.TempDir())
	for _, a := range []registry.Agent{{Instance: boss}, {Instance: worker, Conductor: string(boss)}} {
		a.PublicKeys = []string{keys[a.Instance].Public().PEM()}
		if err := x.w.Registry.Register(t.Context(), registry.Build(a, time.Now())); err != nil {
			t.Fatal(err)
		}
	}
	for who, key := range keys { // as their user has said
		if err := x.w.Pins.Trust(who, key.Public(), time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	return x
}

// reopen serves a bus that may be there already, as programs do that were started again.
func reopen(t *testing.T, home string) *site {
	t.Helper()
	w, err := app.New(app.Settings{Home: home, Dir: home, Getenv: func(string) string { return "" }}).World(app.Creating)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	x := &site{t: t, home: home, w: w}
	x.all = []*target{
		{name: "remote serve", path: remote.Path, most: remote.MaxBody, good: letter, serve: func(w *app.World, e *Endpoint) error { return Serve(ctx, w, *e) }},
		{name: "mirror-serve", path: mirror.Path, most: remote.MaxBody, good: push, serve: func(w *app.World, e *Endpoint) error {
			e.Enrolled = []byte(`[{"instance":"` + string(far) + `","key":` + string(canonjson.AppendString(nil, keys[far].Public().PEM())) + `}]`)
			return ServeMirror(ctx, w, *e)
		}},
		{name: "drive serve", path: instruct.Path, most: instruct.MaxBody, good: order, serve: func(w *app.World, e *Endpoint) error {
			e.To, e.Command, e.Environ = worker, "cat >>'"+home+"/driven'", os.Environ()
			return ServeDrive(ctx, w, *e)
		}},
	}
	for _, one := range x.all {
		x.begin(one)
	}
	ended := false
	x.end = func() {
		if ended {
			return
		}
		ended = true
		cancel()
		for _, one := range x.all {
			one.end()
		}
		w.Close()
	}
	t.Cleanup(x.end)
	return x
}

func (x *site) begin(one *target) {
	x.t.Helper()
	ready, done := make(chan string, 1), make(chan error, 1)
	e := Endpoint{Host: "127.0.0.1", Path: one.path, Rate: 1e6, Ready: func(url string) { ready <- url }, Log: func(line string) { x.t.Logf("operator of %s: %s", one.name, line) }}
	go func() { done <- one.serve(x.w, &e) }()
	select {
	case one.url = <-ready:
	case err := <-done:
		x.t.Fatalf("%s: %v", one.name, err)
	}
	u, err := url.Parse(one.url)
	if err != nil {
		x.t.Fatal(err)
	}
	one.addr = u.Host
	one.end = func() {
		if err := <-done; err != nil {
			x.t.Errorf("%s ended with %v", one.name, err)
		}
	}
}

// each runs a test for every endpoint.
func (x *site) each(f func(t *testing.T, one *target)) {
	for _, one := range x.all {
		x.t.Run(strings.ReplaceAll(one.name, " ", "-"), func(t *testing.T) { f(t, one) })
	}
}

// post sends a body and returns the status, 0 when no answer came.
func (one *target) post(t *testing.T, body []byte) (int, string) {
	t.Helper()
	a, err := http.Post(one.url, "application/json", bytes.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	defer a.Body.Close()
	text, _ := io.ReadAll(a.Body)
	return a.StatusCode, string(text)
}

// wants sends a body and compares what is answered.
func wants(t *testing.T, what string, to *target, body []byte, status int, word string) {
	t.Helper()
	if got, text := to.post(t, body); got != status || !strings.Contains(text, word) {
		t.Errorf("%s: got %d %s, want %d with %q", what, got, text, status, word)
	}
}

// alive shows that good bodies are still taken.
func (one *target) alive(t *testing.T, after string) {
	t.Helper()
	if status, text := one.post(t, one.good(t, nil)); status != http.StatusAccepted {
		t.Errorf("after %s: got %d %s, want 202", after, status, text)
	}
}

func (one *target) dial(t *testing.T) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", one.addr)
	if err != nil {
		t.Skipf("the system grants no more connections: %v", err)
	}
	_ = c.SetDeadline(time.Now().Add(2 * time.Minute))
	return c
}

// head is the beginning of a request with a body of so many bytes.
func (one *target) head(length int) string {
	return "POST " + one.path + " HTTP/1.1\r\nHost: x\r\nContent-Length: " + strconv.Itoa(length) + "\r\n\r\n"
}

// itself is an order of an agent to itself.
func itself(who address.Instance) Order {
	return Order{From: who, To: who, Instruction: "go on", Key: keys[who], Way: "auto", Tell: func(string) {}}
}
