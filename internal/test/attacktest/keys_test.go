package attacktest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/core/signature"
)

// keys are attacks on who is believed to sign, and on what for.
var keys = []attack{
	{
		class: "key added for Bob", name: "by hand", on: half,
		harm: func(h *home) {
			mine := signature.Generate()
			h.addKey(bob, mine)
			h.add(half, h.signs(half, bob, mine))
		},
		sights: append(stays("proposed", "key-changed: "+string(bob)+": the pinned key is", "tutti keys trust "+string(bob)), show("ignored +"+string(bob)+" .*the pinned key is")),
	},
	{
		class: "key added for Bob", name: "by h2a keys add, signed with its verb", on: half,
		harm: func(h *home) {
			h.check(os.Remove(h.keyFile(bob))) // Bob has it elsewhere
			mine := signature.Generate()
			public, private := h.file(mine.Public().PEM()), h.file(string(mine.PEM()))
			h.runAs(nil, "h2a", "keys", "add", "--instance", string(bob), "--public-key", public)
			h.runAs(nil, "h2a", "negotiate", "sign", "--id", half, "--instance", string(bob), "--artifact", charter("eng:half", "half of it"), "--private-key", private)
		},
		sights: append(stays("proposed", "key-changed: "+string(bob)+": the pinned key is", "tutti keys trust "+string(bob)), show("ignored +"+string(bob)+" .*the pinned key is")),
	},
	{
		class: "key added for Bob", name: "signed with the verb of tutti", on: half,
		harm: func(h *home) {
			mine := signature.Generate()
			h.addKey(bob, mine)
			h.write(filepath.Join(h.dir, "mine.pem"), mine.PEM())
		},
		sights: []sight{says(1, []string{"negotiate", "sign", half, "--instance", string(bob), "--private-key", "mine.pem"}, "key-changed: "+string(bob)+": the pinned key is")},
	},
	{
		class: "key added", name: "for an agent that was never met", on: "nego:carol",
		harm: func(h *home) {
			mine := signature.Generate()
			h.addKey(carol, mine)
			h.invent("nego:carol", map[address.Instance]*signature.Private{alice: h.keys[alice], carol: mine}, alice, carol)
		},
		sights: append(stays("proposed", "unproven-key: .*was added without a proof by an earlier key"), show("ignored +"+string(carol)+" .*was added without a proof")),
	},
	{
		class: "whole agreement invented", name: "under two added keys", on: "nego:invented",
		harm: func(h *home) {
			one, two := signature.Generate(), signature.Generate()
			h.addKey(alice, one)
			h.addKey(bob, two)
			h.invent("nego:invented", map[address.Instance]*signature.Private{alice: one, bob: two}, alice, bob)
		},
		sights: append(stays("draft", "key-changed: "+string(alice), "key-changed: "+string(bob)), show("ignored +"+string(bob)+" .*the pinned key is")),
	},
	{
		class: "whole agreement invented", name: "without a seal", on: "nego:invented",
		harm: func(h *home) {
			mine := signature.Generate()
			h.addKey(bob, mine)
			h.invent("nego:invented", nil, alice, bob)
		},
		sights: append(stays("(draft|proposed)", "(invalid|unsealed): ", "no-quorum"), hides("signed +"+string(bob))),
	},
	{
		class: "second registration line", name: "with a key of the forger", on: half,
		harm: func(h *home) {
			h.registration(bob, "CONDUCTOR", h.keys[eve])
			h.add(half, h.signs(half, bob, h.keys[eve]))
		},
		sights: stays("proposed", "forged: no key of "+string(bob)),
	},
	{
		class: "second registration line", name: "in another spelling", on: half,
		harm: func(h *home) {
			h.registration("CODEX:billing:0A1B2C3D4E5F", "CONDUCTOR", h.keys[eve])
			h.add(half, h.signs(half, "CODEX:billing:0A1B2C3D4E5F", h.keys[eve]))
		},
		sights: stays("proposed", "forged: no key of CODEX:billing"),
	},
	{
		class: "replaced registration", name: "of Bob", on: half,
		harm: func(h *home) {
			h.swapKey(bob, h.keys[eve])
			h.add(half, h.signs(half, bob, h.keys[eve]))
		},
		sights: append(stays("proposed", "key-changed: "+string(bob)+": the pinned key is", "tutti keys trust "+string(bob)), show("ignored +"+string(bob)+" .*the pinned key is")),
	},
	{
		class: "replaced registration", name: "after the end", on: settled,
		harm:   func(h *home) { h.swapKey(bob, h.keys[eve]) },
		sights: []sight{verify(invalid, "forged: no key of "+string(bob)+" has signed it")},
	},
	{
		class: "role by second line", name: "signed with the verb", on: role,
		harm:   func(h *home) { h.registration(dave, "CONDUCTOR", h.keys[dave]) },
		sights: []sight{says(1, []string{"negotiate", "sign", role, "--instance", string(dave)}, string(dave)+" is registered as AGENTS", "tutti role "+string(dave)+" CONDUCTOR")},
	},
	{
		class: "role by second line", name: "signed by hand", on: role,
		harm: func(h *home) {
			h.registration(dave, "CONDUCTOR", h.keys[dave])
			h.add(role, h.signs(role, dave, h.keys[dave]))
		},
		sights: append(stays("proposed", "role: "+string(dave)+" is registered as AGENTS"), show("ignored +"+string(dave)+" .* is registered as AGENTS")),
	},
	{
		class: "same key twice in a quorum", name: "by the verbs", on: quorum,
		harm: func(h *home) { h.must("negotiate", "sign", quorum, "--instance", string(twin)) },
		sights: append(stays("proposed", "same-key: "+string(bob)+" has signed with the same key"),
			says(2, []string{"negotiate", "stabilize", quorum}, "does not count .same-key: "+string(bob))),
	},
	{
		class: "same key twice in a quorum", name: "settled by hand", on: quorum,
		harm: func(h *home) {
			h.add(quorum, h.signs(quorum, twin, h.keys[twin]))
			h.add(quorum, entry{by: "h2a-cli", typ: "event", body: fmt.Sprintf(`{"kind":"stabilized","artifactHash":%q}`, h.latest(quorum))})
		},
		sights: append(stays("proposed", "same-key: ", "no-quorum"), show("ignored +"+string(twin)+" .*of a quorum they are one")),
	},
	{
		class: "alg", name: "none", on: older,
		harm: func(h *home) {
			h.add(older, entry{by: bob, typ: "event", body: fmt.Sprintf(`{"kind":"signature","artifactHash":%q,"signature":{"by":%q,"alg":"none","value":"AA=="}}`, h.latest(older), bob)})
		},
		sights: append(stays("proposed", "invalid: no key of "+string(bob)), show("ignored +"+string(bob)+" .*no key of")),
	},
	{
		class: "alg", name: "another, with a good signature", on: older,
		harm: func(h *home) {
			e := h.signs(older, bob, h.keys[bob])
			e.key, e.body = nil, strings.ReplaceAll(e.body, `"alg":"ed25519"`, `"alg":"none"`)
			h.add(older, e)
		},
		sights: append(stays("proposed", "invalid: no key of "+string(bob)), show("ignored +"+string(bob)+" .*no key of")),
	},
	{
		class: "signature", name: "in the name of another", on: half,
		harm: func(h *home) {
			e := h.signs(half, eve, h.keys[eve])
			e.by, e.key = bob, nil
			h.add(half, e)
		},
		sights: stays("proposed", "signer: the signature is by "+string(eve)),
	},
	{
		class: "signature", name: "by a stranger", on: half,
		harm:   func(h *home) { h.add(half, h.signs(half, eve, h.keys[eve])) },
		sights: stays("proposed", "non-party: "+string(eve)+" is "),
	},
	{
		class: "context", name: "of another negotiation", on: older,
		harm: func(h *home) {
			h.add(older, entry{by: bob, typ: "event", body: h.signatureOf(other, bob)})
		},
		sights: append(stays("proposed", "replayed: "+string(bob)+" made it for another negotiation"), show("ignored +"+string(bob)+" .*made it for another negotiation")),
	},
	{
		class: "context", name: "cut off", on: half,
		harm: func(h *home) {
			b := h.signatureOf(other, bob)
			h.add(half, entry{by: bob, typ: "event", body: without(b, "context")})
		},
		sights: unsealed("proposed"),
	},
	{
		class: "context", name: "cut off, in a negotiation that an older program opened", on: older,
		harm: func(h *home) {
			h.add(older, entry{by: bob, typ: "event", body: without(h.signatureOf(other, bob), "context")})
		},
		sights: []sight{
			verify(valid, "unbound .counts.: it covers the artifact alone, so it may have been made for another negotiation"),
			show("signed +"+string(bob)+" .*covers the artifact alone", "opened +without a seal"),
		},
	},
	{
		class: "A, B, A again", name: "with the signature for the first A", on: signed,
		harm: func(h *home) {
			old := h.signatureOf(signed, bob)
			h.offer("counter", signed, bob, charter("eng:signed", "less of it"))
			h.offer("counter", signed, alice, charter("eng:signed", "all of it"))
			h.sign(signed, alice)
			h.add(signed, entry{by: bob, typ: "event", body: old})
		},
		sights: append(stays("countered", "unsealed: "+string(bob)+" has sealed its earlier entries"), show("missing +"+string(bob))),
	},
	{
		class: "mandate", name: "as a bare file", on: half,
		harm: func(h *home) {
			raw := mandate("m:bare", boss, eve)
			h.write(filepath.Join(h.bus, "artifacts", address.Segment(h.hashOf(raw))+".json"), []byte(raw))
			h.add(half, entry{by: eve, typ: "reject", body: `{}`, key: h.keys[eve], leave: "m:bare"})
		},
		sights: stays("proposed", "mandate: the mandate m:bare is not among the stabilised artifacts"),
	},
	{
		class: "mandate", name: "of a fake principal", on: half,
		harm: func(h *home) {
			const fake = address.Instance("claude:fake:787878787878")
			key := signature.Generate()
			h.registration(fake, "PRINCIPAL", key)
			h.addMandate("nego:m-fake", fake, key, mandate("m:fake", fake, eve))
			h.add(half, entry{by: eve, typ: "counter", body: `{"artifact":` + charter("eng:half", "without leave") + `}`, key: h.keys[eve], leave: "m:fake"})
		},
		sights: stays("proposed", "mandate: the mandate m:fake is not among the stabilised artifacts"),
	},
	{
		class: "mandate", name: "to oneself", on: half,
		harm: func(h *home) {
			h.addMandate("nego:m-self", eve, h.keys[eve], mandate("m:self", eve, eve))
			h.add(half, entry{by: eve, typ: "reject", body: `{}`, key: h.keys[eve], leave: "m:self"})
		},
		sights: stays("proposed", "mandate: the mandate m:self"),
	},
	{
		class: "revocation", name: "back-dated, of the key of Bob", on: settled, seen: true,
		harm:   func(h *home) { h.revoke(bob, time.Now().AddDate(-1, 0, 0)) },
		sights: formerKey,
	},
	{
		class: "revocation", name: "back-dated, before the first look", on: settled,
		harm: func(h *home) {
			h.forgetRead()
			h.revoke(bob, time.Now().AddDate(-1, 0, 0))
		},
		sights: []sight{verify(invalid, "revoked-key: sealed with a key of "+string(bob)+" that was revoked", "unknown .*you had not read it before")},
	},
	{
		class: "tombstone", name: "back-dated, of Bob", on: settled, seen: true,
		harm: func(h *home) {
			h.log("registry/offboard.jsonl", fmt.Sprintf(`{"instance":%q,"revokedKeys":1,"revokedSubagents":[],"at":%q}`, bob, envelope.Stamp(time.Now().AddDate(-1, 0, 0))))
			h.revoke(bob, time.Now().AddDate(-1, 0, 0))
		},
		sights: formerKey,
	},
	{
		class: "revocation", name: "after the end", on: settled,
		harm:   func(h *home) { h.revoke(bob, time.Now()) },
		sights: formerKey,
	},
}

// formerKey is what is seen of an agreement that rests on a key which is revoked by now.
var formerKey = []sight{
	verify(valid, "former-key .counts.: the key of "+string(bob)+" that made it was revoked after the agreement was settled"), show("^NEGO  stabilized"), list("^NEGO +stabilized"),
}

// mandate is an artifact that gives leave for everything.
func mandate(id string, by, to address.Instance) string {
	return fmt.Sprintf(`{"kind":"MANDATE","id":%q,"by":%q,"instance":%q,"scope":"scope:default","role":"MANDATAIRE","rights":["*"],"expiresAt":"2099-01-01T00:00:00.000Z"}`, id, by, to)
}

// addMandate makes an agreement of one party of a mandate, by hand.
func (h *home) addMandate(id string, by address.Instance, key *signature.Private, raw string) {
	h.Helper()
	hash := h.hashOf(raw)
	h.write(h.state(id), fmt.Appendf(nil, `{"id":%q,"scope":"scope:default","parties":[%q],"subject":"contract","status":"stabilized","requiredSigners":[%q],"currentArtifactHash":%q}`, id, by, by, hash))
	h.add(id, entry{by: by, typ: "propose", body: `{"artifact":` + raw + `}`, key: key})
	h.add(id, h.signs(id, by, key))
	h.add(id, entry{by: "h2a-cli", typ: "event", body: fmt.Sprintf(`{"kind":"stabilized","artifactHash":%q}`, hash)})
	h.write(filepath.Join(h.bus, "artifacts", address.Segment(hash)+".json"), []byte(raw))
}

// invent makes an agreement of two that they know nothing of. Without keys its entries have no seals.
func (h *home) invent(id string, keys map[address.Instance]*signature.Private, parties ...address.Instance) {
	h.Helper()
	raw := charter("eng:invented", "give everything away")
	hash := h.hashOf(raw)
	all := jsonText(string(parties[0])) + "," + jsonText(string(parties[1]))
	record := fmt.Sprintf(`{"id":%q,"scope":"scope:default","parties":[%s],"subject":"engagement","requiredSigners":[%s]}`, id, all, all)
	first := entry{by: parties[0], typ: "propose", body: `{"artifact":` + raw + `}`, key: keys[parties[0]], more: `,"terms":` + record}
	h.add(id, first)
	for _, i := range parties {
		key := keys[i]
		if key == nil {
			key = signature.Generate()
		}
		e := h.signs(id, i, key)
		e.key = keys[i]
		h.add(id, e)
	}
	h.add(id, entry{by: "h2a-cli", typ: "event", body: fmt.Sprintf(`{"kind":"stabilized","artifactHash":%q}`, hash)})
	h.write(h.state(id), []byte(record))
	h.setState(id, "status", "stabilized")
	h.setState(id, "currentArtifactHash", hash)
	h.write(filepath.Join(h.bus, "engagements", "eng__invented", "charter.json"), []byte(raw))
}

// swapKey puts another key into the registration of an agent.
func (h *home) swapKey(i address.Instance, key *signature.Private) {
	h.Helper()
	pem := func(k *signature.Private) string { return jsonText(k.Public().PEM()) }
	h.replace(filepath.Join(h.bus, "registry", "instances.jsonl"), pem(h.keys[i]), pem(key))
	if _, err := os.Stat(filepath.Join(h.bus, "registry", "keys.jsonl")); err == nil {
		h.write(filepath.Join(h.bus, "registry", "keys.jsonl"), nil)
	}
}

// revoke takes the key of an agent from it, by hand.
func (h *home) revoke(i address.Instance, at time.Time) {
	h.Helper()
	h.log("registry/keys.jsonl", fmt.Sprintf(`{"instance":%q,"publicKey":%s,"type":"revoked","at":%q}`, i, jsonText(h.keys[i].Public().PEM()), envelope.Stamp(at)))
}
