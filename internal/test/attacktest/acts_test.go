package attacktest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tutti/internal/core/signature"
)

// acts are attacks by what is written in the name of another, at another time, or not at all any more.
var acts = []attack{
	{
		class: "after the deadline", name: "by the verbs", on: late,
		sights: []sight{
			says(1, []string{"negotiate", "sign", late, "--instance", string(bob)}, "negotiation nego:late is expired"),
			says(1, []string{"negotiate", "stabilize", late}, "it is expired: the deadline was"),
		},
	},
	{
		class: "after the deadline", name: "by hand", on: late,
		harm:   func(h *home) { h.add(late, h.signs(late, bob, h.keys[bob])) },
		sights: stays("expired", "late: dated .*, and the deadline was"),
	},
	{
		class: "after the deadline", name: "back-dated by a party", on: late, seen: true,
		harm: func(h *home) {
			e := h.signs(late, bob, h.keys[bob])
			e.at = time.Now().Add(-47*time.Hour - 30*time.Minute)
			h.add(late, e)
		},
		sights: stays("expired", "late: dated .*, but it was not there yet when you read the journal at .*, after the deadline"),
	},
	{
		class: "after the deadline", name: "back-dated after a late entry", on: late,
		harm: func(h *home) {
			h.add(late, entry{by: bob, typ: "reject", body: `{}`, key: h.keys[bob]})
			e := h.signs(late, bob, h.keys[bob])
			e.at = time.Now().Add(-47*time.Hour - 30*time.Minute)
			h.add(late, e)
		},
		sights: stays("expired", "late: .*its writer had dated an earlier entry after the deadline"),
	},
	{
		class: "future note", name: "by a party", on: half,
		harm: func(h *home) {
			h.add(half, entry{by: bob, typ: "event", body: `{"kind":"note"}`, key: h.keys[bob], at: time.Now().AddDate(5, 0, 0)})
		},
		sights: []sight{verify(valid, "future: dated .*from now"), show("^NEGO  proposed")},
	},
	{
		class: "future note", name: "by a stranger", on: half,
		harm: func(h *home) {
			h.add(half, entry{by: eve, typ: "event", body: `{"kind":"note"}`, key: h.keys[eve], at: time.Now().AddDate(5, 0, 0)})
		},
		sights: []sight{verify(valid, "future: dated .*from now"), show("^NEGO  proposed")},
	},
	{
		class: "future end", name: "so that keys can be revoked before it", on: signed,
		harm: func(h *home) {
			h.add(signed, entry{by: "h2a-cli", typ: "event", body: fmt.Sprintf(`{"kind":"stabilized","artifactHash":%q}`, h.latest(signed)), at: time.Now().AddDate(5, 0, 0)})
		},
		sights: stays("accepted", "ahead: it is dated .*, which has not come yet"),
	},
	{
		class: "unsealed", name: "reject for a party without entries", on: half,
		harm:   func(h *home) { h.add(half, entry{by: bob, typ: "reject", body: `{}`}) },
		sights: append(unsealed("proposed"), hidden...),
	},
	{
		class: "unsealed", name: "reject for a party with entries", on: half,
		harm:   func(h *home) { h.add(half, entry{by: alice, typ: "reject", body: `{}`}) },
		sights: stays("proposed", "unsealed: "+string(alice)+" has sealed its earlier entries and not this one"),
	},
	{
		class: "unsealed", name: "counter for a party without entries", on: half,
		harm: func(h *home) {
			h.add(half, entry{by: bob, typ: "counter", body: `{"artifact":` + charter("eng:half", "all to Bob") + `}`, more: fmt.Sprintf(`,"baseArtifactHash":%q`, h.latest(half))})
		},
		sights: append(unsealed("proposed"), hidden...),
	},
	{
		class: "unsealed", name: "the only offer", on: fresh,
		harm: func(h *home) {
			h.add(fresh, entry{by: bob, typ: "propose", body: `{"artifact":` + charter("eng:half", "all to Bob") + `}`})
		},
		sights: append(unsealed("draft"), hidden...),
	},
	{
		class: "unsealed", name: "abandoned for a party without entries", on: half,
		harm:   func(h *home) { h.add(half, entry{by: bob, typ: "event", body: `{"kind":"abandoned"}`}) },
		sights: append(unsealed("proposed"), hidden...),
	},
	{
		class: "unsealed", name: "withdrawal of an offer of another", on: half,
		harm:   func(h *home) { h.add(half, entry{by: bob, typ: "withdraw", body: `{}`}) },
		sights: stays("proposed", "(not-theirs|unsealed): "),
	},
	{
		class: "unsealed", name: "signature for a party without entries", on: half,
		harm: func(h *home) {
			e := h.signs(half, bob, h.keys[eve])
			e.key = nil
			h.add(half, e)
		},
		sights: append(stays("proposed", "(invalid: no key of "+string(bob)+"|unsealed)"), show("missing +"+string(bob))),
	},
	{
		class: "rollback", name: "of the folder", on: half,
		harm: func(h *home) {
			journal, state := h.read(h.journal(half)), h.read(h.state(half))
			h.sign(half, bob)
			h.must("negotiate", "stabilize", half)
			h.must("negotiate", "verify", half)
			h.write(h.journal(half), journal)
			h.write(h.state(half), state)
		},
		sights: []sight{verify(invalid, putBack), show("! " + putBack), list("warning: NEGO: " + putBack)},
	},
	{
		class: "rollback", name: "of a rejection, with state.json put back", on: half,
		harm: func(h *home) {
			journal, state := h.read(h.journal(half)), h.read(h.state(half))
			h.must("negotiate", "reject", half, "--instance", string(bob))
			h.must("negotiate", "verify", half)
			h.write(h.journal(half), journal)
			h.write(h.state(half), state)
		},
		sights: []sight{verify(invalid, "you had read .* and .* are there now: it was put back to an earlier state"), show("! .*it was put back to an earlier state")},
	},
	{
		class: "rollback", name: "the last entry cut off", on: settled, seen: true,
		harm: func(h *home) {
			all := h.lines(settled)
			h.setLines(settled, all[:len(all)-1])
		},
		sights: append(stays("accepted", putBack, "state.json says stabilized, and the journal does not show it"), show("! "+putBack)),
	},
	{
		class: "rollback", name: "the folder removed", on: settled, seen: true,
		harm:   func(h *home) { h.check(os.RemoveAll(h.folder(settled))) },
		sights: []sight{{args: []string{"negotiate", "verify"}, status: 2, words: []string{"NEGO not found: .*you had read .* entries of it, by which it was settled"}}},
	},
	{
		class: "rollback", name: "written anew with the keys of all", on: settled, seen: true,
		harm: func(h *home) {
			all := h.lines(settled)
			all[h.find(settled, "Friday")] = strings.Replace(all[h.find(settled, "Friday")], `"createdAt":"2`, `"createdAt":"1`, 1)
			h.setLines(settled, h.relink(all, h.keys))
		},
		sights: []sight{verify(invalid, "you had read .* entries of it, by which it was settled, and other ones are there now: it was written anew"), show("! .*it was written anew"), list("warning: NEGO: .*it was written anew")},
	},
	{
		class: "rollback", name: "and a signature behind it", on: half,
		harm: func(h *home) {
			h.offer("counter", half, bob, charter("eng:half", "less of it"))
			h.must("negotiate", "verify", half)
			all := h.lines(half)
			h.setLines(half, all[:len(all)-1])
		},
		sights: []sight{says(1, []string{"negotiate", "sign", half, "--instance", string(bob)}, "it was put back to an earlier state"), show("missing +" + string(bob))},
	},
	{
		class: "rollback", name: "before the first look", on: signed,
		harm: func(h *home) {
			h.forgetRead()
			all := h.lines(signed)
			h.setLines(signed, all[:len(all)-1])
		},
		sights: []sight{verify(valid, "unknown .*you had not read it before: whether it was put back to an earlier state"), show("missing +" + string(bob))},
	},
	{
		class: "opening", name: "removed, and an offer by the verb", on: half, seen: true,
		harm:   func(h *home) { h.check(os.Remove(h.journal(half))) },
		sights: []sight{says(1, []string{"negotiate", "withdraw", half, "--instance", string(bob)}, "it was put back to an earlier state")},
	},
	{
		class: "opening", name: "replaced by one of Bob's", on: half, seen: true,
		harm: func(h *home) {
			opening := strings.ReplaceAll(h.lines(half)[0], string(alice), string(bob)) // Bob opens, and Bob alone has to sign
			h.setLines(half, h.relink([]string{opening}, h.keys))
			h.replace(h.state(half), string(alice), string(bob))
			h.add(half, entry{by: bob, typ: "propose", body: `{"artifact":` + charter("eng:half", "all to Bob") + `}`, key: h.keys[bob]})
			h.add(half, h.signs(half, bob, h.keys[bob]))
			h.add(half, h.signs(half, bob, h.keys[bob]))
		},
		sights: []sight{verify(invalid, "you had read .* entries of it, and other ones are there now: it was written anew"), show("! .*it was written anew")},
	},
	{
		class: "--instance of another", name: "sign, below an agent", on: half,
		sights: []sight{
			below(1, []string{"negotiate", "sign", half, "--instance", string(bob)}, "may speak for itself and its subagents alone, not for "+string(bob)),
			show("missing +" + string(bob)),
		},
	},
	{
		class: "--instance of another", name: "reject, below an agent", on: half,
		sights: []sight{
			below(1, []string{"negotiate", "reject", half, "--instance", string(bob)}, "may speak for itself and its subagents alone, not for "+string(bob)),
			show("^NEGO  proposed"),
		},
	},
	{
		class: "--instance of another", name: "by the variable, below an agent", on: half,
		sights: []sight{
			below(1, []string{"-", "TUTTI_INSTANCE=" + string(bob), "negotiate", "sign", half}, "may speak for itself and its subagents alone, not for "+string(bob)),
			show("missing +" + string(bob)),
		},
	},
	{
		class: "--instance of another", name: "keys add, below an agent", on: half,
		harm:   func(h *home) { h.write(filepath.Join(h.dir, "mine.pem"), []byte(signature.Generate().Public().PEM())) },
		sights: []sight{below(1, []string{"keys", "add", "--instance", string(bob), "--public-key", "mine.pem"}, "not for "+string(bob))},
	},
	{ // docs/security.md says so, among the protections that fail between processes of one user
		class: "--instance of another", name: "by h2a, which takes any name", on: half,
		sights: []sight{
			below(0, []string{
				"h2a", "negotiate", "sign", "--id", half, "--instance", string(bob), "--artifact", charter("eng:half", "half of it"),
				"--private-key", "h2a-workspace/.h2a/keys/codex-billing-0a1b2c3d4e5f.key.pem",
			}),
			show("signed +" + string(bob)),
		},
	},
	{
		class: "MCP as another", name: "sign", on: half,
		sights: []sight{
			{
				args: []string{"mcp-serve", "--auto-open", "--host", "agy", "--name", "eve"}, stdin: calls(fmt.Sprintf(`{"name":"h2a_sign","arguments":{"negotiationId":%q,"instance":%q,"artifact":%s,"privateKeyPem":""}}`, half, bob, charter("eng:half", "half of it"))),
				words: []string{"nothing is written in the name of " + string(bob) + "; this connection is agy:eve:"},
			},
			show("missing +" + string(bob)),
		},
	},
	{
		class: "answer", name: "without a seal", on: asked,
		harm: func(h *home) {
			h.add(asked, entry{by: h.user(), typ: "event", body: h.answer()})
		},
		sights: []sight{says(0, []string{"escalation", "show", "evt-ask"}, "^evt-ask  decide  open")},
	},
	{
		class: "answer", name: "under an added key", on: asked,
		harm: func(h *home) {
			mine := signature.Generate()
			h.addKey(h.user(), mine)
			h.add(asked, entry{by: h.user(), typ: "event", body: h.answer(), key: mine})
		},
		sights: []sight{says(0, []string{"escalation", "show", "evt-ask"}, "^evt-ask  decide  open", "answered under the key .*, so it does not count", "tutti keys trust human:")},
	},
	{
		class: "answer", name: "by an agent", on: asked,
		harm: func(h *home) {
			h.add(asked, entry{by: eve, typ: "event", body: h.answer(), key: h.keys[eve]})
		},
		sights: []sight{says(0, []string{"escalation", "show", "evt-ask"}, "^evt-ask  decide  open")},
	},
	{
		class: "answer", name: "below an agent", on: asked,
		sights: []sight{
			below(1, []string{"escalation", "answer", "evt-ask", "keep"}, "only a person answers it, at a terminal"),
			below(1, []string{"answer", "evt-ask", "keep"}, "only a person answers it, at a terminal"),
			says(0, []string{"escalation", "show", "evt-ask"}, "^evt-ask  decide  open"),
		},
	},
}

// unsealed is what is seen of an entry without a seal in the name of Bob.
func unsealed(state string) []sight {
	return stays(state, "unsealed: .*"+string(bob)+" has not sealed this entry: anyone can have written it")
}

// hidden is what show has of it.
var hidden = []sight{show("ignored +" + string(bob) + " .*has not sealed")}

// putBack is said of an agreement that the reader had read as settled.
const putBack = "on .* you had read .* entries of it, by which it was settled, and .* are there now: it was put back to an earlier state"

// calls is what a client of the MCP server sends to call a tool.
func calls(params string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":` + params + "}\n"
}
