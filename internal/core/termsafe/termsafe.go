// Package termsafe makes text from anywhere fit to be shown: to people on a terminal, to models in what they read.
//
// What it lets through moves no cursor, turns no reading direction and hides nothing. It knows nothing of widths and colours.
package termsafe

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Clean makes text from anywhere fit to be shown on one line of a terminal. Control characters, marks that turn the reading
// direction, line separators, invisible fillers and tag characters are removed, so that no peer can move the cursor, colour the
// screen or disguise a name; bytes that are not valid UTF-8 become the replacement character. A < that begins a tag by which an
// agent CLI frames what it tells its model becomes ‹: models read what is shown as well.
func Clean(s string) string {
	if Printable(s) {
		return defused(s)
	}
	return defused(cleanSlow(s, false))
}

// CleanBlock is Clean for text of several lines: line feeds stay and a tab becomes four blanks.
func CleanBlock(s string) string {
	if Printable(s) {
		return defused(s)
	}
	return defused(cleanSlow(s, true))
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// Printable tells whether there are only the characters from blank to tilde, which most texts that are shown consist of.
func Printable(s string) bool {
	for ; len(s) >= 8; s = s[8:] {
		// A byte below blank, DEL, or one above ASCII sets its high bit in one of the three. Nothing carries from one
		// byte to the next unless there is such a byte.
		w := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		if (w|(w-ones*0x20)|(w+ones))&highs != 0 {
			return false
		}
	}
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x7f {
			return false
		}
	}
	return true
}

func cleanSlow(s string, block bool) string {
	var b strings.Builder
	b.Grow(len(s))
	before := rune(0)
	for _, r := range s { // bad bytes come out as U+FFFD
		switch {
		case block && r == '\n':
			b.WriteByte('\n')
		case block && r == '\t':
			b.WriteString("    ")
		case !Unsafe(r), r == emojiSelector && pictograph(before):
			b.WriteRune(r)
		}
		before = r
	}
	return b.String()
}

// emojiSelector makes the emoji of a pictograph. Behind anything else, and as one of many, it hides.
const emojiSelector = 0xfe0f

func pictograph(r rune) bool {
	return r == 0xa9 || r == 0xae || r >= 0x203c && r <= 0x2bff && r != 0x2800 || r >= 0x1f000 && r <= 0x1faff
}

// Visible writes the characters that Clean leaves out so that they are seen, for text that is judged before it is used: a carriage return as
// ␍, a line separator as <U+2028>. With lines, line feeds stay; otherwise they become ⏎. Tabs stay.
func Visible(s string, lines bool) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\t', r == '\n' && lines, r == 0xfe0f, !Unsafe(r): // U+FE0F: the selector of an emoji
			b.WriteRune(r)
		case r == '\n':
			b.WriteRune('⏎')
		case r < 0x20:
			b.WriteRune('␀' + r)
		case r == 0x7f:
			b.WriteRune('␡')
		default:
			fmt.Fprintf(&b, "<U+%04X>", r)
		}
	}
	return b.String()
}

// Unsafe tells which characters are never shown. The selector of an emoji is one of them, and shown behind its pictograph alone.
func Unsafe(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7f && r <= 0x9f: // C0, DEL, C1
		return true
	case r < 0xad:
		return false
	case r == 0xad, r == 0x61c, r == 0x180e, r == 0xfeff: // soft hyphen, Arabic letter mark, vowel separator, BOM
		return true
	case r >= 0x200b && r <= 0x200c, r == 0x200e, r == 0x200f: // zero width space and non-joiner, direction marks
		return true
	case r >= 0x2028 && r <= 0x202e: // line and paragraph separator, embeddings and overrides
		return true
	case r >= 0x2060 && r <= 0x206f: // word joiner, invisible operators, isolates, deprecated format marks
		return true
	case r == 0x34f, r == 0x115f, r == 0x1160, r == 0x2800, r == 0x3164, r == 0xffa0: // joiner and fillers that look like nothing
		return true
	case r >= 0xfe00 && r <= 0xfe0f: // variation selectors
		return true
	case r >= 0xfff9 && r <= 0xfffb: // interlinear annotation
		return true
	case r >= 0xe0000 && r <= 0xe0fff: // tags and the second block of variation selectors
		return true
	}
	return false
}

// Head returns at most n bytes from the beginning of a text and cuts no character. A negative n means all.
func Head(s string, n int) string {
	if n < 0 || len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Cut is the beginning of a text, of at most so many bytes and without half a character at its end. What was cut shows.
func Cut(s string, most int) string {
	const more = "…"
	if len(s) <= most {
		return s
	}
	return Head(s, max(0, most-len(more))) + more
}

// Ago writes a past time as people say it: "3 min ago".
func Ago(d time.Duration) string {
	switch {
	case d < 0:
		return "just now"
	case d < time.Minute:
		return strconv.Itoa(int(d/time.Second)) + " s ago"
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + " min ago"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + " h ago"
	}
	return strconv.Itoa(int(d/(24*time.Hour))) + " days ago"
}

// Duration is a time for people, without what is zero at its end: 1m and not 1m0s.
func Duration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Word writes a word so that it can be pasted into a shell. What it quotes is not made fit to be shown.
func Word(s string) string {
	if s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:@%,=~", r))
	}) < 0 && s[0] != '~' && s[0] != '-' {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Words are the words of a line, as a shell would have them that knows words and quotes, and nothing else. whole is false where the line
// ends within quotes.
func Words(line string) (words []string, whole bool) {
	var word strings.Builder
	begun, quote, escaped := false, rune(0), false
	for _, c := range line {
		switch {
		case escaped:
			word.WriteRune(c)
			escaped = false
		case c == '\\' && quote != '\'':
			escaped, begun = true, true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '\'' || c == '"':
			quote, begun = c, true
		case c == ' ' || c == '\t' || c == '\n':
			if begun {
				words = append(words, word.String())
				word.Reset()
			}
			begun = false
		default:
			word.WriteRune(c)
			begun = true
		}
	}
	if begun {
		words = append(words, word.String())
	}
	return words, quote == 0 && !escaped
}

// Plural is a number of things: "1 agent", "2 agents".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
