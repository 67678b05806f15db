package vectortest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
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
	"tutti/internal/remote"
	"tutti/internal/remote/instruct"
	"tutti/internal/remote/listen"
	"tutti/internal/remote/mirror"
	"tutti/internal/store/memstore"
)

func wantFresh(t *testing.T, createdAt, now, want string) {
	t.Helper()
	at, err := time.Parse(time.RFC3339, now)
	if err != nil {
		t.Fatal(err)
	}
	if got := orOK(remote.Fresh(createdAt, at)); got != want {
		t.Errorf("made %s, now %s: got %s, want %s", createdAt, now, got, want)
	}
}

// orOK is a reason as the vectors have it.
func orOK(r remote.Reason) string {
	if r == "" {
		return "ok"
	}
	return string(r)
}

func freshness(t *testing.T, c kase) {
	var v struct{ Now, CreatedAt, Verdict string }
	c.into(t, &v)
	wantFresh(t, v.CreatedAt, v.Now, v.Verdict)
}

func envelopeFreshness(t *testing.T, c kase) {
	var v struct{ Name, CreatedAt, Now, Expect string }
	c.into(t, &v)
	wantFresh(t, v.CreatedAt, v.Now, v.Expect)
}

func mirrorFence(t *testing.T, c kase) {
	var v struct {
		Name        string
		Stored, Seq int64
		Expect      bool
	}
	c.into(t, &v)
	if got := mirror.Passes(v.Stored, v.Seq); got != v.Expect {
		t.Errorf("%d after %d passes: got %v, want %v", v.Seq, v.Stored, got, v.Expect)
	}
}

func driveLineParse(t *testing.T, c kase) {
	var v struct {
		Line   string
		Expect *struct{ From, To, Nonce, At, Sig, Instruction string }
	}
	c.into(t, &v)
	l, ok := instruct.Parse(v.Line)
	switch {
	case ok != (v.Expect != nil):
		t.Errorf("%q is a line: got %v", v.Line, ok)
	case ok && l != instruct.Line(*v.Expect):
		t.Errorf("%q: got %+v, want %+v", v.Line, l, *v.Expect)
	}
}

func driveServeStatus(t *testing.T, c kase) {
	var v struct {
		Reason string
		Status int
	}
	c.into(t, &v)
	if got := instruct.Status(remote.Reason(v.Reason)); got != v.Status {
		t.Errorf("%s: got %d, want %d", v.Reason, got, v.Status)
	}
}

func driveAuthorize(t *testing.T, c kase) {
	var v struct {
		Name, From, To string
		Registry       map[string]struct {
			Roles, Scopes []string
			Conductor     string
		}
		Expect string
	}
	c.into(t, &v)
	reg := registry.New(memstore.New(memstore.Options{}))
	for id, r := range v.Registry {
		raw := registry.Build(registry.Agent{Instance: address.Instance(id), Roles: r.Roles, Scopes: r.Scopes, Conductor: r.Conductor}, time.Now())
		if err := reg.Register(t.Context(), raw); err != nil {
			t.Fatal(err)
		}
	}
	got, err := (&instruct.Gate{Registry: reg}).Authorize(t.Context(), address.Instance(v.From), address.Instance(v.To))
	if err != nil || orOK(got) != v.Expect {
		t.Errorf("got %s %v, want %s", orOK(got), err, v.Expect)
	}
}

const (
	remoteFrom = address.Instance("claude:alpha:aaaaaaaaaaa1")
	remoteTo   = address.Instance("codex:beta:bbbbbbbbbbb2")
)

// endpoint serves until the test ends, and returns its URL.
func endpoint(t *testing.T, path string, serve func(context.Context, net.Listener, listen.Options) error) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- serve(ctx, l, listen.Options{Path: path}) }()
	t.Cleanup(func() { cancel(); <-done })
	return "http://" + l.Addr().String() + path
}

// asked sends a request and compares the answer.
func asked(t *testing.T, method, url string, body []byte, status int, want string, header map[string]string) {
	t.Helper()
	q, err := http.NewRequest(method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, _ := io.ReadAll(a.Body)
	got, err := canonjson.Canonical(text)
	if err != nil || a.StatusCode != status || want != "" && string(got) != want {
		t.Errorf("got %d %s, want %d %s", a.StatusCode, text, status, want)
	}
	for name, value := range header {
		if a.Header.Get(name) != value {
			t.Errorf("header %s: got %q, want %q", name, a.Header.Get(name), value)
		}
	}
}

// sent is an envelope as the cases want it.
func sent(t *testing.T, key *signature.Private, at string, target address.Instance, body string) []byte {
	t.Helper()
	raw, err := envelope.Draft{
		ID: "env-v", Actor: envelope.Actor{Instance: remoteFrom, Role: "AGENTS", Scope: "scope:default"}, Target: target, Created: time.Now(), Body: []byte(body),
	}.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if at != "" {
		raw = canonjson.Set(raw, "createdAt", canonjson.AppendString(nil, at))
	}
	if key == nil {
		return raw
	}
	if raw, err = envelope.Sign(raw, remoteFrom, key); err != nil {
		t.Fatal(err)
	}
	return raw
}

func remoteServeResponses(t *testing.T, c kase) {
	var v struct {
		Name, Given string
		Status      int
		Header      map[string]string
		Body        json.RawMessage
	}
	c.into(t, &v)
	s := memstore.New(memstore.Options{})
	reg, key := registry.New(s), signature.Generate()
	agents := map[address.Instance][]string{remoteFrom: {key.Public().PEM()}, remoteTo: nil}
	if v.Name == "signer has no active key" {
		agents[remoteFrom] = nil
	}
	for who, pems := range agents {
		if err := reg.Register(t.Context(), registry.Build(registry.Agent{Instance: who, PublicKeys: pems}, time.Now())); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	r := &remote.Receiver{
		Office: &mail.Service{
			Mail: mailbox.New(s), Book: &members.Book{Registry: reg, Presence: presence.New(s)}, Registry: reg, Ring: keyring.Open(dir),
			Pins: trust.OpenPins(filepath.Join(dir, "pins")), Halted: func(string) error { return nil }, Now: time.Now,
		},
		Registry: reg, Store: s, Guard: &remote.Guard{Memory: &remote.Ledger{Log: s}}, Rates: &remote.Rates{}, Now: time.Now,
	}
	url := endpoint(t, remote.Path, r.Serve)
	want, err := canonjson.Canonical(bytes.ReplaceAll(bytes.ReplaceAll(v.Body, []byte("<target>"), []byte(remoteTo)), []byte("<actor>"), []byte(remoteFrom)))
	if err != nil {
		t.Fatal(err)
	}
	method, text := http.MethodPost, `{"text":"x"}`
	body := sent(t, key, "", remoteTo, text)
	switch v.Name {
	case "accepted", "signer has no active key":
	case "wrong path":
		url += "x"
	case "wrong method on right path":
		method = http.MethodGet
	case "not JSON":
		body = []byte("{")
	case "not an envelope":
		body = []byte("{}")
	case "no target.instance":
		body = sent(t, key, "", "", text)
	case "signature does not verify":
		body = sent(t, signature.Generate(), "", remoteTo, text)
	case "createdAt unparseable":
		body = sent(t, key, "yesterday", remoteTo, text)
	case "too far ahead":
		body = sent(t, key, envelope.Stamp(time.Now().Add(5*time.Minute)), remoteTo, text)
	case "id seen before":
		asked(t, method, url, body, http.StatusAccepted, "", nil)
	default:
		t.Fatalf("unknown case: %s", v.Name)
	}
	asked(t, method, url, body, v.Status, string(want), v.Header)
}

func mirrorResponses(t *testing.T, c kase) {
	var v struct {
		Name   string
		Status int
		Reason *string
	}
	c.into(t, &v)
	s := memstore.New(memstore.Options{})
	key := signature.Generate()
	r := &mirror.Receiver{
		Registry: registry.New(s), Presence: presence.New(s), Mail: mailbox.New(s), Docs: s, Guard: &remote.Guard{Memory: &remote.Ledger{Log: s}}, Rates: &remote.Rates{},
		Enrolled: []mirror.Enrolled{{Key: key.Public()}}, Now: time.Now,
	}
	url := endpoint(t, mirror.Path, r.Serve)
	push := func(who address.Instance, pem *signature.Private, seq int64) string {
		reg := registry.Build(registry.Agent{Instance: who, PublicKeys: []string{pem.Public().PEM()}}, time.Now())
		return fmt.Sprintf(`{"kind":%q,"registrations":[%s],"presence":[],"seq":%d}`, mirror.Kind, reg, seq)
	}
	seq := time.Now().UnixMilli()
	body := sent(t, key, "", remoteFrom, push(remoteFrom, key, seq))
	switch v.Name {
	case "accepted":
	case "not an envelope":
		body = []byte("{}")
	case "other body kind or registrations not a list":
		body = sent(t, key, "", remoteFrom, `{"kind":"mirror.instances","registrations":{}}`)
	case "no signature by the actor":
		body = sent(t, nil, "", remoteFrom, push(remoteFrom, key, seq))
	case "no candidate key verifies":
		body = sent(t, signature.Generate(), "", remoteFrom, push(remoteFrom, key, seq))
	case "no registration carries the verified key":
		body = sent(t, key, "", remoteFrom, push(remoteFrom, signature.Generate(), seq))
	case "bad createdAt":
		body = sent(t, key, "yesterday", remoteFrom, push(remoteFrom, key, seq))
	case "same envelope id again":
		asked(t, http.MethodPost, url, body, http.StatusAccepted, "", nil)
	case "seq not above the stored one":
		asked(t, http.MethodPost, url, body, http.StatusAccepted, "", nil)
		raw := canonjson.Set(canonjson.Delete(body, "signatures"), "id", []byte(`"env-w"`))
		var err error
		if body, err = envelope.Sign(raw, remoteFrom, key); err != nil {
			t.Fatal(err)
		}
	default:
		t.Fatalf("unknown case: %s", v.Name)
	}
	want := ""
	if v.Reason != nil {
		want = fmt.Sprintf(`{"ok":false,"reason":%q}`, *v.Reason)
	}
	asked(t, http.MethodPost, url, body, v.Status, want, nil)
}
