package declaration_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/signature"
	"tutti/internal/governance/declaration"
)

// whole is an artifact of each kind with nothing wrong in it.
var whole = map[string]string{
	declaration.Contract:        `{"kind":"CONTRACT","id":"c:1","scope":"s","parties":["a:b","c:d"],"policies":[],"engagements":[],"clauses":[{"x":1}],"signatures":[{"by":"a:b","alg":"ed25519","value":"AA=="}],"mine":1}`,
	declaration.Policy:          `{"kind":"POLICY","id":"p:1","scope":"s","rule":"no","sourceAuthority":"board","adoptionMode":"imposed"}`,
	declaration.Engagement:      `{"kind":"ENGAGEMENT","id":"e:1","scope":"s","charter":{},"roleBindings":[{"role":"AGENTS","instance":"a:b"}],"controls":[],"policies":[],"successCriteria":["green"]}`,
	declaration.Amendment:       `{"kind":"AMENDMENT","id":"m:1","targetId":"c:1","targetKind":"CONTRACT","baseArtifactHash":"sha256:0","changes":[{"op":"set","path":"/x","value":1}],"signatures":[]}`,
	declaration.Mandate:         `{"kind":"MANDATE","id":"m:1","instance":"a:b","scope":"s","role":"CONDUCTOR","rights":["sign"]}`,
	declaration.Authority:       `{"kind":"AUTHORITY","id":"q:1","authorityKind":"quorum","members":["a:b","c:d"],"threshold":2}`,
	declaration.EnforcementPlan: `{"kind":"ENFORCEMENT_PLAN","id":"x:1","scope":"s","controls":[],"escalations":[],"triggers":[]}`,
	declaration.Signature:       `{"kind":"SIGNATURE","by":"a:b","alg":"ed25519","value":"AA=="}`,
}

func TestGuardAcceptsEachKind(t *testing.T) {
	t.Parallel()
	for _, kind := range declaration.Kinds {
		if got := declaration.Guard([]byte(whole[kind])); len(got) != 0 {
			t.Errorf("%s: %q", kind, got)
		}
	}
}

// TestGuardRequiresEachMember takes away each member in turn: what is required must be missed, and nothing else.
func TestGuardRequiresEachMember(t *testing.T) {
	t.Parallel()
	for kind, text := range whole {
		for name := range members(t, text) {
			got := declaration.Guard([]byte(without(t, text, name)))
			if optional := name == "mine"; optional == (len(got) > 0) {
				t.Errorf("%s without %s: %q", kind, name, got)
			}
			if len(got) > 0 && !strings.Contains(strings.Join(got, "\n"), name) {
				t.Errorf("%s without %s: %q does not name it", kind, name, got)
			}
		}
	}
}

func TestGuardRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, artifact, want string }{
		{"no JSON", `{`, "cannot be signed"},
		{"no object", `["CONTRACT"]`, "not an object"},
		{"unknown kind", `{"kind":"CLAUSE"}`, `"CLAUSE" is none of`},
		{"what no signature covers", strings.Replace(whole["POLICY"], `"id"`, `"__proto__":1,"id"`, 1), "__proto__"},
		{"a member twice", strings.Replace(whole["POLICY"], `"id"`, `"rule":"yes","id"`, 1), `"rule" stands twice`},
		{"a member twice in another spelling", strings.Replace(whole["POLICY"], `"id"`, `"\u0072ule":"yes","id"`, 1), `"rule" stands twice`},
		{"an empty id", strings.Replace(whole["POLICY"], `"p:1"`, `""`, 1), "id must be"},
		{"an invalid adoption mode", strings.Replace(whole["POLICY"], "imposed", "assumed", 1), "adoptionMode"},
		{"a quorum of zero", strings.Replace(whole["AUTHORITY"], `:2`, `:0`, 1), "from 1 to the number of members, 2"},
		{"a quorum of more than all", strings.Replace(whole["AUTHORITY"], `:2`, `:3`, 1), "threshold"},
		{"half a member", strings.Replace(whole["AUTHORITY"], `:2`, `:1.5`, 1), "threshold"},
		{"a party that is not a text", strings.Replace(whole["CONTRACT"], `"c:d"`, `7`, 1), "parties must be an array of texts"},
		{"a signature without a value", strings.Replace(whole["CONTRACT"], `"value"`, `"v"`, 1), "signatures[0]: value"},
		{"a binding to no role", strings.Replace(whole["ENGAGEMENT"], "AGENTS", "BOSS", 1), "roleBindings[0]: role"},
		{"a charter that is not an object", strings.Replace(whole["ENGAGEMENT"], `"charter":{}`, `"charter":[]`, 1), "charter must be an object"},
		{"a change without a path", strings.Replace(whole["AMENDMENT"], `"path"`, `"p"`, 1), "changes[0]: path"},
		{"a change of nothing known", strings.Replace(whole["AMENDMENT"], `"CONTRACT"`, `"CLAUSE"`, 1), "targetKind"},
		{"too large", `{"kind":"` + strings.Repeat("x", declaration.MaxArtifact) + `"}`, "at most"},
	} {
		if got := declaration.Guard([]byte(c.artifact)); !strings.Contains(strings.Join(got, "\n"), c.want) {
			t.Errorf("%s: got %q, want %q in it", c.name, got, c.want)
		}
	}
}

func TestGuardFaultLimit(t *testing.T) {
	t.Parallel()
	bad := strings.Replace(whole["AMENDMENT"], `"signatures":[]`, `"signatures":[`+strings.Repeat("1,", 999)+`1]`, 1)
	got := declaration.Guard([]byte(bad))
	if len(got) != declaration.MaxFaults+1 || got[declaration.MaxFaults] != "and more" {
		t.Errorf("%d faults, the last %q", len(got), got[len(got)-1])
	}
}

func TestSeparate(t *testing.T) {
	t.Parallel()
	for kind, profile := range map[string]string{"CONTRACT": "normative-container", "POLICY": "durable-rule", "ENGAGEMENT": "operational-executable"} {
		if s := declaration.Separate([]byte(whole[kind])); !s.OK || s.Kind != kind || s.Profile != profile || len(s.Issues) != 0 {
			t.Errorf("%s: %+v", kind, s)
		}
		for _, o := range declaration.Owns {
			for _, field := range o.Fields {
				s := declaration.Separate([]byte(strings.Replace(whole[kind], "{", `{"`+field+`":[],`, 1)))
				if foreign := o.Kind != kind; foreign && !slices.Contains(s.Issues, field+" belongs into a "+o.Kind+" of its own") || !s.OK != (len(s.Issues) > 0) {
					t.Errorf("%s with %s of %s: %+v", kind, field, o.Kind, s)
				}
			}
		}
	}
	for text, want := range map[string]string{
		`[]`: "it is not an object", `{}`: "kind is missing", `{"kind":"MANDATE"}`: `kind "MANDATE" is none of CONTRACT, POLICY and ENGAGEMENT`,
		`{"kind":"POLICY"}`: "id must be a text with something in it",
	} {
		if s := declaration.Separate([]byte(text)); s.OK || len(s.Issues) == 0 || s.Issues[0] != want {
			t.Errorf("%s: %+v, want %q first", text, s, want)
		}
	}
}

func TestMayAttest(t *testing.T) {
	t.Parallel()
	able := []string{declaration.AttestRight}
	for _, role := range envelope.Roles {
		own := slices.Contains([]string{"PRINCIPAL", "EXECUTIF", "MANDATAIRE"}, role)
		if got := declaration.MayAttest([]string{role}, nil); got != own {
			t.Errorf("%s: %v, want %v", role, got, own)
		}
		if got, want := declaration.MayAttest([]string{role}, able), own || role == "AGENTS"; got != want {
			t.Errorf("%s with the capability: %v, want %v", role, got, want)
		}
	}
	if declaration.MaySign("CLAUSE", envelope.Roles...) || declaration.MaySign("POLICY") {
		t.Error("signing is allowed for an unknown kind, or without a role")
	}
}

func interest(t *testing.T, subject string, interests ...string) declaration.Interest {
	t.Helper()
	i, err := declaration.NewInterest(subject, interests, nil, false, "2026-06-12T10:00:00.000Z")
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// TestConflictIgnoresSpelling: neither a declaration nor a flag is left behind by another spelling of the name.
func TestConflictIgnoresSpelling(t *testing.T) {
	t.Parallel()
	panel := declaration.Panel{
		Declarations: []declaration.Interest{interest(t, "Claude:Ledger:77AA88BB99CC", "shares")},
		Signers:      []string{"claude:ledger:77aa88bb99cc"}, Flagged: []string{"claude:LEDGER:77aa88bb99cc"},
	}
	all := panel.Postures()
	if len(all) != 1 || !slices.Equal(all[0].Criteria, []string{declaration.IsSigner, declaration.FlaggedByAudit}) {
		t.Errorf("postures: %+v", all)
	}
	if !declaration.Biased("CLAUDE:ledger:77aa88bb99cc", all) || declaration.Biased("claude:other", all) {
		t.Error("who presents is not found, or found wrongly")
	}
}

func TestInterest(t *testing.T) {
	t.Parallel()
	i, err := declaration.NewInterest(" claude:a ", []string{" shares ", " "}, []string{"s:1"}, true, "now")
	want := `{"kind":"declaration-interet","subject":"claude:a","interets":["shares"],"bindings":["s:1"],"masqueImpactCollectif":true,"at":"now"}`
	if got := string(i.JSON()); err != nil || got != want {
		t.Errorf("got %s, %v\nwant %s", got, err, want)
	}
	back, err := declaration.InterestBy("Claude:A", []byte(strings.Replace(want, "{", `{"mine":1,`, 1)))
	if err != nil || !strings.Contains(string(back.JSON()), `"mine":1`) || !back.HidesCollective {
		t.Errorf("read back: %+v, %v", back, err)
	}
	if _, err := declaration.InterestBy("claude:b", []byte(want)); !errors.Is(err, declaration.ErrForeign) {
		t.Errorf("a declaration about another agent: %v", err)
	}
	for _, bad := range []string{
		`7`, `{}`, strings.Replace(want, "declaration-interet", "x", 1), strings.Replace(want, `["shares"]`, `"shares"`, 1),
		strings.Replace(want, `true`, `1`, 1), strings.Replace(want, `["s:1"]`, `{}`, 1), strings.Replace(want, `"now"`, `""`, 1),
		strings.Replace(want, `claude:a`, ` `, 1),
	} {
		if _, err := declaration.ParseInterest([]byte(bad)); err == nil {
			t.Errorf("taken for a declaration: %s", bad)
		}
	}
}

func TestFlag(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		role, body string
		want       bool
	}{
		{"CONTROL", `{"subject":"a:b","kind":"postureConflit"}`, true},
		{"CONTROL", `{"subject":"a:b","kind":"conflitInteret"}`, true},
		{"CONTROL", `{"subject":"a:b","postureConflit":"conflit-declarable"}`, true},
		{"CONTROL", `{"subject":"a:b","conflitInteret":true}`, true},
		{"CONTROL", `{"subject":"a:b","conflitInteret":"true"}`, false},
		{"CONTROL", `{"subject":"a:b","postureConflit":"none"}`, false},
		{"CONTROL", `{"subject":7,"kind":"postureConflit"}`, false},
		{"CONTROL", `[]`, false},
		{"AGENTS", `{"subject":"a:b","kind":"postureConflit"}`, false},
	} {
		if _, got := declaration.Flag(c.role, []byte(c.body)); got != c.want {
			t.Errorf("%s %s: %v", c.role, c.body, got)
		}
	}
}

func TestDecisionScopes(t *testing.T) {
	t.Parallel()
	got := declaration.DecisionScopes("s:0",
		[]byte(`{"scope":"s:1","aval":["s:2",{"scope":"s:3"},7,"s:1"],"scopeAval":{"scope":"s:4"}}`), []byte(`7`), []byte(`{"scope":""}`))
	if want := []string{"s:0", "s:1", "s:2", "s:3", "s:4"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAttestation(t *testing.T) {
	t.Parallel()
	key, other := signature.Generate(), signature.Generate()
	hash, err := declaration.HashOf([]byte("# no JSON"))
	body, berr := declaration.Attestation{Subject: "claude:a", Dossier: hash, At: "now"}.Body()
	if err != nil || berr != nil {
		t.Fatal(err, berr)
	}
	sig, err := declaration.SignBody(body, key)
	if err != nil {
		t.Fatal(err)
	}
	keys := func(string) []signature.Public { return []signature.Public{other.Public(), key.Public()} }
	if a, ok := declaration.Attests(body, []signature.Object{{}, sig}, keys); !ok || a.Dossier != hash {
		t.Errorf("not valid: %+v", a)
	}
	many := append(make([]signature.Object, envelope.MaxSignatures), sig)
	if _, ok := declaration.Attests(body, many, keys); ok {
		t.Error("the seventeenth signature was looked at")
	}
	if _, ok := declaration.Attests(body, nil, keys); ok {
		t.Error("valid without a signature")
	}
	for _, bad := range []declaration.Attestation{
		{"", hash, "now"}, {"a", "sha256:0", "now"}, {"a", strings.ToUpper(hash), "now"}, {"a", hash, ""},
	} {
		if _, err := bad.Body(); err == nil {
			t.Errorf("%+v has a body", bad)
		}
	}
}

func TestRely(t *testing.T) {
	t.Parallel()
	signers := []string{"c:2", "c:1", "c:1"}
	both := []declaration.Attested{{"c:1", "new"}, {"C:2", "new"}}
	open := declaration.Panel{Signers: signers, Declarations: []declaration.Interest{interest(t, "c:1", "x")}}.Postures()
	quiet := declaration.Panel{Signers: signers, Flagged: []string{"c:2"}}.Postures()
	none := declaration.Panel{Signers: signers}.Postures()
	for _, c := range []struct {
		name     string
		valid    []declaration.Attested
		postures []declaration.Posture
		flagged  []string
		want     declaration.Confidence
	}{
		{"all attested, no conflict", both, none, nil, declaration.Confidence{Level: "etablie", Dossier: "new"}},
		{"no attestation", nil, none, nil, declaration.Confidence{Level: "non-etablie", Dossier: "new", Missing: []string{"c:1", "c:2"}, Reasons: []string{"attention-not-attested"}}},
		{
			"one attested an older dossier",
			[]declaration.Attested{{"c:1", "old"}, {"c:2", "old"}, {"c:2", "new"}},
			none, nil,
			declaration.Confidence{Level: "non-etablie", Dossier: "new", Missing: []string{"c:1"}, Stale: []string{"c:1"}, Reasons: []string{"attention-not-attested"}},
		},
		{"an open conflict", both, open, nil, declaration.Confidence{Level: "reservee", Dossier: "new", Disclosed: []string{"c:1"}, Reasons: []string{"disclosed-collective-conflict"}}},
		{
			"a flagged agent without a statement", both, quiet,
			[]string{"c:2"},
			declaration.Confidence{Level: "non-etablie", Dossier: "new", Undisclosed: []string{"c:2"}, Reasons: []string{"undisclosed-collective-conflict"}},
		},
		{
			"all at once", nil, append(slices.Clone(open[1:]), quiet...),
			[]string{"c:2"},
			declaration.Confidence{
				Level: "non-etablie", Dossier: "new", Missing: []string{"c:1", "c:2"}, Disclosed: []string{"c:1"}, Undisclosed: []string{"c:2"},
				Reasons: []string{"attention-not-attested", "undisclosed-collective-conflict", "disclosed-collective-conflict"},
			},
		},
	} {
		got := declaration.Rely(signers, "new", c.valid, c.postures, c.flagged)
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s\n got %+v\nwant %+v", c.name, got, c.want)
		}
	}
}

func TestEscalateDomain(t *testing.T) {
	t.Parallel()
	routes := []declaration.Route{{Target: "a:b"}}
	d := declaration.Escalate(routes, declaration.Request{Scope: "s", Channel: "alert", Domain: "cyber"}, "")
	if !d.OK || d.Domain != "" {
		t.Errorf("a route for all domains: %+v", d)
	}
	if d = declaration.Escalate(routes, declaration.Request{Channel: "shout"}, "a:b"); d.OK || len(d.Issues) != 1 {
		t.Errorf("an unknown channel: %+v", d)
	}
}
