package kit

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"tutti/internal/core/address"
	"tutti/internal/core/termsafe"
)

// Clean is [termsafe.Clean]: text fit to be shown on one line.
func Clean(s string) string { return termsafe.Clean(s) }

// Name is an agent as it is shown on one line: [address.Shown]. A name that could look like another one is in quotes.
func Name(i address.Instance) string { return address.Shown(string(i)) }

// NameList is Name for several agents.
func NameList(all []address.Instance, sep string) string {
	var names []string
	for _, i := range all {
		names = append(names, Name(i))
	}
	return strings.Join(names, sep)
}

// CleanBlock is [termsafe.CleanBlock]: text of several lines.
func CleanBlock(s string) string { return termsafe.CleanBlock(s) }

// wide holds the ranges of characters that take two columns: the East Asian wide and fullwidth ones and the emoji,
// after Unicode 15.
var wide = [...][2]rune{
	{0x1100, 0x115f},
	{0x231a, 0x231b},
	{0x2329, 0x232a},
	{0x23e9, 0x23ec},
	{0x23f0, 0x23f0},
	{0x23f3, 0x23f3},
	{0x25fd, 0x25fe},
	{0x2614, 0x2615},
	{0x2648, 0x2653},
	{0x267f, 0x267f},
	{0x2693, 0x2693},
	{0x26a1, 0x26a1},
	{0x26aa, 0x26ab},
	{0x26bd, 0x26be},
	{0x26c4, 0x26c5},
	{0x26ce, 0x26ce},
	{0x26d4, 0x26d4},
	{0x26ea, 0x26ea},
	{0x26f2, 0x26f3},
	{0x26f5, 0x26f5},
	{0x26fa, 0x26fa},
	{0x26fd, 0x26fd},
	{0x2705, 0x2705},
	{0x270a, 0x270b},
	{0x2728, 0x2728},
	{0x274c, 0x274c},
	{0x274e, 0x274e},
	{0x2753, 0x2755},
	{0x2757, 0x2757},
	{0x2795, 0x2797},
	{0x27b0, 0x27b0},
	{0x27bf, 0x27bf},
	{0x2b1b, 0x2b1c},
	{0x2b50, 0x2b50},
	{0x2b55, 0x2b55},
	{0x2e80, 0x303e},
	{0x3041, 0x33ff},
	{0x3400, 0x4dbf},
	{0x4e00, 0x9fff},
	{0xa000, 0xa4cf},
	{0xa960, 0xa97f},
	{0xac00, 0xd7a3},
	{0xf900, 0xfaff},
	{0xfe10, 0xfe19},
	{0xfe30, 0xfe6f},
	{0xff00, 0xff60},
	{0xffe0, 0xffe6},
	{0x16fe0, 0x18aff},
	{0x1aff0, 0x1b2ff},
	{0x1f004, 0x1f004},
	{0x1f0cf, 0x1f0cf},
	{0x1f18e, 0x1f18e},
	{0x1f191, 0x1f19a},
	{0x1f200, 0x1f320},
	{0x1f32d, 0x1f335},
	{0x1f337, 0x1f37c},
	{0x1f37e, 0x1f393},
	{0x1f3a0, 0x1f3ca},
	{0x1f3cf, 0x1f3d3},
	{0x1f3e0, 0x1f3f0},
	{0x1f3f4, 0x1f3f4},
	{0x1f3f8, 0x1f43e},
	{0x1f440, 0x1f440},
	{0x1f442, 0x1f4fc},
	{0x1f4ff, 0x1f53d},
	{0x1f54b, 0x1f54e},
	{0x1f550, 0x1f567},
	{0x1f57a, 0x1f57a},
	{0x1f595, 0x1f596},
	{0x1f5a4, 0x1f5a4},
	{0x1f5fb, 0x1f64f},
	{0x1f680, 0x1f6c5},
	{0x1f6cc, 0x1f6cc},
	{0x1f6d0, 0x1f6d2},
	{0x1f6d5, 0x1f6d7},
	{0x1f6dc, 0x1f6df},
	{0x1f6eb, 0x1f6ec},
	{0x1f6f4, 0x1f6fc},
	{0x1f7e0, 0x1f7f0},
	{0x1f90c, 0x1f93a},
	{0x1f93c, 0x1f945},
	{0x1f947, 0x1f9ff},
	{0x1fa70, 0x1faff},
	{0x20000, 0x3fffd},
}

// RuneWidth returns the columns that a shown character takes: 0, 1 or 2.
func RuneWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case r == 0x200d, r >= 0xfe00 && r <= 0xfe0f, unicode.Is(unicode.Mn, r), unicode.Is(unicode.Me, r):
		return 0
	case r < wide[0][0]:
		return 1
	}
	lo, hi := 0, len(wide)
	for lo < hi {
		switch mid := (lo + hi) / 2; {
		case r > wide[mid][1]:
			lo = mid + 1
		case r < wide[mid][0]:
			hi = mid
		default:
			return 2
		}
	}
	return 1
}

// Width returns the columns that cleaned text takes.
func Width(s string) int {
	if termsafe.Printable(s) {
		return len(s)
	}
	n := 0
	for _, r := range s {
		n += RuneWidth(r)
	}
	return n
}

// Truncate shortens cleaned text to at most max columns and marks the cut with one "…". It never cuts a character from
// the marks that belong to it.
func Truncate(s string, max int) string {
	if max <= 0 {
		return ""
	}
	if len(s) <= max || Width(s) <= max { // a column takes at least one byte
		return s
	}
	used, end := 0, 0
	for end < len(s) {
		r, n := utf8.DecodeRuneInString(s[end:])
		if used += RuneWidth(r); used > max-1 {
			break
		}
		end += n
	}
	return s[:end] + "…"
}

// Pad fills cleaned text with blanks up to width columns.
func Pad(s string, width int) string {
	if n := width - Width(s); n > 0 {
		return s + strings.Repeat(" ", n)
	}
	return s
}
