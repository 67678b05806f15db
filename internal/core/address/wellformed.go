package address

import (
	"strconv"
	"strings"
)

// WellFormed reports whether an address has only the characters that addresses are made of: ASCII letters and digits and
// : . _ ~ @ + - /, with a letter or digit first and no dot last. A name beyond that can look like another one.
func WellFormed(a string) bool {
	for i := range len(a) {
		switch c := a[i]; {
		case alnum(c):
		case i > 0 && strings.IndexByte(":._~@+-/", c) >= 0:
		default:
			return false
		}
	}
	return a != "" && a[len(a)-1] != '.'
}

func alnum(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// Shown returns an address as people and models are shown it. A well-formed one stays as it is. Any other one is put in single
// quotes, in which a shell runs nothing. Every character outside of ASCII is written as its number, and so is a <, which could begin a tag
// that a model obeys.
func Shown(a string) string {
	if a == "" || WellFormed(a) {
		return a
	}
	quoted := strconv.QuoteToASCII(a)
	inner := strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
	return "'" + strings.NewReplacer("'", `\u0027`, "<", `\u003c`).Replace(inner) + "'"
}

// Skeleton returns the well-formed address that a name looks like: without what cannot be seen, with the letters of ASCII in place
// of those that look like them, and without dots at the end. Two names of one skeleton can be mistaken for each other.
func Skeleton(a string) string {
	var b strings.Builder
	for _, r := range a {
		if r >= 0xff01 && r <= 0xff5e { // full width forms of ASCII
			r -= 0xfee0
		}
		if at := strings.IndexRune(lookAlike, r); at >= 0 {
			b.WriteByte(looksLike[len([]rune(lookAlike[:at]))])
		} else if r > ' ' && r < 0x7f {
			b.WriteRune(r)
		}
	}
	return strings.TrimRight(Canonical(b.String()), ".")
}

// The letters and digits that look like a letter of ASCII, and below each the letter. Capitals are here because only a few
// have a small form that looks the same.
const (
	lookAlike = "01|" + "абсԁеһіјӏорԛѕѵѡху" + "АВСЕНІЈКМОРЅТХУ" + "αικνορτυχγ" + "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ" + "ıɑɡℓ‐‑‒–—−։∶"
	looksLike = "oll" + "a6cdehijlopqsvwxy" + "abcehijkmopstxy" + "aikvoptuxy" + "abezhikmnoptyx" + "iagl------::"
)
