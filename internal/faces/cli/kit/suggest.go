package kit

import (
	"slices"
	"strings"

	"tutti/internal/core/spelling"
)

// Nearest returns the words that a person who typed word may have meant, best first, at most three: those that begin
// with it, then those at a small edit distance.
func Nearest(word string, among []string) []string {
	if word == "" {
		return nil
	}
	var out []string
	for limit := 0; limit <= maxDistance(word) && len(out) < 3; limit++ {
		for _, w := range among {
			near := spelling.Distance(word, w) == limit
			if limit == 0 {
				near = near || len(word) >= 2 && len(w) > len(word) && w[:len(word)] == word
			}
			if near && len(out) < 3 && !slices.Contains(out, w) {
				out = append(out, w)
			}
		}
	}
	return out
}

// maxDistance is how many slips are still read as that word: one in a short word, two in a longer one, three from
// eight letters on. With more, anything resembles anything.
func maxDistance(word string) int {
	switch n := len(word); {
	case n < 4:
		return 1
	case n < 8:
		return 2
	}
	return 3
}

// DidYouMean makes a hint of suggestions: "did you mean a, b or c?", "" without any.
func DidYouMean(words []string, prefix string) string {
	if len(words) == 0 {
		return ""
	}
	s := "did you mean "
	for i, w := range words {
		switch {
		case i > 0 && i == len(words)-1:
			s += " or "
		case i > 0:
			s += ", "
		}
		s += prefix + w
	}
	return s + "?"
}

// VerbsMeant returns the verbs that a person may have meant who typed word: those for which it is another word, else those that
// are spelled like it. Who types "stop" in a hurry must not be sent to "store".
func VerbsMeant(word string, verbs []string) []string {
	var out []string
	for _, v := range OtherWords(word) {
		if first, _, _ := strings.Cut(v, " "); slices.Contains(verbs, first) {
			out = append(out, v)
		}
	}
	if len(out) > 0 {
		return out
	}
	return Nearest(word, verbs)
}

// Ending returns the verbs of two words of which the second one is word, at most three: who types "mirror" means one of a family.
func (t Table) Ending(word string) (out []string) {
	for v := range t.Shown(Tutti) {
		if f := v.Family(); f != "" && v.Name[len(f)+1:] == word && len(out) < 3 {
			out = append(out, v.Name)
		}
	}
	return out
}

// otherWords maps words that users may try to the verbs that do it.
var otherWords = [...]struct{ typed, verbs string }{
	{"stop kill", "halt, session stop"},
	{"freeze abort panic quit", "halt"},
	{"start", "connect, resume"},
	{"continue go restart", "resume"},
	{"list ls agents peers who ps", "discover"},
	{"read mail check messages", "receive, inbox"},
	{"msg message tell write post", "send"},
	{"join login", "connect, install"},
	{"configure config", "setup, host setup, connect"},
	{"uninstall remove", "setup"},
	{"plugin plugins", "host plugin"},
	{"hooks", "host setup, hook"},
	{"skill skills", "install-skills"},
	{"wake nudge ping", "send"},
	{"trace track", "thread --trace"},
	{"respond", "reply"},
	{"follow tail listen logs", "watch"},
	{"history conversation threads", "thread"},
	{"mcp serve server", "mcp-serve, mcp-tools"},
	{"tools", "mcp-tools"},
	{"me id", "whoami"},
}

// OtherWords are the verbs that do what a word asks for that is none.
func OtherWords(word string) []string {
	for _, o := range &otherWords {
		if slices.Contains(strings.Fields(o.typed), word) {
			return strings.Split(o.verbs, ", ")
		}
	}
	return nil
}
