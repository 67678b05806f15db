package model_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tutti/internal/core/canonjson"
	"tutti/internal/core/render"
	"tutti/internal/governance/model"
	"tutti/internal/governance/profile"
	"tutti/internal/test/boundtest"
)

// changed is the form with one text in place of another.
func changed(t *testing.T, old, now string) []byte {
	t.Helper()
	form := string(canonjson.Compact(model.Form()))
	if !strings.Contains(form, old) {
		t.Fatalf("the form does not hold %s:\n%s", old, form)
	}
	return []byte(strings.Replace(form, old, now, 1))
}

func check(t *testing.T, raw []byte, id string) *model.Result {
	t.Helper()
	r, err := model.Check(raw, id)
	if err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	return r
}

func TestFormIsComplete(t *testing.T) {
	t.Parallel()
	r := check(t, model.Form(), "")
	if !r.OK() || len(r.Findings) != 0 || r.Profile != "D_SAFE" || len(r.Nearest) != 4 || r.Nearest[0].Profile != "D_SAFE" || len(r.Nearest[0].Differences) != 0 {
		t.Errorf("%+v", r)
	}
	if len(model.Grid) != 10 {
		t.Errorf("%d questions", len(model.Grid))
	}
	for _, p := range model.Library {
		if _, err := profile.Named(p.Nearest); err != nil {
			t.Errorf("pattern %s: %v", p.ID, err)
		}
	}
}

// TestMissingAnswers takes away each answer in turn.
func TestMissingAnswers(t *testing.T) {
	t.Parallel()
	for _, q := range model.Grid {
		r := check(t, canonjson.Delete(model.Form(), q.Key), "")
		if r.OK() || r.Answered[q.Key] || !slices.ContainsFunc(r.Findings, func(f model.Finding) bool { return f.Code == "unanswered" && f.Subject == q.Key }) {
			t.Errorf("without %s: %+v", q.Key, r)
		}
		r = check(t, canonjson.Set(model.Form(), q.Key, []byte("[]")), "")
		if r.Answered[q.Key] != q.Empty {
			t.Errorf("%s is empty: answered %v", q.Key, r.Answered[q.Key])
		}
	}
}

func TestFindings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ code, weight, old, now string }{
		{"scope-signs", model.Breach, `"signers":["human:owner"`, `"signers":["scope:build"`},
		{"scope-signs", model.Breach, `"id":"scope:build","within"`, `"id":"human:owner","within"`},
		{"engagement-is-scope", model.Breach, `"id":"eng:build"`, `"id":"scope:build"`},
		{"engagement-is-scope", model.Breach, `"id":"eng:build","scope":"scope:build"`, `"id":"eng:build"`},
		{"unowned", model.Breach, `"within":"scope:service","principal":"human:owner"`, `"within":"scope:service"`},
		{"unowned", model.Breach, `"within":"scope:service","principal":"human:owner"`, `"within":"scope:service","principal":"claude:lead"`},
		{"unowned", model.Breach, `"roles":["CONDUCTOR"]`, `"owns":["it"],"roles":["CONDUCTOR"]`},
		{"control-owns", model.Breach, `"roles":["CONTROL"]`, `"owns":["it"],"roles":["CONTROL"]`},
		{"policy-layer", model.Breach, `"agreements":[`, `"agreements":[{"kind":"POLICY","id":"scope:build","scope":"scope:service","rule":"r","sourceAuthority":"x","adoptionMode":"imposed"},`},
		{"rule-apart", model.Remark, `"agreements":[`, `"agreements":[{"kind":"POLICY","id":"pol:1","scope":"scope:build","rule":"r","sourceAuthority":"x","adoptionMode":"ratified"},{"kind":"ENGAGEMENT","id":"e:2","scope":"scope:build","charter":{},"roleBindings":[],"controls":[],"policies":["pol:1"],"successCriteria":["x"]},`},
		{"agent-signs", model.Breach, `"roles":["AGENTS"]`, `"signs":true,"roles":["AGENTS"]`},
		{"agent-signs", model.Breach, `"signers":["human:owner"`, `"signers":["gemini:review"`},
		{"agent-signs", model.Open, `{"instance":"codex:build","role":"AGENTS"`, `{"instance":"human:owner","role":"AGENTS"`},
		{"mandataire-judges", model.Breach, `"roles":["PRINCIPAL","EXECUTIF"]`, `"roles":["MANDATAIRE"]`},
		{"incompetent-authority", model.Breach, `"scopes":["scope:service"],"signs":true,"owns"`, `"scopes":["scope:far"],"signs":true,"owns"`},
		{"coined", model.Breach, `"roles":["CONTROL"]`, `"roles":["AUDITOR"]`},
		{"coined", model.Breach, `"kind":"ENGAGEMENT"`, `"kind":"PROMISE"`},
		{"coined", model.Breach, `"authorityKind":"PRINCIPAL"`, `"authorityKind":"BOSS"`},
		{"coined", model.Breach, `"channel":"decide"`, `"channel":"shout"`},
		{"coined", model.Breach, `"role":"CONDUCTOR","scope"`, `"role":"BOSS","scope"`},
		{"unknown", model.Breach, `"id":"gemini:review"`, `"id":"Claude:Lead"`},
		{"unknown", model.Breach, `"id":"codex:build"`, `"id":"nobody:x~helper"`},
		{"unknown", model.Breach, `"target":"human:owner"`, `"target":"human:other"`},
		{"unknown", model.Breach, `{"id":"scope:service","principal"`, `{"id":"scope:service","within":"scope:build","principal"`},
		{"unknown", model.Breach, `"within":"scope:service"`, `"within":"scope:none"`},
		{"unknown", model.Breach, `"by":"gemini:review"`, `"by":"gemini:other"`},
		{"fork", model.Remark, `"within":"scope:service","principal":"human:owner"`, `"within":"scope:service","principal":["human:owner","human:owner"]`},
		{"draft", model.Open, `"successCriteria":["all tests pass"],`, ``},
		{"collapse", model.Breach, `"charter":{`, `"rule":"no","charter":{`},
		{"profile", model.Open, `"cadence":"daily"`, `"cadence":"ad-hoc"`},
		{"profile", model.Open, `"disclosure":"redacted-view"`, `"disclosure":"denied"`},
		{"profile", model.Open, `"decider":"PRINCIPAL"`, `"decider":"QUORUM"`},
		{"profile", model.Open, `"jurisdiction":"private-contract"`, `"jurisdiction":["private-contract","temporal"]`},
		{"profile", model.Open, `"contractual","federated","local"]`, `"contractual","local","federated"]`},
	} {
		r := check(t, changed(t, c.old, c.now), "")
		if !slices.ContainsFunc(r.Findings, func(f model.Finding) bool { return f.Code == c.code && f.Weight == c.weight && f.Text != "" }) {
			t.Errorf("%s instead of %s: want %s %s in %+v", c.now, c.old, c.weight, c.code, r.Findings)
		}
		if c.weight != model.Remark && r.OK() {
			t.Errorf("%s: ok", c.now)
		}
	}
}

func TestCheckProfile(t *testing.T) {
	t.Parallel()
	r := check(t, model.Form(), "B")
	var said []string
	for _, f := range r.Findings {
		said = append(said, f.Text)
	}
	all := strings.Join(said, "\n")
	if r.Profile != "B_ECOSYSTEM" || !strings.Contains(all, "MANDATAIRE") || !strings.Contains(all, `"daily"`) || !strings.Contains(all, `"PRINCIPAL"`) {
		t.Errorf("%s:\n%s", r.Profile, all)
	}
	var unknown *profile.UnknownError
	if _, err := model.Check(model.Form(), "Z"); !errors.As(err, &unknown) {
		t.Errorf("an unknown profile: %v", err)
	}
	if got := check(t, canonjson.Delete(model.Form(), "profile"), ""); got.Profile != "" || !got.OK() || !strings.HasPrefix(string(render.JSON(got.View())), `{"ok":true,"profile":null,`) {
		t.Errorf("without a profile: %s", render.JSON(got.View()))
	}
}

func TestExtract(t *testing.T) {
	t.Parallel()
	const object = `{"actors":[]}`
	for name, text := range map[string]string{
		"alone":      " \n" + object + "\n",
		"with a BOM": "\xef\xbb\xbf" + object,
		"in a page":  "# Title\n\n```mermaid\nflowchart\n```\n\n```json\n{\"x\":1}\n```\n\n```json\n" + object + "\n```\nmore",
		"with tilde": "~~~\n" + object + "\n~~~",
		"with CR":    "```json\r\n" + object + "\r\n```\r\n",
		"nested":     "````json\n```\n" + object + "\n````\n```json\n" + object + "\n```",
	} {
		if got, err := model.Extract([]byte(text)); err != nil || string(got) != object {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for name, text := range map[string]string{
		"empty": "", "prose": "# Title\n", "open": "```json\n" + object, "another object": "```json\n{}\n```", "broken": "```json\n{\"actors\":[}\n```",
		"broken alone": "{", "an array": "[]", "too large": strings.Repeat("x", model.MaxProposal+1),
	} {
		if got, err := model.Extract([]byte(text)); err == nil {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func FuzzProposal(f *testing.F) {
	f.Add([]byte(model.Form()))
	f.Add([]byte("```json\n" + string(model.Form()) + "\n```"))
	f.Add([]byte(`{"actors":[7,{"id":"a~b"}],"scopes":["s",{"id":"t","within":"t"}],"escalations":[{"target":"a","scope":"t"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		raw, err := model.Extract(data)
		if err != nil {
			return
		}
		r, err := model.Check(raw, "")
		if err != nil {
			return
		}
		if !canonjson.Valid(render.JSON(r.View())) {
			t.Errorf("no JSON: %s", render.JSON(r.View()))
		}
	})
}

// TestLargeProposal: a megabyte of what is alike is checked in a small part of a second; the limit is generous.
func TestLargeProposal(t *testing.T) {
	t.Parallel()
	if boundtest.Race {
		t.Skip("one goroutine: the detector sees no race in it and makes the time say nothing")
	}
	many := func(member, format string) string {
		var b strings.Builder
		b.WriteString(`{"profile":"A","actors":[{"id":"a:0","roles":["AGENTS"],"scopes":["s:0"]}],"` + member + `":[`)
		for n := 0; b.Len() < model.MaxProposal-200; n++ {
			fmt.Fprintf(&b, format, n, n+1)
		}
		return b.String() + `7]}`
	}
	for name, text := range map[string]string{
		"actors":      many("actors", `{"id":"a:%d","roles":["AGENTS"],"owns":["%d"]},`),
		"mandates":    many("authority", `{"instance":"a:0","role":"AGENTS","rights":["%d%d"]},`),
		"scopes":      many("scopes", `{"id":"s:%d","within":"s:%d","principal":"a:0"},`),
		"ways up":     many("escalations", `{"target":"a:0","scope":"s:%d","authorityKind":"%d"},`),
		"agreements":  many("agreements", `{"kind":"POLICY","id":"%d","policies":["%d"]},`),
		"duties":      many("duties", `{"who":"%d","cadence":"%d"},`),
		"open fences": strings.Repeat("```\n{\n```\n", model.MaxProposal/10),
	} {
		boundtest.Work(t, name, 5*time.Second, func() {
			raw, err := model.Extract([]byte(text))
			if err != nil {
				return
			}
			if r := check(t, raw, ""); len(r.Findings) > model.MaxFindings {
				t.Errorf("%s: %d findings", name, len(r.Findings))
			}
		})
	}
}
