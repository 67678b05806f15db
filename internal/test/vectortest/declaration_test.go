package vectortest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"tutti/internal/core/render"

	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/governance/declaration"
)

func authorityMatrix(t *testing.T, c kase) {
	var v struct {
		Kind, Role string
		MaySign    bool
	}
	c.into(t, &v)
	if got := declaration.MaySign(v.Kind, v.Role); got != v.MaySign {
		t.Errorf("MaySign(%s, %s): got %v, want %v", v.Kind, v.Role, got, v.MaySign)
	}
}

// sameJSON compares two texts as values.
func sameJSON(t *testing.T, what string, got, want []byte) {
	t.Helper()
	g, err := canonjson.Canonical(got)
	if err != nil {
		t.Fatalf("%s is not valid JSON: %v\n%s", what, err, got)
	}
	w, err := canonjson.Canonical(want)
	if err != nil || string(g) != string(w) {
		t.Errorf("%s\n got %s\nwant %s, %v", what, g, w, err)
	}
}

// interests reads declarations as a journal holds them.
func interests(t *testing.T, bodies []json.RawMessage) []declaration.Interest {
	t.Helper()
	var all []declaration.Interest
	for _, b := range bodies {
		i, err := declaration.ParseInterest(b)
		if err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		all = append(all, i)
	}
	return all
}

func conflictPosture(t *testing.T, c kase) {
	var v struct {
		Input struct {
			Subject                            string
			Declarations                       []json.RawMessage
			OwnScopes, DecisionScopes, Signers []string
			ControleFlags                      []string
		}
		Expected json.RawMessage
	}
	c.into(t, &v)
	panel := declaration.Panel{
		Declarations: interests(t, v.Input.Declarations), DecisionScopes: v.Input.DecisionScopes,
		Signers: v.Input.Signers, Flagged: v.Input.ControleFlags,
		Scopes: func(string) []string { return v.Input.OwnScopes },
	}
	sameJSON(t, "posture", render.JSON(panel.Of(v.Input.Subject).View()), v.Expected)
}

func decisionDossier(t *testing.T, c kase) {
	var v struct {
		Record struct {
			ID, Scope, Subject, Status string
			Parties, RequiredSigners   []string
		}
		OfferedArtifacts, Declarations []json.RawMessage
		SubjectScopes                  map[string][]string
		ControleFlags                  []string
		Dossier                        json.RawMessage
		DossierHash                    string
	}
	c.into(t, &v)
	var hashes []string
	for _, a := range v.OfferedArtifacts {
		hash, err := canonjson.Hash(a)
		if err != nil {
			t.Fatal(err)
		}
		hashes = append(hashes, hash)
	}
	at := len(hashes) - 1 // the latest
	d := declaration.Compile(declaration.Subject{
		ID: v.Record.ID, Scope: v.Record.Scope, Artifact: v.OfferedArtifacts[at], Hash: hashes[at],
		Panel: declaration.Panel{
			Declarations: interests(t, v.Declarations), Signers: v.Record.RequiredSigners, Flagged: v.ControleFlags,
			Scopes: func(subject string) []string { return v.SubjectScopes[subject] },
		},
	})
	sameJSON(t, "dossier", d.JSON(), v.Dossier)
	if got, err := d.Hash(); err != nil || got != v.DossierHash {
		t.Errorf("hash of the dossier: got %s, %v; want %s", got, err, v.DossierHash)
	}
}

func comprehensionAttestation(t *testing.T, c kase) {
	var v struct {
		Body       json.RawMessage
		SignedText string
		Signatures []signature.Object
		Checks     []struct {
			Key, Change string
			OK          bool
		}
	}
	c.into(t, &v)
	if got, err := canonjson.Canonical(v.Body); err != nil || string(got) != v.SignedText {
		t.Errorf("signed text: got %s, %v; want %s", got, err, v.SignedText)
	}
	for _, check := range v.Checks {
		body, signatures := v.Body, slices.Clone(v.Signatures)
		where, what, _ := strings.Cut(check.Change, " = ")
		switch where {
		case "":
		case "body.at":
			body = canonjson.Set(body, "at", canonjson.AppendString(nil, what))
		case "signatures[0].by":
			signatures[0].By = what
		default:
			t.Fatalf("no test knows the change %q", check.Change)
		}
		_, ok := declaration.Attests(body, signatures, func(string) []signature.Public {
			_, public := pair(t, check.Key)
			return []signature.Public{public}
		})
		if ok != check.OK {
			t.Errorf("with the key of %s and %q: got %v, want %v", check.Key, check.Change, ok, check.OK)
		}
	}
}

// A routed is what both tables of escalation expect of a case.
type routed struct {
	OK                            bool
	Target, AuthorityKind, Source string
	Score                         *int
}

func wantRouted(t *testing.T, routes json.RawMessage, q declaration.Request, fallback string, want routed) {
	t.Helper()
	plan := append(append([]byte(`{"escalations":`), routes...), '}')
	got := declaration.Escalate(declaration.RoutesOf(plan), q, fallback)
	if got.OK != want.OK || got.Target != want.Target || got.Authority != want.AuthorityKind || got.Source != want.Source ||
		want.Score != nil && got.Score != *want.Score {
		t.Errorf("%+v by %s, else %q\n got %+v\nwant %+v", q, routes, fallback, got, want)
	}
}

func escalationTargetCore(t *testing.T, c kase) {
	var v struct {
		Routes json.RawMessage
		Cases  []struct {
			Request           declaration.Request
			FallbackPrincipal string
			Expected          routed
		}
	}
	c.into(t, &v)
	for _, k := range v.Cases {
		wantRouted(t, v.Routes, k.Request, k.FallbackPrincipal, k.Expected)
	}
}

func escalationTargetOps(t *testing.T, c kase) {
	var v struct {
		Name              string
		Routes            json.RawMessage
		Request           declaration.Request
		FallbackPrincipal string
		Expect            routed
	}
	c.into(t, &v)
	wantRouted(t, v.Routes, v.Request, v.FallbackPrincipal, v.Expect)
}
