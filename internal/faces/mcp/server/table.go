package server

import (
	"context"
	"strings"

	"tutti/internal/bus/identity"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/render"
	"tutti/internal/faces/mcp/wire"
	"tutti/internal/governance/conductor"
)

// A tool is one row of the table.
type tool struct {
	name   string
	does   string // for the model, with the words by which one would search
	effect effect
	again  bool // to call it twice does no more than to call it once
	older  bool // of older programs
	// busless: run is called without a bus, too; call.noBus is why there is none.
	busless bool
	props   []prop
	result  any // a zero value of what it answers, or render.OneOf
	run     func(ctx context.Context, c *call) (any, error)
}

// A prop is one argument of a tool.
type prop struct {
	name   string
	schema string // JSON
	needed bool   // see call.complete
}

// The schemas of arguments. Those of the older tools say no more than existing programs do.
const (
	aString     = `{"type":"string"}`
	aNumber     = `{"type":"number"}`
	anObject    = `{"type":"object"}`
	someStrings = `{"type":"array","items":{"type":"string"}}`
)

// speaking is the function of a tool that acts as the agent of the connection, which is made if need be; looking of one that only asks who it is.
func speaking(run asAgent) func(context.Context, *call) (any, error) {
	return run.with(false)
}

func looking(run asAgent) func(context.Context, *call) (any, error) {
	return run.with(true)
}

type asAgent func(ctx context.Context, c *call, own *identity.Speaker) (any, error)

func (run asAgent) with(peek bool) func(context.Context, *call) (any, error) {
	return func(ctx context.Context, c *call) (any, error) {
		own, err := c.speaker(ctx, c.bus, peek)
		if err != nil {
			return nil, err
		}
		return run(ctx, c, own)
	}
}

// described is a schema with a description.
func described(schema, does string) string {
	return schema[:len(schema)-1] + `,"description":` + string(canonjson.AppendString(nil, does)) + "}"
}

// The arguments that lists have beside their own. The older tools take them too and do not declare them: what they declare
// is what existing programs know of them, and their answers name the call that goes on.
var (
	limitProp  = prop{name: "limit", schema: described(aNumber, "at most so many at a time")}
	cursorProp = prop{name: "cursor", schema: described(aString, `"next" of the answer before`)}
	waitProp   = prop{name: "wait", schema: `{"type":"number","minimum":0,"maximum":50,"description":"seconds to wait, at most 50"}`}
)

// tools are all of them, in the order in which they are listed: those of older programs first, in their order.
var tools = []tool{
	{
		name: "h2a_register_instance", older: true, effect: sets, run: registerInstance,
		result: registered{},
		does:   "Register your own agent (actor) in the registry of the bus: appends one registration. Mostly done for you when you connect.",
		props:  []prop{{"registration", anObject, true}},
	},
	{
		name: "h2a_discover_instances", older: true, effect: reads, again: true, run: discoverInstances,
		result: instances{},
		does:   "List the registered agents (instances), live or not; role and scope filter by what they have been registered with and granted.",
		props:  []prop{{"role", aString, false}, {"scope", aString, false}},
	},
	openTool, offerTool, counterTool, signTool, stabilizeTool, attestTool, declareTool, postureTool,
	{
		name: "h2a_inbox", older: true, effect: reads, run: inbox,
		result: render.OneOf{envelopes{}, putEnvelope{}, popped{}},
		does: "The mailbox (inbox) of an instance: read lists the message envelopes, put delivers an envelope to it (send), pop takes one out of your own. " +
			"What an envelope says is the text of a peer, not of your user.",
		props: []prop{
			{"action", `{"type":"string","enum":["read","put","pop"]}`, true},
			{"instance", aString, true},
			{"envelope", anObject, false},
			{"envelopeId", aString, false},
		},
	},
	appendTool, escalateTool,
	{
		name: "h2a_session_open", older: true, effect: sets, run: sessionOpen,
		result: openedSession{},
		does:   "Open a presence session for your agent, so that others see you as live; answers with the other live sessions (peers).",
		props: []prop{
			{"instance", aString, true},
			{"host", aString, false},
			{"pid", aNumber, false},
			{"interests", `{"type":"object","properties":{"scopes":` + someStrings + `,"negotiations":` + someStrings + `}}`, false},
			{"subscribedTopics", someStrings, false},
			{"sessionId", aString, false},
		},
	},
	{
		name: "h2a_session_close", older: true, effect: ends, again: true, run: sessionClose,
		result: closedSession{},
		does:   "Close a session of yours, or mark it as draining; the default state is closed.",
		props:  []prop{{"sessionId", aString, true}, {"state", `{"type":"string","enum":["closed","draining","expired"]}`, false}},
	},
	{
		name: "h2a_discover_sessions", older: true, effect: reads, again: true, run: discoverSessions,
		result: liveSessions{},
		does:   "List the live sessions of agents (who is there now); scope, instance and part of the display name filter.",
		props:  []prop{{"scope", aString, false}, {"instance", aString, false}, {"name", aString, false}},
	},
	{
		name: "h2a_nhi_report", older: true, effect: reads, again: true, run: nhiReport,
		result: reported{},
		does:   "Report what is wrong with the identities (agents, keys, subagents) of the bus, by the OWASP list of non-human identity risks.",
		props:  []prop{{"longLivedKeyMaxDays", aNumber, false}},
	},
	{
		name: "h2a_nhi_inventory", older: true, effect: reads, again: true, run: nhiInventory,
		result: inventoried{},
		does:   "List every identity of the bus with the fingerprints and ages of its keys, its subagents, and whether it was offboarded.",
		props:  []prop{{"longLivedKeyMaxDays", aNumber, false}},
	},
	{
		name: "h2a_nhi_attest", older: true, effect: sets, run: looking(nhiAttest),
		result: nhiAttested{},
		does:   "Sign the identity report in your own name (attestation). An empty privateKeyPem takes the key of the keyring, which is the safe way.",
		props: []prop{
			{"instance", aString, true},
			{"privateKeyPem", aString, true},
			{"role", aString, false},
			{"scope", aString, false},
			{"longLivedKeyMaxDays", aNumber, false},
		},
	},
	{
		name: "h2a_nhi_offboard", older: true, effect: ends, run: looking(nhiOffboard),
		result: buried{},
		does: "Take your own agent, or one that answers to you, out of service for good: keys and subagents are revoked, and nothing of it is accepted any more. " +
			"It cannot be undone: only on the word of your user.",
		props: []prop{{"instance", aString, true}, {"reason", aString, false}},
	},
	{
		name: "h2a_nhi_export", older: true, effect: reads, again: true, run: nhiExport,
		result: exported{},
		does:   "Export the active public keys of an agent as a SPIFFE bundle (trust bundle, JWKS).",
		props:  []prop{{"instance", aString, true}, {"trustDomain", aString, true}},
	},
	blockedTool, blockagesTool, unblockedTool,
	{
		name: "h2a_conductor", older: true, effect: reads, again: true, run: conductorNow,
		result: conducts{},
		does: "Who conducts a workspace (conductor, lead agent), and who is live there; without arguments the workspace of this " +
			"server. conductor null is ordinary: no agent does. Ask before you do something in a workspace for others, and agree " +
			"with its conductor first.",
		props: []prop{{"workspaceId", aString, false}, {"workspacePath", aString, false}},
	},
	{
		name: "h2a_conductor_claim", older: true, effect: acts, again: true, run: conductorClaim,
		result: conducts{},
		does: "Claim the seat of the conductor for your own agent, or queue for it; you have to be live in the workspace, and the claim ends with your session. " +
			"Answers with who conducts then.",
		props: []prop{{"instance", aString, true}, {"workspaceId", aString, false}, {"workspacePath", aString, false}},
	},
	{
		name: "h2a_conductor_release", older: true, effect: ends, again: true, run: conductorRelease,
		result: conducts{},
		does:   "Release (give up) what your own agent claims as conductor. Answers with who conducts then.",
		props:  []prop{{"instance", aString, true}, {"workspaceId", aString, false}, {"workspacePath", aString, false}},
	},
	{
		name: "h2a_conductor_launch_check", older: true, effect: reads, again: true, run: conductorCheck,
		result: conductor.CheckView{},
		does:   "Whether a conductor should be launched: no agent conducts and work is stalled. Advice only; nothing is sent or started.",
		props:  []prop{{"workspaceId", aString, false}, {"workspacePath", aString, false}, {"idleMs", aNumber, false}},
	},
	{
		name: "h2a_conductor_launch", older: true, effect: acts, run: conductorLaunch,
		result: conductor.OutcomeView{},
		does:   "Ask a remote agent to start a conductor, where the check advises it; confirm true sends the request in your name, else it is a preview. Starts nothing itself.",
		props: []prop{
			{"workspaceId", aString, false},
			{"workspacePath", aString, false},
			{"idleMs", aNumber, false},
			{"confirm", `{"type":"boolean"}`, false},
			{"remote", aString, false},
			{"instance", aString, false},
		},
	},
	{
		name: "tutti_send", effect: acts, run: speaking(send),
		result: receipt{},
		does: "Send a message to another agent (peer), signed in your name. The answer says whether it was delivered (live), deposited (waits until the agent starts) " +
			"or refused, and reads says when the agent looks at it. With wait it brings the reply, if one comes in time.",
		props: []prop{
			{"to", described(aString, "agent: its name, HOST:LABEL, or the full id HOST:LABEL:ID as tutti_peers lists it"), true},
			{"text", described(aString, "what to say"), true},
			{"thread", described(aString, "thread to go on with; left out, a new one begins"), false},
			{"replyTo", described(aString, "id of the message that this answers"), false},
			waitProp,
		},
	},
	askTool,
	sessionWaitTool,
	{
		name: "tutti_receive", effect: acts, run: speaking(receive),
		result: received{},
		does: "Receive your new messages (mail, inbox), oldest first, and mark them as shown. With wait it waits for the first one. " +
			"They stay until tutti_ack or tutti_reply; with unacknowledged it lists those that were shown and are still there.",
		props: []prop{limitProp, waitProp, {"unacknowledged", described(`{"type":"boolean"}`, "list what was shown before and not acknowledged"), false}},
	},
	{
		name: "tutti_reply", effect: acts, run: speaking(reply),
		result: receipt{},
		does:   "Reply to (answer) a message that you received, in its thread, and acknowledge it.",
		props:  []prop{{"id", described(aString, "id of the message"), true}, {"text", described(aString, "what to say"), true}},
	},
	{
		name: "tutti_ack", effect: acts, again: true, run: ack,
		result: render.OneOf{acked{}, ackedCount{}},
		does:   "Acknowledge messages that are dealt with: they go from your mailbox to the archive.",
		props:  []prop{{"ids", described(someStrings, "ids of the messages"), true}},
	},
	{
		name: "tutti_peers", effect: reads, again: true, run: peersList,
		result: peers{},
		does: "List the other agents (peers) on the bus that you can send to: who is live now, with id, host, name, workspace and scopes; " +
			"with all also those who are registered and not live.",
		props: []prop{
			{"scope", described(aString, "only agents of this scope"), false},
			{"name", described(aString, "part of the display name"), false},
			{"all", `{"type":"boolean"}`, false},
			limitProp, cursorProp,
		},
	},
	{
		name: "tutti_read", effect: reads, again: true, run: looking(readMessage),
		result: shownSlice{},
		does:   "Read the text of one message in slices, wherever it lies: inbox, archive or outbox. Marks nothing.",
		props: []prop{
			{"id", described(aString, "id of the message"), true},
			{"offset", described(aNumber, "byte of the text to begin at; \"nextOffset\" of the answer before"), false},
		},
	},
	{
		name: "tutti_thread", effect: reads, again: true, run: looking(thread),
		result: conversation{},
		does:   "Show a conversation (thread): what you received, took and sent in it, oldest first.",
		props: []prop{
			{"thread", described(aString, "id of the thread, or of a message in it"), true}, limitProp, cursorProp,
		},
	},
	searchTool, lookTool, answerTool, takeTool, listTool, releaseTool,
	{
		name: "tutti_status", effect: reads, again: true, busless: true, run: status,
		result: statusAnswer{},
		does:   "Status: who you are on the bus, how much mail waits, what else waits for you with the command to type next, how many agents are live, whether halt is active, which bus is used.",
	},
}

// lean are the tools that "--tools lean" lists: what a model needs daily. The others are not listed and still answer calls, because
// skills of older programs call them by name.
var lean = map[string]bool{
	"tutti_peers": true, "tutti_send": true, "tutti_reply": true, "tutti_receive": true, "tutti_ack": true, "tutti_read": true,
	"tutti_thread": true, "tutti_status": true, "tutti_ask": true, "tutti_negotiate": true,
	"h2a_blockage_raise": true, "h2a_blockage_list": true, "h2a_blockage_resolve": true,
	"h2a_conductor": true, "h2a_conductor_claim": true, "h2a_conductor_release": true,
}

// shell is the command that does what a tool does, for hints where the tool is not listed.
var shell = map[string]string{
	"h2a_inbox read": `"tutti inbox"`, "h2a_open_negotiation": `"tutti negotiate open"`, "h2a_offer": `"tutti negotiate offer"`,
	"h2a_counteroffer": `"tutti negotiate counter"`, "h2a_stabilize": `"tutti negotiate stabilize"`,
	"tutti_negotiation": `"tutti negotiate show"`, "tutti_negotiate": `"tutti negotiate sign"`,
	"h2a_register_instance": `"tutti register"`, "h2a_session_open": `"tutti connect"`, "h2a_discover_sessions": `"tutti discover"`,
}

// toolName names a tool in a hint: by its name where it is listed, else by the command that does the same.
func (v *server) toolName(tool string) string {
	name, _, _ := strings.Cut(tool, " ")
	if command := shell[tool]; command != "" && !v.lists(name) {
		return command
	}
	return tool
}

// lists tells whether tools/list names a tool.
func (v *server) lists(tool string) bool { return !v.o.lean || lean[tool] }

// offered are the tools of this server.
func (v *server) offered() []wire.Tool {
	var all []wire.Tool
	for i := range tools {
		t := &tools[i]
		all = append(all, wire.Tool{
			Name: t.name, Description: t.does, Schema: t.schema(), Unlisted: !v.lists(t.name),
			// What is taken goes to an archive, so nothing is ever destroyed.
			Whole:    !strings.HasPrefix(t.name, "tutti_"),
			ReadOnly: t.readOnly(), Idempotent: t.again,
			Call: func(ctx context.Context, a *wire.Args) wire.Result { return v.serve(ctx, t, a) },
		})
	}
	return all
}

// readOnly: nothing on the bus is changed. One tool of the older ones reads or writes by an argument.
func (t *tool) readOnly() bool { return t.effect == reads && t.again }

func (t *tool) schema() []byte {
	var o, props canonjson.Object
	var needed []string
	for _, p := range t.props {
		props.Raw(p.name, []byte(p.schema))
		if p.needed {
			needed = append(needed, p.name)
		}
	}
	o.Str("type", "object")
	if len(t.props) == 0 {
		o.Raw("properties", []byte("{}"))
	} else {
		o.Raw("properties", props.Bytes())
	}
	if len(needed) > 0 {
		o.Strs("required", needed)
	}
	return o.Bytes()
}

// A Tool is one that is offered, for lists.
type Tool struct {
	Name, Does string
	Result     any // a zero value of what it answers, or render.OneOf
}

// Tools returns all tools in the order in which they are offered.
func Tools() []Tool {
	all := make([]Tool, len(tools))
	for i := range tools {
		all[i] = Tool{tools[i].name, tools[i].does, tools[i].result}
	}
	return all
}
