package canonjson

import "testing"

// TestInexact: a number that a double rounds is found wherever it is, and no other one, however it is spelt.
func TestInexact(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"a":[1,{"b":9007199254740993}]}`: "9007199254740993 9007199254740992",
		`-9007199254740993`:                "-9007199254740993 -9007199254740992",
		`[0.1, 3.141592653589793238]`:      "3.141592653589793238 3.141592653589793",
		`100000000000000000000000001`:      "100000000000000000000000001 1e+26",
		`1e-400`:                           "1e-400 0",
		`{"9007199254740993":"9007199254740993","\\\"9007199254740993":1}`:                                       "",
		`[9007199254740992,0.1,-0,-0.0e5,1E2,100.00,0.00012,1.5e300,12e-7,1e21,123456789012345680000,true,null]`: "",
		`[9007199254740993`:              "",
		`{"__proto__":9007199254740993}`: "",
	} {
		got := ""
		if written, signed, ok := Inexact([]byte(in)); ok {
			got = written + " " + signed
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
}
