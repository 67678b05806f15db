package mirror

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/presence"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/platform/proc"
	"tutti/internal/remote"
	"tutti/internal/remote/listen"
	"tutti/internal/store/filestore"
)

const (
	far    = address.Instance("claude:far:aaaaaaaaaaa1")
	victim = address.Instance("codex:victim:bbbbbbbbbbb2")
)

var farKey, victimKey, strangeKey = signature.Generate(), signature.Generate(), signature.Generate()

type site struct {
	t    *testing.T
	s    *filestore.Store
	reg  *registry.Registry
	pres *presence.Presence
	r    *Receiver
	url  string
	root string
	now  time.Time
	end  func()
}

func open(t *testing.T, enrolled ...Enrolled) *site {
	t.Helper()
	return reopen(t, filepath.Join(t.TempDir(), "bus"), enrolled...)
}

func reopen(t *testing.T, root string, enrolled ...Enrolled) *site {
	t.Helper()
	s, err := filestore.Open(root, filestore.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	x := &site{t: t, s: s, reg: registry.New(s), pres: presence.New(s), root: root, now: time.Now()}
	swept := make(chan struct{})
	x.r = &Receiver{
		Registry: x.reg, Presence: x.pres, Mail: mailbox.New(s), Docs: s, Guard: &remote.Guard{Memory: &remote.Ledger{Log: s}}, Rates: &remote.Rates{PerSecond: 1e6},
		Enrolled: enrolled, Now: first(swept, func() time.Time { return x.now }), Log: func(line string) { t.Log("operator: " + line) },
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	x.url = "http://" + l.Addr().String() + Path
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- x.r.Serve(ctx, l, listen.Options{Path: Path}) }()
	<-swept // nobody looks at the clock from now on but whoever is asked
	ended := false
	x.end = func() {
		if !ended {
			ended = true
			cancel()
			<-done
			s.Close()
		}
	}
	t.Cleanup(x.end)
	return x
}

// first is a clock that tells when somebody has looked at it for the first time.
func first(looked chan struct{}, clock func() time.Time) func() time.Time {
	var once sync.Once
	return func() time.Time {
		now := clock()
		once.Do(func() { close(looked) })
		return now
	}
}

// registration of an agent with everything that an attacker would like to have.
func registration(who address.Instance, keys ...*signature.Private) []byte {
	var pems []string
	for _, k := range keys {
		pems = append(pems, k.Public().PEM())
	}
	return registry.Build(registry.Agent{
		Instance: who, Roles: []string{registry.Principal, registry.Conductor}, Capabilities: []string{"deploy"}, PublicKeys: pems, Root: "/somewhere",
		Principal: string(who), Conductor: string(who), Name: "Far",
	}, time.Now())
}

func session(id string, who address.Instance) []byte {
	return fmt.Appendf(nil, `{"sessionId":%q,"instance":%q,"pid":1,"startedAt":"2026-01-01T00:00:00.000Z","heartbeatAt":"2026-01-01T00:00:00.000Z","state":"live",`+
		`"interests":{"scopes":[],"negotiations":[]},"subscribedTopics":[],"launchContext":{"cwd":"/","command":"rm","tmux":{"session":"main","pane":"%%1"}}}`, id, who)
}

// push is a signed push; who signs may be another one than who speaks.
func (x *site) push(id string, who address.Instance, key *signature.Private, seq int64, regs, sessions [][]byte) []byte {
	x.t.Helper()
	return x.pushWith(id, who, key, seq, regs, sessions)
}

// pushWith is one with subagents.
func (x *site) pushWith(id string, who address.Instance, key *signature.Private, seq int64, regs, sessions [][]byte, subagents ...string) []byte {
	x.t.Helper()
	var o canonjson.Object
	o.Str("kind", Kind)
	o.Raw("registrations", list(regs))
	o.Raw("presence", list(sessions))
	o.Int("seq", seq)
	if len(subagents) > 0 {
		o.Raw("subagents", []byte("["+strings.Join(subagents, ",")+"]"))
	}
	raw, err := envelope.Draft{ID: id, Actor: envelope.Actor{Instance: who, Role: "PRINCIPAL", Scope: "s"}, Target: who, Created: x.now, Body: o.Bytes()}.Bytes()
	if err != nil {
		x.t.Fatal(err)
	}
	if raw, err = envelope.Sign(raw, who, key); err != nil {
		x.t.Fatal(err)
	}
	return raw
}

func (x *site) wants(what string, body []byte, status int, word string) {
	x.t.Helper()
	a, err := http.Post(x.url, "application/json", bytes.NewReader(body))
	if err != nil {
		x.t.Fatalf("%s: %v", what, err)
	}
	defer a.Body.Close()
	text, _ := io.ReadAll(a.Body)
	if a.StatusCode != status || !strings.Contains(string(text), word) {
		x.t.Errorf("%s: got %d %s, want %d with %q", what, a.StatusCode, text, status, word)
	}
}

func (x *site) sessions(who address.Instance) []*presence.Session {
	x.t.Helper()
	all, err := x.pres.Of(x.t.Context(), who, x.now)
	if err != nil {
		x.t.Fatal(err)
	}
	return all
}

// TestMirroredPresence: an enrolled agent is shown, beat after beat, and with nothing that gives a right or reaches anybody.
func TestMirroredPresence(t *testing.T) {
	x := open(t, Enrolled{Key: farKey.Public(), Instance: far})
	regs, ses := [][]byte{registration(far, farKey)}, [][]byte{session("ses-1", far)}
	x.wants("first", x.push("m-1", far, farKey, x.now.UnixMilli(), regs, ses), 202, `{"ok":true,"applied":["claude:far:aaaaaaaaaaa1"],"signer":"claude:far:aaaaaaaaaaa1"}`)
	first := x.sessions(far)
	x.now = x.now.Add(20 * time.Second)
	x.wants("second beat", x.push("m-2", far, farKey, x.now.UnixMilli(), regs, ses), 202, "applied")
	all := x.sessions(far)
	if len(all) != 1 || len(first) != 1 {
		t.Fatalf("%d sessions, then %d, want one", len(first), len(all))
	}
	s := all[0]
	if s.MirroredAt != envelope.Stamp(x.now) || s.HeartbeatAt != s.MirroredAt || s.State != presence.Live || s.StartedAt != first[0].StartedAt {
		t.Errorf("times: mirrored %s, beat %s, began %s (before: %s), now %s", s.MirroredAt, s.HeartbeatAt, s.StartedAt, first[0].StartedAt, envelope.Stamp(x.now))
	}
	if s.Launch != nil || s.PID != 0 {
		t.Errorf("a process is shown: %s", s.Raw)
	}
	reg, err := x.reg.Registered(t.Context(), far)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(reg.Roles, []string{"AGENTS"}) || len(reg.Capabilities) > 0 || reg.Principal+reg.Conductor != "" || len(reg.Endpoints) > 0 {
		t.Errorf("more than AGENTS is believed: %s", reg.Raw)
	}
	if bad := registry.Check(reg.Raw); bad != nil {
		t.Errorf("other programs cannot read the registration: %v", bad)
	}
	x.now = x.now.Add(presence.Expiry + time.Second)
	if all := x.sessions(far); len(all) != 0 {
		t.Errorf("a dead sender is still shown")
	}
}

// TestKeySpeaksForItsAgent: a key speaks only for its own agent, whatever the push says.
func TestKeySpeaksForItsAgent(t *testing.T) {
	x := open(t, Enrolled{Key: farKey.Public(), Instance: far}, Enrolled{Key: strangeKey.Public()})
	if err := x.reg.Register(t.Context(), registration(victim, victimKey)); err != nil {
		t.Fatal(err)
	}
	own, err := x.pres.Open(t.Context(), presence.Start{SessionID: "ses-own", Instance: victim, PID: 1}, x.now)
	if err != nil {
		t.Fatal(err)
	}
	seq := x.now.UnixMilli()
	ses := [][]byte{session("ses-v", victim)}
	for _, c := range []struct {
		what   string
		body   []byte
		status int
		word   string
	}{
		{"as the victim, with an enrolled key", x.push("a", victim, farKey, seq, [][]byte{registration(victim, farKey)}, ses), 401, "bad-signature"},
		{"as the victim, with an unbound key", x.push("b", victim, strangeKey, seq, [][]byte{registration(victim, strangeKey)}, ses), 401, "bad-signature"},
		{"as a free name, with a bound key", x.push("c", "claude:free:cccccccccccc", farKey, seq, [][]byte{registration("claude:free:cccccccccccc", farKey)}, nil), 401, "bad-signature"},
		{"the victim's registration, as oneself", x.push("d", far, farKey, seq, [][]byte{registration(victim, farKey)}, ses), 400, "instance-key-mismatch"},
		{"without the key in the registration", x.push("e", far, farKey, seq, [][]byte{registration(far, victimKey)}, nil), 400, "instance-key-mismatch"},
		{"the victim's fence into the future", x.push("f", victim, victimKey, x.now.Add(time.Hour).UnixMilli(), [][]byte{registration(victim, victimKey)}, nil), 422, "future"},
		{"registrations no list", bytes.Replace(x.push("g", far, farKey, seq, nil, nil), []byte(`"registrations":[]`), []byte(`"registrations":{}`), 1), 400, "not-mirror"},
		{"another kind", bytes.Replace(x.push("h", far, farKey, seq, nil, nil), []byte(Kind), []byte("message"), 1), 400, "not-mirror"},
		{"signatures an object", canonjson.Set(x.push("i", far, farKey, seq, nil, nil), "signatures", []byte(`{"a":1}`)), 400, "malformed"},
		{"signatures of null", canonjson.Set(x.push("j", far, farKey, seq, nil, nil), "signatures", []byte(`[null]`)), 400, "no-signature"},
		{"no JSON", []byte("{"), 400, `{"ok":false,"error":"malformed"}`},
		{"a list", []byte("[]"), 400, `"reason":"malformed"`},
	} {
		x.wants(c.what, c.body, c.status, c.word)
	}
	x.wants("the first agent of a free key", x.push("k", "claude:one:dddddddddddd", strangeKey, seq, [][]byte{registration("claude:one:dddddddddddd", strangeKey)}, nil), 202, "ok")
	x.wants("the second one", x.push("l", "claude:two:eeeeeeeeeeee", strangeKey, seq, [][]byte{registration("claude:two:eeeeeeeeeeee", strangeKey)}, nil), 400, "instance-key-mismatch")
	all := x.sessions(victim)
	if len(all) != 1 || all[0].SessionID != own.SessionID {
		t.Errorf("the victim's sessions were changed: %d", len(all))
	}
	stolen := session("ses-own", far)
	x.wants("another agent's session under its own name", x.push("m", far, farKey, seq, [][]byte{registration(far, farKey)}, [][]byte{stolen}), 202, "ok")
	x.wants("the victim itself is not locked out", x.push("n", victim, victimKey, seq, [][]byte{registration(victim, victimKey)}, [][]byte{session("ses-own", victim)}), 202, "ok")
	if now, err := x.pres.Get(t.Context(), "ses-own"); err != nil || now.Instance != victim || now.MirroredAt != "" || now.PID != 1 {
		t.Errorf("a session of this bus was taken over: %+v %v", now, err)
	}
	if keys, err := x.reg.Keys(t.Context(), victim); err != nil || len(keys.Active) != 1 {
		t.Errorf("the victim's keys: %v %v", keys, err)
	}
}

// TestOrder: a push counts once, also after a restart, and none that is older than the last.
func TestOrder(t *testing.T) {
	x := open(t, Enrolled{Key: farKey.Public()})
	regs := [][]byte{registration(far, farKey)}
	seq := x.now.UnixMilli()
	one := x.push("m-1", far, farKey, seq, regs, nil)
	x.wants("first", one, 202, "ok")
	x.wants("again", one, 409, "replayed")
	x.wants("same number", x.push("m-2", far, farKey, seq, regs, nil), 400, "stale-sequence")
	x.wants("older", x.push("m-3", far, farKey, seq-1, regs, nil), 400, "stale-sequence")
	x.wants("no number", bytes.Replace(one, []byte(fmt.Sprintf(`"seq":%d`, seq)), []byte(`"seq":"9"`), 1), 401, "bad-signature")
	x.end()
	y := reopen(t, x.root, Enrolled{Key: farKey.Public()})
	y.wants("after a restart", one, 409, "replayed")
	y.wants("older, after a restart", y.push("m-4", far, farKey, seq, regs, nil), 400, "stale-sequence")
	y.wants("newer", y.push("m-5", far, farKey, seq+1, regs, nil), 202, "ok")
	old := y.now
	y.now = y.now.Add(-10 * time.Minute)
	bad := y.push("m-6", far, farKey, seq+2, regs, nil)
	y.now = old
	y.wants("stale", bad, 422, "expired")
}

// TestRevoked: a key that was revoked does not come back by enrolment, nor does an agent that was offboarded.
func TestRevoked(t *testing.T) {
	x := open(t, Enrolled{Key: farKey.Public(), Instance: far})
	regs := [][]byte{registration(far, farKey)}
	x.wants("first", x.push("m-1", far, farKey, x.now.UnixMilli(), regs, nil), 202, "ok")
	if err := x.reg.RevokeKey(t.Context(), far, farKey.Public().PEM(), x.now); err != nil {
		t.Fatal(err)
	}
	x.wants("revoked", x.push("m-2", far, farKey, x.now.UnixMilli()+1, regs, nil), 401, "unauthorized-key")
	if err := x.reg.Offboard(t.Context(), registry.Tombstone{Instance: victim, At: envelope.Stamp(x.now)}); err != nil {
		t.Fatal(err)
	}
	x.r.Enrolled = append(x.r.Enrolled, Enrolled{Key: victimKey.Public(), Instance: victim})
	x.wants("offboarded", x.push("m-3", victim, victimKey, x.now.UnixMilli(), [][]byte{registration(victim, victimKey)}, nil), 401, "unauthorized-key")
}

// TestRoundTrip: the agents of a source are shown elsewhere with their subagents, but not those that the source itself mirrors.
func TestRoundTrip(t *testing.T) {
	from, to := open(t), open(t, Enrolled{Key: farKey.Public(), Instance: far})
	ctx := t.Context()
	if err := from.reg.Register(ctx, registration(far, farKey)); err != nil {
		t.Fatal(err)
	}
	launch := &presence.Launch{Cwd: "/", Command: "claude", Tmux: &presence.Tmux{Session: "s", Pane: "%1"}}
	of := proc.ID{PID: 4242, Start: 17, Boot: "boot-of-here"}
	extra := presence.OwnerMembers(of, "space-of-here")
	extra[presence.AgentPID], extra["theirs"] = []byte("4242"), []byte(`{"cwd":"/home/far"}`)
	if _, err := from.pres.Open(ctx, presence.Start{SessionID: "ses-a", Instance: far, PID: 7, Launch: launch, Extra: extra}, from.now); err != nil {
		t.Fatal(err)
	}
	if _, err := from.pres.Open(ctx, presence.Start{SessionID: "ses-b", Instance: far, MirroredAt: envelope.Stamp(from.now)}, from.now); err != nil {
		t.Fatal(err)
	}
	if err := from.reg.Bind(ctx, registry.Binding{ID: string(far) + "~tests", Parent: string(far), Name: "tests", CreatedAt: envelope.Stamp(from.now), Capabilities: []string{"deploy"}, Bounded: true}); err != nil {
		t.Fatal(err)
	}
	s := Source{Registry: from.reg, Presence: from.pres, Instance: far, Key: farKey}
	for i := range 2 {
		now := to.now.Add(time.Duration(i) * time.Second)
		raw, err := s.Envelope(ctx, to.url, now)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"launchContext", `"pid"`, "4242", "of-here", "theirs", "/home/far"} {
			if strings.Contains(string(raw), word) {
				t.Errorf("%s leaves the machine: %s", word, raw)
			}
		}
		reply, err := (&remote.Client{}).Submit(ctx, to.url, raw)
		if err != nil || reply.Status != 202 {
			t.Fatalf("push %d: %d %s %v", i, reply.Status, reply.Body, err)
		}
	}
	all := to.sessions(far)
	if len(all) != 1 || all[0].SessionID != "ses-a" {
		t.Errorf("shown: %d sessions", len(all))
	}
	b, err := to.reg.Bound(ctx, far+"~tests")
	if err != nil || !b.Bounded || len(b.Capabilities) > 0 {
		t.Errorf("the subagent: %+v %v, want one that may do nothing", b, err)
	}
}

func TestParseEnrolled(t *testing.T) {
	pem := string(canonjson.AppendString(nil, farKey.Public().PEM()))
	for text, want := range map[string]int{
		"[]": 0, "[" + pem + "]": 1, `[{"instance":"Claude:Far:x","key":` + pem + `},` + pem + `]`: 2,
		"{}": -1, "[1]": -1, `["x"]`: -1, `[{"key":` + pem + `}]`: -1, `[{"instance":"","key":` + pem + `}]`: -1, "": -1,
	} {
		all, err := ParseEnrolled([]byte(text))
		if (err == nil) != (want >= 0) || err == nil && len(all) != want {
			t.Errorf("%.60s: got %d, %v, want %d", text, len(all), err, want)
		}
	}
}
