package canonjson

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"
)

// envelope is a signed message as the existing programs write it.
const envelope = `{"protocol":"sentropic.h2a","version":"0.1","id":"env:1781258400000:9c1e","type":"event",` +
	`"actor":{"instance":"codex:billing:0a1b2c3d4e5f","role":"AGENTS","scope":"scope:default"},` +
	`"target":{"instance":"claude:ledger:77aa88bb99cc"},"threadId":"thr:1781258400000:1f2e",` +
	`"body":{"kind":"message","text":"the schema changed, see db/014.sql\nand run the migration"},` +
	`"createdAt":"2026-06-12T10:00:00.000Z","signatures":[{"by":"codex:billing:0a1b2c3d4e5f","alg":"ed25519",` +
	`"value":"YSMuwhkhJWXM4f3LJ0MRD6uXs06c09X7Ws8AFxcjhgjHimkBVPGCAcfLthEl2F9vWYncOh70vnp48w3jao1JAA=="}]}`

func seed(f *testing.F) {
	for _, s := range []string{
		envelope, `{"10":1,"9":2,"a":3,"-1":4,"01":5}`, `[1e400,-0,1.50,1e21,1e-7]`, `["\ud83d\ude00","\ud800"]`, "\"\xff\"",
		`{"__proto__":{"a":1},"a":2,"a":3}`, "[[[[]]]]", " {\"a\"\n:\t1 } ", `"\u00e9\/"`, `{"a":1,}`, "[1,2", "-", "nul",
	} {
		f.Add([]byte(s))
	}
}

// The canonical form is JSON, its own canonical form, and holds what the text holds.
func FuzzCanonical(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		out, err := Append([]byte("x"), raw)
		if err != nil {
			if string(out) != "x" {
				t.Fatalf("%q: error %v, but %q was added", raw, err, out)
			}
			if Valid(raw) && !bytes.ContainsAny(raw, "eE") && len(raw) < 300 {
				t.Fatalf("%q is JSON with small numbers, but: %v", raw, err)
			}
			return
		}
		out = out[1:]
		if !Valid(raw) || !Valid(out) {
			t.Fatalf("%q: Valid %v, canonical form %q: Valid %v", raw, Valid(raw), out, Valid(out))
		}
		again, err := Canonical(out)
		if err != nil || !bytes.Equal(out, again) {
			t.Fatalf("%q\n once  %q\n twice %q, %v", raw, out, again, err)
		}
		if Check(raw) != nil && Check(out) != nil { // what was refused is gone from the canonical form
			t.Fatalf("%q: canonical form %q is refused: %v", raw, out, Check(out))
		}
		var a, b any
		if Check(raw) == nil && json.Unmarshal(raw, &a) == nil && json.Unmarshal(out, &b) == nil {
			x, _ := json.Marshal(a)
			y, _ := json.Marshal(b)
			if !bytes.Equal(x, y) && !bytes.Contains(x, []byte("-0")) { // the canonical form knows no -0, however it was written
				t.Fatalf("%q holds %s, its canonical form %s", raw, x, y)
			}
		}
	})
}

// FuzzValid: Valid agrees with encoding/json, except for invalid UTF-8 and deep nesting.
func FuzzValid(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		ours, theirs := Valid(raw), json.Valid(raw)
		deep := bytes.Count(raw, []byte("["))+bytes.Count(raw, []byte("{")) > MaxDepth
		if ours != (theirs && utf8.Valid(raw)) && !(deep && !ours) {
			t.Fatalf("%q: ours %v, encoding/json %v", raw, ours, theirs)
		}
		if (Check(raw) == nil) && !ours {
			t.Fatalf("%q: Check accepts what Valid refuses", raw)
		}
	})
}

// Changing one member keeps the text JSON and the other members as they were.
func FuzzSetDelete(f *testing.F) {
	f.Add([]byte(envelope), "body")
	f.Add([]byte(`{"a":1,"b":2,"a":3}`), "a")
	f.Add([]byte(" { } "), "\xed\xa0\x80")
	f.Fuzz(func(t *testing.T, raw []byte, key string) {
		if !Valid(raw) || !IsObject(raw) {
			if Set(raw, key, []byte("1")) != nil && space(raw, 0) != len(raw) {
				t.Fatalf("Set on %q, which is not an object", raw)
			}
			_ = Delete(raw, key)
			_ = Indent(raw)
			_ = Compact(raw)
			return
		}
		key, _ = String(AppendString(nil, key)) // a key that JSON can hold
		set := Set(raw, key, []byte("[7]"))
		if v, ok := Get(set, key); !ok || string(v) != "[7]" || !Valid(set) {
			t.Fatalf("Set(%q, %q) = %q", raw, key, set)
		}
		gone := Delete(raw, key)
		if _, ok := Get(gone, key); ok || !Valid(gone) {
			t.Fatalf("Delete(%q, %q) = %q", raw, key, gone)
		}
		a, errA := CanonicalWithout(raw, key)
		b, errB := CanonicalWithout(set, key)
		c, errC := Canonical(gone)
		if (errA == nil) != (errC == nil) || (errA == nil) != (errB == nil) || !bytes.Equal(a, b) || !bytes.Equal(a, c) {
			t.Fatalf("%q without %q: %q, %v; after Set %q, %v; after Delete %q, %v", raw, key, a, errA, b, errB, c, errC)
		}
		if x, err := Canonical(raw); err == nil {
			for _, y := range [][]byte{Indent(raw), Compact(raw)} {
				if z, err := Canonical(y); err != nil || !bytes.Equal(x, z) {
					t.Fatalf("%q laid out anew is %q", raw, y)
				}
			}
		}
	})
}

func BenchmarkValid(b *testing.B) {
	for name, raw := range map[string][]byte{"envelope": []byte(envelope), "printed": Indent([]byte(envelope))} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if !Valid(raw) {
					b.Fatal("not valid")
				}
			}
		})
	}
}

func BenchmarkStdValid(b *testing.B) {
	b.SetBytes(int64(len(envelope)))
	for b.Loop() {
		json.Valid([]byte(envelope))
	}
}

func BenchmarkAppendEnvelope(b *testing.B) {
	raw := []byte(envelope)
	dst := make([]byte, 0, 2*len(raw))
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		dst, _ = AppendWithout(dst[:0], raw, "signatures")
	}
}

func BenchmarkHashEnvelope(b *testing.B) {
	raw := []byte(envelope)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		_, _ = Hash(raw)
	}
}

func BenchmarkGet(b *testing.B) {
	raw := []byte(envelope)
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		_, _ = Get(raw, "createdAt")
	}
}
