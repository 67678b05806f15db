package canonjson

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

// TestCompareUTF16 compares every two names of one or two characters from all lengths of UTF-8, many of which begin with the same
// byte, with the order of their code units.
func TestCompareUTF16(t *testing.T) {
	t.Parallel()
	runes := []rune{
		0, 'a', 'b', 0x7f, 0x80, 0xbf, 0xc0, 'è', 'é', 0x20b, 0x21c, 0x7ff, 0x800, 0xfff, 0x1000, 0x1001, 0x1040, 0xcfff, 0xd000, 0xd7ff,
		0xe000, 0xe001, 0xffff, 0x10000, 0x10001, 0x103ff, 0x10400, 0x1f600, 0x1f601, 0x10ffff,
	}
	var names []string
	for _, a := range runes {
		names = append(names, string(a))
		for _, b := range runes {
			names = append(names, string([]rune{a, b}))
		}
	}
	for _, a := range names {
		for _, b := range names {
			want := slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
			if got := compareUTF16([]byte(a), []byte(b)); cmp.Compare(got, 0) != want {
				t.Errorf("%+q against %+q: %d, want %d", a, b, got, want)
			}
		}
	}
}

// TestNamesWithCommonPrefix: no member is taken for another one whose name begins with the same byte of the same character.
func TestNamesWithCommonPrefix(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]rune{{'è', 'é'}, {0x20b, 0x21c}, {'日', '旦'}, {0x1f600, 0x1f601}, {0xd000, 0xd7ff}} {
		want := fmt.Sprintf(`{"%c":1,"%c":2}`, pair[0], pair[1])
		for _, in := range []string{want, fmt.Sprintf(`{"%c":2,"%c":1}`, pair[1], pair[0])} {
			if got, err := Canonical([]byte(in)); err != nil || string(got) != want {
				t.Errorf("%s: %s, %v, want %s", in, got, err, want)
			}
		}
		if got, err := CanonicalWithout([]byte(want), string(pair[1])); err != nil || string(got) != want[:len(`{"":1`)+utf8.RuneLen(pair[0])]+"}" {
			t.Errorf("%s without %c: %s, %v", want, pair[1], got, err)
		}
	}
}
