package attacktest

import (
	"tutti/internal/core/address"
	"tutti/internal/core/signature"
	"tutti/internal/test/hostile"
)

// look is what an agent reads by the tool that looks at a negotiation.
func look(show string, words ...string) sight {
	return sight{args: []string{"mcp-serve", "--auto-open", "--host", "codex", "--name", "reader"}, words: words, stdin: calls(`{"name":"tutti_negotiation","arguments":{"negotiationId":"NEGO","show":"` + show + `"}}`)}
}

// shown is the look-alike as a model reads it.
const shown = `"'claude:alice:d4bc3ad2e56c\\\\u200b'"`

// tools are attacks as an agent sees them that reads by the tools.
var tools = []attack{
	{
		class: "tool", name: "a rollback", on: half,
		harm: func(h *home) {
			h.offer("counter", half, bob, charter("eng:half", "less of it"))
			h.must("negotiate", "verify", half)
			all := h.lines(half)
			h.setLines(half, all[:len(all)-1])
		},
		sights: []sight{look("status", "put back to an earlier state"), look("verify", "put back to an earlier state")},
	},
	{
		class: "tool", name: "an entry without a seal", on: half,
		harm:   func(h *home) { h.add(half, entry{by: bob, typ: "reject", body: `{}`}) },
		sights: []sight{look("status", `"ignored":.*"by":"`+string(bob)+`".*has not sealed`), look("verify", "has not sealed")},
	},
	{
		class: "tool", name: "terms that differ", on: half,
		harm:   func(h *home) { h.setList(half, "requiredSigners", string(alice)) },
		sights: []sight{look("status", "holds other terms", `"opened":"by `+string(alice)+`, who has signed the terms"`), look("verify", "holds other terms")},
	},
	{
		class: "tool", name: "an opening without a seal", on: older,
		sights: []sight{look("status", `"opened":"without a seal: `), look("verify", `"unknown":\[.*the negotiation was opened without a seal`)},
	},
	{
		class: "tool", name: "a look-alike", on: "nego:invented",
		harm: func(h *home) {
			who, key := address.Instance(hostile.LookAlikes["zero width space"]), signature.Generate()
			h.registration(who, "CONDUCTOR", key)
			h.invent("nego:invented", map[address.Instance]*signature.Private{alice: h.keys[alice], who: key}, alice, who)
		},
		sights: []sight{look("status", `"parties":\[.*`+shown, `"mustSign":\[`+shown), look("verify", `"by":`+shown+`,"code":"name"`)},
	},
}
