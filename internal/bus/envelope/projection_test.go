package envelope

import (
	"crypto/sha256"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"tutti/internal/core/address"
	"tutti/internal/core/signature"
)

func TestProjection(t *testing.T) {
	t.Parallel()
	key, other := signature.Generate(), signature.Generate()
	raw, err := Sign(draft(t, Draft{
		ID: "env:1:ab", Target: "codex:b", ThreadID: "thr:1:ab", ReplyTo: "env:0:aa", CausationID: "c",
		CorrelationID: "k", Text: strings.Repeat("é", 300), Via: "unattended",
	}), ana.Instance, key)
	if err != nil {
		t.Fatal(err)
	}
	names, order, summary, err := Projection.Make(raw, now)
	if err != nil || order != now.UnixMilli() || !slices.Equal(names, []string{"env:1:ab", "thread:thr:1:ab", "from:claude:api:3f2a9c01b7de"}) {
		t.Fatalf("Make: %q, %d, %v", names, order, err)
	}
	s, err := Decode(string(summary))
	if err != nil {
		t.Fatal(err)
	}
	if want := parse(t, raw).Summary(); !reflect.DeepEqual(s, want) {
		t.Errorf("decoded\n got %+v\nwant %+v", s, want)
	}
	message, _ := parse(t, raw).SignedBytes()
	if s.SignedHash != sha256.Sum256(message) || s.Preview != strings.Repeat("é", 200) || s.TextSize != 600 || s.Size != len(raw) ||
		s.Signed != 1 || s.Own != 1 || !s.Whole || s.KeySet != "" || s.VerifiedBy != (signature.Public{}) {
		t.Errorf("summary %+v", s)
	}
	for name, c := range map[string]struct {
		keys []signature.Public
		by   signature.Public
	}{
		"the key":  {[]signature.Public{other.Public(), key.Public()}, key.Public()},
		"another":  {[]signature.Public{other.Public()}, signature.Public{}},
		"no key":   {nil, signature.Public{}},
		"zero key": {[]signature.Public{{}}, signature.Public{}},
	} {
		asked := address.Instance("")
		p := ProjectionWith(3, func(by address.Instance) []signature.Public { asked = by; return c.keys })
		_, _, summary, err := p.Make(raw, now)
		s, err2 := Decode(string(summary))
		if err != nil || err2 != nil || s.VerifiedBy != c.by || s.KeySet != KeySet(c.keys) || asked != ana.Instance || p.Version != 3 {
			t.Errorf("%s: %v, %v, asked %s, version %d, %+v", name, err, err2, asked, p.Version, s)
		}
	}
	if _, _, _, err := Projection.Make([]byte(`{"id":"x"}`), now); err == nil {
		t.Error("a document that is not an envelope has a row")
	}
}

func TestKeySet(t *testing.T) {
	t.Parallel()
	a, b := signature.Public{1}, signature.Public{2}
	if KeySet([]signature.Public{a, b}) != KeySet([]signature.Public{b, a, b}) {
		t.Error("order or repetition counts")
	}
	names := []string{"", KeySet(nil), KeySet([]signature.Public{a}), KeySet([]signature.Public{b}), KeySet([]signature.Public{a, b})}
	slices.Sort(names)
	if len(slices.Compact(names)) != 5 {
		t.Errorf("two sets share a name: %q", names)
	}
}

// TestDecodeDamaged cuts and changes a summary at each byte: an error or a summary, never a panic or one that is too long.
func TestDecodeDamaged(t *testing.T) {
	t.Parallel()
	raw, _ := Sign(draft(t, Draft{Text: "hello"}), ana.Instance, signature.Generate())
	_, _, summary, _ := ProjectionWith(1, func(address.Instance) []signature.Public { return nil }).Make(raw, now)
	for n := range summary {
		if _, err := Decode(string(summary[:n])); err == nil {
			t.Errorf("cut to %d of %d bytes: no error", n, len(summary))
		}
		for _, x := range []byte{0x00, 0xFF, 0x80, summary[n] ^ 1} {
			b := slices.Clone(summary)
			b[n] = x
			Decode(string(b))
		}
	}
	if _, err := Decode(string(summary) + "\x00"); err == nil {
		t.Error("a byte too many: no error")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"protocol":"sentropic.h2a","version":"0.1","id":"","type":"event","actor":{"instance":"a","role":"AGENTS","scope":""},"body":1,"createdAt":"","signatures":[{}]}`))
	f.Add(draft(f, Draft{Text: "x"}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		problems := Problems(raw)
		e, err := Parse(raw)
		if len(problems) == 0 && err != nil {
			t.Fatalf("%q may be written and not be read: %v", raw, err)
		}
		if err != nil {
			return
		}
		s, err := Decode(func() string { s := e.Summary(); return string(s.encode()) }())
		if err != nil || !reflect.DeepEqual(s, e.Summary()) {
			t.Fatalf("%q: summary %+v, %v", raw, s, err)
		}
		if utf8.ValidString(e.Text()) && !utf8.ValidString(s.Preview) {
			t.Fatalf("%q: a character is cut: %q", raw, s.Preview)
		}
		if len(problems) == 0 {
			if _, err := Sign(raw, e.Actor.Instance, signature.Generate()); err != nil {
				t.Fatalf("%q may be written and not be signed: %v", raw, err)
			}
		}
	})
}

func BenchmarkProject(b *testing.B) {
	raw, _ := Sign(draft(b, Draft{Text: strings.Repeat("hello ", 50)}), ana.Instance, signature.Generate())
	for b.Loop() {
		Projection.Make(raw, now)
	}
}

func BenchmarkDecode(b *testing.B) {
	raw, _ := Sign(draft(b, Draft{Text: strings.Repeat("hello ", 50)}), ana.Instance, signature.Generate())
	_, _, summary, _ := Projection.Make(raw, now)
	for b.Loop() {
		Decode(string(summary))
	}
}
