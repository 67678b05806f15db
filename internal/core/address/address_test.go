package address

import (
	"errors"
	"strings"
	"testing"
)

func TestCanonical(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                          "",
		"Bare Token":                "Bare Token",
		"Bare~Sub:X":                "Bare~Sub:X",
		":":                         ":",
		"A::B":                      "a::b",
		"Claude:-x-":                "claude:x",
		"claude:x-":                 "claude:x",
		"claude:ok-1_2.3":           "claude:ok-1_2.3",
		"claude:a b:C d":            "claude:a-b:c d",
		"É:é":                       "é:workspace",
		"İX:İX:İX":                  "i\u0307x:i-x:i\u0307x",
		"ΟΔΟΣ:x:ΣΑΣ Σ":              "οδος:x:σας σ",
		"claude:K:\u212a":           "claude:k:k",
		"Codex:API:AB~Sub~Of:Sub É": "codex:api:ab~Sub~Of:Sub É",
		"a:b\x00":                   "a:b",
	} {
		got := Canonical(in)
		if got != want {
			t.Errorf("Canonical(%q): got %q, want %q", in, got, want)
		}
		if again := Canonical(got); again != got {
			t.Errorf("Canonical(%q) is %q, and of that %q", in, got, again)
		}
	}
}

func TestSlug(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a - b": "a---b", "a -- b": "a----b", "---": "workspace", " -x ": "x", "Ünïcode": "n-code", "Å\u212b1": "1",
		"\u212a9s": "k9s", "İ": "i", "日a本": "a", "😀b😀c": "b-c", "\xff\xfex": "x", "..": "..", "_": "_",
	} {
		if got := Slug(in); got != want {
			t.Errorf("Slug(%q): got %q, want %q", in, got, want)
		}
	}
}

func TestSegment(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		":": "__", "a:/\\<>\"|?*b": "a__b", "a:b/c": "a__b__c", ".": "_", "..": "_", "..a": "..a", ":.": "__.", "\x00": "\x00", "é:é": "é__é",
	} {
		if got := Segment(in); got != want {
			t.Errorf("Segment(%q): got %q, want %q", in, got, want)
		}
	}
	if got := Mailbox("Claude:Sales Desk:0A"); got != "claude__sales-desk__0a" {
		t.Errorf("Mailbox: got %s", got)
	}
	if got := SegmentToAddress("claude__sales-desk__0a"); got != "claude:sales-desk:0a" {
		t.Errorf("SegmentToAddress: got %s", got)
	}
	if got := SegmentToAddress("a___b"); got != "a:_b" {
		t.Errorf("SegmentToAddress(a___b): got %s", got)
	}
}

// No segment may lead out of its folder, whatever the id is.
func FuzzSegment(f *testing.F) {
	for _, s := range []string{"", "..", "../x", `..\x`, "a:b", "./.", "...:...", "a~b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, id string) {
		for _, s := range []string{Segment(id), Mailbox(id)} {
			if s == "" || s == "." || s == ".." || strings.ContainsAny(s, `/\:`) {
				t.Fatalf("id %q has the segment %q", id, s)
			}
			if Segment(s) != s {
				t.Fatalf("id %q has the segment %q, and that %q", id, s, Segment(s))
			}
		}
		if c := Canonical(id); Canonical(c) != c {
			t.Fatalf("%q is canonical %q, and that %q", id, c, Canonical(c))
		}
		if name, err := KeyName(id); err == nil && (name == "" || strings.ContainsAny(name, "/\\:\x00") || strings.Contains(name, "..")) {
			t.Fatalf("id %q has the key name %q", id, name)
		}
	})
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, ok := range []string{"claude:api", "a", "é日", strings.Repeat("a", 200), "sp ace", "..", `a\b`} {
		if err := Check(ok); err != nil {
			t.Errorf("Check(%q): %v", ok, err)
		}
	}
	for id, why := range map[string]string{
		"":                             "empty",
		"a\x00b":                       "control",
		"a\nb":                         "control",
		"a\x7f":                        "control",
		"\x1f":                         "control",
		"a\xff":                        "UTF-8",
		"\xed\xa0\x80":                 "UTF-8",
		strings.Repeat("a", 201):       "201 bytes",
		strings.Repeat("a", 199) + ":": "201 bytes",
		strings.Repeat("é", 101):       "202 bytes",
	} {
		var e *Error
		err := Check(id)
		if !errors.As(err, &e) || !strings.Contains(err.Error(), why) {
			t.Errorf("Check(%.20q): got %v, want something with %q", id, err, why)
		}
		if err != nil && len(err.Error()) > 200 {
			t.Errorf("Check(%.20q): the message has %d bytes", id, len(err.Error()))
		}
	}
}

func TestKeyNameRefuses(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", "..", "a/../b", `a\b`, "a\x00", "a\n", strings.Repeat("a", 201)} {
		if name, err := KeyName(id); err == nil {
			t.Errorf("KeyName(%.20q): got %q, want an error", id, name)
		}
		if a, b, err := KeyFiles(id); err == nil || a != "" || b != "" {
			t.Errorf("KeyFiles(%.20q): got %q, %q, %v", id, a, b, err)
		}
	}
}

func TestHostQualified(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]bool{"a:b": true, "a::b": false, "a:": false, ":": false, "a:b:": true, "a:b~": true, "a:~b": false} {
		if got := HostQualified(in); got != want {
			t.Errorf("HostQualified(%q): got %v, want %v", in, got, want)
		}
	}
}

func TestCanonicalAllocations(t *testing.T) {
	for _, a := range []string{"claude:api:3f2a9c01b7de", "claude:api:3f2a9c01b7de~Scout", "bare", "ws:0e4f6f5f-1111-5222-8333-bbbbbbbbbbbb"} {
		if n := testing.AllocsPerRun(100, func() { _ = Canonical(a) }); n != 0 {
			t.Errorf("Canonical(%s): %v allocations, want none", a, n)
		}
	}
}

func BenchmarkMailbox(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_ = Mailbox("claude:api:3f2a9c01b7de")
	}
}
