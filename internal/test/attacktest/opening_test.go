package attacktest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
)

// openings are attacks on the terms under seal, and by a party or a thief with an earlier date.
var openings = []attack{
	{
		class: "opening", name: "a second one", on: half,
		harm: func(h *home) {
			first := strings.ReplaceAll(h.lines(half)[0], string(alice), string(bob))
			all := h.lines(half)
			p := h.seal(h.linked(all, canonjson.Delete(payload(first), "signatures")), bob, h.keys[bob])
			h.setLines(half, append(all, h.frame(all, p)))
		},
		sights: []sight{show("^NEGO  proposed", "opened +by "+string(alice), "missing +"+string(bob)), verify(valid, "same-id: has the id of entry 0")},
	},
	{
		class: "opening", name: "under the key of the forger", on: half,
		harm: func(h *home) {
			all := h.lines(half)
			all[0] = strings.Replace(all[0], `"requiredSigners":["`+string(alice)+`","`+string(bob)+`"]`, `"requiredSigners":["`+string(alice)+`"]`, 1)
			h.setList(half, "requiredSigners", string(alice))
			h.setLines(half, h.relink(all, forgers(h.keys[eve], alice)))
		},
		sights: []sight{verify(invalid, "forged: no key of "+string(alice)), show("opened +without a seal")},
	},
	{
		class: "opening", name: "its terms changed, with fewer signers", on: half,
		harm: func(h *home) {
			all := h.lines(half)
			all[0] = strings.Replace(all[0], `"requiredSigners":["`+string(alice)+`","`+string(bob)+`"]`, `"requiredSigners":["`+string(alice)+`"]`, 1)
			h.setList(half, "requiredSigners", string(alice))
			h.setLines(half, h.relink(all, nil))
		},
		sights: []sight{verify(invalid, "forged: no key of "+string(alice)), show("opened +without a seal"), list("^NEGO +draft")},
	},
	{
		class: "opening", name: "taken away, and all entries as of an older program", on: half, seen: true,
		harm: func(h *home) {
			h.setLines(half, h.bare(h.lines(half)[1:]))
			h.add(half, entry{by: bob, typ: "event", body: without(h.signatureOf(other, bob), "context")})
		},
		sights: []sight{verify(invalid, "it was written anew"), show("! .*it was written anew", "opened +not known: see above")},
	},
	{
		class: "opening", name: "taken away, before the first look", on: half,
		harm: func(h *home) {
			h.forgetRead()
			h.setLines(half, h.bare(h.lines(half)[1:]))
			h.add(half, entry{by: bob, typ: "event", body: without(h.signatureOf(other, bob), "context")})
		},
		sights: []sight{verify(valid, "unbound .counts.: ", "unknown the negotiation was opened without a seal"), show("opened +without a seal", "signed +"+string(bob)+".*covers the artifact alone")},
	},
	{
		class: "terms", name: "in a later entry", on: half,
		harm: func(h *home) {
			terms := fmt.Sprintf(`{"id":%q,"scope":"scope:default","parties":[%q],"subject":"engagement","requiredSigners":[%q]}`, half, bob, bob)
			h.add(half, entry{by: bob, typ: "event", body: `{"kind":"note"}`, more: `,"terms":` + terms, key: h.keys[bob]})
		},
		sights: []sight{show("^NEGO  proposed", "opened +by "+string(alice), "missing +"+string(bob)), list("^NEGO +proposed +1 of 2")},
	},
	{
		class: "back-dated", name: "a counter by a party", on: half, seen: true,
		harm: func(h *home) {
			h.add(half, entry{
				by: bob, typ: "counter", body: `{"artifact":` + charter("eng:half", "less of it") + `}`, more: fmt.Sprintf(`,"baseArtifactHash":%q`, h.latest(half)),
				key: h.keys[bob], at: time.Now().Add(-6 * time.Hour),
			})
		},
		sights: []sight{verify(valid, "backdated .counts.: it is dated .*, and was not there yet when you read the journal")},
	},
	{
		class: "stolen key", name: "revoked, and a signature dated before", on: half,
		harm: func(h *home) {
			h.must("keys", "revoke", "--yes", "--instance", string(bob), "--public-key", strings.TrimSuffix(h.keyFile(bob), ".key.pem")+".pub.pem")
			e := h.signs(half, bob, h.keys[bob])
			e.at = time.Now().Add(-time.Hour)
			h.add(half, e)
		},
		sights: stays("proposed", "revoked-key: "),
	},
	{
		class: "stolen key", name: "of an agent that has left, dated before", on: half,
		harm: func(h *home) {
			h.must("nhi", "offboard", string(bob), "--yes")
			e := h.signs(half, bob, h.keys[bob])
			e.at = time.Now().Add(-time.Hour)
			h.add(half, e)
		},
		sights: stays("proposed", "(revoked-key|gone): "),
	},
	{
		class: "subagent of Bob", name: "registered by the forger", on: half,
		harm: func(h *home) {
			key := signature.Generate()
			h.registration(bob+"~eve", "CONDUCTOR", key)
			h.add(half, h.signs(half, bob+"~eve", key))
		},
		sights: append(stays("proposed", "non-party: "+string(bob)+"~eve"), show("missing +"+string(bob))),
	},
}

// forgetRead makes the reader one who has read nothing yet.
func (h *home) forgetRead() {
	h.Helper()
	h.check(os.RemoveAll(filepath.Join(h.dir, ".local", "state", "tutti", "agreements")))
}
