package mirror

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
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
	"tutti/internal/core/termsafe"
	"tutti/internal/remote"
	"tutti/internal/store"
)

// status posts a body and returns what was answered.
func (x *site) status(body []byte) int {
	a, err := http.Post(x.url, "application/json", bytes.NewReader(body))
	if err != nil {
		x.t.Error(err)
		return 0
	}
	a.Body.Close()
	return a.StatusCode
}

// next is the number of the next push: time goes on a little.
func (x *site) next() int64 {
	x.now = x.now.Add(time.Millisecond)
	return x.now.UnixMilli()
}

// TestForgedState: a pushed session is shown as an indirect one that is live since the push, or not at all, whatever the push says.
func TestForgedState(t *testing.T) {
	x := open(t, Enrolled{Key: farKey.Public(), Instance: far})
	change := func(id, name, value string) []byte { return canonjson.Set(session(id, far), name, []byte(value)) }
	sessions := [][]byte{
		change("ses-direct", "mirroredAt", `""`),
		change("ses-old-mirror", "mirroredAt", `"1999-01-01T00:00:00.000Z"`),
		change("ses-ahead", "heartbeatAt", `"9999-12-31T23:59:59.999Z"`),
		change("ses-behind", "heartbeatAt", `"1970-01-01T00:00:00.000Z"`),
		change("ses-senior", "startedAt", `"0001-01-01T00:00:00.000Z"`),
		change("ses-tokens", "workStatus", `"out-of-tokens"`),
		change("ses-closed", "state", `"closed"`),
		change("ses-expired", "state", `"expired"`),
		change("ses-state", "state", `"root"`),
		change("ses-work", "workStatus", `"relaunch-me"`),
		change("ses-other", "instance", `"codex:victim:bbbbbbbbbbb2"`),
		change("ses-null", "instance", `null`),
		change("ses-pid", "pid", `"1; rm -rf /"`),
		change("", "state", `"live"`),
		change("ses-long-"+strings.Repeat("a", 300), "state", `"live"`),
		change("ses-key", "sessionId", `"ses-\u0001"`),
		change("ses-\u202e", "state", `"live"`),
		[]byte(`null`), []byte(`[]`), []byte(`"ses-text"`), []byte(`{}`),
	}
	x.wants("forged", x.push("f-1", far, farKey, x.next(), [][]byte{registration(far, farKey)}, sessions), 202, "ok")
	shown := map[address.SessionID]bool{}
	for _, s := range x.sessions(far) {
		shown[s.SessionID] = true
		at := envelope.Stamp(x.now)
		if s.MirroredAt != at || s.HeartbeatAt != at || s.StartedAt != at || s.State != presence.Live || s.Launch != nil || s.PID != 0 {
			t.Errorf("%s: %s", s.SessionID, s.Raw)
		}
	}
	for id, want := range map[address.SessionID]bool{
		"ses-direct": true, "ses-old-mirror": true, "ses-ahead": true, "ses-behind": true, "ses-senior": true, "ses-tokens": true, "ses-closed": false,
		"ses-expired": false, "ses-state": false, "ses-work": false, "ses-other": false, "ses-null": false, "ses-pid": false,
	} {
		if shown[id] != want {
			t.Errorf("%s: shown is %v, want %v", id, shown[id], want)
		}
	}
	if len(shown) != 6 {
		t.Errorf("%d are shown, want 6: %v", len(shown), shown)
	}
	x.now = x.now.Add(presence.Expiry + time.Second)
	if left := x.sessions(far); len(left) != 0 {
		t.Errorf("%d of them do not expire", len(left))
	}
}

// TestPaths: no name of a session or subagent leads to the record of something else.
func TestPaths(t *testing.T) {
	x := open(t, Enrolled{Key: farKey.Public(), Instance: far})
	own, err := x.pres.Open(t.Context(), presence.Start{SessionID: "sess:own", Instance: victim, PID: 1}, x.now)
	if err != nil {
		t.Fatal(err)
	}
	var sessions [][]byte
	for _, id := range []string{
		"../../registry/instances", "..", ".", "/etc/passwd", "sess__own", "sess/own", `sess\own`, "sess:own", "sess:own/", "a/../../b", "..\\..\\x", "%2e%2e%2f", ".hidden", "x.json", ".lock",
	} {
		sessions = append(sessions, session(id, far))
	}
	x.wants("paths", x.push("p-1", far, farKey, x.next(), [][]byte{registration(far, farKey)}, sessions), 202, "ok")
	now, err := x.pres.Get(t.Context(), own.SessionID)
	if err != nil || !bytes.Equal(canonjson.Compact(now.Raw), canonjson.Compact(own.Raw)) {
		t.Errorf("the session of another: %+v %v, want it as it was", now, err)
	}
	if _, err := x.reg.Registered(t.Context(), far); err != nil {
		t.Errorf("the registry: %v", err)
	}
	for e, err := range x.s.List(t.Context(), store.Presence, "") {
		if err != nil || strings.ContainsAny(e.Key.Name, `/\`) {
			t.Errorf("a record %q: %v", e.Key.Name, err)
		}
	}
}

// TestText: nothing that moves a cursor, turns the writing or hides a name is kept of what is mirrored.
func TestText(t *testing.T) {
	x := open(t, Enrolled{Key: farKey.Public(), Instance: far})
	const nasty = "\x1b]0;owned\x07\x1b[2J\u009b31m\u202e\u2066\r\n\t\u200b\U000e0041"
	quoted := string(canonjson.AppendString(nil, "ok"+nasty))
	reg := registration(far, farKey)
	for name, value := range map[string]string{
		"name": quoted, "scopes": "[" + quoted + `,"scope:plain"]`, "workspace": `{"id":` + quoted + `,"path":` + quoted + `,"host":"h","label":` + quoted + `}`,
		"endpoints": `[{"kind":"remote","uri":"http://x/` + "\u202e" + `"},{"kind":"remote","uri":"http://x/\u001b"},{"kind":"local-files","uri":"file:///etc"}]`,
	} {
		reg = canonjson.Set(reg, name, []byte(value))
	}
	s := session("ses-1", far)
	for name, value := range map[string]string{
		"name": quoted, "host": quoted, "interests": `{"scopes":[` + quoted + `,"scope:plain"],"negotiations":[` + quoted + `]}`,
		"workspace": `{"id":"w","path":"/","host":"h","label":` + quoted + `}`, "version": `{"cli":` + quoted + `}`, "extra": quoted,
	} {
		s = canonjson.Set(s, name, []byte(value))
	}
	sub := fmt.Sprintf(`{"id":%q,"parentInstance":%q,"name":%q,"createdAt":"2026-01-01T00:00:00.000Z","capabilities":[]}`, string(far)+"~a\u202e", far, "a\u202e")
	good := fmt.Sprintf(`{"id":%q,"parentInstance":%q,"name":"b","createdAt":%s,"capabilities":["deploy"]}`, string(far)+"~b", far, quoted)
	body := x.withSubagents("t-1", x.next(), [][]byte{reg}, [][]byte{s}, sub, good)
	x.wants("text", body, 202, "ok")
	got, err := x.reg.Registered(t.Context(), far)
	if err != nil {
		t.Fatal(err)
	}
	all := x.sessions(far)
	if len(all) != 1 {
		t.Fatalf("%d sessions", len(all))
	}
	texts := append([]string{got.Name, all[0].Name, all[0].Host}, append(got.Scopes, append(all[0].Interests.Scopes, all[0].Interests.Negotiations...)...)...)
	for _, e := range got.Endpoints {
		texts = append(texts, e.URI)
	}
	if w := all[0].Workspace; w != nil {
		texts = append(texts, w.ID, w.Path, w.Label)
	}
	if w := got.Workspace; w != nil {
		texts = append(texts, w.ID, w.Path, w.Label)
	}
	for b, err := range x.reg.Bindings(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, b.ID, b.Name, b.CreatedAt)
	}
	for _, s := range texts {
		if termsafe.Clean(s) != s {
			t.Errorf("kept: %q", s)
		}
	}
	if got.Name != "ok]0;owned[2J31mA"[:len(got.Name)] || !strings.HasPrefix(all[0].Name, "ok") {
		t.Errorf("what can be read of the names is gone: %q, %q", got.Name, all[0].Name)
	}
	if len(got.Scopes) != 1 || got.Scopes[0] != "scope:plain" {
		t.Errorf("scopes: %q", got.Scopes)
	}
}

// withSubagents is a push of far's with subagents.
func (x *site) withSubagents(id string, seq int64, regs, sessions [][]byte, subagents ...string) []byte {
	x.t.Helper()
	return x.pushWith(id, far, farKey, seq, regs, sessions, subagents...)
}

// TestFill: one agent fills neither the presence nor the log of subagents, however often it pushes new names.
func TestFill(t *testing.T) {
	x := open(t, Enrolled{Key: farKey.Public(), Instance: far})
	regs := [][]byte{registration(far, farKey)}
	for push := range 2 {
		var sessions [][]byte
		var subagents []string
		for n := range 40 {
			name := fmt.Sprintf("n%d-%d", push, n)
			if n < 20 {
				sessions = append(sessions, session("ses-"+name, far))
			}
			subagents = append(subagents, fmt.Sprintf(`{"id":%q,"parentInstance":%q,"name":%q,"createdAt":"2026-01-01T00:00:00.000Z"}`, string(far)+"~"+name, far, name))
		}
		x.wants("push", x.withSubagents(fmt.Sprint("fill-", push), x.next(), regs, sessions, subagents...), 202, "ok")
	}
	bound := 0
	for range x.reg.Bindings(t.Context()) {
		bound++
	}
	if n := len(x.sessions(far)); n != maxSessions || bound != maxSubagents {
		t.Errorf("%d sessions and %d subagents, want %d and %d", n, bound, maxSessions, maxSubagents)
	}
	x.now = x.now.Add(presence.Expiry + time.Second)
	x.wants("new ones when the old ones are over", x.push("fill-4", far, farKey, x.next(), regs, [][]byte{session("ses-new", far)}), 202, "ok")
	all, _, err := x.pres.All(t.Context())
	if err != nil || len(all) != 1 || all[0].SessionID != "ses-new" {
		t.Errorf("%d records lie there, %v; want the new one", len(all), err)
	}
}

// TestSequenceBeyondClocks: a sequence number beyond all clocks that an older program accepted blocks no agent, and the true order is valid again from
// then on.
func TestSequenceBeyondClocks(t *testing.T) {
	x := open(t, Enrolled{Key: farKey.Public(), Instance: far})
	if _, err := x.s.Create(t.Context(), store.Key{Kind: store.MirrorFence}, fmt.Appendf(nil, `{"Claude:far:aaaaaaaaaaa1":253402300799999,"codex:victim:bbbbbbbbbbb2":7}`)); err != nil {
		t.Fatal(err)
	}
	regs := [][]byte{registration(far, farKey)}
	seq := x.next()
	x.wants("locked out", x.push("n-1", far, farKey, seq, regs, nil), 202, "ok")
	x.wants("the same number", x.push("n-2", far, farKey, seq, regs, nil), 400, "stale-sequence")
	for what, seq := range map[string]string{"none": "null", "text": `"9"`, "fraction": "1.5", "huge": "1e300", "negative": "-1", "zero": "0"} {
		raw := canonjson.Delete(x.push("n-"+what, far, farKey, 1, regs, nil), "signatures")
		body, _ := canonjson.Get(raw, "body")
		raw, err := envelope.Sign(canonjson.Set(raw, "body", canonjson.Set(body, "seq", []byte(seq))), far, farKey)
		if err != nil {
			t.Fatal(err)
		}
		x.wants("a number that is "+what, raw, 400, "stale-sequence")
	}
	if d, err := x.s.Get(t.Context(), store.Key{Kind: store.MirrorFence}); err != nil || !strings.Contains(string(d.Data), "victim") || strings.Contains(string(d.Data), "253402300799999") {
		t.Errorf("the fence: %s %v", d.Data, err)
	}
}

// TestTimes: only what is at most five minutes old and one minute ahead counts, and no text is taken for a time.
func TestTimes(t *testing.T) {
	x := open(t, Enrolled{Key: farKey.Public(), Instance: far})
	regs, now := [][]byte{registration(far, farKey)}, x.now
	for n, c := range []struct {
		at     string
		status int
		word   string
	}{
		{envelope.Stamp(now.Add(-remote.MaxAge - time.Second)), 422, "expired"},
		{envelope.Stamp(now.Add(remote.MaxSkew + time.Second)), 422, "future"},
		{"1970-01-01T00:00:00.000Z", 422, "expired"},
		{"9999-12-31T23:59:59.999Z", 422, "future"},
		{"0000-01-01T00:00:00.000Z", 422, "expired"},
		{"yesterday", 400, "invalid-timestamp"},
		{"2026-02-31T00:00:00.000Z", 400, ""},
		{"2026-01-01T00:00:00.000+99:99", 400, ""},
		{"-271821-04-20T00:00:00.000Z", 4, ""},
		{"+275760-09-13T00:00:00.000Z", 4, ""},
		{"", 400, ""},
	} {
		raw := canonjson.Delete(x.push(fmt.Sprint("time-", n), far, farKey, now.UnixMilli()+int64(n), regs, nil), "signatures")
		raw, err := envelope.Sign(canonjson.Set(raw, "createdAt", canonjson.AppendString(nil, c.at)), far, farKey)
		if err != nil {
			t.Fatal(err)
		}
		if c.status >= 400 && c.word != "" {
			x.wants(c.at, raw, c.status, c.word)
		} else if got := x.status(raw); got/100 != 4 {
			t.Errorf("%q: got %d, want that it is refused", c.at, got)
		}
	}
	x.wants("at the end of its time", x.pushAt("time-old", now.Add(-remote.MaxAge)), 202, "ok")
	if len(x.sessions(far)) != 0 {
		t.Error("sessions were shown")
	}
}

// pushAt is a push that was made at some time.
func (x *site) pushAt(id string, at time.Time) []byte {
	old := x.now
	defer func() { x.now = old }()
	x.now = at.Add(time.Millisecond) // who reads it has a clock of nanoseconds
	return x.push(id, far, farKey, old.UnixMilli(), [][]byte{registration(far, farKey)}, nil)
}

// TestUnboundKeys: an unbound key speaks for one agent, even if several are tried at once. It never speaks for a person or another agent's
// subagent, or for a name with another agent's mailbox.
func TestUnboundKeys(t *testing.T) {
	x := open(t, Enrolled{Key: strangeKey.Public()})
	if err := x.reg.Register(t.Context(), registration(victim, victimKey)); err != nil {
		t.Fatal(err)
	}
	for n, who := range []address.Instance{
		"human:owner:dddddddddddd", "codex:victim:bbbbbbbbbbb2~helper", "codex/victim:bbbbbbbbbbb2", `codex\victim:bbbbbbbbbbb2`, "codex:victim", "nobody",
		"codex:victim:bbbbbbbbbbb2 ", "codex:victim:bbbbbbbbbbb2:", "codex:victim:helper", "codex::bbbbbbbbbbb2", "codex:victim%3abbbbbbbbbbb2", "codex:a:b:bbbbbbbbbbb2",
		"claude:\u202evictim:dddddddddddd", "claude:x:..", "claude:x:a b",
	} {
		got := x.status(x.push(fmt.Sprint("free-", n), who, strangeKey, x.next(), [][]byte{registration(who, strangeKey)}, nil))
		if _, err := x.reg.Registered(t.Context(), who); got/100 != 4 || !errors.Is(err, registry.ErrNotRegistered) {
			t.Errorf("%q: got %d, registered: %v", who, got, err)
		}
	}
	x.end()
	y := open(t, Enrolled{Key: strangeKey.Public()})
	var bodies [][]byte
	for n := range 8 {
		who := address.Instance(fmt.Sprintf("claude:one:%012d", n))
		bodies = append(bodies, y.push(fmt.Sprint("race-", n), who, strangeKey, y.now.UnixMilli(), [][]byte{registration(who, strangeKey)}, nil))
	}
	var all sync.WaitGroup
	for _, b := range bodies {
		all.Go(func() { y.status(b) })
	}
	all.Wait()
	n := 0
	for range y.reg.All(t.Context()) {
		n++
	}
	if n != 1 {
		t.Errorf("one key has registered %d agents", n)
	}
}

// TestConcurrentPushes: agents who push at the same time do not fail by turns.
func TestConcurrentPushes(t *testing.T) {
	var enrolled []Enrolled
	keys := map[address.Instance]*signature.Private{}
	for n := range 24 {
		who := address.Instance(fmt.Sprintf("claude:many:%012d", n))
		keys[who] = signature.Generate()
		enrolled = append(enrolled, Enrolled{Key: keys[who].Public(), Instance: who})
	}
	x := open(t, enrolled...)
	var all sync.WaitGroup
	for who, key := range keys {
		body := x.push("many-"+string(who), who, key, x.now.UnixMilli(), [][]byte{registration(who, key)}, [][]byte{session("ses-"+string(who), who)})
		all.Go(func() {
			if got := x.status(body); got != 202 {
				t.Errorf("%s: got %d", who, got)
			}
		})
	}
	all.Wait()
}

// TestWrongMirror: a push that was overheard on its way to another mirror is of no use here.
func TestWrongMirror(t *testing.T) {
	x := open(t, Enrolled{Key: farKey.Public(), Instance: far})
	x.r.Endpoints = []string{x.url}
	for url, want := range map[string]int{"http://elsewhere:8788" + Path: 400, x.url: 202} {
		raw := canonjson.Delete(x.push("to-"+url, far, farKey, x.next(), [][]byte{registration(far, farKey)}, nil), "signatures")
		raw, err := remote.Seal(raw, far, farKey, url)
		if err != nil {
			t.Fatal(err)
		}
		if got := x.status(raw); got != want {
			t.Errorf("for %s: got %d, want %d", url, got, want)
		}
	}
}

// TestShare: an agent that pushes too often gets an error, does not affect others, and uses up no sequence number.
func TestShare(t *testing.T) {
	x := open(t, Enrolled{Key: farKey.Public(), Instance: far}, Enrolled{Key: victimKey.Public(), Instance: victim})
	x.r.Rates = &remote.Rates{PerSecond: 0.2}
	regs := [][]byte{registration(far, farKey)}
	x.wants("first", x.push("s-1", far, farKey, x.next(), regs, nil), 202, "ok")
	second := x.push("s-2", far, farKey, x.next(), regs, nil)
	x.wants("second", second, 429, "rate-limited")
	x.wants("another", x.push("s-3", victim, victimKey, x.next(), [][]byte{registration(victim, victimKey)}, nil), 202, "ok")
	for n := range 20 { // what somebody else brings in his name costs him nothing
		x.wants("forged", x.push(fmt.Sprint("s-f", n), victim, farKey, x.next(), regs, nil), 401, "bad-signature")
	}
	x.now = x.now.Add(6 * time.Second)
	x.wants("second, later", second, 202, "ok")
	x.wants("the other, later", x.push("s-4", victim, victimKey, x.next(), [][]byte{registration(victim, victimKey)}, nil), 202, "ok")
}

// TestShareGivenBack: a push that shows nothing leaves its agent its share, as often as it is brought.
func TestShareGivenBack(t *testing.T) {
	x := open(t, Enrolled{Key: farKey.Public(), Instance: far})
	x.r.Rates = &remote.Rates{PerSecond: 0.2} // one at once
	regs := [][]byte{registration(far, farKey)}
	for n := range 5 {
		x.wants("without a number", x.push(fmt.Sprint("g-", n), far, farKey, 0, regs, nil), 400, "stale-sequence")
	}
	halted := true
	x.r.Halted = func(string) error {
		if halted {
			return errors.New("halted")
		}
		return nil
	}
	good := x.push("g-good", far, farKey, x.next(), regs, nil)
	for range 5 {
		x.wants("while it is halted", good, 503, "halted")
	}
	halted = false
	x.wants("good", good, 202, "ok")
	x.wants("the next", x.push("g-next", far, farKey, x.next(), regs, nil), 429, "rate-limited")
}
