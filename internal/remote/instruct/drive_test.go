package instruct

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/presence"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/platform/tmux"
	"tutti/internal/remote"
	"tutti/internal/remote/listen"
	"tutti/internal/sessions/lifecycle"
	"tutti/internal/store"
	"tutti/internal/store/memstore"
	"tutti/internal/test/progfile"
)

const (
	boss   = address.Instance("claude:boss:aaaaaaaaaaa1")
	worker = address.Instance("codex:worker:bbbbbbbbbbb2")
	other  = address.Instance("gemini:other:ccccccccccc3")
)

var keys = map[address.Instance]*signature.Private{boss: signature.Generate(), worker: signature.Generate(), other: signature.Generate()}

type rig struct {
	t      *testing.T
	s      *memstore.Store
	g      *Gate
	server *Server // that was begun last
	end    func()  // ends it
}

func open(t *testing.T) *rig {
	t.Helper()
	s := memstore.New(memstore.Options{})
	r := &rig{t: t, s: s, g: &Gate{Registry: registry.New(s), Guard: &remote.Guard{Memory: &remote.Markers{Docs: s, Kind: store.DriveReplay}}, Now: time.Now}}
	for _, a := range []registry.Agent{{Instance: boss}, {Instance: worker, Conductor: string(boss)}, {Instance: other}} {
		a.PublicKeys = []string{keys[a.Instance].Public().PEM()}
		if err := r.g.Registry.Register(t.Context(), registry.Build(a, time.Now())); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func line(t *testing.T, from, to address.Instance, nonce, text string, at time.Time) *Line {
	t.Helper()
	l, err := Write(from, to, text, nonce, envelope.Stamp(at), keys[from], at)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestPass: each check in its order, and what is refused uses nothing up.
func TestPass(t *testing.T) {
	r := open(t)
	now := time.Now()
	good := line(t, boss, worker, "n1", "run the tests", now)
	forged := *good
	forged.Instruction = "rm -rf ~"
	strange := line(t, boss, worker, "n2", "x", now)
	strange.From = "claude:ghost:dddddddddddd"
	for _, c := range []struct {
		what, text string
		to         address.Instance
		want       remote.Reason
	}{
		{"no line", "hello", worker, remote.Malformed},
		{"keys in it", line(t, boss, worker, "n3", "x", now).String() + "\x1b[A\r", worker, remote.Malformed},
		{"nothing to do", line(t, boss, worker, "n4", "x", now).String()[:len(line(t, boss, worker, "n4", "x", now).String())-1] + " ", worker, remote.Malformed},
		{"for another", good.String(), other, WrongTarget},
		{"other spelling of the target", good.String(), "Codex:Worker:bbbbbbbbbbb2", WrongTarget},
		{"nobody", strange.String(), worker, remote.NoKey},
		{"forged", forged.String(), worker, remote.BadSignature},
		{"old", line(t, boss, worker, "n5", "x", now.Add(-time.Hour)).String(), worker, remote.Expired},
		{"ahead", line(t, boss, worker, "n6", "x", now.Add(time.Hour)).String(), worker, remote.Future},
		{"without a right", line(t, other, worker, "n7", "x", now).String(), worker, Unauthorized},
		{"upwards", line(t, worker, boss, "n8", "x", now).String(), boss, Unauthorized},
		{"to itself", line(t, worker, worker, "n9", "x", now).String(), worker, ""},
		{"the conductor's", good.String(), worker, ""},
		{"again", good.String(), worker, remote.Replayed},
	} {
		l, reason, err := r.g.Pass(t.Context(), c.text, c.to)
		if err != nil || reason != c.want {
			t.Errorf("%s: got %q %v, want %q", c.what, reason, err, c.want)
		}
		if reason == "" && l.Instruction == "" {
			t.Errorf("%s: no instruction", c.what)
		}
	}
	fresh := &Gate{Registry: r.g.Registry, Guard: &remote.Guard{Memory: &remote.Markers{Docs: r.s, Kind: store.DriveReplay}}, Now: time.Now}
	if _, reason, _ := fresh.Pass(t.Context(), good.String(), worker); reason != remote.Replayed {
		t.Errorf("in another process: got %q, want replayed", reason)
	}
	if _, err := r.s.Get(t.Context(), store.Key{Kind: store.DriveReplay, Name: address.Segment(good.id())}); err != nil {
		t.Errorf("older programs do not find the marker: %v", err)
	}
	r.g.Rates = &remote.Rates{PerSecond: 0.1}
	for n, want := range []remote.Reason{"", TooOften} {
		if _, reason, err := r.g.Pass(t.Context(), line(t, boss, worker, fmt.Sprint("r", n), "x", now).String(), worker); reason != want || err != nil {
			t.Errorf("the share, %d: got %q %v, want %q", n, reason, err, want)
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	for what, f := range map[string]func() (*Line, error){
		"two lines": func() (*Line, error) { return Write(boss, worker, "a\nb", "", "", keys[boss], time.Now()) },
		"escape":    func() (*Line, error) { return Write(boss, worker, "a\x1bb", "", "", keys[boss], time.Now()) },
		"empty":     func() (*Line, error) { return Write(boss, worker, " ", "", "", keys[boss], time.Now()) },
		"long": func() (*Line, error) {
			return Write(boss, worker, strings.Repeat("a", MaxInstruction+1), "", "", keys[boss], time.Now())
		},
		"nonce":  func() (*Line, error) { return Write(boss, worker, "a", "n ] to=x", "", keys[boss], time.Now()) },
		"sender": func() (*Line, error) { return Write("a b:c:d", worker, "a", "", "", keys[boss], time.Now()) },
	} {
		var form *FormError
		if l, err := f(); !errors.As(err, &form) {
			t.Errorf("%s: got %v, %v", what, l, err)
		}
	}
}

func TestPrompt(t *testing.T) {
	for in, want := range map[string]struct {
		text string
		hook bool
	}{
		"plain":          {"plain", false},
		`{"prompt":"p"}`: {"p", false},
		`{"hook_event_name":"UserPromptSubmit","prompt":"p","message":"m"}`:  {"p", true},
		`{"params":{"input":[{"text":"deep"}]}}`:                             {"deep", false},
		`{"x":"y"}`:                                                          {"", false},
		strings.Repeat(`{"params":`, 100) + `"x"` + strings.Repeat("}", 100): {"", false},
	} {
		if text, hook := Prompt([]byte(in)); text != want.text || hook != want.hook {
			t.Errorf("%.60s: got %q %v, want %+v", in, text, hook, want)
		}
	}
	if got := Find("before\n[h2a from=x] do\nafter"); got != "[h2a from=x] do" {
		t.Errorf("Find: %q", got)
	}
}

// serve opens an endpoint whose command is run through the shell.
func (r *rig) serve(command string, halted func(string) error) (url string) {
	r.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	swept, gate := make(chan struct{}), *r.g
	var once sync.Once
	gate.Now = func() time.Time {
		now := r.g.Now()
		once.Do(func() { close(swept) })
		return now
	}
	s := &Server{Gate: &gate, To: worker, Inject: Injector(command, os.Environ()), Halted: halted, Log: func(line string) { r.t.Log("operator: " + line) }}
	ctx, cancel := context.WithCancel(r.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.Serve(ctx, l, listen.Options{Path: Path, Grace: 100 * time.Millisecond}); err != nil {
			r.t.Error(err)
		}
	}()
	<-swept // nobody looks at the clock from now on but whoever is asked
	r.server, r.end = s, func() { cancel(); <-done }
	r.t.Cleanup(r.end)
	return "http://" + l.Addr().String() + Path
}

func (r *rig) wants(url, what, body string, status int, word string) {
	r.t.Helper()
	a, err := http.Post(url, "", strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	defer a.Body.Close()
	text, _ := io.ReadAll(a.Body)
	if a.StatusCode != status || !strings.Contains(string(text), word) {
		r.t.Errorf("%s: got %d %s, want %d with %q", what, a.StatusCode, text, status, word)
	}
}

func body(l *Line) string { return fmt.Sprintf(`{"line":%q}`, l.String()) }

// TestServe: the text of an instruction reaches the command as data, once, whatever it is.
func TestServe(t *testing.T) {
	r := open(t)
	out := filepath.Join(t.TempDir(), "out")
	halted := func(string) error { return nil }
	url := r.serve(`{ cat; printf '%s|%s|%s\n' "$H2A_DRIVE_FROM" "$H2A_DRIVE_TO" "$H2A_DRIVE_INSTRUCTION"; } >> '`+out+`'`, func(a string) error { return halted(a) })
	now := time.Now()
	nasty := `-x'; touch /tmp/owned; echo "$(id)` + "`id`"
	good := line(t, boss, worker, "s1", nasty, now)
	r.wants(url, "no JSON", "{", 400, "malformed")
	r.wants(url, "a list", "[]", 400, "malformed")
	r.wants(url, "no line", "{}", 400, "missing-line")
	r.wants(url, "line no text", `{"line":{"x":1}}`, 400, "missing-line")
	r.wants(url, "no such line", `{"line":"hello"}`, 400, "malformed")
	r.wants(url, "without a right", body(line(t, other, worker, "s2", "x", now)), 403, "unauthorized")
	r.wants(url, "for another", body(line(t, boss, other, "s3", "x", now)), 403, "target-mismatch")
	r.wants(url, "too large", `{"line":"`+strings.Repeat("a", MaxBody)+`"}`, 413, "payload-too-large")
	halted = func(string) error { return errors.New("halted") }
	r.wants(url, "halted", body(good), 503, "halted")
	halted = func(string) error { return nil }
	r.wants(url, "good", body(good), 202, `"ok":true`)
	r.wants(url, "again", body(good), 409, "replayed")
	got, err := os.ReadFile(out)
	want := good.String() + "\n" + string(boss) + "|" + string(worker) + "|" + nasty + "\n"
	if err != nil || string(got) != want {
		t.Errorf("the command got %q %v, want %q", got, err, want)
	}
	url = r.serve("exit 3", halted)
	failing := line(t, boss, worker, "s4", "x", now)
	r.wants(url, "a command that fails", body(failing), 502, "inject-failed")
	r.wants(url, "and is not tried twice", body(failing), 409, "replayed")
}

// TestHeadless: a program gets the line on its standard input, and no part of it as an argument.
func TestHeadless(t *testing.T) {
	r := open(t)
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	program := filepath.Join(dir, "codex")
	if err := progfile.Write(program, []byte("#!/bin/sh\n{ echo \"$@\"; cat; pwd; } > '"+out+"'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	p := presence.New(r.s)
	d := &Deliverer{
		Registry: r.g.Registry, Presence: p, Manager: lifecycle.New(lifecycle.Options{}), Servers: func() []tmux.Server { return nil }, Halted: func(string) error { return nil },
		Env: os.Environ(), Now: time.Now, Look: func(string) (string, error) { return program, nil },
	}
	l := line(t, boss, worker, "h1", "--help; rm -rf ~", time.Now())
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	launch := &presence.Launch{Cwd: work, Command: "touch /tmp/owned"}
	if _, err := p.Open(t.Context(), presence.Start{SessionID: "ses-1", Instance: worker, Launch: launch}, time.Now()); err != nil {
		t.Fatal(err)
	}
	way, err := d.Deliver(t.Context(), l, "", Auto)
	if way != Headless || err != nil {
		t.Fatalf("got %q %v", way, err)
	}
	got, err := os.ReadFile(out)
	if want := []byte("exec -\n" + l.String() + "\n" + work + "\n"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the program got %q %v, want %q", got, err, want)
	}
	for _, c := range []struct {
		way  Way
		host string
	}{{Headless, "custom"}, {Headless, "sh"}, {Native, ""}, {Tmux, ""}, {Logging, ""}} {
		if way, err := d.Deliver(t.Context(), l, c.host, c.way); !errors.Is(err, ErrNoWay) {
			t.Errorf("%s for %q: got %q %v, want that nothing leads there", c.way, c.host, way, err)
		}
	}
	d.Halted = func(string) error { return errors.New("halted") }
	if _, err := d.Deliver(t.Context(), l, "", Auto); err == nil || errors.Is(err, ErrNoWay) {
		t.Errorf("halted: %v", err)
	}
}

// TestMirrored: a session of another machine cannot be driven, whatever pane it names.
func TestMirrored(t *testing.T) {
	r := open(t)
	p := presence.New(r.s)
	launch := &presence.Launch{Cwd: "/", Command: "codex", Tmux: &presence.Tmux{Session: "main", Pane: "%0"}}
	if _, err := p.Open(t.Context(), presence.Start{SessionID: "ses-m", Instance: worker, Launch: launch, MirroredAt: envelope.Stamp(time.Now())}, time.Now()); err != nil {
		t.Fatal(err)
	}
	asked := false
	d := &Deliverer{
		Registry: r.g.Registry, Presence: p, Manager: lifecycle.New(lifecycle.Options{}), Servers: func() []tmux.Server { asked = true; return nil }, Halted: func(string) error { return nil },
		Now: time.Now,
	}
	d.Look = func(string) (string, error) { t.Error("a program was looked for"); return "/bin/false", nil }
	for _, way := range Ways {
		if _, err := d.Deliver(t.Context(), line(t, boss, worker, "m1", "x", time.Now()), "", way); !errors.Is(err, ErrNoWay) || asked {
			t.Errorf("%s: got %v, tmux was asked: %v", way, err, asked)
		}
	}
	far := address.Instance("claude:far:fffffffffff4")
	raw := registry.Build(registry.Agent{Instance: far}, time.Now())
	if err := r.g.Registry.Register(t.Context(), canonjson.Set(raw, "mirroredAt", []byte(`"2026-01-01T00:00:00.000Z"`))); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Deliver(t.Context(), line(t, boss, far, "m2", "x", time.Now()), "", Auto); !errors.Is(err, ErrNoWay) {
		t.Errorf("an agent of another machine that is not seen now: got %v", err)
	}
	all, err := p.Of(t.Context(), worker, time.Now())
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	if err := d.Manager.Nudge(t.Context(), all[0], nil, "x"); err == nil {
		t.Error("it was reached")
	}
}

// TestManyKeys: an agent with many keys may sign a line with any of them, the oldest and the newest, and what is beyond counting is
// what is oldest.
func TestManyKeys(t *testing.T) {
	t.Parallel()
	l := line(t, boss, worker, "n1", "x", time.Now())
	for _, c := range []struct {
		at, of int
		want   bool
	}{{0, 100, true}, {64, 100, true}, {99, 100, true}, {0, 1025, false}, {1, 1025, true}, {1024, 1025, true}} {
		all := make([]signature.Public, c.of)
		for i := range all {
			all[i] = keys[other].Public()
		}
		all[c.at] = keys[boss].Public()
		if _, ok := l.VerifiedBy(all); ok != c.want {
			t.Errorf("key %d of %d: want it tried: %v", c.at, c.of, c.want)
		}
	}
}
