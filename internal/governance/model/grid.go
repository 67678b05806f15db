package model

import (
	"tutti/internal/core/canonjson"
)

// A Question is one of the grid, and the member of a proposal that answers it.
type Question struct {
	Key   string // the member
	Asks  string
	Empty bool // an empty list is an answer: there are none
}

// Grid are the ten questions.
var Grid = []Question{
	{"actors", "Which actors are there, and in which role is each?", false},
	{"scopes", "Which scopes, and which is inside which?", false},
	{"authority", "Who has authority, by what mandate, and who signs for whom?", false},
	{"agreements", "What is agreed: CONTRACT, ENGAGEMENT, POLICY, or something outside the protocol?", false},
	{"duties", "Which obligations, rights and clauses follow?", false},
	{"controls", "What is controlled, by whom, and how is it enforced?", false},
	{"escalations", "Where does a dispute go up to, and what recourse is there?", false},
	{"audit", "What can be audited afterwards, from which records?", false},
	{"deadlocks", "Where could it lock up, and what takes precedence then?", true},
	{"gaps", "What is missing in the protocol?", true},
}

// A Word is one of the vocabulary.
type Word struct {
	Name string `json:"name"`
	Is   string `json:"is"`
}

// Words are those beside the roles.
var Words = []Word{
	{"SCOPE", "the limits in which roles, rules and authority hold"},
	{"CONTRACT", "what parties owe each other; the frame for engagements"},
	{"POLICY", "a rule that lasts, with the authority that it comes from"},
	{"ENGAGEMENT", "work under a charter, with roles bound to it and criteria of success"},
	{"MANDATE", "the power of one instance to act in a role, with rights, for a scope"},
	{"SLOT", "a place for a role that is still to be filled"},
	{"BINDING", "ties an instance to a role, or a subagent to its parent"},
	{"NEGOTIATION", "offers and counter-offers over an artifact, up to the required signatures"},
	{"AUTHORITY", "who may decide: one instance, or a quorum with its threshold"},
}

// RoleWords are the roles.
var RoleWords = []Word{
	{"PRINCIPAL", "owns; answers for the scope; last word inside it"},
	{"EXECUTIF", "decides on behalf of a principal, and signs what it may sign"},
	{"CONDUCTOR", "runs the work: divides it, assigns it, brings it together"},
	{"AGENTS", "do the work; AI agents that work is delegated to are here"},
	{"CONTROL", "checks, audits, vetoes; owns nothing"},
	{"MANDATAIRE", "presents a matter and records it for a party; does not judge"},
}

// Invariants are what always holds, each with the code by which a finding names it.
var Invariants = []Word{
	{"scope-signs", "A scope signs nothing: an instance with a mandate signs, for a party or for a scope."},
	{"engagement-is-scope", "An engagement has a scope and is none; each has a name of its own."},
	{"unowned", "Nothing is owned without a PRINCIPAL."},
	{"control-owns", "CONTROL may audit and veto; it owns nothing."},
	{"policy-layer", "A POLICY is a lasting rule, on its own or as a clause, and no layer of the organisation."},
	{"rule-apart", "A rule is a clause of its engagement, unless it is imposed from outside or cuts across several."},
	{"agent-signs", "Delegated AI agents act by MANDATE and BINDING, or are reached through their parent, and do not sign by default."},
	{"mandataire-judges", "A MANDATAIRE presents and records, and never decides who is right."},
	{"incompetent-authority", "Escalation goes to the authority that is competent in that scope."},
	{"coined", "No role and no kind of artifact is coined: what fits none is a gap."},
}

// A Pattern is a case of the library to begin with.
type Pattern struct {
	ID, Name, Nearest string // Nearest: a profile
	Is, Ask           string
}

// Library are the patterns.
var Library = []Pattern{
	{
		"A", "enterprise", "A_ENTERPRISE",
		"Nested scopes: company, department, team. A principal at the top hands down mandates; executives sign, conductors run teams, control audits across. Policies come from above.",
		"Where does a mandate end?",
	},
	{
		"B", "ecosystem of organisations", "B_ECOSYSTEM",
		"Peers without a common head, each with a principal and a scope; one more scope holds what is shared, by a contract of all. A quorum decides, and evidence stands in for insight.",
		"Who answers for the shared scope?",
	},
	{
		"C", "government and citizen", "C_GOVERNMENT_CITIZEN",
		"A public authority imposes policies and is bound by them; the citizen is principal of their own affairs, often with a mandataire. Recourse leads outside.",
		"Which decisions may an agent prepare, and who takes them?",
	},
	{
		"D", "one principal, fifteen conductors", "D_SAFE",
		"One owner, many streams of work at a time, each conductor with an engagement and a scope of its own. What they share needs precedence and a way up, for the principal is the bottleneck.",
		"What may two conductors settle between themselves?",
	},
	{
		"E", "agentic squad that delivers", "D_SAFE",
		"A person as principal, an agent as conductor, agents that build, a control that reviews and can veto. Short cadence, mandates that expire.",
		"What is never done without the person?",
	},
}

// Notes go with all patterns.
var Notes = []Word{
	{"SysML v2", "a scope or an instance maps to a part, a role to a usage, a contract to a requirement with those who satisfy it, an engagement to an action"},
	{"NHI", "each agent has an id and keys of its own, a person who answers for it, a mandate that ends, and a way to be taken out of service"},
}

// Form returns a proposal that is whole, to be changed: one principal, an agent that conducts, one that builds, a control.
func Form() []byte { return canonjson.Indent([]byte(form)) }

const form = `{"title":"A squad that delivers one service","profile":"D_SAFE","pattern":"E",
"actors":[
{"id":"human:owner","kind":"person","roles":["PRINCIPAL","EXECUTIF"],"scopes":["scope:service"],"signs":true,"owns":["the service"]},
{"id":"claude:lead","kind":"agent","roles":["CONDUCTOR"],"scopes":["scope:service"],"signs":true},
{"id":"codex:build","kind":"agent","roles":["AGENTS"],"scopes":["scope:build"]},
{"id":"gemini:review","kind":"agent","roles":["CONTROL"],"scopes":["scope:service"]}],
"scopes":[{"id":"scope:service","principal":"human:owner"},{"id":"scope:build","within":"scope:service","principal":"human:owner"}],
"authority":[
{"instance":"claude:lead","role":"CONDUCTOR","scope":"scope:service","rights":["sign"],"expiresAt":"2027-01-01T00:00:00.000Z"},
{"instance":"codex:build","role":"AGENTS","scope":"scope:build","rights":["write"]}],
"agreements":[
{"kind":"ENGAGEMENT","id":"eng:build","scope":"scope:build","charter":{"goal":"build the service"},"roleBindings":[{"role":"AGENTS","instance":"codex:build"}],"controls":["gemini:review"],"policies":[],"successCriteria":["all tests pass"],"signers":["human:owner","claude:lead"]}],
"duties":[{"who":"codex:build","what":"report what was built","cadence":"daily"}],
"controls":[{"by":"gemini:review","what":"every change","how":"veto before it is merged"}],
"escalations":[{"scope":"scope:build","target":"human:owner","authorityKind":"PRINCIPAL","channel":"decide"}],
"recourse":{"decider":"PRINCIPAL"},
"audit":["the journal of each negotiation"],
"deadlocks":[],"gaps":[],
"disclosure":"redacted-view","jurisdiction":"private-contract",
"precedence":["public-authority","contractual","federated","local"]}`
