package profile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tutti/internal/governance/declaration"
	"tutti/internal/governance/profile"
)

func sprint(v any) string { return fmt.Sprint(v) }

// good are facts against which no profile has anything.
func good() profile.Facts {
	return profile.Facts{
		Negotiation: "nego:1", Actor: "claude:a", Signers: []string{"claude:a", "claude:b"}, Kind: "ENGAGEMENT",
		Artifact: []byte(`{"kind":"ENGAGEMENT"}`), Roles: func(string) []string { return []string{"CONDUCTOR"} }, Held: func(string) bool { return true },
		Dossier: "sha256:1", Confidence: declaration.Confidence{Level: declaration.Established}, Escalated: func(string) bool { return false },
	}
}

func TestGateAcceptsValid(t *testing.T) {
	t.Parallel()
	for _, p := range profile.All() {
		for _, step := range profile.Steps {
			if got := p.Check(step, good()); len(got) != 0 {
				t.Errorf("%s, %s: %v", p.ID, step, got)
			}
			if len(p.Gates(step)) == 0 {
				t.Errorf("%s demands nothing before %s", p.ID, step)
			}
		}
	}
}

// refused names the profiles that refuse, by their letters.
func refused(t *testing.T, step profile.Step, gate string, f profile.Facts) string {
	t.Helper()
	var by string
	for _, p := range profile.All() {
		got := p.Check(step, f)
		for _, r := range got {
			if r.Gate != gate || r.Reason == "" || !strings.HasPrefix(r.Command, "tutti ") || strings.ContainsAny(r.Reason+r.Command, "\x00\n\x1b") {
				t.Errorf("%s, %s: %+v, want it from gate %s with something to type", p.ID, step, r, gate)
			}
		}
		if len(got) > 0 {
			by += p.Track
		}
	}
	return by
}

func TestGateArtifact(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ gate, artifact, by string }{
		{"adoption", `{"kind":"POLICY","adoptionMode":"imposed"}`, "B"},
		{"adoption", `{"kind":"POLICY","adoptionMode":"contractual"}`, "C"},
		{"adoption", `{"kind":"POLICY","adoptionMode":7}`, "ABCD"},
		{"adoption", `{"kind":"CONTRACT","adoptionMode":7}`, ""},
		{"disclosure", `{"disclosure":"full-view"}`, "B"},
		{"disclosure", `{"disclosure":{"mode":"denied"}}`, "ABCD"},
		{"disclosure", `{"disclosureMode":"evidence-package"}`, ""},
		{"disclosure", `{"disclosureMode":"\u001b[31mred"}`, "ABCD"},
		{"cadence", `{"obligations":[{"cadence":"daily"}]}`, "BC"},
		{"cadence", `{"obligations":[{"cadence":"yearly"},{"cadence":"ad-hoc"}]}`, "ACD"},
		{"cadence", `{"obligations":[{"graceDays":7}]}`, "D"},
		{"cadence", `{"obligations":[{"graceDays":-1}]}`, "ABCD"},
		{"cadence", `{"obligations":[{"reportingThresholdDays":4}]}`, "AD"},
		{"cadence", `{"obligations":7}`, ""},
		{"jurisdiction", `{"jurisdiction":"personal"}`, "ABD"},
		{"jurisdiction", `{"jurisdiction":{"kind":"private-contract"}}`, "C"},
		{"recourse", `{"recourse":{"decider":"QUORUM"}}`, "ACD"},
		{"recourse", `{"recourse":{"decider":"EXTERNAL_AUTHORITY"}}`, ""},
		{"precedence", `{"kind":"POLICY","tier":"divine"}`, "ABCD"},
	} {
		f := good()
		f.Artifact = []byte(c.artifact)
		for _, step := range []profile.Step{profile.Offer, profile.Accept, profile.Sign, profile.Stabilise} {
			if by := refused(t, step, c.gate, f); by != c.by {
				t.Errorf("%s of %s: refused by %q, want %q", step, c.artifact, by, c.by)
			}
		}
		if by := refused(t, profile.Open, c.gate, f); by != "" {
			t.Errorf("opening with %s: refused by %q", c.artifact, by)
		}
	}
}

func TestGateRoles(t *testing.T) {
	t.Parallel()
	f := good()
	f.Held = func(role string) bool { return role != "MANDATAIRE" }
	for _, step := range []profile.Step{profile.Open, profile.Stabilise} {
		if by := refused(t, step, "roles", f); by != "ABC" {
			t.Errorf("%s without a MANDATAIRE: refused by %q", step, by)
		}
	}
	f.Held = nil
	if by := refused(t, profile.Open, "roles", f); by != "ABCD" {
		t.Errorf("when nothing is known of roles: refused by %q", by)
	}
	f = good()
	f.Kind = "POLICY"
	if by := refused(t, profile.Open, "signers", f); by != "ABCD" {
		t.Errorf("conductors who are to sign a policy: refused by %q", by)
	}
}

func TestGateConflict(t *testing.T) {
	t.Parallel()
	conflict := declaration.Posture{Subject: "Claude:A", Conflict: declaration.Conflict, Criteria: []string{declaration.IsSigner}}
	f := good()
	f.Postures = []declaration.Posture{conflict}
	for _, step := range []profile.Step{profile.Accept, profile.Sign, profile.Stabilise} {
		if by := refused(t, step, "conflict", f); by != "ABCD" {
			t.Errorf("%s with a conflict: refused by %q", step, by)
		}
	}
	f.Actor = "claude:b"
	if by := refused(t, profile.Sign, "conflict", f); by != "" {
		t.Errorf("the other signer, who has none: refused by %q", by)
	}
	if by := refused(t, profile.Stabilise, "conflict", f); by != "ABCD" {
		t.Errorf("stabilising: refused by %q", by)
	}
	f.Escalated = func(s string) bool { return s == "Claude:A" }
	if by := refused(t, profile.Stabilise, "conflict", f); by != "" {
		t.Errorf("escalated: refused by %q", by)
	}
	f.Confidence.Undisclosed = []string{"claude:a"}
	if by := refused(t, profile.Stabilise, "conflict", f); by != "ABCD" {
		t.Errorf("flagged, and silent: refused by %q", by)
	}
}

func TestGateAttention(t *testing.T) {
	t.Parallel()
	f := good()
	f.Confidence.Missing, f.Confidence.Stale = []string{"claude:b", "claude:a"}, []string{"claude:a"}
	for _, step := range []profile.Step{profile.Sign, profile.Stabilise} {
		if by := refused(t, step, "attention", f); by != "ABCD" {
			t.Errorf("%s unattested: refused by %q", step, by)
		}
	}
	got := profile.All()[3].Check(profile.Sign, f)
	want := "tutti attest-comprehension --negotiation nego:1 --instance claude:a --dossier sha256:1"
	if len(got) != 1 || got[0].Command != want || !strings.Contains(got[0].Reason, "older dossier") {
		t.Errorf("got %+v, want %s", got, want)
	}
	f.Confidence.Missing = []string{"claude:b"}
	if by := refused(t, profile.Sign, "attention", f); by != "" {
		t.Errorf("signing, when another has not attested: refused by %q", by)
	}
}

// TestGateQuotes: a name from a stranger is one word of a command, as it is, or is left out where it would not be shown as it is.
func TestGateQuotes(t *testing.T) {
	t.Parallel()
	f := good()
	f.Negotiation, f.Actor = "$(rm -rf ~) it's", "a;b"
	f.Confidence.Missing = []string{"a;b", "-x", "c\u202eb"}
	var got []string
	for _, r := range profile.All()[0].Check(profile.Stabilise, f) {
		if strings.HasPrefix(r.Command, "tutti attest-comprehension") {
			got = append(got, r.Command)
		}
	}
	const head = `tutti attest-comprehension --negotiation '$(rm -rf ~) it'\''s' --instance `
	want := []string{head + `'a;b' --dossier sha256:1`, head + "... --dossier sha256:1", head + "... --dossier sha256:1"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestGateFaultLimit(t *testing.T) {
	t.Parallel()
	f := good()
	f.Artifact = []byte(`{"obligations":[` + strings.Repeat(`{"cadence":"x"},`, 60000) + `{}]}`)
	if got := profile.All()[0].Check(profile.Offer, f); len(got) != 20 {
		t.Errorf("%d refusals", len(got))
	}
}
