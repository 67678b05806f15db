package attacktest

import (
	"fmt"
	"os"

	"tutti/internal/core/canonjson"
)

// records are attacks on state.json.
var records = []attack{
	{
		class: "state.json", name: "stabilized", on: half,
		harm: func(h *home) {
			h.setState(half, "status", "stabilized")
			h.setState(half, "currentArtifactHash", h.latest(half))
		},
		sights: stays("proposed", "state.json says stabilized, and the journal does not show it"),
	},
	{
		class: "state.json", name: "fewer signers", on: half,
		harm:   func(h *home) { h.setList(half, "requiredSigners", string(alice)) },
		sights: otherTerms("proposed"),
	},
	{
		class: "state.json", name: "another signer, after the end", on: settled,
		harm:   func(h *home) { h.setList(settled, "requiredSigners", string(alice), string(eve)) },
		sights: otherTerms("stabilized"),
	},
	{
		class: "state.json", name: "a smaller quorum", on: quorum,
		harm:   func(h *home) { h.replace(h.state(quorum), `"threshold": 2`, `"threshold": 1`) },
		sights: otherTerms("proposed"),
	},
	{
		class: "state.json", name: "another scope", on: settled,
		harm:   func(h *home) { h.setState(settled, "scope", "scope:else") },
		sights: otherTerms("stabilized"),
	},
	{
		class: "state.json", name: "a later deadline", on: late,
		harm:   func(h *home) { h.setState(late, "deadline", "2099-01-01T00:00:00.000Z") },
		sights: otherTerms("expired"),
	},
	{
		class: "state.json", name: "removed and reopened by the verb", on: half,
		harm: func(h *home) { h.check(os.Remove(h.state(half))) },
		sights: []sight{
			says(2, []string{"negotiate", "open", "--id", half, "--subject", "engagement", "--parties", string(alice), "--instance", string(alice)},
				"already open, with other terms, by its journal"),
		},
	},
	{
		class: "state.json", name: "removed and reopened by hand", on: half,
		harm: func(h *home) {
			h.write(h.state(half), fmt.Appendf(nil, `{"id":%q,"scope":"scope:default","parties":[%q],"subject":"engagement","status":"draft","requiredSigners":[%q]}`, half, alice, alice))
		},
		sights: otherTerms("proposed"),
	},
	{
		class: "state.json", name: "removed", on: settled,
		harm:   func(h *home) { h.check(os.Remove(h.state(settled))) },
		sights: append(stays("stabilized", "state.json is not there"), show("! state.json is not there")),
	},
	{
		class: "state.json", name: "no JSON", on: settled,
		harm:   func(h *home) { h.write(h.state(settled), []byte(`{"id":`)) },
		sights: append(stays("stabilized", "state.json cannot be read"), show("! state.json cannot be read")),
	},
	{
		class: "state.json", name: "a member twice", on: half,
		harm: func(h *home) {
			h.write(h.state(half), append(fmt.Appendf(nil, `{"requiredSigners":[%q],`, alice), h.read(h.state(half))[1:]...))
		},
		sights: append(stays("proposed", "state.json cannot be read.*a member stands here twice"), show("! state.json cannot be read")),
	},
	{
		class: "state.json", name: "of another negotiation", on: half,
		harm:   func(h *home) { h.write(h.state(half), h.read(h.state(other))) },
		sights: []sight{refused("verify", "its folder holds the record of .nego:other"), refused("show", "its folder holds the record of .nego:other")},
	},
	{
		class: "state.json", name: "withdrawn", on: half,
		harm:   func(h *home) { h.setState(half, "status", "withdrawn") },
		sights: append(stays("proposed", "state.json says withdrawn"), show("! state.json says withdrawn, and the journal does not show it; the journal decides")),
	},
	{
		class: "state.json", name: "withdrawn after the end", on: settled,
		harm:   func(h *home) { h.setState(settled, "status", "withdrawn") },
		sights: stays("stabilized", "state.json says withdrawn"),
	},
	{
		class: "state.json", name: "rewritten between the opening and the first entry", on: fresh,
		harm: func(h *home) {
			h.setList(fresh, "requiredSigners", string(bob))
			h.run("negotiate", "offer", fresh, h.file(charter("eng:fresh", "Bob's own")), "--instance", string(bob))
			h.run("negotiate", "sign", fresh, "--instance", string(bob))
			h.run("negotiate", "stabilize", fresh)
		},
		sights: []sight{verify(valid), show("missing +" + string(alice)), list("^NEGO +proposed +1 of 2")}, // the verb has put it right
	},
	{
		class: "state.json", name: "rewritten before the first entry, and entries by hand", on: fresh,
		harm: func(h *home) {
			h.setList(fresh, "requiredSigners", string(bob))
			hash := h.hashOf(charter("eng:fresh", "Bob's own"))
			h.add(fresh, entry{by: bob, typ: "propose", body: `{"artifact":` + charter("eng:fresh", "Bob's own") + `}`, key: h.keys[bob]})
			h.add(fresh, h.signs(fresh, bob, h.keys[bob]))
			h.add(fresh, entry{by: "h2a-cli", typ: "event", body: fmt.Sprintf(`{"kind":"stabilized","artifactHash":%q}`, hash)})
		},
		sights: append(otherTerms("proposed"), show("missing +"+string(alice))),
	},
}

// otherTerms is what is seen where state.json and the sealed opening differ.
func otherTerms(state string) []sight {
	const words = "state.json holds other terms than those under which .* opened the negotiation; the journal decides"
	return append(stays(state, words), show("! "+words))
}

// setList sets a list of texts of state.json.
func (h *home) setList(id, name string, texts ...string) {
	h.Helper()
	var o canonjson.Object
	o.Strs("list", texts)
	h.write(h.state(id), canonjson.Set(h.read(h.state(id)), name, []byte(member(string(o.End()), "list"))))
}
