package canonjson

import (
	"slices"
	"strings"
	"testing"
)

func TestMembers(t *testing.T) {
	t.Parallel()
	type pair struct{ k, v string }
	for _, c := range []struct {
		in   string
		want []pair
	}{
		{` { "a" : 1 , "b\n" : [ 1 , { } ] ,"a": "x" } `, []pair{{"a", "1"}, {"b\n", "[ 1 , { } ]"}, {"a", `"x"`}}},
		{`{}`, nil},
		{`[1]`, nil},
		{``, nil},
		{`{"a":1,"b":}`, []pair{{"a", "1"}}},
		{`{"a":1 "b":2}`, []pair{{"a", "1"}}},
		{`{"a":1,}`, []pair{{"a", "1"}}},
	} {
		var got []pair
		for k, v := range Members([]byte(c.in)) {
			got = append(got, pair{k, string(v)})
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("Members(%s): got %q, want %q", c.in, got, c.want)
		}
	}
	for range Members([]byte(`{"a":1,"b":2}`)) {
		break // leaving early must be possible
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in, key, want string
		ok            bool
	}{
		{`{"a":1,"b":{"a":2}}`, "a", "1", true},
		{`{"a":1,"\u0061": 3 }`, "a", "3", true},
		{`{"a":null}`, "a", "null", true},
		{`{"\\":1,"\\\\":2}`, `\`, "1", true},
		{`{"\\":1}`, `\\`, "", false},
		{`{"\ud800":1}`, "\xed\xa0\x80", "1", true},
		{`{"":1}`, "", "1", true},
		{`{"a":1}`, "b", "", false},
		{`{"a":1`, "a", "", false},
		{`{"a":1,"b":tru}`, "a", "", false},
		{`{"a":1}{}`, "a", "", false},
		{`["a"]`, "a", "", false},
		{`{"__proto__":1}`, "__proto__", "1", true},
	} {
		got, ok := Get([]byte(c.in), c.key)
		if string(got) != c.want || ok != c.ok {
			t.Errorf("Get(%s, %q): got %s, %v; want %s, %v", c.in, c.key, got, ok, c.want, c.ok)
		}
		values := make([][]byte, 2)
		whole := Pick([]byte(c.in), []string{"-", c.key}, values)
		if string(values[1]) != c.want || values[0] != nil || c.ok && !whole {
			t.Errorf("Pick(%s, %q): got %q, %v; want %s", c.in, c.key, values, whole, c.want)
		}
	}
}

// A value that was got must not let an append run into the text behind it.
func TestValueCapacityIsClipped(t *testing.T) {
	t.Parallel()
	raw := []byte(`{"a":[1],"b":2}`)
	v, _ := Get(raw, "a")
	_ = append(v, "XXXX"...)
	for e := range Elements(v) {
		_ = append(e, "YYYY"...)
	}
	if string(raw) != `{"a":[1],"b":2}` {
		t.Errorf("the text was changed: %s", raw)
	}
}

func TestElements(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]string{
		`[ 1 , "a,b" ,[2,3] ]`: {"1", `"a,b"`, "[2,3]"},
		`[]`:                   nil,
		` [ ] `:                nil,
		`[1,]`:                 {"1"},
		`[1 2]`:                {"1"},
		`{"a":1}`:              nil,
		``:                     nil,
	} {
		var got []string
		for e := range Elements([]byte(in)) {
			got = append(got, string(e))
		}
		if !slices.Equal(got, want) {
			t.Errorf("Elements(%s): got %q, want %q", in, got, want)
		}
	}
}

func TestScalars(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{` "a\u00e9\ud83d\ude00" `: "aé😀", `""`: ""} {
		if got, ok := String([]byte(in)); !ok || got != want {
			t.Errorf("String(%s): got %q, %v; want %q", in, got, ok, want)
		}
	}
	for _, in := range []string{``, `1`, `"a`, `"a" "b"`, `null`} {
		if got, ok := String([]byte(in)); ok {
			t.Errorf("String(%s): got %q, want none", in, got)
		}
	}
	for in, want := range map[string]int64{"5": 5, "-0": 0, "5.0": 5, "50e-1": 5, "9007199254740991": 1<<53 - 1, " 1e3": 1000} {
		if got, ok := Int([]byte(in)); !ok || got != want {
			t.Errorf("Int(%s): got %d, %v; want %d", in, got, ok, want)
		}
	}
	for _, in := range []string{"5.5", "9007199254740992", "9007199254740993", "1e400", `"5"`, "null", "", "1 2", "01"} {
		if got, ok := Int([]byte(in)); ok {
			t.Errorf("Int(%s): got %d, want none", in, got)
		}
	}
	for in, want := range map[string][2]bool{
		"true": {true, true}, " false ": {false, true}, "tru": {false, false}, "1": {false, false}, "null": {false, false},
	} {
		if v, ok := Bool([]byte(in)); v != want[0] || ok != want[1] {
			t.Errorf("Bool(%s): got %v, %v; want %v", in, v, ok, want)
		}
	}
	if !IsNull([]byte(" null ")) || IsNull([]byte("nul")) || IsNull(nil) {
		t.Error("IsNull")
	}
	if got, ok := Strings([]byte(`["a", "b"]`)); !ok || !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("Strings: got %q, %v", got, ok)
	}
	for _, in := range []string{`["a",1]`, `"a"`, `["a"`, `null`} {
		if got, ok := Strings([]byte(in)); ok {
			t.Errorf("Strings(%s): got %q, want none", in, got)
		}
	}
	if got, ok := Strings([]byte(`[]`)); !ok || got == nil || len(got) != 0 {
		t.Errorf("Strings([]): got %v, %v", got, ok)
	}
}

func TestKind(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]Type{
		"": TypeInvalid, " \n": TypeInvalid, "x": TypeInvalid, " {": TypeObject, "[": TypeArray, `"`: TypeString,
		"-1": TypeNumber, "7": TypeNumber, "true": TypeBool, "false": TypeBool, "null": TypeNull,
	} {
		if got := Kind([]byte(in)); got != want {
			t.Errorf("Kind(%q): got %d, want %d", in, got, want)
		}
	}
}

func TestObject(t *testing.T) {
	t.Parallel()
	var o Object
	if got := string(o.Bytes()); got != "{}" {
		t.Errorf("empty: got %s", got)
	}
	o.Str("id", "a\"\n")
	o.Opt("none", "")
	o.Opt("some", "x")
	o.Raw("absent", nil)
	o.Raw("body", []byte("{\n  \"t\" : \"a b\" ,\r\n \"n\": [ 1 ] }"))
	o.Int("n", -5)
	o.Float("f", 1e21)
	o.Bool("ok", true)
	o.Null("nil")
	o.Strs("list", []string{"a", "b"})
	o.Strs("empty", nil)
	const want = `{"id":"a\"\n","some":"x","body":{"t":"a b","n":[1]},"n":-5,"f":1e+21,"ok":true,"nil":null,"list":["a","b"],"empty":[]}`
	got := o.Bytes()
	if string(got) != want || !Valid(got) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	o.Int("more", 1)
	if string(got) != want {
		t.Errorf("a later call changed what Bytes had returned: %s", got)
	}
}

func TestWithin(t *testing.T) {
	t.Parallel()
	var o Object
	o.Room(4000)
	o.Within("a", func(o *Object) {
		o.Str("b", "{")
		o.Within("c", func(*Object) {})
		o.Within("d", func(o *Object) { o.Int("e", 1) })
	})
	o.Str("f", "x")
	if got, want := string(o.Bytes()), `{"a":{"b":"{","c":{},"d":{"e":1}},"f":"x"}`; got != want {
		t.Errorf("Bytes: got %s, want %s", got, want)
	}
	first := o.End()
	o.Str("g", "y")
	second := o.End()
	if got, want := string(first)+string(second)+string(o.End()), `{"a":{"b":"{","c":{},"d":{"e":1}},"f":"x"}{"g":"y"}{}`; got != want {
		t.Errorf("End: got %s, want %s", got, want)
	}
}

func TestSet(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, key, value, want string }{
		{"replace", `{"a": 1, "b":2 }`, "a", `"x"`, `{"a": "x", "b":2 }`},
		{"replace the last of two", `{"a":1,"b":2,"a":3}`, "a", "4", `{"a":1,"b":2,"a":4}`},
		{"replace one spelled with escapes", `{"\u0061":1}`, "a", "2", `{"\u0061":2}`},
		{"add", `{"a":1.0}`, "b", "2", `{"a":1.0,"b":2}`},
		{"add to a printed one", "{\n  \"a\": 1\n}\n", "b", "2", "{\n  \"a\": 1,\"b\":2\n}\n"},
		{"add to an empty one", ` { } `, "b\n", "[]", ` {"b\n":[] } `},
		{"nested members are not meant", `{"x":{"a":1}}`, "a", "2", `{"x":{"a":1},"a":2}`},
		{"nothing there", ``, "a", "1", `{"a":1}`},
		{"no object", `[1]`, "a", "1", ""},
		{"something behind", `{"a":1} x`, "a", "1", ""},
		{"broken", `{"a":1`, "a", "1", ""},
	} {
		in := []byte(c.in)
		got := Set(in, c.key, []byte(c.value))
		if string(got) != c.want || (got == nil) != (c.want == "") {
			t.Errorf("%s: Set(%s, %s, %s): got %s, want %s", c.name, c.in, c.key, c.value, got, c.want)
		}
		if string(in) != c.in {
			t.Errorf("%s: Set changed its input to %s", c.name, in)
		}
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, key, want string }{
		{`{"a":1, "b":2, "c":3}`, "a", `{"b":2, "c":3}`},
		{`{"a":1, "b":2, "c":3}`, "b", `{"a":1, "c":3}`},
		{`{"a":1, "b":2, "c":3}`, "c", `{"a":1, "b":2}`},
		{`{"a":1,"b":2,"a":3,"c":4,"\u0061":5}`, "a", `{"b":2,"c":4}`},
		{`{"a":1,"a":2,"b":3}`, "a", `{"b":3}`},
		{"{\n  \"a\": 1,\n  \"b\": 2\n}", "b", "{\n  \"a\": 1\n}"},
		{"{\n  \"a\": 1,\n  \"b\": 2\n}", "a", "{\n  \"b\": 2\n}"},
		{`{"a":1}`, "a", `{}`},
		{`{"a":1}`, "b", `{"a":1}`},
		{`{}`, "b", `{}`},
		{`[1]`, "a", ""},
		{`{"a":1,`, "a", ""},
	} {
		in := []byte(c.in)
		got := Delete(in, c.key)
		if string(got) != c.want || string(in) != c.in {
			t.Errorf("Delete(%s, %s): got %s, want %s; input now %s", c.in, c.key, got, c.want, in)
		}
		if got != nil && !Valid(got) {
			t.Errorf("Delete(%s, %s): %s is not valid JSON", c.in, c.key, got)
		}
	}
}

func TestIndentAndCompact(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"b":[1,{"c":"x: {,}"}],"a":{ },"d":[ ]}`: "{\n  \"b\": [\n    1,\n    {\n      \"c\": \"x: {,}\"\n    }\n  ],\n  \"a\": {},\n  \"d\": []\n}",
		` [ ] `:         "[]",
		` "a\u0041" `:   `"a\u0041"`,
		`[1.0, [[]] ]`:  "[\n  1.0,\n  [\n    []\n  ]\n]",
		`[null ,true]`:  "[\n  null,\n  true\n]",
		"{\"a\"\n:\n1}": "{\n  \"a\": 1\n}",
	} {
		got := string(Indent([]byte(in)))
		if got != want {
			t.Errorf("Indent(%s):\n got %s\nwant %s", in, got, want)
		}
		if a, b := string(Compact([]byte(got))), string(Compact([]byte(in))); a != b {
			t.Errorf("Compact(Indent(%s)): got %s, want %s", in, a, b)
		}
	}
	deep := make([]byte, 0, 2000)
	for range 500 {
		deep = append(deep, `[1,`...)
	}
	deep = append(deep, '0')
	for range 500 {
		deep = append(deep, ']')
	}
	got := Indent(deep)
	if len(got) > 64*130*3 || string(Compact(got)) != string(deep) {
		t.Errorf("Indent of 500 levels: %d bytes; it must not grow with the square of the depth", len(got))
	}
}

// TestPickIsValid: Pick judges the whole of an object as Valid does, so that readers need not ask both.
func TestPickIsValid(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return `{"a":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}` }
	texts := []string{
		`{}`, ` { } `, `{,}`, `{"a":1,}`, `{"a":1 "b":2}`, `{"a" 1}`, `{"a":}`, `{"a":1}x`, `{a:1}`, `[]`, `"a"`, ``, `{"\u006b":"v"}`,
		deep(MaxDepth - 1), deep(MaxDepth), "{\"k\":\"\xff\"}", "{\"k\":\"a\nb\"}", `{"k":"\x"}`, `{"k":01}`, `{"k":tru}`,
	}
	whole := ` { "k" : "v\u00e9\n" , "n" : [ 1 , -2.5e3 , { "x" : null , "k" : [ ] } , "s" ] , "t" : true , "k" : { } } `
	for i := range len(whole) + 1 {
		texts = append(texts, whole[:i])
		for _, c := range "\"\\{}[],:x0 \x00" {
			if i < len(whole) {
				texts = append(texts, whole[:i]+string(c)+whole[i+1:], whole[:i]+string(c)+whole[i:])
			}
		}
	}
	for _, text := range texts {
		var v [2][]byte
		got := Pick([]byte(text), []string{"k", "t"}, v[:])
		if want := Valid([]byte(text)) && IsObject([]byte(text)); got != want {
			t.Errorf("Pick of %.80q: %v, want %v", text, got, want)
		}
	}
}

func TestTextOfString(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		raw, want string
		ok        bool
	}{
		{`"a"`, "a", true},
		{` "a" `, "a", true},
		{`""`, "", true},
		{`"\u0061\n"`, "a\n", true},
		{`"a"b"`, "", false},
		{`"a`, "", false},
		{`"`, "", false},
		{``, "", false},
		{`1`, "", false},
		{`"a" x`, "", false},
		{"\"a\nb\"", "", false},
		{`"\n"`, "\n", true},
	} {
		got, ok := AppendText([]byte("x"), []byte(c.raw))
		if string(got) != "x"+c.want || ok != c.ok {
			t.Errorf("AppendText(%q) = %q, %v; want %q, %v", c.raw, got, ok, "x"+c.want, c.ok)
		}
		if s, ok := String([]byte(c.raw)); s != c.want || ok != c.ok {
			t.Errorf("String(%q) = %q, %v; want %q, %v", c.raw, s, ok, c.want, c.ok)
		}
		if Is([]byte(c.raw), c.want) != c.ok || Is([]byte(c.raw), c.want+"y") || Is([]byte(c.raw), `\n`) {
			t.Errorf("Is(%q, %q) or of another text is wrong", c.raw, c.want)
		}
	}
}
