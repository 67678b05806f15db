package kit

import (
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
			if near && len(out) < 3 && !Contains(out, w) {
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

func Contains(list []string, word string) bool {
	for _, w := range list {
		if w == word {
			return true
		}
	}
	return false
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
		if first, _, _ := strings.Cut(v, " "); Contains(verbs, first) {
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
	t.Each(Tutti, func(v *Verb) bool {
		if f := v.Family(); f != "" && !v.Hidden && v.Name[len(f)+1:] == word {
			out = append(out, v.Name)
		}
		return len(out) < 3
	})
	return out
}

// OtherWords are the verbs that do what a word asks for that is none.
func OtherWords(word string) []string {
	switch word {
	case "stop", "kill":
		return []string{"session stop"}
	case "freeze", "abort", "panic", "quit":
		return []string{"halt"}
	case "start":
		return []string{"connect", "resume"}
	case "continue", "go", "unhalt", "restart":
		return []string{"resume"}
	case "list", "ls", "agents", "peers", "who", "ps":
		return []string{"discover"}
	case "read", "mail", "check", "messages":
		return []string{"receive", "inbox"}
	case "msg", "message", "tell", "write", "ask", "post":
		return []string{"send"}
	case "join", "login":
		return []string{"connect", "install"}
	case "setup", "configure", "config":
		return []string{"host setup", "connect", "install"}
	case "plugin", "plugins":
		return []string{"host plugin"}
	case "hooks":
		return []string{"host setup", "hook"}
	case "skill", "skills":
		return []string{"install-skills"}
	case "wake", "nudge", "ping":
		return []string{"send"}
	case "trace", "track":
		return []string{"thread --trace"}
	case "answer", "respond":
		return []string{"reply"}
	case "follow", "tail", "listen", "logs":
		return []string{"watch"}
	case "history", "conversation", "threads":
		return []string{"thread"}
	case "mcp", "serve", "server":
		return []string{"mcp-serve", "mcp-tools"}
	case "tools":
		return []string{"mcp-tools"}
	case "me", "id":
		return []string{"whoami"}
	}
	return nil
}
