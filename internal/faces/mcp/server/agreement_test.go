package server_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"tutti/internal/bus/registry"
	"tutti/internal/bus/trust"
	"tutti/internal/core/address"
	"tutti/internal/core/signature"
)

// conductor starts a server for an agent with a key, that is registered in these roles.
func (r *rig) conductor(name string, roles ...string) (s *serverProcess, who string) {
	r.t.Helper()
	who = fmt.Sprintf("codex:%s:%012x", name, len(name)*1000+int(name[len(name)-1]))
	r.run("keys", "generate", "--instance", who)
	s = r.start(name, []string{"--instance", who})
	said := registrationOf(r, who, roles...)
	s.ok("h2a_register_instance", said)
	r.accept(who, said["registration"])
	return s, who
}

// accept is the user's part: it accepts the registration, as keys trust does outside any agent CLI.
func (r *rig) accept(who string, registration any) {
	r.t.Helper()
	raw, err := json.Marshal(registration)
	if err != nil {
		r.t.Fatal(err)
	}
	reg, err := registry.Parse(raw)
	if err == nil {
		pins := trust.OpenPins(filepath.Join(r.home, ".local", "state", "tutti", "pins"))
		err = pins.AcceptRegistration(address.Instance(who), reg.Hash(), time.Now())
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

func registrationOf(r *rig, who string, roles ...string) object {
	r.t.Helper()
	pem, err := os.ReadFile(filepath.Join(r.root, "keys", strings.ReplaceAll(who, ":", "-")+".pub.pem"))
	if err != nil {
		r.t.Fatal(err)
	}
	return object{"registration": object{
		"id": who, "instance": who, "roles": roles, "scopes": []string{"scope:pilot"}, "capabilities": []string{}, "endpoints": []string{},
		"publicKeys": []string{string(pem)}, "acceptedPolicies": []string{}, "createdAt": "2026-01-01T00:00:00.000Z",
	}}
}

func (r *rig) privateKey(who string) string {
	r.t.Helper()
	pem, err := os.ReadFile(filepath.Join(r.root, "keys", strings.ReplaceAll(who, ":", "-")+".key.pem"))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(pem)
}

const nego = "nego:pilot-1"

func recordOf(parties ...string) object {
	return object{"record": object{
		"id": nego, "scope": "scope:pilot", "parties": parties, "subject": "engagement", "status": "draft", "requiredSigners": parties,
	}}
}

func charterOf(goal, who string) object {
	return object{
		"kind": "ENGAGEMENT", "id": "eng:pilot-1", "scope": "scope:pilot", "charter": object{"goal": goal},
		"roleBindings": []object{{"role": "AGENTS", "instance": who}}, "controls": []string{}, "policies": []string{}, "successCriteria": []string{"build green"},
	}
}

// entryOf is the entry that a tool answered with.
func entryOf(t *testing.T, a answer) answer {
	t.Helper()
	e, ok := a["entry"].(map[string]any)
	if !ok || e["contentHash"] == nil {
		t.Fatalf("no entry: %v", a)
	}
	return e
}

func within(a answer, name string) answer {
	m, _ := a[name].(map[string]any)
	return m
}

// TestAgreement comes from a record to an agreement, with one counter-offer, and looks at it from all sides.
func TestAgreement(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run("init")
	a, ana := r.conductor("ana", "CONDUCTOR", "PRINCIPAL")
	b, bob := r.conductor("bob", "CONDUCTOR")
	c, _ := r.conductor("eve", "CONDUCTOR")

	opened := within(a.ok("h2a_open_negotiation", recordOf(ana, bob)), "record")
	if opened.str("id") != nego || opened.str("status") != "draft" {
		t.Errorf("opened %v", opened)
	}
	a.refused("already open", "h2a_open_negotiation", recordOf(ana, bob))
	if got := b.ok("tutti_negotiation", nil).list("negotiations"); len(got) != 1 || got[0].str("negotiationId") != nego || got[0]["yours"] != true {
		t.Errorf("listed %v", got)
	}
	of := func(who, goal string, more ...any) object {
		o := object{"negotiationId": nego, "instance": who, "artifact": charterOf(goal, bob)}
		for n := 0; n < len(more); n += 2 {
			o[more[n].(string)] = more[n+1]
		}
		return o
	}
	first := entryOf(t, a.ok("h2a_offer", of(ana, "parse", "eventId", "evt-one", "correlationId", "corr-1")))
	if first.str("type") != "propose" || first.str("id") != "evt-one" || first["sequence"] != 0.0 || within(first, "actor").str("role") != "CONDUCTOR" {
		t.Errorf("offered %v", first)
	}
	if got := b.ok("tutti_status", nil); got["waitsOnYou"] != 1.0 || got.list("waits")[0].str("kind") != "negotiation" ||
		!strings.HasPrefix(got.list("waits")[0].str("command"), "tutti negotiate accept "+nego) {
		t.Errorf("whose turn it is: %v", got)
	}
	if got := c.ok("tutti_status", nil); got["waits"] != nil {
		t.Errorf("a stranger: %v", got)
	}
	seen := within(b.ok("tutti_negotiation", object{"negotiationId": nego}), "latest").str("artifactHash")
	second := entryOf(t, b.ok("h2a_counteroffer", of(bob, "parse and test", "baseArtifactHash", seen)))
	if second.str("type") != "counter" || second.str("causationId") != "evt-one" || second.str("correlationId") != "corr-1" || second.str("baseArtifactHash") != seen {
		t.Errorf("countered %v", second)
	}
	stale := a.refused("stale: the latest offer is", "h2a_counteroffer", of(ana, "something else", "baseArtifactHash", seen))
	if !strings.Contains(stale.str("hint"), `"baseArtifactHash":"sha256:`) {
		t.Errorf("no way on: %v", stale)
	}
	c.refused("is not a party", "h2a_counteroffer", of("codex:eve:000000000c1d", "mine"))

	status := a.ok("tutti_negotiation", object{"negotiationId": nego})
	hash := within(status, "latest").str("artifactHash")
	if status.str("state") != "countered" || !strings.Contains(status.str("yourTurn"), hash) {
		t.Errorf("status %v", status)
	}
	for _, call := range regexp.MustCompile(`\w+ (\{[^}]*\})`).FindAllStringSubmatch(status.str("yourTurn"), -1) {
		var args object
		if err := json.Unmarshal([]byte(strings.ReplaceAll(call[1], ":…", `:"…"`)), &args); err != nil || args["negotiationId"] != nego {
			t.Errorf("a call that cannot be made: %s: %v", call[0], err)
		}
	}
	if n := strings.Count(status.str("yourTurn"), `"negotiationId":`); n != 4 {
		t.Errorf("%d calls are named in %s", n, status.str("yourTurn"))
	}
	shown := a.ok("tutti_negotiation", object{"negotiationId": nego, "show": "artifact"})
	if shown.str("note") == "" || within(within(shown, "artifact"), "charter").str("goal") != "parse and test" {
		t.Errorf("artifact %v", shown)
	}
	a.refused("superseded", "h2a_sign", of(ana, "parse", "privateKeyPem", ""))
	a.refused("no offer/counter event matches", "h2a_sign", of(ana, "never offered"))
	a.refused("missing 'artifactHash'", "tutti_negotiate", object{"negotiationId": nego, "act": "accept"})
	signed := a.ok("h2a_sign", of(ana, "parse and test", "privateKeyPem", r.privateKey(ana)))
	if body := within(entryOf(t, signed), "body"); body.str("kind") != "signature" || body.str("artifactHash") != hash || !strings.Contains(signed.str("warning"), "private key") {
		t.Errorf("signed %v", signed)
	}
	if strings.Contains(fmt.Sprint(signed), "PRIVATE KEY") {
		t.Error("the private key is shown again")
	}
	b.refused("no artifactHash has the full quorum", "h2a_stabilize", object{"negotiationId": nego})

	a.ok("h2a_declare_conflit_interet", object{"negotiationId": nego, "instance": ana, "interets": []string{" owns the parser ", ""}, "masqueImpactCollectif": true})
	if got := b.ok("h2a_conflict_posture", object{"negotiationId": nego}).list("postures"); len(got) != 2 || got[0].str("postureConflit") != "conflit-declarable" || got[1].str("postureConflit") != "none" {
		t.Errorf("postures %v", got)
	}
	dossier := a.ok("tutti_negotiation", object{"negotiationId": nego, "show": "dossier"})
	if len(dossier.list("items")) != 2 || within(dossier, "confiance").str("postureConfiance") != "non-etablie" {
		t.Errorf("dossier %v", dossier)
	}
	attested := entryOf(t, a.ok("h2a_attest_comprehension", object{"negotiationId": nego, "instance": ana, "dossierHash": dossier.str("dossierHash"), "role": "PRINCIPAL"}))
	if body := within(attested, "body"); body.str("kind") != "comprehension-attestation" || len(attested["signatures"].([]any)) != 2 {
		t.Errorf("attested %v", attested)
	}
	b.refused("may not attest", "h2a_attest_comprehension", object{"negotiationId": nego, "instance": bob, "dossierHash": dossier.str("dossierHash")})
	alone := within(a.ok("h2a_attest_comprehension", object{"instance": ana, "dossier": object{"b": 1, "a": 2}}), "envelope")
	if alone.str("type") != "event" || within(alone, "body").str("dossierHash") == "" {
		t.Errorf("attested alone %v", alone)
	}
	put := b.ok("h2a_escalate", object{"negotiationId": nego, "instance": bob, "channel": "alert"})
	if put["told"] != nil {
		t.Errorf("told are %v, and none of the parties is a person", put["told"])
	}
	escalated := entryOf(t, put)
	if body := within(escalated, "body"); escalated.str("type") != "escalate" || within(escalated, "actor").str("role") != "MANDATAIRE" || body.str("channel") != "alert" || body["payload"] != nil {
		t.Errorf("escalated %v", escalated)
	}
	added := entryOf(t, b.ok("h2a_append_journal", object{"negotiationId": nego, "payload": object{"body": object{"kind": "note", "text": "ready"}, "extra": true}}))
	if added.str("type") != "event" || within(added, "actor").str("instance") != bob || added["extra"] != true {
		t.Errorf("added %v", added)
	}
	b.refused("contentHash: a member of the frame", "h2a_append_journal", object{"negotiationId": nego, "payload": object{"body": object{}, "contentHash": "x"}})
	b.refused("nothing is written in the name of", "h2a_append_journal", object{"negotiationId": nego, "payload": object{"body": object{}, "actor": object{"instance": ana}}})

	b.ok("h2a_sign", object{"negotiationId": nego, "instance": bob, "artifact": hash, "privateKeyPem": ""})
	made := b.ok("h2a_stabilize", object{"negotiationId": nego})
	if made.str("artifactHash") != hash || within(made, "record").str("status") != "stabilized" || within(made, "record").str("currentArtifactHash") != hash ||
		within(made, "finalEvent").str("id") == "" || made["signers"] == nil || made["advisoryEvents"] == nil {
		t.Errorf("stabilised %v", made)
	}
	if data, err := os.ReadFile(filepath.Join(r.root, made.str("artifactPath"))); err != nil || !strings.Contains(string(data), "parse and test") {
		t.Errorf("the artifact: %v, %s", err, data)
	}
	a.refused("already stabilized", "h2a_stabilize", object{"negotiationId": nego})
	if v := c.ok("tutti_negotiation", object{"negotiationId": nego, "show": "verify"}); v["ok"] != true || v["entries"] != v["sealed"] {
		t.Errorf("verified %v", v)
	}
	journal := c.ok("tutti_negotiation", object{"negotiationId": nego, "show": "journal", "limit": 3})
	if len(journal.list("entries")) != 3 || journal.str("next") == "" {
		t.Errorf("journal %v", journal)
	}

	at := filepath.Join(r.root, "negotiations", "nego__pilot-1", "journal.jsonl")
	data, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(strings.Replace(string(data), "parse and test", "parse and rest", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	v := a.ok("tutti_negotiation", object{"negotiationId": nego, "show": "verify"})
	if bad := within(v, "bad"); v["ok"] != false || bad["entry"] != 1.0 || bad.str("rule") != "contentHash" {
		t.Errorf("with one byte changed: %v", v)
	}
	journal = c.ok("tutti_negotiation", object{"negotiationId": nego, "show": "journal"})
	if len(journal.list("entries")) != 1 || within(journal, "bad")["entry"] != 1.0 {
		t.Errorf("journal %v", journal)
	}
}

// TestAgreementActor: nothing is written in a negotiation in the name of others, nor under a key that is not theirs.
func TestAgreementActor(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run("init")
	a, ana := r.conductor("ana", "CONDUCTOR")
	_, bob := r.conductor("bob", "CONDUCTOR")
	a.ok("h2a_open_negotiation", recordOf(ana, bob))
	a.ok("h2a_offer", object{"negotiationId": nego, "instance": ana, "artifact": charterOf("x", bob)})
	for tool, args := range map[string]object{
		"h2a_offer": {"artifact": charterOf("y", bob)}, "h2a_counteroffer": {"artifact": charterOf("y", bob)}, "h2a_sign": {"artifact": charterOf("x", bob)},
		"h2a_attest_comprehension": {"dossier": "x"}, "h2a_declare_conflit_interet": {"interets": []string{"x"}}, "h2a_escalate": {"channel": "alert"},
	} {
		for _, who := range []string{bob, "human:ana:0123456789ab", ana + "x"} {
			args["negotiationId"], args["instance"] = nego, who
			args["privateKeyPem"] = r.privateKey(bob)
			a.refused("nothing is written in the name of", tool, args)
		}
		delete(args, "instance")
		a.refused("missing 'instance'", tool, args)
		args["instance"] = ana + "~scout"
		args["privateKeyPem"] = ""
		a.refused("no key", tool, args)
	}
	sign := object{"negotiationId": nego, "instance": ana, "artifact": charterOf("x", bob), "privateKeyPem": r.privateKey(bob)}
	a.refused("does not belong to", "h2a_sign", sign)
	sign["privateKeyPem"] = string(signature.Generate().PEM())
	a.refused("does not belong to", "h2a_sign", sign)
	sign["privateKeyPem"] = "nonsense"
	a.refused("not an Ed25519 key", "h2a_sign", sign)
	if v := a.ok("tutti_negotiation", object{"negotiationId": nego, "show": "verify"}); v["ok"] != true || v["entries"] != 1.0 {
		t.Errorf("something was written: %v", v)
	}
}

// TestAgreementHalt: tools that write are refused during a halt; tools that read are not.
func TestAgreementHalt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run("init")
	a, ana := r.conductor("ana", "CONDUCTOR", "PRINCIPAL")
	a.ok("h2a_open_negotiation", recordOf(ana))
	a.ok("h2a_offer", object{"negotiationId": nego, "instance": ana, "artifact": charterOf("x", ana)})
	r.run("halt", "enough")
	for _, tool := range []string{
		"h2a_open_negotiation", "h2a_offer", "h2a_counteroffer", "h2a_sign", "h2a_stabilize", "h2a_attest_comprehension",
		"h2a_declare_conflit_interet", "h2a_append_journal", "h2a_escalate", "tutti_negotiate",
	} {
		got := a.refused("halt active", tool, object{
			"negotiationId": nego, "instance": ana, "artifact": charterOf("x", ana), "record": object{}, "payload": object{}, "act": "reject", "dossier": "x",
		})
		if !strings.HasPrefix(got.str("error"), "halt active") {
			t.Errorf("%s: %v", tool, got)
		}
	}
	for _, show := range []string{"status", "artifact", "journal", "dossier", "verify"} {
		if got := a.ok("tutti_negotiation", object{"negotiationId": nego, "show": show}); within(got, "halt")["active"] != true {
			t.Errorf("%s does not tell of the halt: %v", show, got)
		}
	}
	a.ok("h2a_conflict_posture", object{"negotiationId": nego})
}

// TestAgreementPages: no answer is too long, whatever was offered, and everything can be read.
func TestAgreementPages(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run("init")
	a, ana := r.conductor("ana", "CONDUCTOR")
	many := []string{ana}
	for n := range 900 {
		many = append(many, fmt.Sprintf("codex:agent-with-a-name-%d:%012x", n, n))
	}
	opened := within(a.ok("h2a_open_negotiation", recordOf(many...)), "record")
	if opened.str("id") != nego || opened["omitted"] == nil {
		t.Errorf("opened %.300v", opened)
	}
	long := charterOf(strings.Repeat("häß\"€𝄞\n", 9000), ana)
	e := entryOf(t, a.ok("h2a_offer", object{"negotiationId": nego, "instance": ana, "artifact": long}))
	if e["omitted"] == nil || e["sequence"] != 0.0 {
		t.Errorf("offered %.300v", e)
	}
	var text string
	for calls := 0; calls < 200; calls++ {
		part := a.ok("tutti_negotiation", object{"negotiationId": nego, "show": "artifact", "offset": len(text)})
		text += part.str("text")
		if part["nextOffset"] == nil {
			break
		}
	}
	var got, want any
	raw, _ := json.Marshal(long)
	if json.Unmarshal(raw, &want) != nil || json.Unmarshal([]byte(text), &got) != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("in slices the artifact is another one: %d bytes, %.100s", len(text), text)
	}
	subjects := 0
	for _, show := range []object{{"show": "status"}, {"show": "journal"}, {"show": "dossier"}, {"show": "verify"}} {
		show["negotiationId"] = nego
		for calls := 0; calls < 200; calls++ {
			page := a.ok("tutti_negotiation", show)
			subjects += len(page.list("items"))
			if show["cursor"] = page.str("next"); page.str("next") == "" {
				break
			}
		}
	}
	if subjects != 901 {
		t.Errorf("the dossier has %d subjects, want 901", subjects)
	}
	postures, cursor := 0, ""
	for range 200 {
		page := a.ok("h2a_conflict_posture", object{"negotiationId": nego, "cursor": cursor})
		postures += len(page.list("postures"))
		if cursor = page.str("next"); cursor == "" {
			break
		}
	}
	if postures != 901 {
		t.Errorf("%d postures, want 901", postures)
	}
}

// TestAgreementHostile: arguments of any kind are answered with a word, and leave nothing behind.
func TestAgreementHostile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run("init")
	a, ana := r.conductor("ana", "CONDUCTOR", "PRINCIPAL")
	a.ok("h2a_open_negotiation", recordOf(ana))
	deep := strings.Repeat(`[`, 900) + strings.Repeat(`]`, 900)
	values := []any{
		nil, 7, -1e300, true, "", "x", "../../etc/passwd", "nego:\x00\x1b[2J", strings.Repeat("y", 100_000),
		[]any{},
		[]any{nil, 1, "z"},
		object{},
		object{"kind": "CONTRACT"},
		object{"__proto__": 1},
		object{"id": nego, "parties": 7, "scope": []any{}},
		object{"instance": object{}},
		json.RawMessage(deep), json.RawMessage(`{"a":1,"a":2}`), json.RawMessage(`1e999`), json.RawMessage(`"\ud83d"`),
	}
	members := []string{
		"negotiationId", "instance", "artifact", "record", "payload", "privateKeyPem", "dossier", "dossierHash", "interets", "bindings", "channel",
		"act", "show", "cursor", "limit", "offset", "artifactHash", "eventId", "at", "role", "scope", "mandate", "baseArtifactHash", "causationId", "correlationId", "reason",
	}
	tools := []string{
		"h2a_open_negotiation", "h2a_offer", "h2a_counteroffer", "h2a_sign", "h2a_stabilize", "h2a_attest_comprehension", "h2a_declare_conflit_interet",
		"h2a_conflict_posture", "h2a_append_journal", "h2a_escalate", "tutti_negotiate", "tutti_negotiation",
	}
	for n, tool := range tools {
		for m, member := range members {
			args := object{"negotiationId": nego, "instance": ana}
			args[member] = values[(m*7+n)%len(values)]
			args[members[(m*3+n)%len(members)]] = values[(m+n*5)%len(values)]
			got := a.call(tool, args)
			if msg := got.str("error"); len(msg) > 2100 || strings.ContainsAny(msg, "\x00\x1b") {
				t.Errorf("%s %.200v: the error is %.200q", tool, args, msg)
			}
		}
	}
	if v := a.ok("tutti_negotiation", object{"negotiationId": nego, "show": "verify"}); v["bad"] != nil {
		t.Errorf("the journal has a bad entry: %v", v)
	}
}

// TestAgreementMany: twenty agents offer and sign on one journal at once. Each entry is there once, and in the end it holds.
func TestAgreementMany(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run("init")
	const agents, rounds = 20, 3
	servers, names := make([]*serverProcess, agents), make([]string, agents)
	for n := range agents {
		servers[n], names[n] = r.conductor(fmt.Sprintf("c%s", string(rune('a'+n))), "CONDUCTOR")
	}
	servers[0].ok("h2a_open_negotiation", recordOf(names...))
	servers[0].ok("h2a_offer", object{"negotiationId": nego, "instance": names[0], "artifact": charterOf("begin", names[0])})
	together(servers, func(n int, s *serverProcess) {
		for round := range rounds {
			s.ok("h2a_append_journal", object{"negotiationId": nego, "payload": object{"body": object{"kind": "note", "round": round}}})
			s.ok("h2a_counteroffer", object{"negotiationId": nego, "instance": names[n], "artifact": charterOf(fmt.Sprintf("%d of %d", round, n), names[n])})
		}
	})
	status := servers[0].ok("tutti_negotiation", object{"negotiationId": nego})
	if status["offers"] != float64(agents*rounds+1) || status["entries"] != float64(2*agents*rounds+1) {
		t.Fatalf("status %v", status)
	}
	hash := within(status, "latest").str("artifactHash")
	together(servers, func(n int, s *serverProcess) {
		s.ok("h2a_sign", object{"negotiationId": nego, "instance": names[n], "artifact": hash})
	})
	made := 0
	var mu sync.Mutex
	together(servers, func(_ int, s *serverProcess) {
		got := s.call("h2a_stabilize", object{"negotiationId": nego})
		mu.Lock()
		defer mu.Unlock()
		if got["error"] == nil {
			made++
		} else if !strings.Contains(got.str("error"), "already stabilized") {
			t.Errorf("stabilise: %v", got)
		}
	})
	v := servers[agents-1].ok("tutti_negotiation", object{"negotiationId": nego, "show": "verify"})
	if made == 0 || v["ok"] != true || v.str("state") != "stabilized" || v["sealed"] != v["entries"] {
		t.Errorf("%d have made it, verified %v", made, v)
	}
	if err := os.Remove(filepath.Join(r.root, "negotiations", "nego__pilot-1", "state.json")); err != nil {
		t.Fatal(err)
	}
	if got := servers[1].ok("tutti_negotiation", nil).list("negotiations"); len(got) != 1 || got[0].str("status") != "stabilized" || got[0]["yours"] != true {
		t.Errorf("without state.json the list is %v", got)
	}
}

// together does something for all servers at once.
func together(all []*serverProcess, do func(n int, s *serverProcess)) {
	var wg sync.WaitGroup
	for n, s := range all {
		wg.Go(func() { do(n, s) })
	}
	wg.Wait()
}
