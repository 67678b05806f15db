package declaration_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"tutti/internal/core/canonjson"
	"tutti/internal/governance/declaration"
	"tutti/internal/test/boundtest"
)

func members(t *testing.T, text string) map[string]json.RawMessage {
	t.Helper()
	var all map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func without(t *testing.T, text, name string) string {
	t.Helper()
	return string(canonjson.Delete([]byte(text), name))
}

// judge asks everything that looks into an artifact or the body of an entry.
func judge(raw []byte) (artifact, separate bool) {
	artifact = len(declaration.Guard(raw)) == 0
	separate = declaration.Separate(raw).OK
	i, err := declaration.ParseInterest(raw)
	p := declaration.Panel{Signers: []string{"a:b"}, DecisionScopes: declaration.DecisionScopes("s", raw)}
	if err == nil {
		p.Declarations = []declaration.Interest{i}
	}
	d := declaration.Compile(declaration.Subject{ID: "n", Scope: "s", Artifact: raw, Panel: p})
	_, _ = d.Hash()
	_, _ = declaration.Attests(raw, nil, nil)
	_, _ = declaration.Flag("CONTROL", raw)
	_ = declaration.Escalate(declaration.RoutesOf(raw), declaration.Request{Scope: "s", Channel: "alert", Domain: "d"}, "")
	return artifact, separate
}

func FuzzArtifact(f *testing.F) {
	for _, text := range whole {
		f.Add([]byte(text))
	}
	f.Add([]byte(`{"kind":"declaration-interet","subject":"a:b","interets":["x"],"bindings":["s"],"at":"now"}`))
	f.Add([]byte(`{"scope":[[{"scope":"x"}]],"aval":{"scope":{}},"escalations":[{"target":"a","channel":7}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		artifact, separate := judge(raw)
		if separate && !artifact {
			t.Errorf("two judgements of %s: separate, and not whole", raw)
		}
		if artifact {
			if _, err := canonjson.Covered(raw); err != nil {
				t.Errorf("%s is whole and cannot be signed: %v", raw, err)
			}
		}
	})
}

// TestLargeInput: a megabyte of whatever makes the most of itself is judged in a small part of a second. The limit is generous,
// for machines with other things to do.
func TestLargeInput(t *testing.T) {
	t.Parallel()
	if boundtest.Race {
		t.Skip("one goroutine: the detector sees no race in it and makes the time say nothing")
	}
	fill := func(head, piece, tail string) string {
		n := (declaration.MaxArtifact - len(head) - len(tail) - 1) / len(piece)
		return head + strings.Repeat(piece, n) + tail
	}
	distinct := func(head, tail string) string {
		var b strings.Builder
		b.WriteString(head)
		for n := 0; b.Len() < declaration.MaxArtifact-40; n++ {
			b.WriteString(`{"scope":"s`)
			b.WriteString(time.Duration(n).String())
			b.WriteString(`"},`)
		}
		return b.String() + "1" + tail
	}
	for name, text := range map[string]string{
		"scopes":     distinct(`{"kind":"ENGAGEMENT","aval":[`, `]}`),
		"bindings":   fill(`{"kind":"ENGAGEMENT","id":"e","scope":"s","charter":{},"controls":[],"policies":[],"successCriteria":[],"roleBindings":[`, `{},`, `1]}`),
		"good":       fill(`{"kind":"ENGAGEMENT","id":"e","scope":"s","charter":{},"controls":[],"policies":[],"successCriteria":[],"roleBindings":[`, `{"role":"AGENTS","instance":""},`, `{"role":"AGENTS","instance":""}]}`),
		"parties":    fill(`{"kind":"CONTRACT","id":"e","scope":"s","parties":[`, `"",`, `""]}`),
		"doubles":    fill(`{"kind":"CONTRACT",`, `"a":1,`, `"b":1}`),
		"routes":     fill(`{"escalations":[`, `{"target":"a"},`, `1]}`),
		"interests":  fill(`{"kind":"declaration-interet","subject":"a:b","at":"x","interets":[`, `"i",`, `"i"]}`),
		"depth":      strings.Repeat(`[`, declaration.MaxArtifact),
		"no JSON":    strings.Repeat("\x00", declaration.MaxArtifact),
		"open ended": fill(`{"kind":"CONTRACT",`, `"a":{"b":`, ``),
	} {
		boundtest.Work(t, fmt.Sprintf("%s: %d bytes", name, len(text)), 10*boundtest.MaxTime, func() { judge([]byte(text)) })
	}
}
