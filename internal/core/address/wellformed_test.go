package address

import (
	"strings"
	"testing"

	"tutti/internal/test/hostile"
)

const alice = hostile.Original

func TestWellFormed(t *testing.T) {
	t.Parallel()
	for _, a := range []string{
		alice, "claude:API:3F2A9C01B7DE", "claude:api", "claude:a.b_c-d:3f2a9c01b7de~scout", "human:root:96fb1ce9d48d",
		"remote:9c1e@bridge+2", "ws:0e4f6f5f-1111", "alice",
	} {
		if !WellFormed(a) || Shown(a) != a {
			t.Errorf("%q: is well-formed, and is shown as %s", a, Shown(a))
		}
	}
	for name, a := range hostile.LookAlikes {
		if WellFormed(a) {
			t.Errorf("%s: %q is not well-formed", name, a)
		}
		shown := Shown(a)
		if shown[0] != '\'' || strings.Trim(shown[1:len(shown)-1], " !\"#$%&()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~") != "" {
			t.Errorf("%s: shown as %s", name, shown)
		}
	}
	if got := Shown(`a'b"c$(x)`); got != `'a\u0027b"c$(x)'` {
		t.Error("quotes:", got)
	}
	if WellFormed("") || Shown("") != "" || WellFormed(":a") || WellFormed("~a") {
		t.Error("an empty name, or one that begins with a mark, is not well-formed")
	}
}

func TestSkeleton(t *testing.T) {
	t.Parallel()
	if len([]rune(lookAlike)) != len(looksLike) {
		t.Fatalf("%d characters look like %d", len([]rune(lookAlike)), len(looksLike))
	}
	for name, a := range hostile.LookAlikes {
		if name == "words of ours behind" || name == "escape" { // what is printed of it is longer than the name
			continue
		}
		if Skeleton(a) != Skeleton(alice) {
			t.Errorf("%s: skeleton %q of %q", name, Skeleton(a), a)
		}
	}
	if Skeleton("claude:a1ice:d4bc3ad2e56c") != Skeleton(alice) || Skeleton("claude:bob:d4bc3ad2e56c") == Skeleton(alice) {
		t.Error("a digit that looks like a letter counts as that letter, and no other label does")
	}
}
