package termsafe

import "strings"

// Sanitise is [Clean] for a text of several lines that a model reads: line feeds and tabs stay. altered tells whether anything but the ends of
// lines was changed.
func Sanitise(s string) (clean string, altered bool) {
	if strings.Contains(s, "\r\n") {
		s = strings.ReplaceAll(s, "\r\n", "\n")
	}
	clean = s
	if !Printable(s) {
		clean = visible(s)
	}
	clean = defused(clean)
	return clean, clean != s
}

// SanitiseLine is Sanitise for what is shown on one line.
func SanitiseLine(s string) (clean string, altered bool) {
	clean = Clean(s)
	return clean, clean != s
}

// visible is s without what is never shown.
func visible(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	before := rune(0)
	for _, r := range s {
		if !Unsafe(r) || r == '\n' || r == '\t' || r == emojiSelector && pictograph(before) {
			b.WriteRune(r)
		}
		before = r
	}
	return b.String()
}

// defused is s with no tag of a frame in it. So no peer ends such a frame or begins one, and the reader sees that it was tried.
func defused(s string) string {
	at := strings.IndexByte(s, '<')
	if at < 0 {
		return s
	}
	var b strings.Builder
	for ; at >= 0; at = strings.IndexByte(s, '<') {
		b.WriteString(s[:at])
		s = s[at+1:]
		if frame(s) {
			b.WriteString("‹")
		} else {
			b.WriteByte('<')
		}
	}
	return b.String() + s
}

// frame tells whether what follows a < makes it a tag of a frame. Agent CLIs and models write them as <system-reminder>, </hook_context>,
// <|im_start|>; their names differ, and change, but are made of few words.
func frame(s string) bool {
	for _, bar := range []string{"|", "｜"} {
		if in, ok := strings.CutPrefix(s, bar); ok && in != "" && letter(in[0]) {
			return true
		}
	}
	end := strings.HasPrefix(strings.TrimLeft(s, " \t\n"), "/")
	if end {
		s = strings.TrimLeft(s, " \t\n/")
	}
	n := 0
	for n < len(s) && (letter(s[n]) || n > 0 && strings.IndexByte("-_:0123456789", s[n]) >= 0) {
		n++
	}
	if n == 0 || !end && n < len(s) && strings.IndexByte(" \t\n>/", s[n]) < 0 {
		return false // a comparison
	}
	words := strings.FieldsFunc(strings.ToLower(s[:n]), func(r rune) bool { return r == '-' || r == '_' || r == ':' })
	for _, w := range words {
		if alone(w) || len(words) > 1 && among(w) {
			return true
		}
	}
	return false
}

// alone tells whether a word is the name of a frame, or makes one of any name it is part of.
func alone(w string) bool {
	switch w {
	case "system", "user", "assistant", "human", "developer", "instructions", "permissions", "env", "thinking", "invoke", "antml", "tool", "prompt",
		"channel", "reminder":
		return true
	}
	return false
}

// among tells whether a word is used in names of frames that have several.
func among(w string) bool {
	switch w {
	case "hook", "context", "environment", "instruction", "task", "notification", "function", "calls", "call", "parameter", "parameters", "command",
		"stdout", "stderr", "message", "messages", "agent", "session", "memory", "teammate", "untrusted", "sandbox", "policy", "result", "results",
		"plan", "mode", "skill", "skills", "subagent", "history", "state", "rules", "turn":
		return true
	}
	return false
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
