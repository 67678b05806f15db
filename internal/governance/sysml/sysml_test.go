package sysml_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/render"
	"tutti/internal/core/signature"
	"tutti/internal/governance/sysml"
)

const plainRef = `{"kind":"sysmlv2","project":"p","commit":"c"}`

// message is a signed envelope with a reference.
func message(t testing.TB, ref string, key *signature.Private) []byte {
	t.Helper()
	raw, err := envelope.Sign([]byte(`{"id":"env:1","body":{"subject":{"sysmlRef":`+ref+`}},"createdAt":"2026-01-01T00:00:00.000Z"}`), "human:o", key)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestExtract(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ ref, want string }{
		{plainRef, plainRef},
		{`{"commit":"c","x":1,"project":"p","kind":"sysmlv2","element":"e","apiBase":"https://m"}`, `{"kind":"sysmlv2","project":"p","commit":"c","apiBase":"https://m","element":"e"}`},
		{`{"kind":"sysmlv1","project":"p","commit":"c"}`, ""},
		{`{"kind":"sysmlv2","project":"","commit":"c"}`, ""},
		{`{"kind":"sysmlv2","project":"p","commit":5}`, ""},
		{`{"kind":"sysmlv2","project":"p","commit":"c","element":null}`, ""},
		{`{"kind":"sysmlv2","project":"p","commit":"` + strings.Repeat("c", 3000) + `"}`, ""},
		{`[]`, ""},
		{`null`, ""},
		{`"x"`, ""},
	} {
		r, ok := sysml.Extract([]byte(`{"body":{"subject":{"sysmlRef":` + c.ref + `}}}`))
		if ok != (c.want != "") || ok && string(r.JSON()) != c.want {
			t.Errorf("%s: got %+v, %v; want %s", c.ref, r, ok, c.want)
		}
	}
	for _, raw := range []string{`{}`, `[]`, `5`, `{"body":[]}`, `{"body":{"subject":"x"}}`, `{"sysmlRef":` + plainRef + `}`} {
		if _, ok := sysml.Extract([]byte(raw)); ok {
			t.Errorf("%s has a reference", raw)
		}
	}
}

// An address that was built here leads to the repository that was named, and nowhere else.
func TestURL(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ ref, base, want string }{
		{`{"kind":"sysmlv2","project":"a b","commit":"c/../d?e#f","element":"é%2f","apiBase":"https://m.example/api//"}`, "", "https://m.example/api/projects/a%20b/commits/c%2F..%2Fd%3Fe%23f/elements/%C3%A9%252f"},
		{`{"kind":"sysmlv2","project":"p","commit":"c","element":"e(1)!~*'","apiBase":"http://evil"}`, "https://m.example:8443", "https://m.example:8443/projects/p/commits/c/elements/e(1)!~*'"},
		{`{"kind":"sysmlv2","project":"..","commit":"c","element":"e","apiBase":"https://m"}`, "", "leads elsewhere"},
		{`{"kind":"sysmlv2","project":"p","commit":".","element":"e","apiBase":"https://m"}`, "", "leads elsewhere"},
		{`{"kind":"sysmlv2","project":"p","commit":"c","apiBase":"https://m"}`, "", "names no element"},
		{`{"kind":"sysmlv2","project":"p","commit":"c","element":"e"}`, "", "no address"},
		{`{"kind":"sysmlv2","project":"p","commit":"c","element":"e","apiBase":"http://m"}`, "", "only https"},
		{`{"kind":"sysmlv2","project":"p","commit":"c","element":"e","apiBase":"http://localhost:9000"}`, "", "only https"},
		{`{"kind":"sysmlv2","project":"p","commit":"c","element":"e"}`, "http://m", "only https"},
		{`{"kind":"sysmlv2","project":"p","commit":"c","element":"e"}`, "http://localhost.evil", "only https"},
		{`{"kind":"sysmlv2","project":"p","commit":"c","element":"e"}`, "http://localhost:9000", "http://localhost:9000/projects/p/commits/c/elements/e"},
		{`{"kind":"sysmlv2","project":"p","commit":"c","element":"e"}`, "http://[::1]:9000/", "http://[::1]:9000/projects/p/commits/c/elements/e"},
		{`{"kind":"sysmlv2","project":"p","commit":"c","element":"e","apiBase":"file:///etc"}`, "", "only https"},
		{`{"kind":"sysmlv2","project":"p","commit":"c","element":"e","apiBase":"//m"}`, "", "only https"},
		{`{"kind":"sysmlv2","project":"p","commit":"c","element":"e","apiBase":"https://u:p@m"}`, "", "more than a host"},
		{`{"kind":"sysmlv2","project":"p","commit":"c","element":"e","apiBase":"https://m?x="}`, "", "more than a host"},
		{`{"kind":"sysmlv2","project":"p","commit":"c","element":"e","apiBase":"https://m?"}`, "", "more than a host"},
		{`{"kind":"sysmlv2","project":"p","commit":"c","element":"e","apiBase":"https://m#x"}`, "", "more than a host"},
		{`{"kind":"sysmlv2","project":"p","commit":"c","element":"e","apiBase":"https:///x"}`, "", "more than a host"},
		{`{"kind":"sysmlv2","project":"p","commit":"c","element":"e","apiBase":"https://m\u0001"}`, "", "not a URL"},
	} {
		r, ok := sysml.Extract([]byte(`{"body":{"subject":{"sysmlRef":` + c.ref + `}}}`))
		if !ok {
			t.Fatalf("%s is not a reference", c.ref)
		}
		got, err := r.URL(c.base)
		if err != nil {
			got = err.Error()
		}
		if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
			t.Errorf("%s at %q: got %q, want %q", c.ref, c.base, got, c.want)
		}
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	key, other := signature.Generate(), signature.Generate()
	const element = `{"b":1.50,"a":[]}`
	hash, err := canonjson.Hash([]byte(element))
	if err != nil {
		t.Fatal(err)
	}
	whole := `{"kind":"sysmlv2","project":"p","commit":"c","apiBase":"https://m","element":"e","elementHash":"` + hash + `"}`
	answer := func(text string, err error) func(context.Context, string) ([]byte, error) {
		return func(context.Context, string) ([]byte, error) { return []byte(text), err }
	}
	good := message(t, whole, key)
	for _, c := range []struct {
		name string
		q    sysml.Question
		want string // "" where it holds
	}{
		{"good", sysml.Question{Envelope: good, Key: key.Public()}, ""},
		{"good, by the named signer", sysml.Question{Envelope: good, Key: key.Public(), By: "Human:O"}, ""},
		{"by another", sysml.Question{Envelope: good, Key: key.Public(), By: "human:x"}, "signature-failed"},
		{"another key", sysml.Question{Envelope: good, Key: other.Public()}, "signature-failed"},
		{"changed", sysml.Question{Envelope: []byte(strings.Replace(string(good), `"commit":"c"`, `"commit":"d"`, 1)), Key: key.Public()}, "signature-failed"},
		{"invalid signatures", sysml.Question{Envelope: canonjson.Set(good, "signatures", []byte(`[null,5,{"by":"human:o","alg":"ed25519","value":"x"}]`)), Key: key.Public()}, "signature-failed"},
		{"several empty parts", sysml.Question{Envelope: message(t, `{"kind":"sysmlv2","project":"p","commit":"c","apiBase":"","element":"","elementHash":""}`, key), Key: key.Public()}, "invalid-ref:apiBase-empty,element-empty,elementHash-empty"},
		{"content", sysml.Question{Envelope: good, Key: key.Public(), Content: true, Get: answer(` {"a":[], "b":1.5}`, nil)}, ""},
		{"other content", sysml.Question{Envelope: good, Key: key.Public(), Content: true, Get: answer(`{"a":[],"b":2}`, nil)}, "content-hash-mismatch"},
		{"no JSON", sysml.Question{Envelope: good, Key: key.Public(), Content: true, Get: answer(`<html>`, nil)}, "fetch-failed:the answer is not valid JSON"},
		{"hostile error", sysml.Question{Envelope: good, Key: key.Public(), Content: true, Get: answer("", errors.New("a\x1b[31m"+strings.Repeat("x", 9999)))}, "fetch-failed:a[31m" + strings.Repeat("x", 495)},
		{"content of a stranger is not asked for", sysml.Question{Envelope: good, Key: other.Public(), Content: true, Get: nil}, "signature-failed"},
	} {
		r := sysml.Verify(t.Context(), c.q)
		if r.OK != (c.want == "") || r.Reason != c.want {
			t.Errorf("%s: got %s, want %q", c.name, render.JSON(r.View()), c.want)
		}
	}
}

// FuzzEnvelope: no text makes it panic or hold without a signature.
func FuzzEnvelope(f *testing.F) {
	key := signature.Generate()
	f.Add(message(f, plainRef, key))
	f.Add([]byte(`{"body":{"subject":{"sysmlRef":` + plainRef + `}},"signatures":[{}]}`))
	other := signature.Generate().Public()
	f.Fuzz(func(t *testing.T, raw []byte) {
		if canonjson.Check(raw) != nil {
			return
		}
		r := sysml.Verify(t.Context(), sysml.Question{Envelope: raw, Key: other, Content: true, Get: func(context.Context, string) ([]byte, error) { return nil, errors.New("no") }})
		if r.OK || r.Signed {
			t.Errorf("%q holds", raw)
		}
		if !canonjson.Valid(render.JSON(r.View())) {
			t.Errorf("%q: the answer %q is not valid JSON", raw, render.JSON(r.View()))
		}
		if r.Ref != nil {
			if at, err := r.Ref.URL("https://m.example/api"); err == nil && !strings.HasPrefix(at, "https://m.example/api/projects/") {
				t.Errorf("%q leads to %q", raw, at)
			}
		}
	})
}
