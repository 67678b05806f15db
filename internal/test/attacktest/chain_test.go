package attacktest

import (
	"fmt"
	"slices"
	"strings"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
)

// chain are attacks on the order of the entries and on their bytes.
var chain = []attack{
	{
		class: "flip", name: "a word of an offer", on: settled,
		harm:   func(h *home) { h.edit(settled, h.find(settled, "Friday"), "Friday", "Sunday") },
		sights: broken("contentHash"),
	},
	{
		class: "flip", name: "a signature", on: settled,
		harm: func(h *home) {
			n := h.find(settled, `"kind":"signature"`)
			value := text(member(body(h.lines(settled)[n]), "signature"), "value")
			h.edit(settled, n, value, value[1:]+value[:1])
		},
		sights: broken("contentHash"),
	},
	{
		class: "flip", name: "a writer", on: settled,
		harm:   func(h *home) { h.edit(settled, h.by(settled, bob, ""), string(bob), string(carol)) },
		sights: broken("contentHash"),
	},
	{
		class: "flip", name: "a date", on: settled,
		harm:   func(h *home) { h.edit(settled, h.by(settled, bob, ""), `"createdAt":"2`, `"createdAt":"1`) },
		sights: broken("contentHash"),
	},
	{
		class: "flip + hash", name: "a word of an offer", on: settled,
		harm: func(h *home) {
			n := h.find(settled, "Friday")
			h.edit(settled, n, "Friday", "Sunday")
			all := h.lines(settled)
			all[n] = h.frame(all[:n], payload(all[n]))
			h.setLines(settled, all)
		},
		sights: broken("prevHash", "forged: no key of "+string(bob)+" has signed it"),
	},
	{
		class: "flip + hash", name: "the last entry, which has no seal", on: settled,
		harm: func(h *home) {
			all := h.lines(settled)
			n := len(all) - 1
			h.edit(settled, n, h.hashOf(charter("eng:settled", "green build by Friday")), h.hashOf(charter("eng:settled", "green build by Monday")))
			all = h.lines(settled)
			all[n] = h.frame(all[:n], payload(all[n]))
			h.setLines(settled, all)
		},
		sights: []sight{verify(invalid, "after-the-end")},
	},
	{
		class: "relink all", name: "with a word changed", on: settled,
		harm: func(h *home) {
			h.edit(settled, h.find(settled, "Friday"), "Friday", "Sunday")
			h.setLines(settled, h.relink(h.lines(settled), nil))
		},
		sights: stays("proposed", "forged: no key of "+string(bob), "no-quorum"),
	},
	{
		class: "relink all", name: "under the key of the forger", on: settled,
		harm: func(h *home) {
			h.edit(settled, h.find(settled, "Friday"), "Friday", "Sunday")
			h.setLines(settled, h.relink(h.lines(settled), forgers(h.keys[eve], alice, bob)))
		},
		sights: stays("draft", "forged: no key of "+string(alice), "no-quorum"),
	},
	{
		class: "relink all", name: "as if an older program had written it", on: settled,
		harm: func(h *home) {
			h.edit(settled, h.find(settled, "Friday"), "Friday", "Sunday")
			h.setLines(settled, h.bare(h.lines(settled)))
		},
		sights: stays("countered", "not-offered: ", "no-quorum"),
	},
	{
		class: "delete", name: "the first entry", on: settled,
		harm:   func(h *home) { h.setLines(settled, h.lines(settled)[1:]) },
		sights: broken("sequence"),
	},
	{
		class: "delete", name: "an entry", on: settled,
		harm:   func(h *home) { h.setLines(settled, slices.Delete(h.lines(settled), 1, 2)) },
		sights: broken("sequence"),
	},
	{
		class: "delete + relink", name: "an entry", on: settled,
		harm: func(h *home) {
			n := h.find(settled, "Friday")
			h.setLines(settled, h.relink(slices.Delete(h.lines(settled), n, n+1), nil))
		},
		sights: stays("proposed", "forged: no key of "+string(alice), "no-quorum"),
	},
	{
		class: "delete + relink", name: "all that Bob wrote, sealed anew", on: settled,
		harm: func(h *home) {
			all := slices.DeleteFunc(h.lines(settled), func(line string) bool { return writer(line) == bob })
			h.setLines(settled, h.relink(all, forgers(h.keys[alice], alice)))
		},
		sights: stays("proposed", "not-offered", "no-quorum"),
	},
	{
		class: "reorder", name: "two entries", on: settled,
		harm: func(h *home) {
			all := h.lines(settled)
			all[1], all[2] = all[2], all[1]
			h.setLines(settled, all)
		},
		sights: broken("sequence"),
	},
	{
		class: "reorder", name: "and relink", on: settled,
		harm: func(h *home) {
			all := h.lines(settled)
			all[1], all[2] = all[2], all[1]
			h.setLines(settled, h.relink(all, nil))
		},
		sights: stays("draft", "forged: no key of "+string(bob)),
	},
	{
		class: "duplicate", name: "an entry", on: settled,
		harm: func(h *home) {
			all := h.lines(settled)
			h.setLines(settled, slices.Insert(all, 2, all[1]))
		},
		sights: broken("sequence"),
	},
	{
		class: "duplicate", name: "and relink", on: settled,
		harm: func(h *home) {
			all := h.lines(settled)
			h.setLines(settled, h.relink(slices.Insert(all, 2, all[1]), nil))
		},
		sights: stays("proposed", "forged: no key of "+string(alice), "same-id"),
	},
	{
		class: "verbatim replay", name: "the line", on: half,
		harm: func(h *home) {
			h.setLines(half, append(h.lines(half), h.lines(other)[h.by(other, bob, "")]))
		},
		sights: broken("prevHash"),
	},
	{
		class: "verbatim replay", name: "the entry with its seal, framed anew", on: half,
		harm: func(h *home) {
			all := h.lines(half)
			h.setLines(half, append(all, h.frame(all, payload(h.lines(other)[h.by(other, bob, "")]))))
		},
		sights: broken("link"),
	},
	{
		class: "verbatim replay", name: "an entry of the same negotiation at its end", on: half,
		harm: func(h *home) {
			all := h.lines(half)
			h.setLines(half, append(all, h.frame(all, payload(all[0]))))
		},
		sights: broken("link"),
	},
	{
		class: "journal of another", name: "in the place of an agreement", on: settled,
		harm:   func(h *home) { h.write(h.journal(settled), h.read(h.journal(other))) },
		sights: stays("draft", "elsewhere: it was written for the negotiation nego:other", "state.json says stabilized, and the journal does not show it"),
	},
	{
		class: "journal of another", name: "with its state.json", on: settled,
		harm: func(h *home) {
			h.write(h.journal(settled), h.read(h.journal(other)))
			h.write(h.state(settled), h.read(h.state(other)))
		},
		sights: []sight{refused("verify", "its folder holds the record of \"nego:other\""), refused("show", "its folder holds the record of \"nego:other\"")},
	},
	{
		class: "forged stabilized", name: "without a seal", on: half,
		harm: func(h *home) {
			h.add(half, entry{by: "h2a-cli", typ: "event", body: fmt.Sprintf(`{"kind":"stabilized","artifactHash":%q}`, h.latest(half))})
		},
		sights: stays("proposed", "no-quorum", "has not been signed by all"),
	},
	{
		class: "forged stabilized", name: "sealed by the forger", on: half,
		harm: func(h *home) {
			h.add(half, entry{by: eve, typ: "event", body: fmt.Sprintf(`{"kind":"stabilized","artifactHash":%q}`, h.latest(half)), key: h.keys[eve]})
		},
		sights: stays("proposed", "no-quorum", "has not been signed by all"),
	},
	{
		class: "forged stabilized", name: "with the artifact and state.json", on: half,
		harm: func(h *home) {
			hash := h.latest(half)
			h.add(half,
				entry{by: "h2a-cli", typ: "event", body: fmt.Sprintf(`{"kind":"stabilizing","artifactHash":%q,"signers":[%q,%q]}`, hash, alice, bob)},
				entry{by: "h2a-cli", typ: "event", body: fmt.Sprintf(`{"kind":"stabilized","artifactHash":%q,"signers":[%q,%q],"artifactPath":"engagements/eng__half/charter.json"}`, hash, alice, bob)})
			h.setState(half, "status", "stabilized")
			h.setState(half, "currentArtifactHash", hash)
			h.write(h.bus+"/engagements/eng__half/charter.json", []byte(charter("eng:half", "half of it")))
		},
		sights: stays("proposed", "no-quorum", "state.json says stabilized, and the journal does not show it"),
	},
	{
		class: "forged end", name: "a counter behind the end", on: settled,
		harm: func(h *home) {
			h.add(settled, entry{by: bob, typ: "counter", body: `{"artifact":` + charter("eng:settled", "later") + `}`})
		},
		sights: stays("stabilized", "after-the-end: the negotiation was over"),
	},
}

// bare is what is left of entries when all is taken away that only our programs write, framed anew.
func (h *home) bare(all []string) (out []string) {
	h.Helper()
	for _, line := range all {
		p := payload(line)
		for _, name := range []string{"link", "signatures", "negotiationId", "terms"} {
			p = canonjson.Delete(p, name)
		}
		if b := body(line); member(b, "context") != "" {
			p = canonjson.Set(p, "body", canonjson.Delete([]byte(b), "context"))
		}
		out = append(out, h.frame(out, p))
	}
	return out
}

// setState sets a text of state.json.
func (h *home) setState(id, name, value string) {
	h.Helper()
	h.write(h.state(id), canonjson.Set(h.read(h.state(id)), name, canonjson.AppendString(nil, value)))
}

// member is a member of a JSON object as it is written, "" for none.
func member(raw, name string) string {
	v, _ := canonjson.Get([]byte(raw), name)
	return strings.TrimSpace(string(v))
}

func forgers(key *signature.Private, all ...address.Instance) map[address.Instance]*signature.Private {
	keys := map[address.Instance]*signature.Private{}
	for _, i := range all {
		keys[i] = key
	}
	return keys
}
