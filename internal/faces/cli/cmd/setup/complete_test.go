package setup

import (
	"strings"
	"testing"
)

func TestHarmless(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]bool{
		"claude:api:3f2a9c01b7de~scout": true, "env:1781258400000:9c1e": true, "a_b.c-d+e": true,
		"": false, "-x": false, "~root": false, ":x": false, "+x": false, "a b": false, "a\tb": false, "a\nb": false,
		"a$(x)": false, "a`x`": false, "a;x": false, "a&x": false, "a|x": false, "a>x": false, "a*": false, "a?": false,
		"a[b]": false, "a{b,c}": false, "a!b": false, "a#b": false, "a\\b": false, "a'b": false, `a"b`: false, "a=b": false,
		"ä": false, "a\u202eb": false, "a\x80": false,
		strings.Repeat("a", maxWord): true, strings.Repeat("a", maxWord+1): false,
	} {
		if got := harmless(word); got != want {
			t.Errorf("harmless(%.40q) = %v, want %v", word, got, want)
		}
	}
}
