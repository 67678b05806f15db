package server_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"tutti/internal/faces/mcp/server"
)

// presence are the sessions on the bus.
func (r *rig) presence() []string {
	r.t.Helper()
	names, err := filepath.Glob(filepath.Join(r.root, "presence", "*.json"))
	if err != nil {
		r.t.Fatal(err)
	}
	return names
}

// TestEnds: the server ends within a second, whatever ends it, and its sessions with it.
func TestEnds(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]syscall.Signal{"end of input": 0, "interrupt": syscall.SIGINT, "terminate": syscall.SIGTERM, "hang up": syscall.SIGHUP} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			a := r.start("a", []string{"--auto-open", "--host", "claude"})
			a.ok("h2a_session_open", object{"instance": a.me()})
			if n := len(r.presence()); n != 2 {
				t.Fatalf("%d sessions, want that of the start and another one", n)
			}
			code, took := a.end(sig)
			if code != 0 || len(r.presence()) != 0 {
				t.Errorf("status %d, sessions left: %v; %s", code, r.presence(), a.errs)
			}
			if took > time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// TestEndsWhileWaiting: a call that waits is given up, not waited for.
func TestEndsWhileWaiting(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.start("a", []string{"--auto-open", "--host", "claude"})
	a.me()
	a.write(`{"jsonrpc":"2.0","id":"w","method":"tools/call","params":{"name":"tutti_receive","arguments":{"wait":50}}}`)
	a.write(`{"jsonrpc":"2.0","id":"p","method":"ping"}`)
	if got := a.line(); !strings.Contains(got, `"id":"p"`) {
		t.Errorf("a call that waits holds up the next one: %s", got)
	}
	if code, took := a.end(syscall.SIGTERM); code != 0 || took > 1500*time.Millisecond {
		t.Errorf("status %d after %v; %s", code, took, a.errs)
	}
}

// TestInputFails: an input that cannot be read is status 1.
func TestInputFails(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run("init")
	c := r.command("tutti-full", []string{"mcp-serve"})
	folder, err := os.Open(r.home)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	c.Stdin = folder
	out, _ := c.CombinedOutput()
	if code := c.ProcessState.ExitCode(); code != 1 {
		t.Errorf("status %d, want 1: %s", code, out)
	}
}

// TestReady: the first line is answered before the bus is looked at, also where that takes long.
func TestReady(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	best := time.Hour
	for range 5 {
		began := time.Now()
		a := r.start("a", []string{"--auto-open", "--host", "claude"})
		a.write(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`)
		a.line()
		best = min(best, time.Since(began))
		a.end(0)
	}
	if t.Logf("ready after %v", best); best > 300*time.Millisecond {
		t.Errorf("ready after %v, want 300 ms", best)
	}
}

// TestClients plays the first lines of the agent programs that exist.
func TestClients(t *testing.T) {
	t.Parallel()
	const probe = `{"jsonrpc":"2.0","id":"server-discover-probe-1","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	for name, c := range map[string]struct {
		probe           bool
		version, client string
		capabilities    object
		end             syscall.Signal
		cancels         bool
	}{
		"claude 2.1.197": {version: "2025-11-25", client: "claude-code", capabilities: object{"roots": object{}, "elicitation": object{}}, end: syscall.SIGINT},
		"claude 2.1.329": {probe: true, version: "2025-11-25", client: "claude-code", capabilities: object{"roots": object{"listChanged": true}, "elicitation": object{"form": object{}, "url": object{}}}, end: syscall.SIGINT},
		"codex":          {version: "2025-06-18", client: "codex-mcp-client", capabilities: object{"experimental": object{"codex/auth-change": object{}}, "elicitation": object{"form": object{}}}},
		"gemini":         {version: "2025-06-18", client: "gemini-cli-mcp-client", capabilities: object{"roots": object{"listChanged": true}}, end: syscall.SIGTERM},
		"opencode":       {version: "2025-11-25", client: "opencode", capabilities: object{"roots": object{}}, cancels: true},
		"a newer one":    {version: "2027-01-01", client: "x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			s := r.start("a", []string{"--auto-open", "--host", "claude"})
			if c.probe {
				if s.write(probe); !strings.Contains(s.line(), "-32601") {
					t.Error("the probe is not refused")
				}
			}
			hello, _ := json.Marshal(object{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": object{
				"protocolVersion": c.version, "capabilities": c.capabilities, "clientInfo": object{"name": c.client, "version": "1"},
			}})
			s.write(string(hello))
			var m struct {
				Result struct{ ProtocolVersion, Instructions string }
			}
			want := c.version
			if c.client == "x" {
				want = "2025-06-18"
			}
			if line := s.line(); json.Unmarshal([]byte(line), &m) != nil || m.Result.ProtocolVersion != want || len(m.Result.Instructions) > 1024 || m.Result.Instructions == "" {
				t.Errorf("initialize: %s", line)
			}
			s.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			s.write(`{"jsonrpc":"2.0","id":"t","method":"tools/list","params":{}}`)
			if line := s.line(); strings.Count(line, `"inputSchema"`) != len(server.Tools()) {
				t.Errorf("tools/list: %.200s", line)
			}
			for range 3 {
				s.ok("tutti_status", object{})
				if c.cancels {
					s.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"done"}}`)
				}
			}
			if code, _ := s.end(c.end); code != 0 {
				t.Errorf("status %d: %s", code, s.errs)
			}
		})
	}
}

// TestLeanToolSet: the lean set lists what a model needs daily, with little schema; the other tools still answer calls by name.
func TestLeanToolSet(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.start("a", []string{"--auto-open", "--host", "claude", "--tools", "lean"})
	s.write(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	line := s.line()
	for _, name := range []string{"tutti_send", "tutti_receive", "h2a_blockage_raise", "h2a_conductor"} {
		if !strings.Contains(line, `"name":"`+name+`"`) {
			t.Errorf("%s is not listed", name)
		}
	}
	if strings.Contains(line, `"h2a_inbox"`) || strings.Contains(line, `"tutti_lease_take"`) || len(line) > 12000 {
		t.Errorf("%d bytes: %.300s", len(line), line)
	}
	s.ok("h2a_discover_instances", nil)
	if a := s.refused("not found", "tutti_negotiation", object{"negotiationId": "nego:none"}); !strings.Contains(a.str("hint"), `"tutti negotiate open"`) {
		t.Errorf("under lean a hint names a tool that is not listed: %v", a)
	}
	s.refused("'to' must be a string", "tutti_send", object{"to": 5, "text": "x"})

	// No answer of any tool, listed or not, names a tool that is not listed, beside the one that was called.
	var all struct {
		Result struct{ Tools []struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(line), &all); err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, tool := range all.Result.Tools {
		listed[tool.Name] = true
	}
	me := s.me()
	r.run("negotiate", "open", "--id", "nego:turn", "--scope", "scope:default", "--parties", me+",codex:b:0123456789ab", "--subject", "policy", "--instance", me)
	unlisted := regexp.MustCompile(`\b(tutti|h2a)_[a-z_]+`)
	calls := []struct {
		tool string
		args object
	}{
		{"tutti_negotiation", object{"negotiationId": "nego:turn"}},
		{"tutti_negotiation", object{}},
		{"tutti_status", object{}},
		{"tutti_peers", object{"all": true}},
		{"tutti_receive", object{}},
		{"tutti_read", object{"id": "env:none"}},
		{"tutti_thread", object{"thread": "thr:none"}},
		{"tutti_ack", object{"ids": []string{"env:none"}}},
		{"tutti_reply", object{"id": "env:none", "text": "x"}},
		{"tutti_send", object{"to": "codex:none", "text": "x"}},
		{"tutti_send", object{"to": "codex:none:0123456789ab", "text": "x"}},
		{"h2a_inbox", object{"action": "pop", "instance": me, "envelopeId": "env:none"}},
		{"h2a_inbox", object{"action": "pop", "instance": "codex:none:0123456789ab", "envelopeId": "env:none"}},
		{"h2a_blockage_raise", object{"instance": "codex:none:0123456789ab", "reason": "x"}},
		{"h2a_blockage_list", object{}},
		{"h2a_blockage_resolve", object{"instance": me}},
		{"h2a_conductor", object{}},
		{"h2a_conductor_claim", object{"instance": "codex:none:0123456789ab"}},
		{"h2a_conductor_release", object{"instance": me}},
	}
	for _, c := range calls {
		got, _ := json.Marshal(s.call(c.tool, c.args))
		for _, name := range unlisted.FindAllString(string(got), -1) {
			if !listed[name] && name != c.tool {
				t.Errorf("%s %v names %s: %s", c.tool, c.args, name, got)
			}
		}
		if c.args["negotiationId"] != nil && !strings.Contains(string(got), "tutti negotiate offer nego:turn FILE") {
			t.Errorf("yourTurn: %s", got)
		}
	}
	nobody := r.start("n", []string{"--tools", "lean"})
	got, _ := json.Marshal(nobody.call("tutti_send", object{"to": me, "text": "x"}))
	if name := unlisted.FindString(string(got)); name != "" {
		t.Errorf("a server without an agent names %s: %s", name, got)
	}
}

// TestPushes: a session is notified of joins, mail and leaves. During a halt, and until its agent has then read its mail, it gets nothing.
func TestPushes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.start("a", []string{"--auto-open", "--host", "claude"})
	me := a.me()
	b := r.start("b", []string{"--auto-open", "--host", "codex"})
	b.me()
	if n := a.note("presence.peer_joined"); !strings.Contains(n, `"method":"notifications/h2a","params":{"topic":"presence.peer_joined","sessionId":"sess:`) {
		t.Error(n)
	}
	sent := b.ok("tutti_send", object{"to": me, "text": "hello"})
	if n := a.note("inbox.envelope_arrived"); !strings.Contains(n, `"envelopeId":"`+sent.str("id")) {
		t.Error(n)
	}
	r.run("halt", "a test")
	b.refused("halt active", "tutti_send", object{"to": me, "text": "x"})
	r.run("resume")
	first := b.ok("tutti_send", object{"to": me, "text": "after the halt"})
	time.Sleep(300 * time.Millisecond)
	if len(a.notes) > 0 {
		t.Errorf("pushed before the agent was engaged: %s", <-a.notes)
	}
	if got := a.ok("tutti_receive", nil).list("messages"); len(got) != 2 || got[1].str("id") != first.str("id") {
		t.Errorf("received %v", got)
	}
	second := b.ok("tutti_send", object{"to": me, "text": "engaged"})
	if n := a.note("inbox.envelope_arrived"); !strings.Contains(n, second.str("id")) {
		t.Error(n)
	}
	b.end(0)
	a.note("presence.peer_left")
}

// TestFlags: flags from older settings are accepted with a note that they have no effect; invalid ones are refused.
func TestFlags(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.start("a", []string{"--auto-open", "--host", "claude", "--wake", "headless", "--upgrade-check"}, "H2A_HEARTBEAT_INTERVAL_MS=1", "H2A_SESSION_EXPIRY_MS=soon")
	s.me()
	s.end(0)
	for _, want := range []string{"--wake headless is refused", "nothing is installed", "H2A_HEARTBEAT_INTERVAL_MS=1 is out of bounds", "H2A_SESSION_EXPIRY_MS is not a number", "opened sess:"} {
		if !strings.Contains(s.errs.String(), "h2a mcp-serve: "+want) {
			t.Errorf("no line with %q in\n%s", want, s.errs)
		}
	}
	for line := range strings.Lines(s.errs.String()) {
		if !strings.HasPrefix(line, "h2a mcp-serve: ") {
			t.Errorf("standard error: %q", line)
		}
	}
	for _, args := range [][]string{{"--instance", "nobody"}, {"--tools", "some"}, {"--instance", "human:ana:0123456789ab"}, {"--instance", "a:b\x01"}} {
		if code := exitOf(r, args); code != 1 {
			t.Errorf("mcp-serve %q: status %d, want 1", args, code)
		}
	}
}

func exitOf(r *rig, args []string) int {
	c := r.command("tutti-full", append([]string{"mcp-serve"}, args...))
	_ = c.Run()
	return c.ProcessState.ExitCode()
}

// TestConnectRetry: a connection that failed at the start is made once it is possible.
func TestConnectRetry(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if err := os.WriteFile(r.root, nil, 0o600); err != nil { // where the bus should be made
		t.Fatal(err)
	}
	a := r.start("a", []string{"--auto-open", "--host", "claude"})
	if got := a.ok("tutti_status", nil); got["ok"] != false {
		t.Errorf("without a bus: %v", got)
	}
	if err := os.Remove(r.root); err != nil {
		t.Fatal(err)
	}
	late := time.Now().Add(patience)
	for a.me() == "" && time.Now().Before(late) {
		time.Sleep(200 * time.Millisecond)
	}
	if n := len(r.presence()); n != 1 {
		t.Errorf("%d sessions", n)
	}
}

// TestExecFullProgram: tutti serves by becoming tutti-full, under both names.
func TestExecFullProgram(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, name := range []string{"tutti", "h2a"} {
		c := r.command(name, []string{"mcp-serve", "--upgrade-check", "--auto-open", "--host", "codex"})
		c.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tutti_status"}}` + "\n")
		out, err := c.Output()
		if err != nil || strings.Count(string(out), "\n") != 1 || !strings.Contains(string(out), `\"instance\":\"codex:`) {
			t.Errorf("%s mcp-serve: %v, %q", name, err, out)
		}
		if keys, _ := filepath.Glob(filepath.Join(r.root, "keys", "codex-*.key.pem")); len(keys) != 1 {
			t.Errorf("%s mcp-serve connected %v", name, keys)
		}
	}
}
