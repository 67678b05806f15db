package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"tutti/internal/bus/registry"
	"tutti/internal/bus/trust"
	"tutti/internal/core/address"
)

// agreement is the play in which many come to an agreement.
var agreement = []step{
	{"Sixteen agents join", "keys for sixteen agents", (*play).makeKeys},
	{"", "sixteen agents join", (*play).allJoin},
	{"", "they register", (*play).allRegister},
	{"They negotiate", "the principal opens a negotiation", (*play).opens},
	{"", "an offer and a counter-offer", (*play).offers},
	{"", "who has not seen the latest offer is refused", (*play).tooLate},
	{"Three of fifteen sign", "three of fifteen sign", (*play).threeSign},
	{"", "the agreement is made", (*play).agrees},
	{"The journal is verified", "every signature is verified", (*play).holds},
	{"A byte of the journal is changed", "one byte is changed", (*play).oneByte},
}

const (
	conductors = 15
	threshold  = 3
	dealID     = "nego:parser"
	principal  = "paula"
)

// A deal is what the play about an agreement has come to.
type deal struct {
	people []*party // the principal first
	hash   string   // of the latest offer
	began  time.Time
}

// A party is one of those who agree.
type party struct {
	*agent
	name, id, role, key string
}

// all does something for every party, a few at a time: each has a server of its own.
func (d *deal) all(do func(*party)) {
	const atOnce = 4
	faults := make([]error, len(d.people))
	slots := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for n, who := range d.people {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			faults[n] = caught(func() { do(who) })
		})
	}
	wg.Wait()
	check(errors.Join(faults...))
}

func (p *play) makeKeys(ctx context.Context) {
	p.run(ctx, "init", "--root", p.root)
	d := &p.deal
	d.began = time.Now()
	d.people = append(d.people, &party{name: principal, id: "claude:" + principal + ":000000000000", role: "PRINCIPAL"})
	for n := range conductors {
		name := fmt.Sprintf("c%02d", n+1)
		d.people = append(d.people, &party{name: name, id: fmt.Sprintf("codex:%s:%012x", name, n+1), role: "CONDUCTOR"})
	}
	d.all(func(who *party) {
		out := p.run(ctx, "keys", "generate", "--instance", who.id, "--root", p.root, "--json")
		var made struct{ PublicKeyPem string }
		check(json.Unmarshal([]byte(out), &made))
		who.key = made.PublicKeyPem
	})
}

func (p *play) allJoin(ctx context.Context) {
	p.deal.all(func(who *party) { who.agent = p.start(ctx, who.name, "--instance", who.id) })
	p.say("", "%d agents join, each over MCP with a server of its own: %s, %d more", len(p.deal.people), p.deal.people[0].id, conductors)
}

func (p *play) allRegister(ctx context.Context) {
	p.deal.all(func(who *party) {
		said := map[string]any{
			"id": who.id, "instance": who.id, "roles": []string{who.role}, "scopes": []string{"scope:parser"}, "capabilities": []string{},
			"endpoints": []string{}, "publicKeys": []string{who.key}, "acceptedPolicies": []string{}, "createdAt": time.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
		}
		who.ask(ctx, "h2a_register_instance", map[string]any{"registration": said})
		p.accept(who.id, said)
	})
	const atOnce = "5" // a registration is long
	for role, many := range map[string]int{"PRINCIPAL": 1, "CONDUCTOR": conductors} {
		seen, cursor := 0, ""
		for more := true; more; more = cursor != "" {
			got := p.deal.people[0].ask(ctx, "h2a_discover_instances", map[string]any{"role": role, "limit": atOnce, "cursor": cursor})
			all, _ := got["instances"].([]any)
			seen, cursor = seen+len(all), text(got, "next")
		}
		if seen != many {
			check(fmt.Errorf("%d are registered as %s, and should be %d", seen, role, many))
		}
	}
	p.say("", "h2a_register_instance: one as PRINCIPAL, %d as CONDUCTOR, each with its public key", conductors)
	p.say("you", "accept these registrations, as tutti keys trust does: without that their roles count for nothing")
}

// accept is what the user of this home does: the roles of a registration count.
func (p *play) accept(who string, registration map[string]any) {
	raw, err := json.Marshal(registration)
	check(err)
	reg, err := registry.Parse(raw)
	check(err)
	pins := trust.OpenPins(filepath.Join(p.home, ".local", "state", "tutti", "pins"))
	check(pins.AcceptRegistration(address.Instance(who), reg.Hash(), time.Now()))
}

func (p *play) opens(ctx context.Context) {
	var all, signers []string
	for n, who := range p.deal.people {
		if all = append(all, who.id); n > 0 {
			signers = append(signers, who.id)
		}
	}
	got := p.deal.people[0].ask(ctx, "h2a_open_negotiation", map[string]any{"record": map[string]any{
		"id": dealID, "scope": "scope:parser", "subject": "engagement", "status": "draft", "parties": all, "requiredSigners": signers,
		"authority": map[string]any{"kind": "AUTHORITY", "id": "auth:parser", "authorityKind": "quorum", "members": signers, "threshold": threshold},
	}})
	record, _ := got["record"].(map[string]any)
	want("the negotiation", text(record, "id"), dealID)
	p.say(principal, "h2a_open_negotiation %s: %d of %d conductors have to sign", dealID, threshold, conductors)
}

// charter is what they agree on.
func (p *play) charter(criteria ...string) map[string]any {
	return map[string]any{
		"kind": "ENGAGEMENT", "id": "eng:parser", "scope": "scope:parser", "charter": map[string]any{"goal": "a parser for the new grammar"},
		"roleBindings": []map[string]any{{"role": "CONDUCTOR", "instance": p.deal.people[1].id}},
		"controls":     []string{}, "policies": []string{}, "successCriteria": criteria,
	}
}

// put offers something, or counters with it, and returns the number of the entry.
func (p *play) put(ctx context.Context, who *party, tool, base string, criteria ...string) (entry float64) {
	args := map[string]any{"negotiationId": dealID, "instance": who.id, "artifact": p.charter(criteria...)}
	if base != "" {
		args["baseArtifactHash"] = base
	}
	got := who.ask(ctx, tool, args)
	e, _ := got["entry"].(map[string]any)
	entry, _ = e["sequence"].(float64)
	status := who.ask(ctx, "tutti_negotiation", map[string]any{"negotiationId": dealID})
	latest, _ := status["latest"].(map[string]any)
	p.deal.hash = text(latest, "artifactHash")
	want("who made the latest offer", text(latest, "by"), who.id)
	return entry
}

func (p *play) offers(ctx context.Context) {
	paula, c04 := p.deal.people[0], p.deal.people[4]
	n := p.put(ctx, paula, "h2a_offer", "", "the tests pass")
	p.say(principal, "h2a_offer: entry %.0f, %s", n, brief(p.deal.hash))
	n = p.put(ctx, c04, "h2a_counteroffer", p.deal.hash, "the tests pass", "the fuzzer runs for 24 hours")
	p.say(c04.name, "h2a_counteroffer: entry %.0f, %s, with one criterion more", n, brief(p.deal.hash))
}

// brief is a hash as people compare it.
func brief(hash string) string {
	const most = len("sha256:") + 12
	return hash[:min(len(hash), most)]
}

func (p *play) tooLate(ctx context.Context) {
	c09, c01 := p.deal.people[9], p.deal.people[1]
	stale := map[string]any{
		"negotiationId": dealID, "instance": c09.id, "artifact": p.charter("it is fast"), "baseArtifactHash": "sha256:" + strings.Repeat("0", 64),
	}
	p.isRefused(ctx, c09, "h2a_counteroffer", stale, "stale")
	former := map[string]any{"negotiationId": dealID, "instance": c01.id, "artifact": p.charter("the tests pass"), "privateKeyPem": ""}
	p.isRefused(ctx, c01, "h2a_sign", former, "superseded")
}

// isRefused expects that a call is refused with a word.
func (p *play) isRefused(ctx context.Context, who *party, tool string, args map[string]any, with string) {
	answer, failed := who.call(ctx, tool, args)
	why := text(answer, "error")
	if !failed || !strings.Contains(why, with) {
		check(fmt.Errorf("%s of %s was not refused as %s: %v", tool, who.name, with, answer))
	}
	p.say(who.name, "%s is refused: %s", tool, inShort(strings.TrimPrefix(why, tool+": ")))
}

// inShort is a refusal without what to do instead, its hashes as people compare them.
func inShort(why string) string {
	const most = 150
	why, _, _ = strings.Cut(why, "; ")
	why = hashes().ReplaceAllStringFunc(why, brief)
	if len(why) > most {
		why = why[:most] + "..."
	}
	return why
}

var hashes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("sha256:[0-9a-f]{64}")
})

func (p *play) threeSign(ctx context.Context) {
	for n, who := range []*party{p.deal.people[2], p.deal.people[7], p.deal.people[11]} {
		if n == threshold-1 {
			p.isRefused(ctx, p.deal.people[0], "h2a_stabilize", map[string]any{"negotiationId": dealID}, "1 more of")
		}
		got := who.ask(ctx, "tutti_negotiation", map[string]any{"negotiationId": dealID, "show": "artifact"})
		got = who.ask(ctx, "h2a_sign", map[string]any{"negotiationId": dealID, "instance": who.id, "artifact": got["artifact"]})
		e, _ := got["entry"].(map[string]any)
		body, _ := e["body"].(map[string]any)
		want("what was signed", text(body, "artifactHash"), p.deal.hash)
		p.say(who.name, "reads it, h2a_sign: entry %.0f, with the key in its own ring", e["sequence"])
	}
}

func (p *play) agrees(ctx context.Context) {
	got := p.deal.people[0].ask(ctx, "h2a_stabilize", map[string]any{"negotiationId": dealID})
	want("what was agreed on", text(got, "artifactHash"), p.deal.hash)
	path := text(got, "artifactPath")
	kept, err := os.Stat(filepath.Join(p.root, path))
	check(err)
	signers, _ := got["signers"].([]any)
	p.say(principal, "h2a_stabilize: signed by %d, kept in %s (%d bytes)", len(signers), path, kept.Size())
	p.say("", "from the first key to here: %s", (time.Since(p.deal.began) - p.waited).Round(time.Millisecond))
}

func (p *play) holds(ctx context.Context) {
	c15 := p.deal.people[conductors]
	got := c15.ask(ctx, "tutti_negotiation", map[string]any{"negotiationId": dealID, "show": "verify"})
	if got["ok"] != true {
		check(fmt.Errorf("the journal does not hold: %v", got))
	}
	p.say(c15.name, "verifies: %s, %.0f entries, %.0f linked, %.0f sealed by their writers", text(got, "state"), got["entries"], got["linked"], got["sealed"])
	out, code := p.verify(ctx)
	if code != 0 {
		check(fmt.Errorf("tutti negotiate verify ended with %d: %s", code, out))
	}
	p.say("you", "tutti negotiate verify %s: %s", dealID, strings.Join(strings.Fields(firstLine(out)), " "))
}

// verify runs the verb that verifies a journal.
func (p *play) verify(ctx context.Context) (out string, code int) {
	out, err := p.output(ctx, "negotiate", "verify", dealID, "--root", p.root)
	if ended, ok := errors.AsType[*exec.ExitError](err); ok && ended.Exited() {
		return out, ended.ExitCode()
	}
	check(err)
	return out, 0
}

// oneByte changes what c04 offered, as a process with write access could, and shows that it is found.
func (p *play) oneByte(ctx context.Context) {
	path := filepath.Join("negotiations", strings.ReplaceAll(dealID, ":", "__"), "journal.jsonl")
	data, err := os.ReadFile(filepath.Join(p.root, path))
	check(err)
	at := bytes.Index(data, []byte("24 hours"))
	if at < 0 {
		check(fmt.Errorf("%s does not hold what was offered", path))
	}
	data[at] = '1'
	check(os.WriteFile(filepath.Join(p.root, path), data, 0o600))
	line := bytes.Count(data[:at], []byte("\n"))
	p.say("", "one digit is changed, to make 14 hours of 24: byte %d of %s", at, path)
	out, code := p.verify(ctx)
	named := fmt.Sprintf("entry %d ", line)
	if code == 0 || !strings.Contains(out, named) {
		check(fmt.Errorf("tutti negotiate verify ended with %d and did not name entry %d: %s", code, line, out))
	}
	for text := range strings.SplitSeq(out, "\n") {
		if strings.Contains(text, named) {
			p.say("you", "tutti negotiate verify, exit status %d: %s", code, hashes().ReplaceAllStringFunc(strings.TrimSpace(text), brief))
			return
		}
	}
}
