package canonjson

import (
	"bytes"
	"testing"
)

// dissected compares a dissection with what the functions say that look at one thing each.
func dissected(t *testing.T, raw []byte) {
	t.Helper()
	d, err := Dissect(raw)
	if whole := Whole(raw); err != nil {
		if whole == nil && IsObject(raw) {
			t.Fatalf("%q is a whole object, but: %v", raw, err)
		}
		return
	} else if whole != nil || !IsObject(raw) {
		t.Fatalf("%q was taken, and Whole says %v", raw, whole)
	}
	defer d.Free()
	if want, _ := Hash(raw); d.Hash() != want {
		t.Errorf("%q has the hash %s, want %s", raw, d.Hash(), want)
	}
	rest := raw
	for name, value := range d.Members() {
		want, ok := Get(raw, string(name))
		if !ok || !bytes.Equal(want, value) {
			t.Errorf("%q: member %q is %q, want %q", raw, name, value, want)
		}
		is := func(n []byte) bool { return bytes.Equal(n, name) }
		without, err := CanonicalWithout(raw, string(name))
		if got := d.AppendWithout([]byte("x"), is); err != nil || string(got[1:]) != string(without) {
			t.Errorf("%q without %q is %q, want %q, %v", raw, name, got[1:], without, err)
		}
		if want, _ := Hash(without); d.HashWithout(is) != want {
			t.Errorf("%q without %q has the hash %s, want %s", raw, name, d.HashWithout(is), want)
		}
		rest = Delete(rest, string(name))
	}
	for name := range Members(rest) {
		t.Errorf("%q: member %q was not told", raw, name)
	}
	if got := d.AppendWithout(nil, func([]byte) bool { return true }); string(got) != "{}" {
		t.Errorf("%q without anything is %q", raw, got)
	}
}

func TestDissect(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		envelope, `{}`, ` { "b" : {"d":[1,{"f":2,"e":1.0}],"c":"\u0041"} , "a":null, "10":1,"9":true } `, `{"\u0061":1,"b":2}`, `[]`, `"x"`, ``,
		`{"a":1,"a":2}`, `{"b":{"__proto__":1}}`, `{"a":1e400}`, `{"a":1}{}`, `{"a"}`,
	} {
		dissected(t, []byte(raw))
	}
}

func FuzzDissect(f *testing.F) {
	seed(f)
	f.Fuzz(dissected)
}
