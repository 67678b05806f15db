package canonjson

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
)

func TestCanonical(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"white space", " \t\r\n[ 1 ,\t{ } , [ ] ]\n", `[1,{},[]]`},
		{"every plain kind", `[null,true,false,"",0]`, `[null,true,false,"",0]`},
		{"escape spelled out in a name", `{"\u0062":1,"a":2}`, `{"a":2,"b":1}`},
		{"one name in two spellings, last wins", `{"a":1,"\u0061":2}`, `{"a":2}`},
		{"three of one name", `{"a":1,"b":0,"a":{"x":1},"a":[3]}`, `{"a":[3],"b":0}`},
		{"losing member beyond the range of doubles", `{"a":1e400,"a":1}`, `{"a":1}`},
		{"empty name", `{"a":1,"":2}`, `{"":2,"a":1}`},
		{"prefix first", `{"ab":1,"a":2,"a\u0000":3}`, `{"a":2,"a\u0000":3,"ab":1}`},
		{"long common prefix", `{"abcdefghij2":1,"abcdefghij1":2}`, `{"abcdefghij1":2,"abcdefghij2":1}`},
		{
			"largest index and one more", `{"4294967295":1,"4294967294":2,"a":3,"10000000000":4}`,
			`{"4294967294":2,"10000000000":4,"4294967295":1,"a":3}`,
		},
		{"index spelled with escapes", `{"a":0,"\u0031\u0030":1,"9":2}`, `{"9":2,"10":1,"a":0}`},
		{"no indices", `{"+1":1,"1e0":2,"0x1":3," 1":4,"00":5}`, `{" 1":4,"+1":1,"00":5,"0x1":3,"1e0":2}`},
		{
			"supplementary before U+E000, behind U+D7FF", `{"\ue000":1,"😀":2,"\ud7ff":3}`,
			"{\"\ud7ff\":3,\"😀\":2,\"\ue000\":1}",
		},
		{
			"lone high surrogate and pair: the unit behind decides", `{"😀":1,"\ud83d":2,"\ud83dz":3,"\ud83d\uffff":4}`,
			"{\"\\ud83d\":2,\"\\ud83dz\":3,\"😀\":1,\"\\ud83d\uffff\":4}",
		},
		{"lone low surrogate behind pairs", `{"\udc00":1,"😀":2,"\ue000":3}`, "{\"😀\":2,\"\\udc00\":1,\"\ue000\":3}"},
		{"surrogates the wrong way round", `"\ude00\ud83d"`, `"\ude00\ud83d"`},
		{"high, then a pair", `"\ud83d\ud83d\ude00"`, `"\ud83d😀"`},
		{"high, then another escape", `"\ud83d\n\uD83D\u0041"`, `"\ud83d\n\ud83dA"`},
		{"upper-case digits", `"\u00E9\uDEAD\u001F"`, `"é\udead\u001f"`},
		{"short escapes", `"\"\\\/\b\f\n\r\t\u0008\u000c\u000a\u000d\u0009\u002f"`, `"\"\\/\b\f\n\r\t\b\f\n\r\t/"`},
		{"written U+FFFD", `"\ufffd` + "\ufffd" + `"`, "\"\ufffd\ufffd\""},
		{"__proto__ in escapes", `{"\u005f_proto__":1,"a":{"__proto_\u005f":{"b":1}}}`, `{"a":{}}`},
		{"__proto__ only", `{"__proto__":1}`, `{}`},
		{"nearly __proto__", `{"__proto___":1,"__proto":2}`, `{"__proto":2,"__proto___":1}`},
		{
			"objects in arrays in objects", `{"b":[{"d":1,"c":[{"f":1,"e":2}]},{"h":0,"g":0}],"a":[[{"j":1,"i":2}],{"l":3,"k":4}]}`,
			`{"a":[[{"i":2,"j":1}],{"k":4,"l":3}],"b":[{"c":[{"e":2,"f":1}],"d":1},{"g":0,"h":0}]}`,
		},
		{
			"fractions", `[-0.0,0.1,1E2,1.10,123.456e-2,0.0000001,-1e-7,5e-324,1e-400,-1e-400]`,
			`[0,0.1,100,1.1,1.23456,1e-7,-1e-7,5e-324,0,0]`,
		},
		{
			"large", `[1e15,999999999999999,9999999999999999,1e308,-1e21,123e100,1e100]`,
			`[1000000000000000,999999999999999,10000000000000000,1e+308,-1e+21,1.23e+102,1e+100]`,
		},
		{
			"digits without end", "[" + strings.Repeat("1", 400)[:300] + ",0." + strings.Repeat("0", 400) + "1]",
			"[1.1111111111111112e+299,0]",
		},
	} {
		got, err := Canonical([]byte(c.in))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: Canonical(%s)\n got %q, %v\nwant %q", c.name, c.in, got, err, c.want)
		}
		if !Valid([]byte(c.in)) {
			t.Errorf("%s: Valid(%s) is false", c.name, c.in)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in string
		at       int
		why      fault
	}{
		{"nothing", "", 0, faultEnd},
		{"white space only", " \n", 2, faultEnd},
		{"byte order mark", "\ufeff{}", 0, faultValue},
		{"comma behind the last element", "[1,]", 3, faultValue},
		{"comma behind the last member", `{"a":1,}`, 7, faultKey},
		{"two values", "1 2", 2, faultTrailing},
		{"open array", "[1", 2, faultEnd},
		{"open object", `{"a":1`, 6, faultEnd},
		{"wrong bracket", `[1}`, 2, faultArray},
		{"wrong brace", `{"a":1]`, 6, faultObject},
		{"name without quotes", `{a:1}`, 1, faultKey},
		{"name without value", `{"a"}`, 4, faultColon},
		{"name at the end", `{"a"`, 4, faultEnd},
		{"open string", `"abc`, 4, faultEnd},
		{"open escape", `"abc\`, 5, faultEnd},
		{"open code", `"\u12`, 5, faultEnd},
		{"line feed in a string", "\"a\nb\"", 2, faultControl},
		{"NUL far into a string", "\"0123456789abc\x00\"", 14, faultControl},
		{"unknown escape", `"\x41"`, 2, faultEscape},
		{"code with a wrong digit", `"\u00g0"`, 5, faultEscape},
		{"single quotes", `'a'`, 0, faultValue},
		{"stray continuation byte", "\"a\x80\"", 2, faultUTF8},
		{"overlong", "\"\xc0\xaf\"", 1, faultUTF8},
		{"surrogate in UTF-8", "\"\xed\xa0\x80\"", 1, faultUTF8},
		{"cut rune", "\"é\xc3\"", 3, faultUTF8},
		{"beyond U+10FFFF", "\"\xf4\x90\x80\x80\"", 1, faultUTF8},
		{"invalid UTF-8, outside", "\xff", 0, faultValue},
		{"leading zero", "[01]", 2, faultArray},
		{"plus", "+1", 0, faultValue},
		{"point without digits", "1.", 2, faultNumber},
		{"point first", ".5", 0, faultValue},
		{"exponent without digits", "1e+", 3, faultNumber},
		{"minus alone", "-", 1, faultNumber},
		{"hexadecimal", "0x10", 1, faultTrailing},
		{"NaN", "NaN", 0, faultValue},
		{"Infinity", "-Infinity", 1, faultNumber},
		{"word cut", "tru", 0, faultValue},
		{"comment", "1 // one", 2, faultTrailing},
	} {
		_, err := Canonical([]byte(c.in))
		var e *Error
		if !errors.As(err, &e) || e.Offset != c.at || e.Why != faults[c.why] {
			t.Errorf("%s: Canonical(%q): got %v, want offset %d: %s", c.name, c.in, err, c.at, faults[c.why])
		}
		if Valid([]byte(c.in)) {
			t.Errorf("%s: Valid(%q) is true", c.name, c.in)
		}
		if Check([]byte(c.in)) == nil {
			t.Errorf("%s: Check(%q) is nil", c.name, c.in)
		}
	}
}

func TestOutOfRange(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"1e400", `{"a":[-1e309]}`, "1" + strings.Repeat("0", 400), `{"__proto__":1e400}`} {
		if !Valid([]byte(in)) {
			t.Errorf("Valid(%.20s) is false, but it is JSON", in)
		}
		out, err := Append([]byte("kept"), []byte(in))
		if err == nil || string(out) != "kept" {
			t.Errorf("Append(%.20s): got %q, %v; want an error and nothing added", in, out, err)
		}
		if Check([]byte(in)) == nil {
			t.Errorf("Check(%.20s) is nil", in)
		}
	}
}

func TestDepth(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{{"[", "]"}, {`{"a":`, "}"}} {
		for _, n := range []int{MaxDepth, MaxDepth + 1, 1_000_000} {
			in := []byte(strings.Repeat(pair[0], n) + "1" + strings.Repeat(pair[1], n))
			want := n <= MaxDepth
			out, err := Canonical(in)
			if Valid(in) != want || (err == nil) != want || (Check(in) == nil) != want {
				t.Errorf("%d times %s: Valid %v, Canonical %v, Check %v; want accepted: %v", n, pair[0], Valid(in), err, Check(in), want)
			}
			if want && string(out) != string(in) {
				t.Errorf("%d times %s: got %.40s…", n, pair[0], out)
			}
		}
	}
}

func TestCheckProto(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int{
		`{"__proto__":1}`:                       1,
		`{"a":[1,{"b":{"\u005F_proto__":{}}}]}`: 14,
		`{"__proto__":1,"__proto__":2}`:         1,
	} {
		err := Check([]byte(in))
		var e *Error
		if !errors.Is(err, ErrProto) || !errors.As(err, &e) || e.Offset != want {
			t.Errorf("Check(%s): got %v, want ErrProto at %d", in, err, want)
		}
	}
	for _, in := range []string{`{"a":"__proto__"}`, `["__proto__"]`, `{"__proto_":1}`, `{"a":1e308}`} {
		if err := Check([]byte(in)); err != nil {
			t.Errorf("Check(%s): %v", in, err)
		}
	}
}

func TestCanonicalWithout(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{`{"b":1,"signatures":[{"by":"x"}],"a":{"signatures":2}}`, `{"a":{"signatures":2},"b":1}`},
		{`{"signatures":1}`, `{}`},
		{`{"\u0073ignatures":1,"z":0,"signatures":2}`, `{"z":0}`},
		{`{"signatures":1e400,"z":0}`, `{"z":0}`},
		{` {"z":0} `, `{"z":0}`},
	} {
		got, err := CanonicalWithout([]byte(c.in), "signatures")
		if err != nil || string(got) != c.want {
			t.Errorf("CanonicalWithout(%s): got %s, %v; want %s", c.in, got, err, c.want)
		}
	}
	for _, in := range []string{`["signatures"]`, `1`, `{"signatures":}`} {
		if got, err := CanonicalWithout([]byte(in), "signatures"); err == nil {
			t.Errorf("CanonicalWithout(%s): got %s, want an error", in, got)
		}
	}
}

func TestHashIsCanonical(t *testing.T) {
	t.Parallel()
	a, err := Hash([]byte(`{"b":1.0,"a":"\u0041"}`))
	b, err2 := Hash([]byte(` {"a":"A","b":1}`))
	if err != nil || err2 != nil || a != b || len(a) != 71 {
		t.Errorf("got %s, %v and %s, %v", a, err, b, err2)
	}
	if h, err := Hash([]byte("1e400")); err == nil || h != "" {
		t.Errorf("Hash(1e400): got %q, %v", h, err)
	}
}

// A large object goes through another sort than a small one; both must keep the last of each name.
func TestManyMembers(t *testing.T) {
	t.Parallel()
	var in, want strings.Builder
	in.WriteByte('{')
	want.WriteByte('{')
	for round := range 3 {
		for n := 999; n >= 0; n-- {
			if in.Len() > 1 {
				in.WriteByte(',')
			}
			in.WriteString(`"k` + strconv.Itoa(1000+n) + `":` + strconv.Itoa(round))
		}
	}
	for n := range 1000 {
		if n > 0 {
			want.WriteByte(',')
		}
		want.WriteString(`"k` + strconv.Itoa(1000+n) + `":2`)
	}
	in.WriteByte('}')
	want.WriteByte('}')
	got, err := Canonical([]byte(in.String()))
	if err != nil || string(got) != want.String() {
		t.Errorf("got %.60s…, %v\nwant %.60s…", got, err, want.String())
	}
}

func TestAppendStringRoundTrip(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"", `""`},
		{"a\"\\/\b\f\n\r\t\x01\x1f\x7f<>&", `"a\"\\/\b\f\n\r\t\u0001\u001f` + "\x7f" + `<>&"`},
		{"é\u2028\u2029😀\ufffd", "\"é\u2028\u2029😀\ufffd\""},
		{"\xed\xa0\xbd-\xed\xbf\xbf", `"\ud83d-\udfff"`},
		{"\xff\xed\xa0", "\"\ufffd\ufffd\ufffd\""},
	} {
		got := AppendString(nil, c.in)
		if string(got) != c.want {
			t.Errorf("AppendString(%q): got %s, want %s", c.in, got, c.want)
		}
		again, err := Canonical(got)
		if err != nil || string(again) != string(got) {
			t.Errorf("AppendString(%q) is not canonical: %s, %v", c.in, again, err)
		}
		if s, ok := String(got); !ok || s != c.in && !strings.Contains(c.want, "\ufffd") {
			t.Errorf("String(%s): got %q, %v; want %q", got, s, ok, c.in)
		}
	}
}

func TestAllocations(t *testing.T) {
	raw := []byte(envelope)
	var value []byte
	for name, c := range map[string]struct {
		most float64
		do   func()
	}{
		"Valid": {0, func() { Valid(raw) }},
		"Get":   {0, func() { value, _ = Get(raw, "signatures") }},
	} {
		if got := testing.AllocsPerRun(200, c.do); got > c.most {
			t.Errorf("%s of an envelope: %v allocations, want at most %v", name, got, c.most)
		}
	}
	_ = value
}

func TestAppendFloatIsECMAScript(t *testing.T) {
	t.Parallel()
	for f, want := range map[float64]string{
		1e21: "1e+21", 1e-7: "1e-7", 1.5e300: "1.5e+300", 1e-6: "0.000001", 123456789.125: "123456789.125",
		math.MaxFloat64: "1.7976931348623157e+308", math.SmallestNonzeroFloat64: "5e-324", -1.5e-10: "-1.5e-10", 4.35: "4.35",
	} {
		if got := string(appendFloat(nil, f)); got != want {
			t.Errorf("appendFloat(%g): got %s, want %s", f, got, want)
		}
	}
}

// TestCovered: input that Check refuses has no covering form; all other input has the form of Canonical.
func TestCovered(t *testing.T) {
	t.Parallel()
	for _, in := range []string{`{"b":1.0,"a":[{"d":1,"c":"x"}]}`, `{"a":{"__proto__":1}}`, `{"a":{"\u005f_proto__":1}}`, `{"a":[1e999]}`, `{"a":`, ``, `5`} {
		got, err := Covered([]byte(in))
		want, cerr := Canonical([]byte(in))
		if refused := Check([]byte(in)); refused != nil {
			want, cerr = nil, refused
		}
		if string(got) != string(want) || fmt.Sprint(err) != fmt.Sprint(cerr) {
			t.Errorf("Covered(%s): got %s, %v; want %s, %v", in, got, err, want, cerr)
		}
	}
}
