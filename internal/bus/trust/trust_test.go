package trust

import (
	"strings"
	"testing"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
)

var now = time.Date(2026, 6, 12, 10, 0, 0, 0, time.UTC)

const ana address.Instance = "claude:api:3f2a9c01b7de"

func message(t testing.TB, signers ...any) []byte {
	t.Helper()
	raw, err := envelope.Draft{Actor: envelope.Actor{Instance: ana, Role: "AGENTS", Scope: "scope:default"}, Created: now, Text: "hello"}.Bytes()
	for n := 0; n < len(signers) && err == nil; n += 2 {
		raw, err = envelope.Sign(raw, signers[n].(address.Instance), signers[n+1].(*signature.Private))
	}
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestJudge(t *testing.T) {
	t.Parallel()
	old, fresh, strange := signature.Generate(), signature.Generate(), signature.Generate()
	set := func(all ...*signature.Private) (p []signature.Public) {
		for _, k := range all {
			p = append(p, k.Public())
		}
		return p
	}
	const bob address.Instance = "codex:b:77aa88bb99cc"
	byOld, byFresh, byStranger := message(t, ana, old), message(t, ana, fresh), message(t, ana, strange)
	tests := []struct {
		name                  string
		raw                   []byte
		active, revoked, pins []signature.Public
		want                  Word
		key                   *signature.Private
		detail                string
	}{
		{"pinned", byOld, set(old), nil, set(old), Verified, old, ""},
		{"first contact", byOld, set(old), nil, nil, NewKey, old, "first contact: its key is " + old.Public().Short()},
		{"second key of a stranger to us, without a proof", byFresh, set(old, fresh), nil, nil, KeyChanged, fresh, "without a proof"},
		{"changed", byFresh, set(old, fresh), nil, set(old), KeyChanged, fresh, old.Public().Short()},
		{"two pins", byFresh, set(old, fresh), nil, set(old, fresh), Verified, fresh, ""},
		{"pinned, not registered", byOld, nil, nil, set(old), Verified, old, "is not registered"},
		{"not registered", byStranger, set(old), nil, nil, BadSignature, nil, "fits no key"},
		{"not registered, pinned other", byStranger, set(old), nil, set(old), BadSignature, nil, "fits no key"},
		{"nothing known", byOld, nil, nil, nil, BadSignature, nil, "no key of the sender is known"},
		{"revoked", byOld, nil, set(old), nil, BadSignature, old, "revoked"},
		{"revoked and pinned", byOld, nil, set(old), set(old), BadSignature, old, "revoked"},
		{"revoked and, against the rule, active", byOld, set(old), set(old), set(old), BadSignature, old, "revoked"},
		{"rotated: old mail", byOld, set(fresh), set(old), set(fresh), BadSignature, old, "revoked"},
		{"unsigned", message(t), set(old), nil, set(old), Unsigned, nil, ""},
		{"empty signatures", canonjson.Set(message(t), "signatures", []byte(`[]`)), set(old), nil, set(old), Unsigned, nil, ""},
		{"damaged signatures", canonjson.Set(message(t), "signatures", []byte(`[7]`)), set(old), nil, set(old), BadSignature, nil, "not by the sender"},
		{"signed by another, with our key", message(t, bob, old), set(old), nil, set(old), BadSignature, nil, "not by the sender"},
		{"signed by another too", message(t, bob, strange, ana, old), set(old), nil, set(old), Verified, old, ""},
		{"one good of two", message(t, ana, strange, ana, old), set(old), nil, set(old), Verified, old, ""},
		{"changed behind the signature", canonjson.Set(byOld, "threadId", []byte(`"thr:1"`)), set(old), nil, set(old), BadSignature, nil, "fits no key"},
		{"a member no signature covers", canonjson.Set(byOld, "__proto__", []byte(`{}`)), set(old), nil, set(old), BadSignature, nil, "cannot cover"},
		{"such a member, unsigned", canonjson.Set(message(t), "__proto__", []byte(`{}`)), set(old), nil, set(old), Unsigned, nil, ""},
	}
	for _, c := range tests {
		e, err := envelope.Parse(c.raw)
		if err != nil {
			t.Fatal(err)
		}
		k := Keys{Active: c.active, Revoked: c.revoked, Pins: c.pins}
		if len(c.pins) == 0 && len(c.active) > 0 {
			k.Proven = []registry.OwnKey{{Key: c.active[0]}}
		}
		got := k.Judge(e)
		key := signature.Public{}
		if c.key != nil {
			key = c.key.Public()
		}
		if got.Word != c.want || got.Key != key || (c.detail == "") != (got.Detail == "") || !strings.Contains(got.Detail, c.detail) {
			t.Errorf("%s: got %v %x %q, want %v %x %q", c.name, got.Word, got.Key[:4], got.Detail, c.want, key[:4], c.detail)
		}
		p := envelope.ProjectionWith(1, func(address.Instance) []signature.Public { return k.All() })
		_, _, row, err := p.Make(c.raw, now)
		s, err2 := envelope.Decode(string(row))
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		if listed, ok := JudgeSummary(&s, k); !ok || listed != got {
			t.Errorf("%s: a list says %+v, %v; the document says %+v", c.name, listed, ok, got)
		}
		k.Active = append(k.Active, signature.Public{9})
		if listed, ok := JudgeSummary(&s, k); ok && s.Own > 0 && s.Whole {
			t.Errorf("%s: a row made with other keys is believed: %+v", c.name, listed)
		}
	}
}

func TestRowWithoutKeysHasNoVerdict(t *testing.T) {
	t.Parallel()
	k := signature.Generate()
	_, _, row, _ := envelope.Projection.Make(message(t, ana, k), now)
	s, err := envelope.Decode(string(row))
	if err != nil {
		t.Fatal(err)
	}
	for _, keys := range []Keys{{}, {Active: []signature.Public{k.Public()}}} {
		if v, ok := JudgeSummary(&s, keys); ok {
			t.Errorf("got %+v", v)
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	for w, want := range map[Word]string{
		Verified: "verified", NewKey: "new key", KeyChanged: "key changed", Unsigned: "unsigned",
		BadSignature: "bad signature", 0: "no verdict", 99: "no verdict",
	} {
		if w.String() != want {
			t.Errorf("%d: got %q, want %q", w, w, want)
		}
	}
	if !RoleNotRegistered("PRINCIPAL", []string{"AGENTS"}) || !RoleNotRegistered("AGENTS", nil) || RoleNotRegistered("AGENTS", []string{"CONTROL", "AGENTS"}) {
		t.Error("RoleNotRegistered")
	}
}
