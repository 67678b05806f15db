package vectortest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"tutti/internal/core/render"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/governance/org"
	"tutti/internal/governance/sysml"
)

func orgValidate(t *testing.T, c kase) {
	var v struct {
		Name     string
		Manifest json.RawMessage
		Expect   struct {
			OK     bool
			Errors []string
		}
	}
	c.into(t, &v)
	o, err := org.Parse(v.Manifest)
	if err != nil {
		t.Fatalf("%s: %v", v.Manifest, err)
	}
	if got := o.Problems(); !slices.Equal(got, v.Expect.Errors) || (len(got) == 0) != v.Expect.OK {
		t.Errorf("%s: got %q, want %q", v.Manifest, got, v.Expect.Errors)
	}
}

// sysmlVerify makes the envelopes that the cases tell of in words.
func sysmlVerify(t *testing.T, c kase) {
	var v struct {
		Name   string
		Exit   int
		Expect struct {
			OK, SignatureVerified, HasRef, ContentVerified bool
			ContentVerifiedPresent                         *bool
			Reason, ReasonPrefix                           string
		}
	}
	c.into(t, &v)
	element := `{"b":1.0,"a":"part"}`
	hash, err := canonjson.Hash([]byte(element))
	if err != nil {
		t.Fatal(err)
	}
	const base = `"apiBase":"https://models.example"`
	whole := `{"kind":"sysmlv2","project":"p","commit":"c","element":"e",` + base + `,"elementHash":"` + hash + `"}`
	answer := func(context.Context, string) ([]byte, error) { return []byte(element), nil }
	type ask struct {
		ref     string // "": none
		content bool
		get     func(context.Context, string) ([]byte, error)
	}
	notFound := func(context.Context, string) ([]byte, error) { return nil, errors.New("HTTP 404") }
	asks := map[string][]ask{
		"no body.subject.sysmlRef":          {{}},
		"ref without commit":                {{ref: `{"kind":"sysmlv2","project":"p"}`}},
		"ref with empty element string":     {{ref: `{"kind":"sysmlv2","project":"p","commit":"c","element":""}`}},
		"good signature, commit trust only": {{ref: `{"kind":"sysmlv2","project":"p","commit":"c"}`}, {ref: whole}},
		"content check without elementHash": {{ref: `{"kind":"sysmlv2","project":"p","commit":"c","element":"e",` + base + `}`, content: true, get: answer}},
		"content check, hash equal":         {{ref: whole, content: true, get: answer}},
		"content check, HTTP 404 or no api base or no element id": {
			{ref: whole, content: true, get: notFound},
			{ref: strings.Replace(whole, base, `"x":1`, 1), content: true, get: answer},
			{ref: strings.Replace(whole, `"element":"e",`, "", 1), content: true, get: answer},
		},
	}[v.Name]
	if len(asks) == 0 {
		t.Fatalf("no envelope is known for %q", v.Name)
	}
	key := signature.Generate()
	for _, a := range asks {
		body := `{"kind":"message"}`
		if a.ref != "" {
			body = `{"kind":"message","subject":{"sysmlRef":` + a.ref + `}}`
		}
		raw, err := envelope.Sign(canonjson.Set([]byte(message("env:1")), "body", []byte(body)), agent, key)
		if err != nil {
			t.Fatal(err)
		}
		r := sysml.Verify(t.Context(), sysml.Question{Envelope: raw, Key: key.Public(), By: agent, Content: a.content, Get: a.get})
		want := v.Expect
		var out struct {
			OK, SignatureVerified bool
			Ref                   json.RawMessage
			ContentVerified       *bool
			Reason                string
		}
		if err := json.Unmarshal(render.JSON(r.View()), &out); err != nil {
			t.Fatalf("%s: %v", render.JSON(r.View()), err)
		}
		good := out.OK == want.OK && out.SignatureVerified == want.SignatureVerified && (out.Ref != nil) == want.HasRef && want.OK == (v.Exit == 0)
		if want.ReasonPrefix != "" {
			good = good && strings.HasPrefix(out.Reason, want.ReasonPrefix)
		} else {
			good = good && out.Reason == want.Reason
		}
		if want.ContentVerifiedPresent != nil {
			good = good && (out.ContentVerified != nil) == *want.ContentVerifiedPresent
		} else if a.content {
			good = good && out.ContentVerified != nil && *out.ContentVerified == want.ContentVerified
		}
		if !good {
			t.Errorf("%s: got %s, want %+v", a.ref, render.JSON(r.View()), want)
		}
	}
}
