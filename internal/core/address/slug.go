package address

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// emptySlug stands for every label without an ASCII letter or digit: they all share one channel.
const emptySlug = "workspace"

// Slug returns a label as it is written in an address: lower case, each run of characters other than a-z 0-9 . _ - as one dash,
// no dash at the ends, and "workspace" where nothing is left. A dash that stood beside such a run stays beside its dash.
func Slug(label string) string {
	if label != "" && sluggish(label) {
		return label
	}
	out := make([]byte, 0, len(label)+2)
	gap := false
	put := func(c byte) {
		if gap {
			out = append(out, '-')
			gap = false
		}
		out = append(out, c)
	}
	for _, r := range label {
		switch {
		case r >= 'A' && r <= 'Z':
			put(byte(r) + 'a' - 'A')
		case r < utf8.RuneSelf && slugByte(byte(r)):
			put(byte(r))
		case r == dottedI: // becomes i and a mark above it, which is not ASCII
			put('i')
			gap = true
		case r == kelvin:
			put('k')
		default:
			gap = true
		}
	}
	// A gap at an end would be a dash there.
	if s := strings.Trim(string(out), "-"); s != "" {
		return s
	}
	return emptySlug
}

// The two characters beyond ASCII whose lower case is, or begins with, an ASCII letter.
const (
	dottedI = '\u0130' // İ: i and U+0307
	kelvin  = '\u212A' // K: k
)

func slugByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-'
}

func sluggish(s string) bool {
	for i := range len(s) {
		if !slugByte(s[i]) {
			return false
		}
	}
	return s[0] != '-' && s[len(s)-1] != '-'
}

// lower is the full lower-case mapping of ECMAScript, which differs from Go's in two characters: İ becomes two, and a
// capital sigma at the end of a word becomes a final one.
func lower(s string) string {
	ascii := true
	for i := range len(s) {
		ascii = ascii && s[i] < utf8.RuneSelf
	}
	if ascii {
		return strings.ToLower(s)
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == dottedI:
			b.WriteString("i\u0307")
		case r == 'Σ' && finalSigma(s[:i], s[i+len("Σ"):]):
			b.WriteRune('ς')
		default:
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// finalSigma reports whether a sigma between the two texts ends a word: a letter with case before it and none behind it,
// not counting what the Unicode standard calls case-ignorable.
func finalSigma(before, behind string) bool {
	for before != "" {
		r, n := utf8.DecodeLastRuneInString(before)
		before = before[:len(before)-n]
		if caseIgnorable(r) {
			continue
		}
		if !cased(r) {
			return false
		}
		for _, r := range behind {
			if !caseIgnorable(r) {
				return !cased(r)
			}
		}
		return true
	}
	return false
}

func cased(r rune) bool {
	return unicode.IsUpper(r) || unicode.IsLower(r) || unicode.IsTitle(r) ||
		unicode.Is(unicode.Other_Lowercase, r) || unicode.Is(unicode.Other_Uppercase, r)
}

func caseIgnorable(r rune) bool {
	switch r {
	case '\'', '.', ':', '·', '\u0387', '\u055f', '\u05f4', '\u2018', '\u2019', '\u2024', '\u2027',
		'\ufe13', '\ufe52', '\ufe55', '\uff07', '\uff0e', '\uff1a':
		return true // what may stand inside a word (Word_Break is MidLetter, MidNumLet or Single_Quote)
	}
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk)
}
